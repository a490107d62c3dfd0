//! The secret that a front-end shares with its servers, and proofs of knowing it.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::{Error, Result};

/// Bytes of a proof, and of a number that is used once.
pub(crate) const PROOF: usize = 32;

/// A secret of at least [`Token::LEAST`] bytes.
///
/// The secret is never sent: both sides of a connection prove by HMAC-SHA256 over numbers that
/// either has drawn for this one greeting that they know it, so that a recorded greeting opens nothing.
#[derive(Clone)]
pub struct Token(Arc<[u8]>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Fewest bytes of a secret: shorter ones can be guessed.
    pub const LEAST: usize = 16;
    /// Most bytes of a secret.
    pub const MOST: usize = 4096;

    /// Takes a secret without the white space around it, which is a line end in most files.
    ///
    /// # Errors
    /// [`Error::Token`] for one that is too short or too long.
    pub fn new(secret: &[u8]) -> Result<Self> {
        let secret = secret.trim_ascii();
        match secret.len() {
            Self::LEAST..=Self::MOST => Ok(Token(secret.into())),
            len => Err(Error::Token(format!(
                "a token has {} to {} bytes, and this one has {len}; make one with \
                 `openssl rand -hex 32`",
                Self::LEAST,
                Self::MOST
            ))),
        }
    }

    /// A secret that nobody else has.
    ///
    /// # Errors
    /// [`Error::Token`] if the system gives no random numbers.
    pub fn random() -> Result<Self> {
        Ok(Token((&nonce()?[..]).into()))
    }

    /// The secret that all runs of this user on this machine share, with the file in which it is:
    /// `nakshi/cluster-token` in `XDG_CONFIG_HOME` (`~/.config`), which nobody else may read. The
    /// first call makes it.
    ///
    /// # Errors
    /// [`Error::Token`] if the file cannot be made or read, or others may read it.
    pub fn of_user() -> Result<(Self, PathBuf)> {
        let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
        let home = || folder("HOME").map(|home| Path::new(&home).join(".config"));
        let none = || Error::Token("neither XDG_CONFIG_HOME nor HOME is set: give a token".into());
        let config = folder("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home).ok_or_else(none)?;
        Self::kept_at(config.join("nakshi").join("cluster-token"))
    }

    fn kept_at(path: PathBuf) -> Result<(Self, PathBuf)> {
        let failed = |error: io::Error| {
            let path = path.display();
            Error::Token(format!("the token of this user, {path}: {error}; give another one"))
        };
        if !path.exists() {
            make(&path).map_err(failed)?;
        }
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).map_err(failed)?.permissions(),
        );
        if mode & 0o077 != 0 {
            let path = path.display();
            let why = format!("others may read the token of this user: chmod 600 {path}");
            return Err(Error::Token(why));
        }
        let token = Self::new(&std::fs::read(&path).map_err(failed)?)?;
        Ok((token, path))
    }

    /// The key with which servers of a run know each other.
    pub(crate) fn of_run(&self, job: u64) -> Self {
        Token((&self.proof(&[b"nakshi-cluster run", &job.to_le_bytes()])[..]).into())
    }

    /// A proof of knowing the secret that holds for these bytes only. Parts have a fixed length each.
    pub(crate) fn proof(&self, parts: &[&[u8]]) -> [u8; PROOF] {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Returns true for the proof of these bytes; takes the same time wherever a proof differs.
    pub(crate) fn verifies(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.mac(parts).verify_slice(proof).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // The only error is a key of a wrong length, and HMAC takes keys of any.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

/// A number that is used once.
pub(crate) fn nonce() -> Result<[u8; PROOF]> {
    let mut bytes = [0; PROOF];
    let failed = |error| Error::Token(format!("the system gives no random numbers: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Makes a file with a new secret, unless another process is first.
fn make(path: &Path) -> io::Result<()> {
    let mut secret = [0; PROOF];
    getrandom::fill(&mut secret)?;
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let new = folder.join(format!(".cluster-token.{}.new", hex.get(..8).unwrap_or_default()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let made = file.write_all(hex.as_bytes()).and_then(|()| file.sync_all());
    // A link fails where a rename would replace the secret that another process has just made.
    let linked = made.and_then(|()| match std::fs::hard_link(&new, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    let _ = std::fs::remove_file(&new);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_of_one_secret_and_of_one_text() {
        let token = |secret: &[u8]| Token::new(secret).unwrap();
        let (one, same, other) =
            (token(b"0123456789abcdef"), token(b"0123456789abcdef\n"), token(b"0123456789abcdeF"));
        let proof = one.proof(&[b"text", b"more"]);
        assert!(same.verifies(&[b"text", b"more"], &proof));
        assert!(!other.verifies(&[b"text", b"more"], &proof));
        assert!(!one.verifies(&[b"text", b"most"], &proof));
        assert!(!one.verifies(&[b"text", b"more"], &proof[..31]));
        assert!(!one.of_run(1).verifies(&[b"text", b"more"], &proof));
        assert_ne!(one.of_run(1).proof(&[]), one.of_run(2).proof(&[]));
        assert_eq!(format!("{one:?}"), "Token(..)");
        for wrong in [&b"short"[..], b"               ", &[b'a'; 5000]] {
            assert!(matches!(Token::new(wrong), Err(Error::Token(_))));
        }
    }

    /// The file of a user is made once, for this user only, by however many begin at once.
    #[test]
    fn the_token_of_a_user() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nakshi").join("cluster-token");
        let proofs: Vec<_> = std::thread::scope(|scope| {
            let kept = || Token::kept_at(path.clone()).unwrap().0.proof(&[]);
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(kept)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(proofs.iter().all(|proof| *proof == proofs[0]));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Token::kept_at(path), Err(Error::Token(why)) if why.contains("chmod")));
    }
}
