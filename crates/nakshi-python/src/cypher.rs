//! Values of queries in Cypher as Python objects, and back; the rows of a query.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use nakshi::engine::CancelToken;
use nakshi::property::Temporal;
use nakshi::query::{
    Answer, Class, Duration, Map, Node, Path, Point, QueryError, Relationship, Time, Value, Zone,
};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyDelta, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyTzInfo,
};
use serde_json::json;

use crate::arrow_stream;
use crate::call::{long_until, raised};
use crate::conditions::value_of;
use crate::errors::{
    BudgetError, ConflictError, CorruptError, DeadlineError, Failure, InternalError,
    ParameterError, StoreError, StoreLockedError, StorePoisonedError, UnknownVertexError,
    UnsupportedError,
};
use crate::temporal::of_temporal;
use crate::values::of_id;

mod exceptions {
    pyo3::import_exception!(nakshi.errors, DeniedError);
    pyo3::import_exception!(nakshi.errors, OverloadedError);
    pyo3::import_exception!(nakshi.errors, QueryError);
    pyo3::import_exception!(nakshi.errors, UnavailableError);
}

/// Most levels of lists and maps in a parameter; deeper ones could exhaust the stack.
const DEPTH: usize = 100;

/// The exception of an error.
pub(crate) fn exception(error: &QueryError) -> PyErr {
    let text = error.to_string();
    match error.class() {
        Class::Cancelled => raised().unwrap_or_else(|| of_query(error, text)),
        Class::Conflict | Class::Moved => ConflictError::new_err(text),
        Class::Deadline => DeadlineError::new_err(text),
        Class::Memory => BudgetError::new_err(text),
        Class::Store => of_store(error.detail(), text),
        Class::EntityNotFound => UnknownVertexError::new_err(text),
        _ => of_query(error, text),
    }
}

fn of_query(error: &QueryError, text: String) -> PyErr {
    let place = error.position().map(|place| (place.line, place.column));
    exceptions::QueryError::new_err((text, error.code(), place))
}

/// The exception of a store or a server, by the name of the kind of error.
fn of_store(kind: &str, text: String) -> PyErr {
    match kind {
        "locked" => StoreLockedError::new_err(text),
        "poisoned" => StorePoisonedError::new_err(text),
        "corrupt" => CorruptError::new_err(text),
        "unavailable" | "moved" => exceptions::UnavailableError::new_err(text),
        "overloaded" => exceptions::OverloadedError::new_err(text),
        "denied" => exceptions::DeniedError::new_err(text),
        "parameter" => ParameterError::new_err(text),
        "unsupported" => UnsupportedError::new_err(text),
        "internal" => InternalError::new_err(text),
        _ => StoreError::new_err(text),
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Failure::Raised(exception(&error))
    }
}

/// Parameters of a query.
pub(crate) fn parameters(given: &Bound<'_, PyDict>) -> PyResult<Map> {
    let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let value = parameter(&value, 0).map_err(|error| about(given.py(), &name, error))?;
        Ok((Arc::from(name), value))
    };
    given.iter().map(one).collect()
}

/// The error of a parameter, which names it.
fn about(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    let text = format!("parameter {name}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(text)
    } else {
        PyValueError::new_err(text)
    }
}

fn parameter(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH {
        return Err(PyValueError::new_err(format!("it has more than {DEPTH} levels")));
    }
    // Scalars of NumPy, and missing values of pandas.
    if let Some(item) = object.getattr_opt("item")?
        && object.hasattr("dtype")?
        && !object.hasattr("__len__")?
    {
        return parameter(&item.call0()?, depth + 1);
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let classes = Classes::of(object.py())?;
        if object.is_instance(classes.loaded.point.bind(object.py()))? {
            return point(object);
        }
        if object.is_instance(classes.loaded.duration.bind(object.py()))? {
            return duration(object);
        }
        let items = object.try_iter()?.map(|item| parameter(&item?, depth + 1));
        return Ok(Value::list(items.collect::<PyResult<_>>()?));
    }
    if let Ok(entries) = object.cast::<PyMapping>() {
        let one = |entry: PyResult<Bound<'_, PyAny>>| {
            let (name, value): (String, Bound<'_, PyAny>) = entry?.extract()?;
            Ok((name, parameter(&value, depth + 1)?))
        };
        let entries = entries.items()?.try_iter()?.map(one).collect::<PyResult<Vec<_>>>()?;
        return Ok(Value::map(entries));
    }
    if let Some(value) = zoned(object)? {
        return Ok(value);
    }
    if object.is_instance_of::<PyInt>() && object.extract::<i64>().is_err() {
        return Err(PyOverflowError::new_err(format!("{object} does not fit 64 bits")));
    }
    if object.hasattr("__array__")? {
        let items = object.call_method0("tolist")?;
        return parameter(&items, depth + 1);
    }
    match value_of(object) {
        Ok(value) => Ok(value.into()),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            let name = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("a query does not take values of type {name}")))
        }
        Err(error) => Err(error),
    }
}

/// A time with a zone.
fn zoned(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let Some(zone) = object.getattr_opt("tzinfo")?.filter(|zone| !zone.is_none()) else {
        return Ok(None);
    };
    let offset = object.call_method0("utcoffset")?;
    if offset.is_none() {
        return Ok(None);
    }
    let wrong = || PyValueError::new_err(format!("{object} has a zone that queries do not have"));
    let seconds: f64 = offset.call_method0("total_seconds")?.extract()?;
    // Lossless where it is compared: offsets are below a day.
    let offset = seconds as i32;
    if f64::from(offset) != seconds {
        return Err(wrong());
    }
    let date_time = object.py().import("datetime")?.getattr("datetime")?;
    let naive = PyDict::new(object.py());
    naive.set_item("tzinfo", object.py().None())?;
    let local = object.call_method("replace", (), Some(&naive))?;
    if !object.is_instance(&date_time)? {
        let time = match Value::from(value_of(&local)?) {
            Value::LocalTime(time) => time,
            _ => return Err(wrong()),
        };
        return Ok(Some(Value::Time(Time { time, offset })));
    }
    let Value::LocalDateTime(local) = Value::from(value_of(&local)?) else { return Err(wrong()) };
    let name = zone.getattr_opt("key")?.and_then(|key| key.extract::<String>().ok());
    let zone = match name.as_deref() {
        Some("UTC") | None => Zone::Offset(offset),
        Some(name) => Zone::of_name(name).ok_or_else(wrong)?,
    };
    let utc = local.checked_sub_signed(chrono::TimeDelta::seconds(offset.into()));
    let at = utc.and_then(|utc| nakshi::query::DateTime::of_utc(utc, zone));
    at.map(|at| Some(Value::DateTime(at))).ok_or_else(wrong)
}

fn point(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let srid = object.getattr("srid")?.extract()?;
    let coordinates: Vec<f64> = object.getattr("coordinates")?.extract()?;
    let fits = match srid {
        4326 | 7203 => coordinates.len() == 2,
        4979 | 9157 => coordinates.len() == 3,
        _ => false,
    };
    if !fits {
        let what = format!(
            "{object} is no point; srid 7203 and 4326 have two coordinates, 9157 and 4979 three"
        );
        return Err(PyValueError::new_err(what));
    }
    Ok(Value::Point(Arc::new(Point { srid, coordinates })))
}

fn duration(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let (months, days, seconds, nanos): (i64, i64, i64, i64) = object.extract()?;
    let seconds = seconds.checked_add(nanos.div_euclid(1_000_000_000));
    let seconds = seconds.ok_or_else(|| PyOverflowError::new_err("its seconds are too many"))?;
    // Lossless: a remainder below 10^9.
    let nanos = nanos.rem_euclid(1_000_000_000) as i32;
    Ok(Value::Duration(Arc::new(Duration { months, days, seconds, nanos })))
}

/// The classes of `nakshi.cypher`.
struct Classes<'py> {
    py: Python<'py>,
    loaded: &'py Loaded,
}

struct Loaded {
    node: Py<PyAny>,
    relationship: Py<PyAny>,
    path: Py<PyAny>,
    point: Py<PyAny>,
    duration: Py<PyAny>,
}

static LOADED: PyOnceLock<Loaded> = PyOnceLock::new();

impl<'py> Classes<'py> {
    fn of(py: Python<'py>) -> PyResult<Self> {
        let load = || -> PyResult<Loaded> {
            let module = py.import("nakshi.cypher")?;
            let class = |name: &str| Ok::<_, PyErr>(module.getattr(name)?.unbind());
            Ok(Loaded {
                node: class("Node")?,
                relationship: class("Relationship")?,
                path: class("Path")?,
                point: class("Point")?,
                duration: class("Duration")?,
            })
        };
        Ok(Classes { py, loaded: LOADED.get_or_try_init(py, load)? })
    }

    /// The object for a value. Times that Python cannot have exactly are texts.
    fn object(&self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match value {
            Value::Null => py.None().into_bound(py),
            Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Value::Int(value) => value.into_pyobject(py)?.into_any(),
            Value::Float(value) => PyFloat::new(py, *value).into_any(),
            Value::String(text) => PyString::new(py, text).into_any(),
            Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Value::List(items) => self.list(items.iter().map(|item| self.object(item)))?.into_any(),
            Value::Map(entries) => self.map(entries)?.into_any(),
            Value::Node(node) => self.node(node)?,
            Value::Relationship(edge) => self.relationship(edge)?,
            Value::Path(path) => self.path(path)?,
            Value::Duration(parts) => {
                let Duration { months, days, seconds, nanos } = **parts;
                self.loaded.duration.bind(py).call1((months, days, seconds, nanos))?
            }
            Value::Point(point) => {
                let coordinates = PyTuple::new(py, &point.coordinates)?;
                self.loaded.point.bind(py).call1((point.srid, coordinates))?
            }
            time => match self.time(time)? {
                Some(object) => object,
                None => PyString::new(py, &time.to_string()).into_any(),
            },
        })
    }

    fn list(
        &self,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, items.collect::<PyResult<Vec<_>>>()?)
    }

    fn map(&self, map: &Map) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        for (name, value) in map {
            dict.set_item(&**name, self.object(value)?)?;
        }
        Ok(dict)
    }

    fn node(&self, node: &Node) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let id = match node.external_id() {
            Some(id) => of_id(py, id)?,
            None => PyString::new(py, node.element_id()).into_any(),
        };
        let labels = PyTuple::new(py, node.labels().iter().map(|label| &**label))?;
        self.loaded.node.bind(py).call1((id, labels, self.map(node.properties())?))
    }

    fn relationship(&self, edge: &Relationship) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let text = |text: &str| PyString::new(py, text).into_any();
        let (source, destination) = match edge.external_ends() {
            Some([source, destination]) => (of_id(py, source)?, of_id(py, destination)?),
            None => (text(edge.start().1), text(edge.end().1)),
        };
        let properties = self.map(edge.properties())?;
        let parts = (source, edge.edge_type(), destination, properties, edge.element_id());
        self.loaded.relationship.bind(py).call1(parts)
    }

    fn path(&self, path: &Path) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let nodes = path.nodes.iter().map(|node| self.node(node));
        let nodes = PyTuple::new(py, nodes.collect::<PyResult<Vec<_>>>()?)?;
        let edges = path.edges.iter().map(|edge| self.relationship(edge));
        let edges = PyTuple::new(py, edges.collect::<PyResult<Vec<_>>>()?)?;
        self.loaded.path.bind(py).call1((nodes, edges))
    }

    /// The object of a date or a time; `None` for one that Python cannot have exactly.
    fn time(&self, value: &Value) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        let made = match value {
            Value::Date(date) if has_year(*date) => date_of(py, *date)?,
            Value::LocalTime(time) if is_whole(*time) => time_of(py, *time)?,
            Value::Time(Time { time, offset }) if is_whole(*time) => {
                self.with_zone(&time_of(py, *time)?, &self.offset(*offset)?)?
            }
            Value::LocalDateTime(at) if is_exact(*at) => date_time_of(py, *at)?,
            Value::DateTime(at) if is_exact(at.utc()) && is_exact(at.local()) => {
                let utc = date_time_of(py, at.utc())?;
                let utc = self.with_zone(&utc, &PyTzInfo::utc(py)?.to_owned().into_any())?;
                let zone = match at.zone() {
                    Zone::Offset(seconds) => self.offset(seconds)?,
                    Zone::Named(zone) => {
                        py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone.name(),))?
                    }
                };
                utc.call_method1("astimezone", (zone,))?
            }
            _ => return Ok(None),
        };
        Ok(Some(made))
    }

    fn offset(&self, seconds: i32) -> PyResult<Bound<'py, PyAny>> {
        let delta = PyDelta::new(self.py, 0, seconds, 0, true)?;
        self.py.import("datetime")?.getattr("timezone")?.call1((delta,))
    }

    fn with_zone(
        &self,
        time: &Bound<'py, PyAny>,
        zone: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = PyDict::new(self.py);
        named.set_item("tzinfo", zone)?;
        time.call_method("replace", (), Some(&named))
    }
}

/// Returns true for a year that Python has.
fn has_year(date: NaiveDate) -> bool {
    (1..=9999).contains(&date.year())
}

/// Returns true for a time of whole microseconds.
fn is_whole(time: NaiveTime) -> bool {
    time.nanosecond().is_multiple_of(1000)
}

fn is_exact(at: NaiveDateTime) -> bool {
    has_year(at.date()) && is_whole(at.time())
}

fn date_of(py: Python<'_>, date: NaiveDate) -> PyResult<Bound<'_, PyAny>> {
    of_temporal(py, Temporal::Date, date.to_epoch_days().into())
}

fn time_of(py: Python<'_>, time: NaiveTime) -> PyResult<Bound<'_, PyAny>> {
    let micros = i64::from(time.num_seconds_from_midnight()) * 1_000_000;
    of_temporal(py, Temporal::Time, micros + i64::from(time.nanosecond() / 1000))
}

fn date_time_of(py: Python<'_>, at: NaiveDateTime) -> PyResult<Bound<'_, PyAny>> {
    of_temporal(py, Temporal::LocalDateTime, at.and_utc().timestamp_micros())
}

/// The rows of a query, which runs as they are taken.
#[pyclass(frozen, name = "QueryRows", module = "nakshi._core")]
pub struct QueryRows {
    answer: Mutex<Box<dyn Answer>>,
    columns: Vec<String>,
    /// Cancels a query that runs in a thread of its own, as one that calls procedures does.
    long: Option<CancelToken>,
}

impl QueryRows {
    pub(crate) fn new(answer: Box<dyn Answer>, long: Option<CancelToken>) -> Self {
        let columns = answer.columns().iter().map(ToString::to_string).collect();
        QueryRows { answer: Mutex::new(answer), columns, long }
    }

    /// Does something with the rows, without the interpreter lock, so that Ctrl-C ends it.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Answer) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let work = || work(&mut **self.answer.lock().unwrap_or_else(PoisonError::into_inner));
        match &self.long {
            Some(cancel) => long_until(py, None, cancel.clone(), |_| work()),
            None => Ok(py.detach(work)?),
        }
    }
}

#[pymethods]
impl QueryRows {
    /// Names of the columns.
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// The next rows, at most `most`; none behind the last. Also returns true if there are no more.
    #[pyo3(signature = (most) -> "tuple[list[tuple[object, ...]], bool]")]
    fn next<'py>(
        &self,
        py: Python<'py>,
        most: usize,
    ) -> PyResult<(Vec<Bound<'py, PyTuple>>, bool)> {
        let (rows, ended) = self.with(py, |answer| Ok((answer.next(most)?, answer.has_ended())))?;
        let classes = Classes::of(py)?;
        let row = |row: &Vec<Value>| {
            let values = row.iter().map(|value| classes.object(value));
            PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
        };
        Ok((rows.iter().map(row).collect::<PyResult<_>>()?, ended))
    }

    /// All rows that are left, as an Arrow C stream.
    #[pyo3(signature = () -> "object")]
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.with(py, |answer| Ok(nakshi::rows::Rows::read(answer)?))?;
        Ok(arrow_stream::export(py, Box::new(table))?.into_any())
    }

    /// Writes all rows that are left to a file, or to standard output; returns their number.
    fn write(
        &self,
        py: Python<'_>,
        path: std::path::PathBuf,
        format: Option<String>,
    ) -> PyResult<u64> {
        let format = format.map(|name| serde_json::from_value(name.into())).transpose();
        let format = format.map_err(Failure::from)?;
        let cancel = self.long.clone().unwrap_or_default();
        self.with(py, |answer| {
            let written = nakshi::rows::write(answer, &path, format, &cancel);
            written.map_err(|error| match error {
                nakshi::Error::Query(error) => error.into(),
                other => other.into(),
            })
        })
    }

    /// Type, plan and counts of changes, as JSON; the counts are complete when all rows are taken.
    fn summary(&self) -> String {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = answer.summary();
        json!({
            "type": summary.query_type.letters(),
            "plan": summary.plan,
            "counters": summary.counters.named().into_iter().collect::<BTreeMap<_, _>>(),
        })
        .to_string()
    }
}
