//! `Outcome`: the result of an algorithm, for `nakshi.Result`.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use nakshi::analysis::{self, Answer};
use nakshi::table::Table;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use serde_json::{Map, Value};

use crate::arrow_stream::BatchStream;
use crate::call::long;
use crate::errors::Failure;
use crate::values::json;
use crate::{arrays, arrow_stream};

/// The outcome of a run. Columns are converted only when they are asked for.
#[pyclass(frozen, module = "nakshi._core")]
pub struct Outcome {
    algorithm: String,
    table: Option<Arc<Table>>,
    summary: Map<String, Value>,
    stats: Stats,
}

/// Statistics of a run, here or on a server.
enum Stats {
    Here(Box<analysis::Stats>),
    /// As JSON.
    #[cfg(feature = "server")]
    Told(String),
}

/// The JSON object of [`nakshi::server::Ran`].
#[cfg(feature = "server")]
#[derive(serde::Deserialize)]
struct Told {
    summary: Map<String, Value>,
    stats: Value,
    vertices: Vec<bool>,
}

impl Outcome {
    pub fn new(algorithm: String, answer: Answer) -> Self {
        let Answer { table, summary, stats } = answer;
        Self { algorithm, table, summary, stats: Stats::Here(Box::new(stats)) }
    }

    /// The outcome of a run on a server.
    #[cfg(feature = "server")]
    pub fn of_server(algorithm: String, ran: &nakshi::server::Ran) -> Result<Self, Failure> {
        let Told { summary, stats, vertices } = serde_json::from_str(&ran.outcome)?;
        let some = !ran.rows.is_empty();
        let table = some.then(|| Table::of_stream(&ran.rows, &vertices)).transpose()?;
        let stats = Stats::Told(stats.to_string());
        Ok(Self { algorithm, table: table.map(Arc::new), summary, stats })
    }

    /// The table, and the place of a column in it.
    pub(crate) fn column(&self, name: &str) -> PyResult<(Arc<Table>, usize)> {
        let table = Arc::clone(self.table()?);
        let column = table.schema().index_of(name);
        let column = column.map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok((table, column))
    }

    pub(crate) fn table(&self) -> PyResult<&Arc<Table>> {
        self.table.as_ref().ok_or_else(|| PyValueError::new_err("there is no table"))
    }
}

#[pymethods]
impl Outcome {
    /// Name of the algorithm.
    #[getter]
    fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.rows())
    }

    /// Name of each column, whether it holds vertices, and whether values can be missing.
    fn columns(&self) -> Vec<(String, bool, bool)> {
        let Some(table) = &self.table else { return Vec::new() };
        let schema = table.schema();
        let fields = schema.fields().iter().zip(table.vertex_columns());
        fields.map(|(field, vertex)| (field.name().clone(), vertex, field.is_nullable())).collect()
    }

    /// Results for the whole graph as JSON.
    fn summary(&self) -> PyResult<String> {
        json(&self.summary)
    }

    /// Statistics of the run as JSON.
    fn stats(&self) -> PyResult<String> {
        match &self.stats {
            Stats::Here(stats) => json(stats),
            #[cfg(feature = "server")]
            Stats::Told(stats) => Ok(stats.clone()),
        }
    }

    /// A column as an array, and a mask that is true where a value is missing, if values can be
    /// missing.
    fn numpy<'py>(&self, py: Python<'py>, name: &str) -> PyResult<crate::arrays::Masked<'py>> {
        let table = self.table()?;
        let column =
            table.schema().index_of(name).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let rows = usize::try_from(table.rows())?;
        arrays::export(py, Box::new(table.reader(Some(&[column]))), rows)
    }

    /// Column names of `top` and its rows.
    #[pyo3(signature = (count) -> "tuple[list[str], list[tuple[object, ...]]]")]
    fn top<'py>(
        &self,
        py: Python<'py>,
        count: usize,
    ) -> PyResult<(Vec<String>, Vec<Bound<'py, PyTuple>>)> {
        let batch = self.table()?.top(count).map_err(Failure::from)?;
        let names = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        let rows =
            (0..batch.num_rows()).map(|row| cells(py, &batch, row)).collect::<PyResult<_>>()?;
        Ok((names, rows))
    }

    /// Writes all rows to a file, or to standard output; the format, or else the ending, says how.
    #[pyo3(signature = (path, *, format = None, progress = None))]
    fn write(
        &self,
        py: Python<'_>,
        path: std::path::PathBuf,
        format: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let table = self.table()?.clone();
        let format = format.map(|name| serde_json::from_value(name.into())).transpose();
        let format = format.map_err(Failure::from)?;
        long(py, progress, |call| Ok(nakshi::files::write(&table, &path, format, &call.cancel)?))
    }

    /// All columns as an Arrow C stream.
    #[pyo3(signature = () -> "object")]
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches: BatchStream = Box::new(self.table()?.reader(None));
        arrow_stream::export(py, batches)
    }
}

fn cells<'py>(py: Python<'py>, batch: &RecordBatch, row: usize) -> PyResult<Bound<'py, PyTuple>> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let cells: Vec<_> = columns
        .map(|(field, column)| arrays::object(py, field, column as &dyn Array, row))
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, cells)
}
