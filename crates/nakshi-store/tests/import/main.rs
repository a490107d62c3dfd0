//! Import and export against a reference model that holds everything in ordinary collections.

mod edge_cases;
mod formats;
mod hostile;
mod invariance;
mod model;
