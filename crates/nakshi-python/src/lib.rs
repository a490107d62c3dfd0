//! Python bindings of Nakshi.
use pyo3::prelude::*;

/// The compiled half of the `nakshi` package.
#[pymodule]
mod _core {}
