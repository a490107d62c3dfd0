//! Cache plans: the edge lists that stay in memory, in a file beside those of the store.
//!
//! A plan is bound to the identity of the store and to its layout, not to its edges, so it stays
//! useful while the graph changes a little. Its file is replaced as a whole.

use std::path::{Path, PathBuf};

use nakshi_io::write::{WriteFs, replace_file};
use serde::{Deserialize, Serialize};

use crate::manifest::crc32c;
use crate::{Direction, Error, Result, Store, VertexId, varint};

/// Name of the file in the store's directory.
const FILE: &str = "cache.plan";
/// The first line of the file.
const MAGIC: &[u8] = b"nakshi cache plan 1\n";
/// Bytes of the checksum at the end.
const SUM: usize = 4;

/// Vertices whose edge lists stay in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePlan {
    /// The store of the plan, and the parameters of the choice.
    pub about: PlanInfo,
    /// The chosen vertices of each direction, ascending by internal id.
    pub sides: Vec<PlanSide>,
}

/// The store of a plan, and the parameters with which it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanInfo {
    /// Identity of the store, as in its manifest.
    pub store: String,
    /// Name of the layout, as in its manifest.
    pub layout: String,
    /// Method by which the vertices were chosen.
    pub select: String,
    /// Bytes of lists that the plan may hold.
    pub budget: u64,
    /// Number of iterations of the choice; 1 for a method without iterations.
    pub iterations: u32,
}

/// The plan of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSide {
    /// Direction of the lists.
    pub direction: Direction,
    /// Bytes of the lists.
    pub bytes: u64,
    /// The chosen vertices, ascending.
    pub vertices: Vec<VertexId>,
}

/// The line that precedes the vertices.
#[derive(Serialize, Deserialize)]
struct PlanHeader {
    about: PlanInfo,
    /// Direction, number of vertices, bytes of their lists.
    sides: Vec<(Direction, u64, u64)>,
}

impl CachePlan {
    /// Writes the plan beside the files of `store`, in place of an older one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is for another store; write errors.
    pub fn save(&self, fs: &dyn WriteFs, store: &Store) -> Result<()> {
        self.check(store)?;
        let head = PlanHeader {
            about: self.about.clone(),
            sides: {
                let side = |s: &PlanSide| (s.direction, s.vertices.len() as u64, s.bytes);
                self.sides.iter().map(side).collect()
            },
        };
        let mut bytes = MAGIC.to_vec();
        serde_json::to_writer(&mut bytes, &head)
            .map_err(|e| Error::Invalid(format!("the plan does not serialise: {e}")))?;
        bytes.push(b'\n');
        for side in &self.sides {
            let mut last = 0;
            for &v in &side.vertices {
                varint::put(&mut bytes, u64::from(v) - last);
                last = v.into();
            }
        }
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        Ok(replace_file(fs, &path(store), &bytes)?)
    }

    /// Returns the name and the bytes of the plan of the store at `path`, if it has one.
    pub(crate) fn bytes(path: &Path) -> Result<Option<(String, Vec<u8>)>> {
        let plan = path.join(FILE);
        match std::fs::read(&plan) {
            Ok(bytes) => Ok(Some((FILE.to_owned(), bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &plan, error)),
        }
    }

    /// Removes the plan of the store at `path`, if it has one.
    ///
    /// # Errors
    /// The errors of removing it.
    pub fn remove(fs: &dyn WriteFs, path: &Path) -> Result<()> {
        let plan = path.join(FILE);
        if std::fs::symlink_metadata(&plan).is_ok() {
            fs.remove_file(&plan)?;
        }
        Ok(())
    }

    /// Reads the plan of `store`; returns `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a plan of another store or layout; [`Error::Corrupt`] for a damaged
    /// one; read errors.
    pub fn load(store: &Store) -> Result<Option<Self>> {
        let path = path(store);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        let plan = Self::parse(&path, &bytes, store.num_vertices())?;
        plan.check(store)?;
        Ok(Some(plan))
    }

    fn parse(path: &Path, bytes: &[u8], vertices: u64) -> Result<Self> {
        let corrupt = |what: &str| Error::Corrupt {
            file: path.to_path_buf(),
            page: 0,
            what: format!("{what}; make it again with `nakshi cache-plan`"),
        };
        let (body, sum) =
            bytes.split_last_chunk::<SUM>().ok_or_else(|| corrupt("the plan is too short"))?;
        if crc32c(body) != u32::from_le_bytes(*sum) {
            return Err(corrupt("the plan's checksum does not match"));
        }
        let rest = body.strip_prefix(MAGIC).ok_or_else(|| corrupt("not a plan of format 1"))?;
        let end = memchr::memchr(b'\n', rest).ok_or_else(|| corrupt("no head"))?;
        let (head, lists) = rest.split_at(end + 1);
        let head: PlanHeader = serde_json::from_slice(head).map_err(|_| corrupt("a bad head"))?;
        let mut at = 0;
        let mut sides = Vec::new();
        for (direction, count, taken) in head.sides {
            // A vertex takes at least one byte.
            if count > lists.len() as u64 {
                return Err(corrupt("more vertices than bytes"));
            }
            let mut side = Vec::with_capacity(count as usize);
            let mut last = 0u64;
            for _ in 0..count {
                let gap = varint::get(lists, &mut at).ok_or_else(|| corrupt("it ends early"))?;
                last = last.saturating_add(gap);
                if last >= vertices {
                    return Err(corrupt("a vertex beyond the graph"));
                }
                side.push(VertexId::try_from(last).map_err(|_| corrupt("a vertex beyond 2^32"))?);
            }
            sides.push(PlanSide { direction, bytes: taken, vertices: side });
        }
        Ok(CachePlan { about: head.about, sides })
    }

    fn check(&self, store: &Store) -> Result<()> {
        let (path, layout) = (store.path().display(), &store.manifest().layout);
        if self.about.store != store.uuid() {
            return Err(Error::Invalid(format!(
                "the cache plan of {path} was made for another store; make it again with \
                 `nakshi cache-plan {path}`"
            )));
        }
        if &self.about.layout != layout {
            return Err(Error::Invalid(format!(
                "the cache plan of {path} was made for the layout '{}', the store has '{layout}'; \
                 make it again with `nakshi cache-plan {path}`",
                self.about.layout
            )));
        }
        Ok(())
    }
}

fn path(store: &Store) -> PathBuf {
    store.path().join(FILE)
}
