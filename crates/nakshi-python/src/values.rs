//! Ids, values and edges as Python objects, and back.

use nakshi::property::{EdgeData, IncomingEdge, Value};
use nakshi::store::ExternalId;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::Failure;
use crate::temporal::{of_temporal, of_timestamp};

/// A report as JSON.
pub(crate) fn json(report: &impl Serialize) -> PyResult<String> {
    Ok(serde_json::to_string(report).map_err(Failure::from)?)
}

/// Parses a JSON text.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    Ok(serde_json::from_str(text).map_err(Failure::from)?)
}

pub(crate) fn id_of(object: &Bound<'_, PyAny>) -> PyResult<ExternalId> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(ExternalId::Text(text.to_str()?.to_owned()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(ExternalId::Bytes(bytes.as_bytes().to_vec()));
    }
    if object.is_instance_of::<PyBool>() || !object.hasattr("__index__")? {
        let name = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("an id is int, str or bytes, not {name}")));
    }
    let number = object.call_method0("__index__")?;
    match number.extract::<i64>() {
        Ok(id) => Ok(ExternalId::I64(id)),
        Err(_) => Ok(ExternalId::Big(number.str()?.to_str()?.to_owned())),
    }
}

pub(crate) fn of_id<'py>(py: Python<'py>, id: &ExternalId) -> PyResult<Bound<'py, PyAny>> {
    Ok(match id {
        ExternalId::U64(id) => id.into_pyobject(py)?.into_any(),
        ExternalId::I64(id) => id.into_pyobject(py)?.into_any(),
        ExternalId::Big(id) => py.get_type::<PyInt>().call1((id,))?,
        ExternalId::Text(id) => PyString::new(py, id).into_any(),
        ExternalId::Bytes(id) => PyBytes::new(py, id).into_any(),
    })
}

pub(crate) fn ids<'py>(py: Python<'py>, ids: &[ExternalId]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    ids.iter().try_for_each(|id| list.append(of_id(py, id)?))?;
    Ok(list)
}

/// Ids and their distances, in a dictionary that keeps their order.
pub(crate) fn distances<'py>(
    py: Python<'py>,
    found: &[(ExternalId, u32)],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    found.iter().try_for_each(|(id, distance)| dict.set_item(of_id(py, id)?, distance))?;
    Ok(dict)
}

pub(crate) fn of_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Int(v) => v.into_pyobject(py)?.into_any(),
        Value::Timestamp(v) => of_timestamp(py, *v)?,
        Value::Temporal(kind, v) => of_temporal(py, *kind, *v)?,
        Value::Float(v) => PyFloat::new(py, *v).into_any(),
        Value::Bool(v) => PyBool::new(py, *v).to_owned().into_any(),
        Value::List(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(of_value(py, item)?))?;
            list.into_any()
        }
    })
}

pub(crate) fn dict<'py>(
    py: Python<'py>,
    values: &[(impl AsRef<str>, Value)],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name.as_ref(), of_value(py, value)?)?;
    }
    Ok(dict)
}

/// Source, type, time and properties of an edge.
pub(crate) type Incoming<'py> = (Bound<'py, PyAny>, String, i64, Bound<'py, PyDict>);

/// Destination, time and properties of an edge.
pub(crate) type Edge<'py> = (Bound<'py, PyAny>, i64, Bound<'py, PyDict>);

pub(crate) fn edge<'py>(py: Python<'py>, data: &EdgeData<'_>) -> PyResult<Edge<'py>> {
    Ok((of_id(py, &data.destination)?, data.timestamp, dict(py, &data.properties)?))
}

/// Names as queries take them.
pub(crate) fn borrowed_names(names: Option<&Vec<String>>) -> Option<Vec<&str>> {
    names.map(|names| names.iter().map(String::as_str).collect())
}

/// The edges that lead to a node.
pub(crate) fn incoming<'py>(
    py: Python<'py>,
    found: Vec<IncomingEdge>,
) -> PyResult<Vec<Incoming<'py>>> {
    let one = |edge: IncomingEdge| {
        let source = of_id(py, &edge.source)?;
        Ok((source, edge.edge_type, edge.timestamp, dict(py, &edge.properties)?))
    };
    found.into_iter().map(one).collect()
}

/// Values with their counts.
pub(crate) fn told_counts<'py>(
    py: Python<'py>,
    counts: &[(Value, u64)],
) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
    counts.iter().map(|(value, count)| Ok((of_value(py, value)?, *count))).collect()
}

pub(crate) fn edges<'py>(py: Python<'py>, found: &[EdgeData<'_>]) -> PyResult<Vec<Edge<'py>>> {
    found.iter().map(|data| edge(py, data)).collect()
}
