//! The audit log, of logins and changes, and the log of statements that took long.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use nakshi_query::Map;
use serde::Serialize;
use serde_json::Value as Json;

use crate::access::Asker;
use crate::error::{Error, ErrorKind, Result};

/// Options of the audit log and of the log of slow statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalOptions {
    /// The file of the audit log; none without it. Lines are appended.
    pub audit: Option<PathBuf>,
    /// Time from which on a statement is told in the log for the operator; no statement without it.
    pub slow: Option<Duration>,
    /// True to write down the parameters of statements as well.
    pub parameters: bool,
}

/// The fields of an event of the audit log.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Told<'t> {
    /// `login`, `change`, `commit`, `rollback`, `terminate` or `resume`.
    pub(crate) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transaction: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) statement: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<&'t Json>,
    /// Number of changes of a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<u64>,
    /// Number of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<u64>,
    /// `ok`, `refused` or `failed`.
    pub(crate) outcome: &'static str,
    /// Code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<&'t str>,
    /// Message of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'t str>,
}

impl<'t> Told<'t> {
    /// An event of this outcome.
    pub(crate) fn of<T>(event: &'static str, ended: &'t Result<T>) -> Self {
        let outcome = match ended {
            Ok(_) => "ok",
            Err(error) if error.kind == ErrorKind::Denied => "refused",
            Err(_) => "failed",
        };
        let error = ended.as_ref().err();
        Told {
            event,
            outcome,
            code: error.map(|error| error.kind.name()),
            message: error.map(|error| error.message.as_str()),
            ..Told::default()
        }
    }
}

/// A line of the audit log.
#[derive(Serialize)]
struct Line<'l> {
    time: String,
    user: &'l str,
    role: &'static str,
    client: String,
    protocol: &'static str,
    #[serde(flatten)]
    told: &'l Told<'l>,
}

/// Lines that the file did not take.
#[derive(Debug, Default)]
struct Lost {
    lines: u64,
}

/// The writer of both logs.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    options: JournalOptions,
    lost: Mutex<Lost>,
}

impl Journal {
    /// Begins to write down.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] if the file of the audit log cannot be written.
    pub(crate) fn open(options: JournalOptions) -> Result<Self> {
        if let Some(path) = &options.audit {
            append(path, b"").map_err(|error| unwritable(path, &error))?;
        }
        Ok(Journal { options, lost: Mutex::default() })
    }

    fn lost(&self) -> MutexGuard<'_, Lost> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there is an audit log.
    pub(crate) fn audits(&self) -> bool {
        self.options.audit.is_some()
    }

    /// Refuses what is to be written down, as long as the file does not take lines.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub(crate) fn ready(&self) -> Result<()> {
        let Some(path) = &self.options.audit else { return Ok(()) };
        let mut lost = self.lost();
        if lost.lines == 0 {
            return Ok(());
        }
        let message = format!("{} lines are in the log of the server only", lost.lines);
        let told =
            Told { event: "resume", outcome: "ok", message: Some(&message), ..Told::default() };
        let mut bytes = if is_cut_off(path) { vec![b'\n'] } else { Vec::new() };
        bytes.extend_from_slice(&self.line(None, &told));
        append(path, &bytes).map_err(|error| {
            let what = format!(
                "{}; changes are refused until it can be written",
                unwritable(path, &error).message
            );
            Error::new(ErrorKind::Storage, what)
        })?;
        *lost = Lost::default();
        Ok(())
    }

    /// Writes an event down. If the file does not take it, it goes to the log of the server.
    pub(crate) fn tell(&self, asker: &Asker, told: &Told<'_>) {
        let Some(path) = &self.options.audit else { return };
        let line = self.line(Some(asker), told);
        let mut lost = self.lost();
        // A line behind one that was cut off begins anew, in `ready`.
        let written = match lost.lines {
            0 => append(path, &line),
            _ => Err(std::io::Error::other("an earlier line is missing")),
        };
        if let Err(error) = written {
            lost.lines += 1;
            let (error, line) = (error.to_string(), String::from_utf8_lossy(&line));
            let (path, line) = (path.display(), line.trim_end());
            tracing::error!(%path, error, line, "the audit log cannot be written");
        }
    }

    fn line(&self, asker: Option<&Asker>, told: &Told<'_>) -> Vec<u8> {
        // Nobody knows what somebody may do who has not logged on.
        let stranger = told.event == "login" && told.outcome != "ok";
        let line = Line {
            time: DateTime::<Utc>::from(SystemTime::now())
                .to_rfc3339_opts(SecondsFormat::Micros, true),
            user: asker.map_or("", |asker| &asker.identity.name),
            role: asker.filter(|_| !stranger).map_or("", |asker| asker.identity.role.name()),
            client: asker.map(Asker::client).unwrap_or_default(),
            protocol: asker.map_or("", |asker| asker.protocol),
            told,
        };
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Parameters as they are written down, if they are.
    fn parameters(&self, given: &Map) -> Option<Json> {
        let json =
            || given.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
        self.options.parameters.then(json)
    }
}

/// Appends to a file that only its owner can read. It is opened each time, so that it may be renamed.
fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)?.write_all(bytes)
}

/// Returns true if the last line of a file has no end.
fn is_cut_off(path: &Path) -> bool {
    let last = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        Ok::<_, std::io::Error>(last)
    };
    last().is_ok_and(|last| last != [b'\n'])
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    let what = format!("the audit log {} cannot be written: {error}", path.display());
    Error::new(ErrorKind::Storage, what)
}

/// A statement, from its beginning to its end.
pub(crate) struct Watched {
    journal: Arc<Journal>,
    asker: Arc<Asker>,
    transaction: String,
    text: Arc<str>,
    parameters: Option<Json>,
    /// True if it changes the graph.
    writes: bool,
    worked: Duration,
    rows: u64,
    audited: bool,
    ended: bool,
}

impl Watched {
    /// Begins to watch a statement of a transaction.
    ///
    /// # Errors
    /// A change that cannot be written down.
    pub(crate) fn begin(
        journal: &Arc<Journal>,
        asker: &Arc<Asker>,
        transaction: String,
        (text, parameters): (&Arc<str>, &Map),
        writes: bool,
    ) -> Result<Self> {
        if writes {
            journal.ready()?;
        }
        Ok(Watched {
            journal: Arc::clone(journal),
            asker: Arc::clone(asker),
            transaction,
            text: Arc::clone(text),
            parameters: journal.parameters(parameters),
            writes,
            worked: Duration::ZERO,
            rows: 0,
            audited: false,
            ended: false,
        })
    }

    /// Returns true if it changes the graph.
    pub(crate) fn writes(&self) -> bool {
        self.writes
    }

    /// Does a part of its work.
    pub(crate) fn work<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.worked += began.elapsed();
        done
    }

    /// Counts rows.
    pub(crate) fn add_rows(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// Leaves it untold: it begins anew, as another one.
    pub(crate) fn forget(mut self) {
        self.ended = true;
    }

    /// Writes down that its changes are made, in its transaction or for good; it may have rows to come.
    pub(crate) fn ran(&mut self) {
        self.audit(None);
    }

    /// Tells of its end: of its error, by code and message, if it has failed.
    pub(crate) fn end(&mut self, error: Option<(&str, &str)>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.audit(error);
        if self.journal.options.slow.is_some_and(|slow| self.worked >= slow) {
            self.tell_slow(error.map(|(code, _)| code));
        }
    }

    fn audit(&mut self, error: Option<(&str, &str)>) {
        if !self.writes || !self.journal.audits() || std::mem::replace(&mut self.audited, true) {
            return;
        }
        let outcome = match error {
            None => "ok",
            Some((code, _)) if REFUSALS.contains(&code) => "refused",
            Some(_) => "failed",
        };
        let told = Told {
            event: "change",
            transaction: Some(&self.transaction),
            statement: Some(&self.text),
            parameters: self.parameters.as_ref(),
            outcome,
            code: error.map(|(code, _)| code),
            message: error.map(|(_, message)| message),
            ..Told::default()
        };
        self.journal.tell(&self.asker, &told);
    }

    fn tell_slow(&self, code: Option<&str>) {
        let milliseconds = u64::try_from(self.worked.as_millis()).unwrap_or(u64::MAX);
        let (user, client) = (&*self.asker.identity.name, self.asker.client());
        let parameters = self.parameters.as_ref().map(Json::to_string);
        tracing::warn!(
            statement = &*self.text,
            milliseconds,
            rows = self.rows,
            user,
            client,
            protocol = self.asker.protocol,
            transaction = self.transaction.as_str(),
            parameters,
            code,
            "a statement took long"
        );
    }
}

/// Codes of errors of clients that may not do something.
const REFUSALS: [&str; 4] = [
    "Neo.ClientError.Security.Forbidden",
    "Neo.ClientError.Statement.AccessMode",
    "Neo.ClientError.Cluster.NotALeader",
    "denied",
];

impl Drop for Watched {
    fn drop(&mut self) {
        self.end(Some(("", "the client has left it before its end")));
    }
}

#[cfg(test)]
mod tests {
    use nakshi_query::Value;

    use super::*;
    use crate::access::{Identity, Role};

    fn asker() -> Arc<Asker> {
        let identity = Identity { name: "ann".into(), role: Role::Writer };
        let address = Some(([127, 0, 0, 1], 5).into());
        Arc::new(Asker { identity, address, protocol: "bolt", connection: "bolt-1".into() })
    }

    fn journal(audit: &Path, parameters: bool) -> Arc<Journal> {
        let options = JournalOptions { audit: Some(audit.into()), slow: None, parameters };
        Arc::new(Journal::open(options).unwrap())
    }

    fn lines(path: &Path) -> Vec<Json> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn change(journal: &Arc<Journal>, text: &str, error: Option<(&str, &str)>) -> Result<()> {
        let given: Map = [("x".into(), Value::Int(5))].into();
        let text = Arc::from(text);
        let mut one =
            Watched::begin(journal, &asker(), "neo4j-transaction-1".into(), (&text, &given), true)?;
        one.end(error);
        Ok(())
    }

    #[test]
    fn a_line_says_who_has_done_what() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit");
        change(&journal(&path, false), "CREATE (:\"A\")", None).unwrap();
        let refused = ("Neo.ClientError.Security.Forbidden", "no");
        change(&journal(&path, true), "CREATE ()", Some(refused)).unwrap();
        let found = lines(&path);
        assert_eq!(found[0]["user"], "ann");
        assert_eq!(found[0]["client"], "127.0.0.1:5");
        assert_eq!(found[0]["statement"], "CREATE (:\"A\")");
        assert_eq!(found[0]["outcome"], "ok");
        assert_eq!(found[0].get("parameters"), None);
        assert_eq!(found[1]["parameters"]["x"], 5);
        assert_eq!(found[1]["outcome"], "refused");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn changes_are_refused_while_the_file_fails() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("logs");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("audit");
        let journal = journal(&path, false);
        std::fs::remove_dir_all(&folder).unwrap();
        // The first one has run when its line is lost.
        change(&journal, "CREATE (:First)", None).unwrap();
        let error = change(&journal, "CREATE (:Second)", None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Storage);
        assert!(error.message.contains("changes are refused"), "{error}");
        std::fs::create_dir(&folder).unwrap();
        change(&journal, "CREATE (:Third)", None).unwrap();
        let found = lines(&path);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0]["event"], "resume");
        assert_eq!(found[1]["statement"], "CREATE (:Third)");
        let missing = home.path().join("missing").join("audit");
        assert!(
            Journal::open(JournalOptions { audit: Some(missing), ..Default::default() }).is_err()
        );
    }
}
