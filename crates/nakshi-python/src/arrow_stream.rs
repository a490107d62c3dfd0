//! The Arrow C stream interface: tables as input, results as output.
#![allow(unsafe_code)]

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A stream of record batches that may move to the thread that consumes it.
pub type BatchStream = Box<dyn RecordBatchReader + Send>;

/// Takes the stream of any object with `__arrow_c_stream__`.
///
/// # Errors
/// `TypeError` if the object has no such method or gives anything but a table's stream.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<BatchStream> {
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name says that the capsule holds an ArrowArrayStream, so the pointer is valid,
    // aligned and initialised while `capsule` lives; the stream is moved out and an empty one left
    // behind, which is how the interface passes ownership to exactly one consumer.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let reader = ArrowArrayStreamReader::try_new(stream)
        .map_err(|error| PyTypeError::new_err(format!("not an Arrow table: {error}")))?;
    Ok(Box::new(reader))
}

/// Wraps a reader in the capsule that `__arrow_c_stream__` returns.
///
/// # Errors
/// Python is out of memory.
pub fn export<'py>(py: Python<'py>, reader: BatchStream) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}
