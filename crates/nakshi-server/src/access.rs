//! Who may ask a server: tokens with roles, certificates, and addresses.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nakshi_query::User;
use nakshi_store::Error as StoreError;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::error::{Error, ErrorKind, Result};

/// Form of a line in a file of tokens.
const LINE: &str = "a line is 'reader TOKEN', 'writer TOKEN', 'admin TOKEN' or 'server TOKEN'";
/// Time for a stranger to show that it speaks TLS.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);
/// Least length of a token.
const SHORTEST: usize = 16;

/// The calls that the bearer of a token may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Query.
    Reader,
    /// Query and change.
    Writer,
    /// All that a writer may, see and end what others run, and change what holds for the whole graph.
    Admin,
    /// All that an admin may, and take part in the log of the servers.
    Server,
}

impl Role {
    /// The role that a line of a file names.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        match name {
            "reader" => Some(Role::Reader),
            "writer" => Some(Role::Writer),
            "admin" => Some(Role::Admin),
            "server" => Some(Role::Server),
            _ => None,
        }
    }

    /// The name of the role in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
            Role::Server => "server",
        }
    }

    /// Returns true for those who see and end what others run.
    pub(crate) fn is_admin(self) -> bool {
        self >= Role::Admin
    }
}

/// A client that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The name of a user, or `token-` with the beginning of the token's hash; empty where nobody has to say
    /// who it is.
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
}

impl Identity {
    /// Anybody, where nobody has to say who it is.
    pub(crate) fn anybody() -> Self {
        Identity { name: Arc::default(), role: Role::Server }
    }
}

/// A client that asks, and how it does.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) identity: Identity,
    /// Where it is; `None` if that is not known.
    pub(crate) address: Option<SocketAddr>,
    /// `bolt`, `http`, or `nakshi` for gRPC.
    pub(crate) protocol: &'static str,
    /// The id of its connection; empty without one.
    pub(crate) connection: String,
}

impl Asker {
    /// The address as text; empty if it is not known.
    pub(crate) fn client(&self) -> String {
        self.address.map(|address| address.to_string()).unwrap_or_default()
    }

    /// The client as queries know it.
    pub(crate) fn user(&self) -> User {
        let Identity { name, role } = &self.identity;
        User { name: Arc::clone(name), client: self.client().into(), is_admin: role.is_admin() }
    }
}

/// Tokens with their roles. They are looked up by hashes, so looking one up takes the same time whatever its
/// beginning is.
#[derive(Clone)]
pub struct Tokens {
    known: HashMap<[u8; 32], Identity>,
    /// The first token of a server.
    server: Option<String>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Tokens {
    /// Reads a file of tokens: a line for each, `reader TOKEN`, `writer TOKEN`, `admin TOKEN` or `server TOKEN`.
    /// Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for a file that others can read, that has no token, or a line that is
    /// none; [`ErrorKind::Storage`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_secret(path)?, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let (mut known, mut server) = (HashMap::new(), None);
        each_line(text, path, |words| {
            let &[role, token] = words else { return Err(LINE) };
            let role = Role::of_name(role).ok_or(LINE)?;
            if token.len() < SHORTEST {
                return Err("a token has at least 16 characters; try `openssl rand -hex 32`");
            }
            let hash = hash(token);
            let [a, b, c, d, ..] = hash;
            let name = format!("token-{a:02x}{b:02x}{c:02x}{d:02x}").into();
            if known.insert(hash, Identity { name, role }).is_some() {
                return Err("the token stands in the file twice");
            }
            if role == Role::Server && server.is_none() {
                server = Some(token.to_owned());
            }
            Ok(())
        })?;
        if known.is_empty() {
            return Err(Error::parameter(format!("{} has no token", path.display())));
        }
        Ok(Tokens { known, server })
    }

    /// The token by which the servers of a graph know each other.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] if there is none.
    pub(crate) fn of_servers(&self) -> Result<String> {
        self.server.clone().ok_or_else(|| {
            Error::parameter("several servers need a line 'server TOKEN' in the file of tokens")
        })
    }

    /// Who has sent the value of an `authorization` header.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`].
    pub(crate) fn identity(&self, authorization: Option<&str>) -> Result<Identity> {
        let Some(token) = authorization.and_then(|value| value.strip_prefix("Bearer ")) else {
            return Err(denied("this server wants a token; connect with token="));
        };
        self.known.get(&hash(token.trim())).cloned().ok_or_else(|| denied("the token is unknown"))
    }
}

/// Reads a file that only its owner can read.
///
/// # Errors
/// [`ErrorKind::Parameter`] if others can; [`ErrorKind::Storage`].
pub(crate) fn read_secret(path: &Path) -> Result<String> {
    let failed = |error| StoreError::io("read", path, error);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::parameter(format!(
                "{} has secrets, but others can read it; run chmod 600 on it",
                path.display()
            )));
        }
    }
    Ok(std::fs::read_to_string(path).map_err(failed)?)
}

/// Hands each line on as words. Empty lines and lines that begin with `#` are left out.
///
/// # Errors
/// [`ErrorKind::Parameter`] with the place of the first line that `take` refuses.
pub(crate) fn each_line<'t>(
    text: &'t str,
    path: &Path,
    mut take: impl FnMut(&[&'t str]) -> Result<(), &'static str>,
) -> Result<()> {
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|first| first.starts_with('#')) {
            continue;
        }
        take(&words)
            .map_err(|what| Error::parameter(format!("{}:{number}: {what}", path.display())))?;
    }
    Ok(())
}

/// An error of somebody who may not do something.
pub(crate) fn denied(what: &str) -> Error {
    Error::new(ErrorKind::Denied, what)
}

/// A certificate with its private key, both as PEM.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate, and those of the authorities between it and the root.
    pub chain: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads both files.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn read(chain: &Path, key: &Path) -> Result<Self> {
        let read =
            |path: &Path| std::fs::read(path).map_err(|error| StoreError::io("read", path, error));
        Ok(Certificate { chain: read(chain)?, key: read(key)? })
    }

    /// Settings of encrypted connections other than those of gRPC.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for a certificate or a key that is none.
    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>> {
        let wrong = |error: &dyn std::fmt::Display| {
            Error::parameter(format!(
                "the server cannot start: its certificate or key is not usable: {error}"
            ))
        };
        let chain = CertificateDer::pem_slice_iter(&self.chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| wrong(&error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| wrong(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        Ok(Arc::new(config.map_err(|error| wrong(&error))?))
    }
}

/// Refuses to listen to strangers without a certificate and something by which they are known.
pub(crate) fn check_address(listen: SocketAddr, certificate: bool, known: bool) -> Result<()> {
    if listen.ip().is_loopback() || (certificate && known) {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "{listen} can be reached from other machines; that needs a certificate (--certificate, --key) \
         and tokens (--tokens) or users (--users), or listen on 127.0.0.1"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Tokens> {
        Tokens::parse(text, Path::new("tokens"))
    }

    #[test]
    fn a_token_has_its_role() {
        let text =
            "# ours\n\nreader 0123456789abcdef\nwriter fedcba9876543210\nadmin 0123456789fedcba\n";
        let tokens = parsed(text).unwrap();
        let role = |token| tokens.identity(Some(token)).map(|known| known.role);
        assert_eq!(role("Bearer 0123456789abcdef"), Ok(Role::Reader));
        assert_eq!(role("Bearer fedcba9876543210"), Ok(Role::Writer));
        assert_eq!(role("Bearer 0123456789fedcba"), Ok(Role::Admin));
        let name = tokens.identity(Some("Bearer 0123456789abcdef")).unwrap().name;
        assert_eq!(*name, *"token-9f9f5111");
        for wrong in
            [None, Some("0123456789abcdef"), Some("Bearer "), Some("Bearer 0123456789abcde")]
        {
            assert_eq!(tokens.identity(wrong).map_err(|error| error.kind), Err(ErrorKind::Denied));
        }
    }

    #[test]
    fn lines_that_are_no_tokens_are_refused() {
        for text in [
            "",
            "# nothing\n",
            "0123456789abcdef",
            "owner 0123456789abcdef",
            "reader short",
            "reader 0123456789abcdef more",
            "reader 0123456789abcdef\nwriter 0123456789abcdef",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strangers_need_both_certificate_and_token() {
        let all = "0.0.0.0:7480".parse().unwrap();
        let own = "127.0.0.1:7480".parse().unwrap();
        assert!(check_address(own, false, false).is_ok());
        assert!(check_address(all, true, true).is_ok());
        assert!(
            check_address(all, true, false).is_err() && check_address(all, false, true).is_err()
        );
    }
}
