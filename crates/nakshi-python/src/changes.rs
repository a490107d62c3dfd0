//! Changes of a graph with properties, as Python has them.

use nakshi::property::{Change, EdgeId, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::conditions::value_of;
use crate::values::id_of;

/// Changes, each a tuple that begins with its name.
pub fn changes_of(changes: &[Bound<'_, PyTuple>]) -> PyResult<Vec<Change>> {
    changes.iter().map(change).collect()
}

fn properties(object: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract::<String>()?, value_of(&value)?))
    };
    object.iter().map(one).collect()
}

fn change(object: &Bound<'_, PyTuple>) -> PyResult<Change> {
    let id = |place| id_of(&object.get_item(place)?);
    let text = |place| object.get_item(place)?.extract::<String>();
    let values = |place| properties(object.get_item(place)?.cast::<PyDict>()?);
    let edge_id = || -> PyResult<EdgeId> {
        let number = object.get_item(4)?.extract()?;
        Ok(EdgeId { source: id(1)?, edge_type: text(2)?, destination: id(3)?, number })
    };
    Ok(match text(0)?.as_str() {
        "append_node" => Change::AppendNode { id: id(1)?, properties: values(2)? },
        "update_node" => Change::UpdateNode {
            id: id(1)?,
            properties: values(2)?,
            merge: object.get_item(3)?.is_truthy()?,
        },
        "delete_node" => Change::DeleteNode { id: id(1)? },
        "append_edge" => Change::AppendEdge {
            source: id(1)?,
            edge_type: text(2)?,
            destination: id(3)?,
            timestamp: object.get_item(4)?.extract()?,
            properties: values(5)?,
        },
        "delete_edge" => {
            Change::DeleteEdge { source: id(1)?, edge_type: text(2)?, destination: id(3)? }
        }
        "change_type" => Change::ChangeType {
            source: id(1)?,
            edge_type: text(2)?,
            destination: id(3)?,
            new_type: text(4)?,
        },
        "create_edge" => Change::CreateEdge {
            edge: edge_id()?,
            timestamp: object.get_item(5)?.extract()?,
            properties: values(6)?,
        },
        "update_edge" => Change::UpdateEdge {
            edge: edge_id()?,
            properties: values(5)?,
            merge: object.get_item(6)?.is_truthy()?,
        },
        "remove_edge" => Change::RemoveEdge { edge: edge_id()? },
        "change_labels" => Change::ChangeLabels {
            id: id(1)?,
            add: object.get_item(2)?.extract()?,
            remove: object.get_item(3)?.extract()?,
        },
        "set_inverse" => Change::SetInverse { edge_type: text(1)?, inverse: text(2)? },
        other => return Err(PyTypeError::new_err(format!("there is no change '{other}'"))),
    })
}
