//! The compiled half of the `nakshi` Python package: wrappers without logic.
//!
//! - [`arrow_stream`], [`arrays`]: tables and NumPy arrays, in and out.
use pyo3::prelude::*;

mod arrays;
mod arrow_stream;

/// The compiled half of the `nakshi` package.
#[pymodule]
mod _core {}
