//! Ways to ask a database: in process, and over Bolt.

use std::collections::BTreeMap;
use std::sync::Arc;

use gherkin::Step;
use nakshi_query::{Class, Phase};

use crate::expected::Expected;

/// The result of a query.
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Expected>>,
}

/// The error of a query.
#[derive(Debug)]
pub struct Fault {
    pub message: String,
    pub sort: Sort,
}

/// Class of an error, as far as a door tells it.
#[derive(Debug)]
pub enum Sort {
    /// Its class, when it was found, and its detail.
    Whole(Class, Phase, Arc<str>),
    /// The code that goes to clients, which stands for its class.
    Code(String),
}

/// Parameters by name.
pub type Parameters = BTreeMap<String, Expected>;

/// A database that scenarios are run on.
pub trait Door {
    /// Makes the graph an empty one, without the procedures of the last scenario.
    fn empty(&mut self);

    /// Adds the procedure of a step; false if that is impossible.
    fn add_procedure(&mut self, step: &Step) -> bool;

    /// Runs a query to its end.
    fn ask(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Fault>;
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.sort {
            Sort::Whole(class, phase, detail) => {
                write!(f, "{} [{} {phase:?} {detail}]", self.message, class.name())
            }
            Sort::Code(code) => write!(f, "{} [{code}]", self.message),
        }
    }
}
