//! Credentials and wishes in HELLO and LOGON.

use boltr::types::{BoltDict, BoltValue};

use crate::login::Credentials;

fn text(dict: &BoltDict, name: &str) -> String {
    dict.get(name).and_then(BoltValue::as_str).unwrap_or_default().to_owned()
}

/// The credentials of a client.
pub(super) fn credentials(said: &BoltDict) -> Credentials {
    match said.get("scheme").and_then(BoltValue::as_str) {
        Some("bearer") => Credentials::Token(text(said, "credentials")),
        Some("basic") => {
            let (name, password) = (text(said, "principal"), text(said, "credentials"));
            Credentials::User { name, password }
        }
        _ => Credentials::None,
    }
}

/// True if HELLO asks for points in time in UTC, which version 4.4 has only then.
pub(super) fn asks_for_utc(extra: &BoltDict) -> bool {
    let wanted = BoltValue::String("utc".to_owned());
    matches!(extra.get("patch_bolt"), Some(BoltValue::List(patches)) if patches.contains(&wanted))
}
