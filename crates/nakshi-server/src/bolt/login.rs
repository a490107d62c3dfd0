//! Who a client is: HELLO and LOGON.

use boltr::types::{BoltDict, BoltValue};

use super::replies::Failure;
use crate::access::{Role, Tokens};
use crate::error::ErrorKind;
use crate::service::Served;
use crate::users::Users;

/// Status code of a client that may not do something.
pub(super) const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

fn unauthorized(message: impl Into<String>) -> Failure {
    Failure::new("Neo.ClientError.Security.Unauthorized", message)
}

fn text<'d>(dict: &'d BoltDict, name: &str) -> Option<&'d str> {
    dict.get(name).and_then(BoltValue::as_str)
}

/// The role of the client with these credentials. The scheme `bearer` has a token. `basic` has a user with a
/// password, or a token as the password, with any name. Without tokens and users everybody may read and write.
/// Takes some ten milliseconds for a password.
///
/// # Errors
/// Credentials that are unknown, or of a scheme that is.
pub(super) fn role(served: &Served, credentials: &BoltDict) -> Result<Role, Failure> {
    let secret = text(credentials, "credentials").unwrap_or_default();
    let by_token = |tokens: &Tokens| tokens.role(Some(&format!("Bearer {secret}")));
    let by_name = |users: &Users| {
        users.role(text(credentials, "principal").unwrap_or_default(), secret)
    };
    let (tokens, users) = (served.tokens.as_ref(), served.users.as_ref());
    if tokens.is_none() && users.is_none() {
        return Ok(Role::Writer);
    }
    let found = match text(credentials, "scheme") {
        Some("bearer") => tokens.map(by_token),
        Some("basic") => match tokens.map(by_token) {
            Some(Ok(role)) => Some(Ok(role)),
            refused => users.map(by_name).or(refused),
        },
        _ => None,
    };
    match found {
        Some(Ok(role)) => Ok(role),
        Some(Err(error)) if error.kind == ErrorKind::Overloaded => {
            Err(Failure::new("Neo.ClientError.Security.AuthenticationRateLimit", error.message))
        }
        Some(Err(error)) => Err(unauthorized(error.message)),
        None => Err(unauthorized("this server wants a user with a password, or a token")),
    }
}

/// True if HELLO asks for points in time in UTC, which version 4.4 has only then.
pub(super) fn asks_for_utc(extra: &BoltDict) -> bool {
    let wanted = BoltValue::String("utc".to_owned());
    matches!(extra.get("patch_bolt"), Some(BoltValue::List(patches)) if patches.contains(&wanted))
}
