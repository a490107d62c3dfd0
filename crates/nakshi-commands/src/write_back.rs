//! Results as properties: the values of a result are written to a store, batch by batch.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field};
use nakshi_engine::CancelToken;
use nakshi_property::{Change, PropertyStore, Value};
use nakshi_store::ExternalId;

use crate::names::id_at;
use crate::table::{Table, TableReader};
use crate::{Error, Result};

/// Makes the values of a column a property of the nodes that its rows name. Rows without a value, and
/// numbers that are not finite, are left out; integers of a column that lacks some become floats. Returns
/// the number of nodes that got a value.
///
/// Only a batch of rows and the commit that is being made are in memory, beside the changes that the
/// store keeps until it is compacted: see [`PropertyStore::commit_all`].
///
/// # Errors
/// [`nakshi_store::Error::NoNode`], [`nakshi_store::Error::Invalid`] for values of another type than the property's;
/// errors of writing; cancellation. Commits that were made before the error stay.
pub fn write_back(
    store: &PropertyStore,
    table: &Arc<Table>,
    column: usize,
    property: &str,
    cancel: &CancelToken,
) -> Result<u64> {
    let (mut written, failed) = (0, Cell::new(None));
    let failure = |error: Error| {
        // The caller gets `failed`; this error only ends the commit.
        failed.set(Some(error));
        nakshi_store::Error::Internal("a table cannot be read")
    };
    let changes = changes(table, column, property)?.map(|change| change.map_err(failure));
    let changes = changes.inspect(|change| written += u64::from(change.is_ok()));
    let done = store.commit_all(changes, cancel);
    failed.into_inner().map_or(Ok(()), Err)?;
    done?;
    Ok(written)
}

/// The changes of [`write_back`], each of one node.
///
/// # Errors
/// [`nakshi_store::Error::Invalid`] for a table without the column; those of single rows stand in their places.
pub fn changes(
    table: &Arc<Table>,
    column: usize,
    property: &str,
) -> Result<impl Iterator<Item = Result<Change>>> {
    let vertices = table.vertex_columns().get(column).copied().unwrap_or_default();
    let schema = table.schema();
    let [Some(ids), Some(values)] = [0, column].map(|part| schema.fields().get(part).cloned())
    else {
        return Err(nakshi_store::Error::Invalid("a result without values".into()).into());
    };
    let property = property.to_owned();
    let read = move |batch: &RecordBatch, row: usize| {
        let array = batch.column(1);
        let value = match vertices && !array.is_null(row) {
            true => of_vertex(id_at(&values, array, row)?)?,
            false => number(&values, array, row)?,
        };
        let Some(value) = value else { return Ok(None) };
        let properties = vec![(property.clone(), value)];
        let id = id_at(&ids, batch.column(0), row)?;
        Ok(Some(Change::UpdateNode { id, properties, merge: true }))
    };
    Ok(rows(table.reader(Some(&[0, column]))).filter_map(move |row| {
        row.map_err(Error::from).and_then(|(batch, row)| read(&batch, row)).transpose()
    }))
}

/// The rows of a table one by one: a batch, and the number of a row in it.
fn rows(
    batches: TableReader,
) -> impl Iterator<Item = Result<(Arc<RecordBatch>, usize), ArrowError>> {
    batches.flat_map(|batch| {
        let (batch, error) = match batch {
            Ok(batch) => (Some(Arc::new(batch)), None),
            Err(error) => (None, Some(Err(error))),
        };
        let each = |batch: Arc<RecordBatch>| {
            (0..batch.num_rows()).map(move |row| Ok((Arc::clone(&batch), row)))
        };
        error.into_iter().chain(batch.into_iter().flat_map(each))
    })
}

/// The number of a row; `None` if it is missing or not finite.
fn number(field: &Field, array: &ArrayRef, row: usize) -> Result<Option<Value>> {
    if array.is_null(row) {
        return Ok(None);
    }
    // NumPy gets the column in the same way: where some integers are missing, all are floats.
    let whole = |value: i64| match field.is_nullable() {
        true => Value::Float(value as f64),
        false => Value::Int(value),
    };
    Ok(Some(match array.data_type() {
        DataType::UInt32 => whole(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::Int64 => whole(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            match field.is_nullable() {
                true => Value::Float(value as f64),
                false => Value::Int(i64::try_from(value).map_err(|_| wide(value))?),
            }
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            return Ok(value.is_finite().then_some(Value::Float(value)));
        }
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        other => {
            return Err(
                nakshi_store::Error::Unsupported(format!("properties of type {other}")).into()
            );
        }
    }))
}

/// A vertex as a value.
fn of_vertex(id: ExternalId) -> Result<Option<Value>> {
    Ok(Some(match id {
        ExternalId::I64(id) => Value::Int(id),
        ExternalId::Text(id) => Value::String(id),
        ExternalId::Bytes(id) => Value::Bytes(id),
        ExternalId::U64(id) => return Err(wide(id).into()),
        ExternalId::Big(id) => return Err(wide(id).into()),
    }))
}

fn wide(value: impl std::fmt::Display) -> nakshi_store::Error {
    nakshi_store::Error::Invalid(format!(
        "{value} does not fit the 64 bits of a property of integers"
    ))
}
