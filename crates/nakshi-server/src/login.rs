//! Who a client of Bolt or HTTP is.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::access::{Asker, Identity, Role, Tokens};
use crate::error::ErrorKind;
use crate::failure::Failure;
use crate::journal::Told;
use crate::served::Served;

/// Credentials of a client.
#[derive(Clone)]
pub(crate) enum Credentials {
    /// Nothing, or something that is not understood.
    None,
    /// A user with a password, or a token as the password with any name.
    User { name: String, password: String },
    /// A token.
    Token(String),
}

impl Credentials {
    /// The name that the client gives.
    fn name(&self) -> Arc<str> {
        match self {
            Credentials::User { name, .. } => name.as_str().into(),
            Credentials::Token(_) | Credentials::None => Arc::default(),
        }
    }
}

/// Where a client comes from: its address, how it asks, and the id of its connection.
pub(crate) type From = (Option<SocketAddr>, &'static str, String);

fn unauthorized(message: impl Into<String>) -> Failure {
    Failure::new("Neo.ClientError.Security.Unauthorized", message)
}

/// The client of credentials; without tokens and users everybody may do everything. A password is checked in a
/// thread of its own. Each login is written down if there is a connection, and each that is refused.
///
/// # Errors
/// Credentials that are unknown.
pub(crate) async fn log_in(
    served: &Arc<Served>,
    credentials: Credentials,
    from: From,
) -> Result<Arc<Asker>, Failure> {
    let _place = served.checks.acquire().await;
    let served = Arc::clone(served);
    let checked = tokio::task::spawn_blocking(move || {
        let checked = check(&served, &credentials);
        let (address, protocol, connection) = from;
        let stranger = || Identity { name: credentials.name(), role: Role::Reader };
        let identity = checked.as_ref().cloned().unwrap_or_else(|_| stranger());
        let asker = Arc::new(Asker { identity, address, protocol, connection });
        if checked.is_err() || !asker.connection.is_empty() {
            let error = checked.as_ref().err();
            let told = Told {
                event: "login",
                outcome: if error.is_some() { "refused" } else { "ok" },
                code: error.map(|failure| failure.code),
                message: error.map(|failure| failure.message.as_str()),
                ..Told::default()
            };
            served.journal.tell(&asker, &told);
        }
        checked.map(|_| asker)
    });
    checked.await.unwrap_or_else(|_| Err(Failure::internal()))
}

fn check(served: &Served, credentials: &Credentials) -> Result<Identity, Failure> {
    let (tokens, users) = (served.tokens.as_ref(), served.users.as_ref());
    if tokens.is_none() && users.is_none() {
        return Ok(Identity { role: Role::Admin, ..Identity::anybody() });
    }
    let by_token = |tokens: &Tokens, token: &str| tokens.identity(Some(&format!("Bearer {token}")));
    let by_name = |name: &str, password: &str| {
        let role = users.map(|users| users.role(name, password))?;
        Some(role.map(|role| Identity { name: name.into(), role }))
    };
    let found = match credentials {
        Credentials::Token(token) => tokens.map(|tokens| by_token(tokens, token)),
        Credentials::User { name, password } => {
            match tokens.map(|tokens| by_token(tokens, password)) {
                Some(Ok(known)) => Some(Ok(known)),
                refused => by_name(name, password).or(refused),
            }
        }
        Credentials::None => None,
    };
    match found {
        Some(Ok(known)) => Ok(known),
        Some(Err(error)) if error.kind == ErrorKind::Overloaded => {
            Err(Failure::new("Neo.ClientError.Security.AuthenticationRateLimit", error.message))
        }
        Some(Err(error)) => Err(unauthorized(error.message)),
        None => Err(unauthorized("this server wants a user with a password, or a token")),
    }
}
