//! Checkpoints of values, from which a run is taken up again (2.6).
//!
//! A checkpoint is what a server has before it communicates in a step: the values of its own vertices,
//! which of them are new, and what they have added up. All servers save the same steps, and none goes
//! beyond the communication of a step that another one has not saved. So a server keeps its last two
//! checkpoints, and one of them is complete.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{default_fs, replace_file};
use serde::{Deserialize, Serialize};

use crate::exchange::{BATCH, Batch, FRAME, Session};
use crate::{Error, Result};

/// Second place of checkpoints, besides the memory of their server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The memory of the next server: lost if both servers are lost at the same time.
    Buddy,
    /// A folder that all servers can read and write.
    Folder(PathBuf),
}

/// Interval and place of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoints {
    /// Supersteps from one to the next.
    pub every: u32,
    /// Second place of each checkpoint.
    pub place: Place,
}

/// State of a server before it communicates in a step.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) step: u32,
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// Checkpoints with which a server can take a run up, as it reports them to the front-end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecoveryState {
    /// True if the server can go on with the data that it has. One that was stopped before it could has
    /// to be told again
    /// what the others want of it, as one that takes another's place.
    pub(crate) ready: bool,
    /// Steps of its own checkpoints.
    pub(crate) saved: Vec<u32>,
    /// Steps of the checkpoints that it holds of the server before it.
    pub(crate) held: Vec<u32>,
    /// The last step whose communication is over: all servers have saved those until then.
    pub(crate) passed: Option<u32>,
}

/// The step from which a run can be taken up; none if it has to begin anew. `states` are what the servers
/// have, none for those that are lost; `told` are the steps that each is known to have saved.
pub(crate) fn complete(
    states: &[Option<RecoveryState>],
    told: &[Vec<u32>],
    checkpoints: Option<&Checkpoints>,
) -> Option<u32> {
    let place = &checkpoints?.place;
    let there = || states.iter().flatten();
    let servers = states.len();
    let kept = |server: usize, step: u32| match (states.get(server), place) {
        (Some(Some(state)), _) => state.saved.contains(&step),
        (_, Place::Folder(_)) => {
            there().any(|state| state.passed >= Some(step))
                || told.get(server).is_some_and(|told| told.contains(&step))
        }
        (_, Place::Buddy) => {
            let buddy = states.get((server + 1) % servers);
            buddy.is_some_and(|buddy| buddy.as_ref().is_some_and(|b| b.held.contains(&step)))
        }
    };
    let known = there().flat_map(|state| &state.saved).chain(told.iter().flatten());
    let mut steps: Vec<u32> = known.copied().collect();
    steps.sort_unstable();
    steps.into_iter().rev().find(|step| (0..servers).all(|server| kept(server, *step)))
}

/// Checkpoints of a server.
#[derive(Debug, Default)]
pub(crate) struct CheckpointStore {
    checkpoints: Option<Checkpoints>,
    job: u64,
    /// The last two of this server, and of the one before it.
    own: VecDeque<Snapshot>,
    others: VecDeque<Snapshot>,
    passed: Option<u32>,
}

/// Number of checkpoints that are kept.
const KEPT: usize = 2;
/// First bytes of a file.
const MAGIC: &[u8; 8] = b"NKCKPT01";

fn push(to: &mut VecDeque<Snapshot>, snapshot: Snapshot) {
    // A run that was taken up saves some steps again.
    to.retain(|older| older.step < snapshot.step);
    to.push_back(snapshot);
    while to.len() > KEPT {
        to.pop_front();
    }
}

impl CheckpointStore {
    pub(crate) fn new(job: u64, checkpoints: Option<Checkpoints>) -> Self {
        CheckpointStore { checkpoints, job, ..CheckpointStore::default() }
    }

    /// Returns true if values are to be saved before the communication of a step. Those of step 0 are
    /// made anew
    /// as fast as they are read.
    pub(crate) fn due(&self, step: u32) -> bool {
        let every = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.every);
        every > 0 && step > 0 && step.is_multiple_of(every)
    }

    /// Records that the communication of a step is over.
    pub(crate) fn pass(&mut self, step: u32) {
        self.passed = Some(step);
    }

    /// Forgets all checkpoints, since the run begins anew.
    pub(crate) fn forget(&mut self) {
        (self.own, self.others, self.passed) = Default::default();
    }

    pub(crate) fn state(&self, ready: bool) -> RecoveryState {
        let steps = |of: &VecDeque<Snapshot>| of.iter().map(|snapshot| snapshot.step).collect();
        let (saved, held) = (steps(&self.own), steps(&self.others));
        RecoveryState { ready, saved, held, passed: self.passed }
    }

    /// Keeps a checkpoint, and a copy that outlives this server.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot be written; errors of the session.
    pub(crate) fn save(&mut self, snapshot: Snapshot, session: &mut Session) -> Result<()> {
        match self.checkpoints.as_ref().map(|checkpoints| checkpoints.place.clone()) {
            Some(Place::Folder(folder)) => self.write(&folder, &snapshot, session.server())?,
            Some(Place::Buddy) => self.hold(Some(&snapshot), snapshot.step, session)?,
            None => {}
        }
        push(&mut self.own, snapshot);
        Ok(())
    }

    /// Gives the next server a checkpoint of this one, if there is one to give, and keeps that of the one
    /// before.
    fn hold(&mut self, mine: Option<&Snapshot>, step: u32, session: &mut Session) -> Result<()> {
        let (me, buddy) = (session.server(), buddy(session));
        let leaving = mine.filter(|_| buddy != me).map(|mine| (buddy, mine));
        if let Some(held) = ship(leaving, step, session)? {
            push(&mut self.others, held);
        }
        Ok(())
    }

    fn path(&self, folder: &Path, server: usize, step: u32) -> PathBuf {
        folder.join(name(self.job, step, server))
    }

    fn write(&self, folder: &Path, snapshot: &Snapshot, server: usize) -> Result<()> {
        let path = self.path(folder, server, snapshot.step);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&sum(&snapshot.bytes).to_le_bytes());
        bytes.extend_from_slice(&snapshot.bytes);
        replace_file(default_fs().as_ref(), &path, &bytes).map_err(|error| {
            let why = format!("its checkpoint cannot be written: {error}");
            Error::Failed { server, why }
        })?;
        if let Some(oldest) = self.own.iter().rev().nth(KEPT - 1) {
            // Two newer ones are there; what cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(self.path(folder, server, oldest.step));
        }
        Ok(())
    }

    fn read(&self, folder: &Path, server: usize, step: u32) -> Result<Snapshot> {
        let path = self.path(folder, server, step);
        let failed = |why: String| Error::Failed { server, why };
        let bytes = std::fs::read(&path)
            .map_err(|error| failed(format!("its checkpoint {}: {error}", path.display())))?;
        let body = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<4>());
        match body {
            Some((stated, body)) if u32::from_le_bytes(*stated) == sum(body) => {
                Ok(Snapshot { step, bytes: Arc::new(body.to_vec()) })
            }
            _ => Err(failed(format!("its checkpoint {} is damaged", path.display()))),
        }
    }

    /// The checkpoint of a step on this server, and on those that were `lost` and have begun anew.
    ///
    /// # Errors
    /// [`Error::Failed`] if it is not there or damaged; errors of the session.
    pub(crate) fn restore(
        &mut self,
        step: u32,
        lost: &[usize],
        session: &mut Session,
    ) -> Result<Snapshot> {
        let me = session.server();
        let none = || Error::Failed { server: me, why: format!("it has no checkpoint of {step}") };
        let found = |of: &VecDeque<Snapshot>| of.iter().find(|s| s.step == step).cloned();
        let place = self.checkpoints.as_ref().map(|checkpoints| checkpoints.place.clone());
        match place.ok_or_else(none)? {
            Place::Folder(folder) if lost.contains(&me) => {
                let mine = self.read(&folder, me, step)?;
                push(&mut self.own, mine);
            }
            Place::Folder(_) => {}
            Place::Buddy => {
                let before = (me + session.servers() - 1) % session.servers();
                let held = found(&self.others).filter(|_| lost.contains(&before));
                let leaving = held.as_ref().map(|held| (before, held));
                if let Some(mine) = ship(leaving, step, session)? {
                    push(&mut self.own, mine);
                }
                // A new server holds nothing yet of the one before it.
                let mine = found(&self.own).filter(|_| lost.contains(&buddy(session)));
                self.hold(mine.as_ref(), step, session)?;
            }
        }
        found(&self.own).ok_or_else(none)
    }

    /// Removes a server's files once nobody needs them any more, those of its predecessors included.
    pub(crate) fn remove(&self, server: usize) {
        let server = Some(server);
        self.checkpoints.iter().for_each(|checkpoints| remove(checkpoints, self.job, server));
    }
}

/// Removes the files of a run, or of one server of it, half-written ones included; no others.
pub(crate) fn remove(checkpoints: &Checkpoints, job: u64, server: Option<usize>) {
    let Place::Folder(folder) = &checkpoints.place else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .and_then(named)
            .is_some_and(|(its, _, of)| its == job && server.is_none_or(|server| server == of));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The name of a file.
fn name(job: u64, step: u32, server: usize) -> String {
    format!("nakshi-{job:016x}.{step}.{server}")
}

/// The run, step and server in the name of a file, or of one that is half-written.
fn named(text: &str) -> Option<(u64, u32, usize)> {
    let half = text.strip_prefix('.').and_then(|rest| rest.strip_suffix(".new"));
    let text = half.unwrap_or(text);
    let mut parts = text.strip_prefix("nakshi-")?.split('.');
    let job = u64::from_str_radix(parts.next()?, 16).ok()?;
    let (step, server) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // Nobody else writes numbers with signs and zeros in front.
    (name(job, step, server) == text).then_some((job, step, server))
}

fn sum(bytes: &[u8]) -> u32 {
    // A CRC-32 fits 32 bits.
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The server that keeps this one's checkpoints.
fn buddy(session: &Session) -> usize {
    (session.server() + 1) % session.servers()
}

/// Sends a checkpoint of a step to another server; returns the checkpoint that arrives, if any does.
fn ship(
    leaving: Option<(usize, &Snapshot)>,
    step: u32,
    session: &mut Session,
) -> Result<Option<Snapshot>> {
    // Pieces say where they belong, since frames come in any order.
    let mut pieces = leaving
        .into_iter()
        .flat_map(|(to, snapshot)| {
            let len = snapshot.bytes.len() as u64;
            let chunks = snapshot.bytes.chunks(FRAME).enumerate();
            chunks.map(move |(k, piece)| (to, (k * FRAME) as u64, len, piece))
        })
        .peekable();
    let mut produce = || {
        let (mut batch, mut bytes) = (Batch::default(), 0);
        while bytes < BATCH
            && let Some((to, at, len, piece)) = pieces.next()
        {
            let mut frame = Session::frame(16 + piece.len());
            frame.extend_from_slice(&at.to_le_bytes());
            frame.extend_from_slice(&len.to_le_bytes());
            frame.extend_from_slice(piece);
            bytes += piece.len();
            batch.frames.push((to, frame));
        }
        batch.more = pieces.peek().is_some();
        Ok(batch)
    };
    let mut arrived: Option<Vec<u8>> = None;
    let mut found = 0;
    session.exchange(&mut produce, &mut |from, body| {
        let cut = || Error::damaged(from, "a piece of a checkpoint is cut off");
        let (numbers, piece) = body.split_at_checked(16).ok_or_else(cut)?;
        let [at, len] = numbers.as_chunks::<8>().0 else { return Err(cut()) };
        let [at, len] = [at, len].map(|number| u64::from_le_bytes(*number) as usize);
        let whole = arrived.get_or_insert_default();
        let end = at.checked_add(piece.len()).filter(|end| *end <= len).ok_or_else(cut)?;
        if whole.len() < end {
            whole.resize(end, 0);
        }
        whole.get_mut(at..end).ok_or_else(cut)?.copy_from_slice(piece);
        found += piece.len();
        Ok(())
    })?;
    Ok(arrived.map(|bytes| Snapshot { step, bytes: Arc::new(bytes) }).filter(|_| found > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(saved: &[u32], held: &[u32], passed: u32) -> Option<RecoveryState> {
        let (saved, held) = (saved.to_vec(), held.to_vec());
        Some(RecoveryState { ready: true, saved, held, passed: Some(passed) })
    }

    /// Seen red with names whose numbers are read and not compared as they are written.
    #[test]
    fn no_other_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Folder(folder.path().into());
        let checkpoints = Checkpoints { every: 5, place };
        let run = format!("nakshi-{:016x}", 9);
        let ours = ["{run}.5.1", "{run}.10.1", ".{run}.15.1.new", "{run}.5.11"];
        let others = ["{run}.notes.1", "{run}.5.1.1", "{run}.05.1", "{run}.5.1.new", ".{run}.5.1"];
        let others = others.into_iter().chain(["nakshi-0000000000000008.5.1", "nakshi-9.5.1"]);
        let others: Vec<_> = others.map(|name| name.replace("{run}", &run)).collect();
        for name in ours.iter().map(|name| name.replace("{run}", &run)).chain(others.clone()) {
            std::fs::write(folder.path().join(name), "text").unwrap();
        }
        std::fs::create_dir(folder.path().join(format!("{run}.20.1"))).unwrap();
        let there = || std::fs::read_dir(folder.path()).unwrap().count();
        remove(&checkpoints, 9, Some(1));
        assert_eq!(there(), others.len() + 2);
        remove(&checkpoints, 9, None);
        assert_eq!(there(), others.len() + 1);
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
    }

    /// Seen red with the newest step that any server has.
    #[test]
    fn a_step_counts_when_all_have_it() {
        let folder = Checkpoints { every: 5, place: Place::Folder("there".into()) };
        let buddy = Checkpoints { every: 5, place: Place::Buddy };
        let told = [vec![5, 10], vec![5], vec![5, 10]];
        // Server 1 was lost while it saved step 10.
        let states = [state(&[5, 10], &[5, 10], 9), None, state(&[5, 10], &[5], 9)];
        assert_eq!(complete(&states, &told, Some(&folder)), Some(5));
        assert_eq!(complete(&states, &told, Some(&buddy)), Some(5));
        // It has saved it, and said nothing any more.
        let states = [state(&[5, 10], &[5, 10], 9), None, state(&[5, 10], &[5, 10], 10)];
        assert_eq!(complete(&states, &told, Some(&folder)), Some(10));
        assert_eq!(complete(&states, &told, Some(&buddy)), Some(10));
        // Its buddy was lost with it.
        let states = [state(&[5, 10], &[5, 10], 10), None, None];
        assert_eq!(complete(&states, &told, Some(&folder)), Some(10));
        assert_eq!(complete(&states, &told, Some(&buddy)), None);
        assert_eq!(complete(&states, &told, None), None);
        assert_eq!(complete(&[None], &[vec![5, 10]], Some(&folder)), Some(10));
    }
}
