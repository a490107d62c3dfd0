//! Graph analytics on several machines.
//!
//! LFGraph (I. Hoque, I. Gupta, *LFGraph: Simple and Fast Distributed Graph Analytics*, TRIOS 2013;
//! sections are those of chapter 2 of I. Hoque's thesis, 2013): vertices belong to servers by a hash of
//! their id, a server keeps the in-neighbours of its vertices only, and each value goes once to every
//! server that has asked for it. Programs are [`nakshi_engine::program::pull`]'s, which run on one
//! machine as well.
//!
//! * [`Partition`]: who owns a vertex (2.3.1);
//! * [`plan`]: what a partition sends and keeps, before anything runs (2.4, 2.5);
//! * [`Shard`], [`load`], [`EdgeFile`]: what a server keeps, and how it comes there (2.3.1, 2.3.2);
//! * [`exchange`]: rounds in which servers send each other frames;
//! * [`job`]: computation, communication, values (2.3.2 to 2.3.4);
//! * [`Checkpoints`]: from which a run is taken up again when a server is lost (2.6);
//! * [`local`]: servers as threads of one process;
//! * [`Task`], [`worker`], [`front`]: programs by name, on servers that are processes;
//! * [`worker_main`], [`Compiler`]: workers with programs of their own, or that compile them;
//! * [`Token`], [`Allowed`]: whom a server listens to, and which files it may name.

mod allowed;
mod checkpoint;
mod control;
mod edge_file;
mod error;
pub mod exchange;
pub mod front;
pub mod job;
mod link_store;
pub mod load;
pub mod local;
mod own_worker;
mod partition;
pub mod plan;
mod programs;
mod shard;
mod task;
mod token;
pub mod worker;

pub use allowed::Allowed;
pub use checkpoint::{Checkpoints, Place};
pub use edge_file::{EdgeFile, Ids};
pub use error::{Error, Result};
pub use own_worker::worker_with;
pub use partition::Partition;
pub use programs::{Compiler, NamedProgram};
pub use shard::{MemoryBudget, Shard, WantedLinks};
pub use task::{OwnProgram, Programs, Task, names};
pub use token::Token;
