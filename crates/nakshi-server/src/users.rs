//! Users with passwords, for clients of Bolt and HTTP.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};

use crate::access::{Role, denied, each_line, read_secret};
use crate::error::{Error, ErrorKind, Result};

/// Form of a line in a file of users.
const LINE: &str = "a line is 'reader NAME HASH', 'writer NAME HASH' or 'admin NAME HASH'; nakshi add-user \
                    writes it";
/// Wrong passwords of a user, in succession, after which the user waits.
const TRIES: u32 = 3;
/// Time that the user waits then.
const WAIT: Duration = Duration::from_secs(5);

/// A user.
struct User {
    role: Role,
    hash: String,
    wrong: Mutex<Wrong>,
}

/// Wrong passwords since the last right one.
#[derive(Default)]
struct Wrong {
    count: u32,
    last: Option<Instant>,
}

/// The users of a server. Passwords are compared by their hashes (Argon2id, RFC 9106).
pub struct Users {
    known: HashMap<String, User>,
    /// A hash for users that are unknown, so that looking one up takes as long.
    nobody: String,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Users").finish_non_exhaustive()
    }
}

/// The hash of a password, with the salt and the parameters that it was made with.
///
/// # Errors
/// [`ErrorKind::Parameter`] for an empty password.
pub fn hash_password(password: &str) -> Result<String> {
    if password.is_empty() {
        return Err(Error::parameter("a password is not empty"));
    }
    let salt = SaltString::generate(&mut OsRng);
    let hashed = Argon2::default().hash_password(password.as_bytes(), &salt);
    let hashed = hashed.map_err(|error| Error::parameter(format!("no password: {error}")))?;
    Ok(hashed.to_string())
}

impl Users {
    /// Reads a file of users: a line for each, `reader NAME HASH`, `writer NAME HASH` or `admin NAME HASH`. Empty
    /// lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for a file that others can read, or a line that is none;
    /// [`ErrorKind::Storage`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_secret(path)?, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut known = HashMap::new();
        each_line(text, path, |words| {
            let &[role, name, hash] = words else { return Err(LINE) };
            // Servers know each other by tokens.
            let role = Role::of_name(role).filter(|role| *role != Role::Server).ok_or(LINE)?;
            if PasswordHash::new(hash).is_err() {
                return Err(LINE);
            }
            let user = User { role, hash: hash.to_owned(), wrong: Mutex::default() };
            match known.insert(name.to_owned(), user) {
                Some(_) => Err("the user stands in the file twice"),
                None => Ok(()),
            }
        })?;
        if known.is_empty() {
            return Err(Error::parameter(format!("{} has no user", path.display())));
        }
        Ok(Users { known, nobody: hash_password("nobody")? })
    }

    /// The role of a user who knows the password. Takes some ten milliseconds, also for a user who is unknown.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`]; [`ErrorKind::Overloaded`] after three wrong passwords, for five seconds.
    pub(crate) fn role(&self, name: &str, password: &str) -> Result<Role> {
        let refused = || Err(denied("the user is unknown, or the password is wrong"));
        let Some(user) = self.known.get(name) else {
            is_of(&self.nobody, password);
            return refused();
        };
        let mut wrong = user.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.count >= TRIES && wrong.last.is_some_and(|last| last.elapsed() < WAIT) {
            let what = format!("{TRIES} wrong passwords; try again in {} seconds", WAIT.as_secs());
            return Err(Error::new(ErrorKind::Overloaded, what));
        }
        if is_of(&user.hash, password) {
            *wrong = Wrong::default();
            return Ok(user.role);
        }
        *wrong = Wrong { count: wrong.count.saturating_add(1), last: Some(Instant::now()) };
        refused()
    }
}

/// True if a hash is that of a password.
fn is_of(hash: &str, password: &str) -> bool {
    let verify =
        |hash: PasswordHash<'_>| Argon2::default().verify_password(password.as_bytes(), &hash);
    PasswordHash::new(hash).is_ok_and(|hash| verify(hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Users> {
        Users::parse(text, Path::new("users"))
    }

    #[test]
    fn a_user_has_a_role_and_a_password() {
        let (ann, bob) = (hash_password("secret").unwrap(), hash_password("other").unwrap());
        assert_ne!(ann, hash_password("secret").unwrap());
        let users = parsed(&format!("# ours\nreader ann {ann}\n\nwriter bob {bob}\n")).unwrap();
        assert_eq!(users.role("ann", "secret"), Ok(Role::Reader));
        assert_eq!(users.role("bob", "other"), Ok(Role::Writer));
        for (name, password) in [("ann", "other"), ("ann", ""), ("eve", "secret"), ("", "")] {
            let error = users.role(name, password).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Denied, "{name}");
        }
    }

    #[test]
    fn wrong_passwords_have_to_wait() {
        let users = parsed(&format!("writer ann {}", hash_password("secret").unwrap())).unwrap();
        for _ in 0..TRIES {
            assert_eq!(users.role("ann", "wrong").unwrap_err().kind, ErrorKind::Denied);
        }
        assert_eq!(users.role("ann", "secret").unwrap_err().kind, ErrorKind::Overloaded);
        let user = &users.known["ann"];
        user.wrong.lock().unwrap().last = Instant::now().checked_sub(WAIT);
        assert_eq!(users.role("ann", "secret"), Ok(Role::Writer));
        assert_eq!(user.wrong.lock().unwrap().count, 0);
    }

    #[test]
    fn lines_that_are_no_users_are_refused() {
        let hash = hash_password("secret").unwrap();
        for text in [
            String::new(),
            format!("owner ann {hash}"),
            format!("reader {hash}"),
            "reader ann secret".to_owned(),
            format!("reader ann {hash}\nwriter ann {hash}"),
        ] {
            assert!(parsed(&text).is_err(), "{text}");
        }
        assert!(hash_password("").is_err());
    }
}
