//! Who a client of Bolt or HTTP is.

use std::sync::Arc;

use crate::access::{Role, Tokens};
use crate::error::ErrorKind;
use crate::failure::Failure;
use crate::service::Served;

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

fn unauthorized(message: impl Into<String>) -> Failure {
    Failure::new("Neo.ClientError.Security.Unauthorized", message)
}

/// The role of a client; without tokens and users everybody may read and write. A password is checked in a
/// thread of its own.
///
/// # Errors
/// Credentials that are unknown.
pub(crate) async fn role(served: &Arc<Served>, credentials: Credentials) -> Result<Role, Failure> {
    if served.tokens.is_none() && served.users.is_none() {
        return Ok(Role::Writer);
    }
    let _place = served.checks.acquire().await;
    let served = Arc::clone(served);
    let checked = tokio::task::spawn_blocking(move || check(&served, &credentials)).await;
    checked.unwrap_or_else(|_| Err(Failure::internal()))
}

fn check(served: &Served, credentials: &Credentials) -> Result<Role, Failure> {
    let by_token = |tokens: &Tokens, token: &str| tokens.role(Some(&format!("Bearer {token}")));
    let (tokens, users) = (served.tokens.as_ref(), served.users.as_ref());
    let found = match credentials {
        Credentials::Token(token) => tokens.map(|tokens| by_token(tokens, token)),
        Credentials::User { name, password } => {
            match tokens.map(|tokens| by_token(tokens, password)) {
                Some(Ok(role)) => Some(Ok(role)),
                refused => users.map(|users| users.role(name, password)).or(refused),
            }
        }
        Credentials::None => None,
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
