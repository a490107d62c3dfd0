//! Programs that workers do not have as algorithms.

use nakshi_engine::program::block::{FailedBlock, Functions};
use nakshi_engine::program::pull::PullProgram;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A program of a user's own worker, by [`crate::worker_main`]. The parameters are its fields.
pub trait NamedProgram: PullProgram + Serialize + DeserializeOwned {
    /// The name, by which front-ends ask for it.
    const NAME: &'static str;
}

/// A compiler of programs in another language.
pub trait Compiler: Send + Sync {
    /// The functions of a program. They keep to what
    /// [`nakshi_engine::program::block::ARGUMENTS`] says, and live as long as the process.
    ///
    /// # Errors
    /// The reason for which it cannot be compiled.
    fn functions(&self, source: &str) -> std::result::Result<Functions, String>;

    /// Explains a call of the program that has failed.
    fn explained(&self, source: &str, failed: &FailedBlock) -> String;
}
