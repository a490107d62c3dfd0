//! A disk that loses what was not made durable, and a store and a log on it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi_store::{Error, Result};

use super::super::log::Records;
use super::super::proposer::Proposer;
use super::super::replicated::{Commits, Replicated};
use super::draw::Draw;
use super::share;

/// The contents of a disk, and when its power fails.
#[derive(Debug)]
pub(super) struct Files {
    /// The records of the log of all servers; all of them are durable.
    pub(super) records: Vec<Vec<u8>>,
    /// The commits of the store from number 1 on, of which the first `durable` are durable.
    pub(super) commits: Vec<Vec<u8>>,
    durable: usize,
    /// The files of the buckets of the store, if it has not the whole graph.
    pub(super) share: Option<share::Files>,
    /// Operations until the power fails.
    pub(super) left: Option<u64>,
    /// True after that.
    pub(super) dead: bool,
    draw: Draw,
}

/// A disk, which stays when its server ends.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<Files>>);

fn no_power() -> Error {
    Error::io("write to", Path::new("disk"), std::io::ErrorKind::BrokenPipe.into())
}

impl Files {
    /// Counts an operation, before which the power may fail.
    fn operate(&mut self) -> Result<()> {
        match &mut self.left {
            _ if self.dead => return Err(no_power()),
            Some(0) => {
                self.fail();
                return Err(no_power());
            }
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }

    /// Loses some of what was not made durable.
    pub(super) fn fail(&mut self) {
        self.dead = true;
        let kept = self.draw.from(self.durable as u64, self.commits.len() as u64) as usize;
        self.commits.truncate(kept);
        self.durable = kept;
    }
}

impl Disk {
    pub(super) fn new(draw: Draw, share: Option<share::Files>) -> Self {
        let (records, commits) = (Vec::new(), Vec::new());
        let files = Files { records, commits, durable: 0, share, left: None, dead: false, draw };
        Disk(Arc::new(Mutex::new(files)))
    }

    pub(super) fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has power again.
    pub(super) fn restart(&self) {
        let mut files = self.files();
        (files.left, files.dead) = (None, false);
    }

    /// Loses everything, and gets a copy of another store.
    pub(super) fn replace(&self, commits: Vec<Vec<u8>>, share: Option<share::Files>) {
        let mut files = self.files();
        files.records.clear();
        files.durable = commits.len();
        (files.commits, files.share) = (commits, share);
    }

    /// Replaces the files of the buckets.
    pub(super) fn switch(&self, share: share::Files) -> Result<()> {
        let mut files = self.files();
        let done = files.operate();
        if done.is_ok() || files.draw.chance(50) {
            files.share = Some(share);
        }
        done
    }
}

impl Records for Disk {
    fn append(&mut self, mut records: Vec<Vec<u8>>) -> Result<()> {
        let mut files = self.files();
        let done = files.operate();
        if done.is_err() {
            // Of what was not synced, the disk has the first part, or nothing.
            let kept = files.draw.from(0, records.len() as u64) as usize;
            records.truncate(kept);
        }
        files.records.append(&mut records);
        done
    }

    fn replace(&mut self, records: Vec<Vec<u8>>) -> Result<()> {
        let mut files = self.files();
        let done = files.operate();
        if done.is_ok() || files.draw.chance(50) {
            files.records = records;
        }
        done
    }
}

/// A store that has nothing but commits.
pub(super) struct Store {
    pub(super) disk: Disk,
    log: Mutex<Option<Arc<Proposer>>>,
    /// Held by who makes commits.
    turn: tokio::sync::Mutex<()>,
}

impl Store {
    pub(super) fn new(disk: Disk) -> Self {
        Store { disk, log: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    fn log(&self) -> MutexGuard<'_, Option<Arc<Proposer>>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes commits, and returns the number of the first; `None` if nobody can tell whether they are made.
    pub(super) async fn commit(&self, changes: &[Vec<u8>]) -> Option<u64> {
        let _turn = self.turn.lock().await;
        let log = self.log().clone()?;
        let first = self.last_commit() + 1;
        let commits: Vec<_> = (first..).zip(changes.iter().cloned()).collect();
        log.propose(&commits).await.ok()?;
        for (number, changes) in &commits {
            // A store that has stepped down meanwhile has taken them from the log.
            if self.last_commit() < *number {
                self.follow(*number, changes).ok()?;
            }
        }
        self.flush().ok()?;
        Some(first)
    }
}

impl Replicated for Store {
    fn path(&self) -> &Path {
        Path::new("store")
    }

    fn last_commit(&self) -> u64 {
        self.disk.files().commits.len() as u64
    }

    fn lead(&self, log: Arc<Proposer>) -> Result<()> {
        *self.log() = Some(log);
        self.refuse_if_broken()
    }

    fn step_down(&self) -> Result<()> {
        *self.log() = None;
        self.refuse_if_broken()
    }

    fn follow(&self, commit: u64, changes: &[u8]) -> Result<()> {
        let mut files = self.disk.files();
        files.operate()?;
        if commit != files.commits.len() as u64 + 1 {
            let last = files.commits.len();
            return Err(Error::Invalid(format!(
                "commit {commit} does not follow on commit {last}"
            )));
        }
        files.commits.push(changes.to_vec());
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        let mut files = self.disk.files();
        files.operate()?;
        files.durable = files.commits.len();
        Ok(())
    }

    fn refuse_if_broken(&self) -> Result<()> {
        if self.disk.files().dead { Err(no_power()) } else { Ok(()) }
    }

    fn commits(&self, since: u64) -> Result<Commits> {
        let (disk, mut next) = (self.disk.clone(), since);
        Ok(Box::new(move || {
            let files = disk.files();
            let rest = files.commits.iter().skip(next as usize).take(3);
            let part: Vec<_> = (next + 1..).zip(rest.cloned()).collect();
            next += part.len() as u64;
            Ok(part)
        }))
    }
}
