//! Columns of Arrow as the few types that properties have.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float64Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};

use super::super::temporal::Temporal;
use super::super::value::Value;
use super::cell::Cell;
use nakshi_store::cast::cast;

/// The batch with columns of few types.
///
/// # Errors
/// The name of a column that holds no property type, or values that cannot be kept.
pub(super) fn plain(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let schema = batch.schema_ref();
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, column) in std::iter::zip(schema.fields(), batch.columns()) {
        let column = plain_array(column);
        columns.push(column.map_err(|what| format!("column '{}' {what}", field.name()))?);
    }
    let named = std::iter::zip(schema.fields(), columns);
    let named = named.map(|(field, column)| (field.name().clone(), column, true));
    RecordBatch::try_from_iter_with_nullable(named).map_err(|error| error.to_string())
}

/// What is not kept of the types of a table, a sentence each.
pub(super) fn notes(table: &str, schema: &Schema) -> Vec<String> {
    let zone = |field: &Arc<Field>| match field.data_type() {
        DataType::Timestamp(_, Some(zone)) if !is_utc(zone) => Some(format!(
            "{table}: column '{}' is in the time zone {zone}, which is not kept; its instants are, in \
             UTC",
            field.name()
        )),
        _ => None,
    };
    schema.fields().iter().filter_map(zone).collect()
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC" | "Z" | "+00:00" | "+00")
}

fn plain_array(array: &ArrayRef) -> Result<ArrayRef, String> {
    use DataType as Ty;
    let to = match array.data_type() {
        Ty::Null => return Ok(Arc::clone(array)),
        Ty::Utf8 | Ty::LargeUtf8 | Ty::Utf8View => Ty::LargeUtf8,
        Ty::Binary | Ty::LargeBinary | Ty::BinaryView | Ty::FixedSizeBinary(_) => Ty::LargeBinary,
        Ty::Boolean => Ty::Boolean,
        Ty::Float16 | Ty::Float32 | Ty::Float64 => Ty::Float64,
        ty if ty.is_integer() => Ty::Int64,
        Ty::Date32 | Ty::Date64 | Ty::Timestamp(..) => return times(array),
        Ty::Time32(_) | Ty::Time64(_) | Ty::Duration(_) => return times(array),
        Ty::Dictionary(_, of) => of.as_ref().clone(),
        Ty::List(of) | Ty::LargeList(of) => Ty::LargeList(Arc::clone(of)),
        other => return Err(format!("holds {other}, which is no property type")),
    };
    let cast = cast(array, &to).map_err(|error| error.to_string())?;
    if matches!(array.data_type(), Ty::Dictionary(..)) { plain_array(&cast) } else { Ok(cast) }
}

/// Dates in days, times of milliseconds as they are, all others in microseconds.
///
/// # Errors
/// A time that the unit cannot hold, or has more digits than it.
fn times(array: &ArrayRef) -> Result<ArrayRef, String> {
    use DataType as Ty;
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Ok(match array.data_type() {
        Ty::Date64 => {
            let day = |time: i64| {
                let days = i32::try_from(time.div_euclid(86_400_000)).ok();
                days.filter(|_| time % 86_400_000 == 0)
            };
            Arc::new(scaled::<Date64Type, Date32Type>(array, day)?)
        }
        // Milliseconds stay, so that those of a timestamp fit whatever they are.
        Ty::Timestamp(Second, zone) => {
            let found = scaled::<TimestampSecondType, TimestampMillisecondType>(array, grow(1000))?;
            Arc::new(found.with_timezone_opt(zone.clone()))
        }
        Ty::Timestamp(Nanosecond, zone) => {
            let found = scaled::<TimestampNanosecondType, TimestampMicrosecondType>(array, whole)?;
            Arc::new(found.with_timezone_opt(zone.clone()))
        }
        Ty::Time32(Second) => {
            let grow = |time: i32| i64::from(time).checked_mul(1_000_000);
            Arc::new(scaled::<Time32SecondType, Time64MicrosecondType>(array, grow)?)
        }
        Ty::Time32(Millisecond) => {
            let grow = |time: i32| i64::from(time).checked_mul(1000);
            Arc::new(scaled::<Time32MillisecondType, Time64MicrosecondType>(array, grow)?)
        }
        Ty::Time64(Nanosecond) => {
            Arc::new(scaled::<Time64NanosecondType, Time64MicrosecondType>(array, whole)?)
        }
        Ty::Duration(Second) => {
            Arc::new(scaled::<DurationSecondType, DurationMicrosecondType>(array, grow(1_000_000))?)
        }
        Ty::Duration(Millisecond) => {
            Arc::new(scaled::<DurationMillisecondType, DurationMicrosecondType>(array, grow(1000))?)
        }
        Ty::Duration(Nanosecond) => {
            Arc::new(scaled::<DurationNanosecondType, DurationMicrosecondType>(array, whole)?)
        }
        Ty::Date32 | Ty::Timestamp(Millisecond | Microsecond, _) => Arc::clone(array),
        Ty::Time64(Microsecond) | Ty::Duration(Microsecond) => Arc::clone(array),
        other => return Err(format!("holds {other}, which is no property type")),
    })
}

fn grow(by: i64) -> impl Fn(i64) -> Option<i64> {
    move |time| time.checked_mul(by)
}

/// Microseconds of nanoseconds.
fn whole(nanoseconds: i64) -> Option<i64> {
    (nanoseconds % 1000 == 0).then_some(nanoseconds / 1000)
}

fn scaled<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &ArrayRef,
    f: impl Fn(F::Native) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, String> {
    let none = || ArrowError::CastError(String::new());
    array.as_primitive::<F>().try_unary::<_, T, _>(|time| f(time).ok_or_else(none)).map_err(|_| {
        match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _)
            | DataType::Time64(TimeUnit::Nanosecond)
            | DataType::Duration(TimeUnit::Nanosecond) => {
                "has nanoseconds, which are not kept; round it to microseconds".to_owned()
            }
            other => format!("has a value of {other} that cannot be kept as {}", T::DATA_TYPE),
        }
    })
}

/// The value in a column that [`plain_array`] made. Times of milliseconds are `timestamps` where the
/// column is declared so.
pub(super) fn value(
    array: &ArrayRef,
    row: usize,
    timestamps: bool,
) -> Result<Cell<'static>, String> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(Cell::Null);
    }
    let temporal = |kind: Temporal, value: i64| {
        let fits = kind.holds(value).then_some(Value::Temporal(kind, value));
        fits.ok_or_else(|| format!("{value} is no {kind}"))
    };
    Ok(Cell::Value(match array.data_type() {
        DataType::LargeUtf8 => Value::String(array.as_string::<i64>().value(row).to_owned()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Date32 => {
            temporal(Temporal::Date, array.as_primitive::<Date32Type>().value(row).into())?
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            let time = array.as_primitive::<TimestampMillisecondType>().value(row);
            if timestamps {
                return Ok(Cell::Value(Value::Timestamp(time)));
            }
            let micros = time.checked_mul(1000);
            let micros = micros.ok_or_else(|| format!("the time of {time} ms is too far away"))?;
            temporal(zoned(zone.is_some()), micros)?
        }
        DataType::Timestamp(_, zone) => temporal(
            zoned(zone.is_some()),
            array.as_primitive::<TimestampMicrosecondType>().value(row),
        )?,
        DataType::Time64(_) => {
            temporal(Temporal::Time, array.as_primitive::<Time64MicrosecondType>().value(row))?
        }
        DataType::Duration(_) => temporal(
            Temporal::Duration,
            array.as_primitive::<DurationMicrosecondType>().value(row),
        )?,
        DataType::LargeList(_) => {
            let items = plain_array(&array.as_list::<i64>().value(row))?;
            let items = (0..items.len()).map(|item| match value(&items, item, timestamps)? {
                Cell::Value(value) => Ok(value),
                _ => Err("a list has an item that is null".to_owned()),
            });
            Value::List(items.collect::<Result<_, String>>()?)
        }
        other => return Err(format!("holds {other}, which is no property type")),
    }))
}

fn zoned(zone: bool) -> Temporal {
    if zone { Temporal::DateTime } else { Temporal::LocalDateTime }
}
