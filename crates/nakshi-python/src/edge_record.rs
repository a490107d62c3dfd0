//! `EdgeRecord`: the edges of one type of a node as a Python sequence.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use nakshi::property::{EdgeData, EdgeRecord};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

use crate::errors::Failure;
use crate::values::{edge, of_id};

/// The edges of one type of a node, in the order of their times.
#[pyclass(frozen, module = "nakshi._core", name = "EdgeRecord")]
pub struct Record {
    pub(crate) record: EdgeRecord,
    /// The type of its edges.
    #[pyo3(get)]
    pub(crate) edge_type: String,
}

#[pymethods]
impl Record {
    fn __len__(&self) -> usize {
        usize::try_from(self.record.len()).unwrap_or(usize::MAX)
    }

    /// The edge at a place, counted from the end if it is negative; of a slice, a list.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        place: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = place.cast::<PySlice>() {
            let part = slice.indices(isize::try_from(self.record.len())?)?;
            let list = PyList::empty(py);
            for i in 0..part.slicelength {
                // Within the record, as `indices` has it.
                let place = part.start + part.step * isize::try_from(i)?;
                list.append(self.at(py, u64::try_from(place)?)?)?;
            }
            return Ok(list.into_any());
        }
        let place: i64 = place.extract()?;
        let place = if place < 0 { place + i64::try_from(self.record.len())? } else { place };
        match u64::try_from(place) {
            Ok(place) if place < self.record.len() => self.at(py, place),
            _ => Err(PyIndexError::new_err(format!("a record of {} edges", self.record.len()))),
        }
    }

    /// The identity of the edge at a place, by which it can be read, changed and deleted.
    fn edge_id<'py>(&self, py: Python<'py>, place: u64) -> PyResult<Bound<'py, PyAny>> {
        let id = self.record.edge_id(place).map_err(Failure::from)?;
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
        format!("<nakshi.EdgeRecord {:?}: {} edges>", self.edge_type, self.record.len())
    }
}

impl Record {
    /// The edge at a place, as `nakshi.property.EdgeData`.
    fn at<'py>(&self, py: Python<'py>, place: u64) -> PyResult<Bound<'py, PyAny>> {
        let edges = self.record.edges(place..place + 1).map_err(Failure::from)?;
        let gone = || PyIndexError::new_err("a record is shorter than it says");
        edge_data(py, edges.first().ok_or_else(gone)?)
    }
}

fn edge_data<'py>(py: Python<'py>, data: &EdgeData<'_>) -> PyResult<Bound<'py, PyAny>> {
    py.import("nakshi.property")?.getattr("EdgeData")?.call1(edge(py, data)?)
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
}

#[pymethods]
impl RecordIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, edges) = &mut *state;
        if edges.is_empty() {
            let record = &self.record.get().record;
            let count = EDGES.min(record.len().saturating_sub(*next));
            let from = if self.backwards { record.len() - *next - count } else { *next };
            let mut read = record.edges(from..from + count).map_err(Failure::from)?;
            *next += count;
            if self.backwards {
                read.reverse();
            }
            for data in &read {
                edges.push_back(edge_data(py, data)?.unbind());
            }
        }
        Ok(edges.pop_front())
    }
}

/// The record as Python has it.
pub(crate) fn record(record: EdgeRecord) -> Record {
    let edge_type = record.edge_type().to_owned();
    Record { record, edge_type }
}
