//! `EdgeRecord`: the edges of one type of a node as a Python sequence.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use nakshi::property::{EdgeId, EdgeRecord};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

use crate::errors::Failure;
#[cfg(feature = "server")]
use crate::on_server::RecordOnServer;
use crate::values::{Edge, edges, of_id};

/// The edges of one type of a node, in the order of their times.
#[pyclass(frozen, module = "nakshi._core", name = "EdgeRecord")]
pub struct Record(RecordSource);

enum RecordSource {
    Store(EdgeRecord),
    #[cfg(feature = "server")]
    Server(RecordOnServer),
}

impl Record {
    /// A record of a store of this process.
    pub(crate) fn local(record: EdgeRecord) -> Self {
        Record(RecordSource::Store(record))
    }

    /// A record of a server.
    #[cfg(feature = "server")]
    pub(crate) fn remote(record: RecordOnServer) -> Self {
        Record(RecordSource::Server(record))
    }

    /// The record of a store of this process.
    pub(crate) fn of_store(&self) -> PyResult<&EdgeRecord> {
        match &self.0 {
            RecordSource::Store(record) => Ok(record),
            #[cfg(feature = "server")]
            RecordSource::Server(_) => Err(other_graph()),
        }
    }

    /// The record of a server.
    #[cfg(feature = "server")]
    pub(crate) fn of_server(&self) -> PyResult<&RecordOnServer> {
        match &self.0 {
            RecordSource::Server(record) => Ok(record),
            RecordSource::Store(_) => Err(other_graph()),
        }
    }

    fn len(&self) -> u64 {
        match &self.0 {
            RecordSource::Store(record) => record.len(),
            #[cfg(feature = "server")]
            RecordSource::Server(record) => record.record.len,
        }
    }

    /// Destination, time and properties of the edges at these places.
    fn read<'py>(&self, py: Python<'py>, places: Range<u64>) -> PyResult<Vec<Edge<'py>>> {
        match &self.0 {
            RecordSource::Store(record) => edges(py, &record.edges(places).map_err(Failure::from)?),
            #[cfg(feature = "server")]
            RecordSource::Server(record) => record.read(py, places),
        }
    }

    fn id_at(&self, py: Python<'_>, place: u64) -> PyResult<EdgeId> {
        match &self.0 {
            RecordSource::Store(record) => {
                let _ = py;
                Ok(record.edge_id(place).map_err(Failure::from)?)
            }
            #[cfg(feature = "server")]
            RecordSource::Server(record) => record.edge_id(py, place),
        }
    }

    /// The edges at these places, as `nakshi.property.EdgeData`.
    fn edge_data<'py>(
        &self,
        py: Python<'py>,
        places: Range<u64>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let made = py.import("nakshi.property")?.getattr("EdgeData")?;
        self.read(py, places)?.into_iter().map(|edge| made.call1(edge)).collect()
    }

    fn at<'py>(&self, py: Python<'py>, place: u64) -> PyResult<Bound<'py, PyAny>> {
        let gone = || PyIndexError::new_err("a record is shorter than it says");
        self.edge_data(py, place..place + 1)?.pop().ok_or_else(gone)
    }
}

#[cfg(feature = "server")]
fn other_graph() -> PyErr {
    pyo3::exceptions::PyTypeError::new_err(
        "the edge record is of another graph; read it from this one",
    )
}

#[pymethods]
impl Record {
    /// The type of its edges.
    #[getter]
    fn edge_type(&self) -> &str {
        match &self.0 {
            RecordSource::Store(record) => record.edge_type(),
            #[cfg(feature = "server")]
            RecordSource::Server(record) => &record.record.edge_type,
        }
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.len()).unwrap_or(usize::MAX)
    }

    /// The edge at a place, counted from the end if it is negative; of a slice, a list.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        place: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = place.cast::<PySlice>() {
            let part = slice.indices(isize::try_from(self.len())?)?;
            if part.step == 1 {
                let begin = u64::try_from(part.start)?;
                let edges = self.edge_data(py, begin..begin + part.slicelength as u64)?;
                return Ok(PyList::new(py, edges)?.into_any());
            }
            let list = PyList::empty(py);
            for i in 0..part.slicelength {
                // Within the record, as `indices` has it.
                let place = part.start + part.step * isize::try_from(i)?;
                list.append(self.at(py, u64::try_from(place)?)?)?;
            }
            return Ok(list.into_any());
        }
        let place: i64 = place.extract()?;
        let place = if place < 0 { place + i64::try_from(self.len())? } else { place };
        match u64::try_from(place) {
            Ok(place) if place < self.len() => self.at(py, place),
            _ => Err(PyIndexError::new_err(format!("a record of {} edges", self.len()))),
        }
    }

    /// The identity of the edge at a place, by which it can be read, changed and deleted.
    fn edge_id<'py>(&self, py: Python<'py>, place: u64) -> PyResult<Bound<'py, PyAny>> {
        let id = self.id_at(py, place)?;
        let (source, destination) = (of_id(py, &id.source)?, of_id(py, &id.destination)?);
        let told = (source, id.edge_type, destination, id.number);
        py.import("nakshi.property")?.getattr("EdgeId")?.call1(told)
    }

    /// The edges, oldest first.
    fn __iter__(slf: Bound<'_, Self>) -> RecordIterator {
        RecordIterator::new(slf, false)
    }

    /// The edges, newest first.
    fn __reversed__(slf: Bound<'_, Self>) -> RecordIterator {
        RecordIterator::new(slf, true)
    }

    fn __repr__(&self) -> String {
        format!("<nakshi.EdgeRecord {:?}: {} edges>", self.edge_type(), self.len())
    }
}

/// Goes through the edges of a record, oldest or newest first.
#[pyclass(frozen, module = "nakshi._core", name = "EdgeRecordIterator")]
pub struct RecordIterator {
    record: Py<Record>,
    backwards: bool,
    /// How many edges were read, and edges that were read. Locked for moments only, with the
    /// interpreter held.
    state: Mutex<(u64, VecDeque<Py<PyAny>>)>,
}

/// Edges of a record that are read at once.
const EDGES: u64 = 256;

impl RecordIterator {
    fn new(record: Bound<'_, Record>, backwards: bool) -> Self {
        RecordIterator { record: record.unbind(), backwards, state: Mutex::default() }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, (u64, VecDeque<Py<PyAny>>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RecordIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let record = self.record.get();
        loop {
            let next = {
                let mut state = self.held();
                if let Some(edge) = state.1.pop_front() {
                    return Ok(Some(edge));
                }
                state.0
            };
            if next >= record.len() {
                return Ok(None);
            }
            // The lock is not held here: a read from a server lets other threads of Python run.
            let count = EDGES.min(record.len() - next);
            let from = if self.backwards { record.len() - next - count } else { next };
            let mut read = record.edge_data(py, from..from + count)?;
            if self.backwards {
                read.reverse();
            }
            let mut state = self.held();
            // Another thread may have read the same edges meanwhile.
            if state.0 == next {
                state.0 += count;
                state.1.extend(read.into_iter().map(Bound::unbind));
            }
        }
    }
}
