//! Dates, times and durations as objects of Python's `datetime`.

use nakshi::property::{Temporal, Value};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

/// The ordinal of 1970-01-01 in Python.
const EPOCH: i64 = 719_163;

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("datetime")
}

/// A duration of microseconds.
fn delta<'py>(module: &Bound<'py, PyModule>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(module.py());
    named.set_item("microseconds", micros)?;
    module.getattr("timedelta")?.call((), Some(&named))
}

/// The begin of 1970, in UTC if `zoned`.
fn epoch<'py>(module: &Bound<'py, PyModule>, zoned: bool) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(module.py());
    if zoned {
        named.set_item("tzinfo", module.getattr("timezone")?.getattr("utc")?)?;
    }
    module.getattr("datetime")?.call((1970, 1, 1), Some(&named))
}

/// The object for a value; an integer where Python has none, outside of the years 1 to 9999.
pub fn of_temporal(py: Python<'_>, kind: Temporal, value: i64) -> PyResult<Bound<'_, PyAny>> {
    let module = module(py)?;
    let made = match kind {
        Temporal::Date => {
            let ordinal = value.saturating_add(EPOCH);
            module.getattr("date")?.call_method1("fromordinal", (ordinal,))
        }
        Temporal::LocalDateTime | Temporal::DateTime => {
            let epoch = epoch(&module, kind == Temporal::DateTime)?;
            epoch.add(delta(&module, value)?)
        }
        Temporal::Time => {
            let (seconds, micros) = (value / 1_000_000, value % 1_000_000);
            let parts = (seconds / 3600, seconds / 60 % 60, seconds % 60, micros);
            module.getattr("time")?.call1(parts)
        }
        Temporal::Duration => delta(&module, value),
    };
    match made {
        Err(error)
            if error.is_instance_of::<PyOverflowError>(py)
                || error.is_instance_of::<PyValueError>(py) =>
        {
            Ok(value.into_pyobject(py)?.into_any())
        }
        made => made,
    }
}

/// The instant of a timestamp, which counts milliseconds.
pub fn of_timestamp(py: Python<'_>, milliseconds: i64) -> PyResult<Bound<'_, PyAny>> {
    match milliseconds.checked_mul(1000) {
        Some(micros) if (MIN..=MAX).contains(&micros) => {
            of_temporal(py, Temporal::DateTime, micros)
        }
        _ => Ok(milliseconds.into_pyobject(py)?.into_any()),
    }
}

/// First and last microsecond of the years 1 to 9999.
const MIN: i64 = -62_135_596_800_000_000;
const MAX: i64 = 253_402_300_799_999_999;

/// The value of an object of `datetime`; nothing for any other object.
///
/// # Errors
/// A time with a zone, or with nanoseconds.
pub fn temporal_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let module = module(object.py())?;
    let is = |name: &str| object.is_instance(&module.getattr(name)?);
    let micros = |delta: &Bound<'_, PyAny>| -> PyResult<i64> {
        delta.floor_div(self::delta(&module, 1)?)?.extract()
    };
    // pandas has times that are such objects, and more.
    if let Some(nanoseconds) =
        object.getattr_opt("nanosecond")?.or(object.getattr_opt("nanoseconds")?)
        && nanoseconds.is_truthy()?
    {
        return Err(PyValueError::new_err(format!(
            "{object} has nanoseconds, which are not kept; round it to microseconds"
        )));
    }
    let (kind, value) = if is("datetime")? {
        let zoned = !object.getattr("tzinfo")?.is_none();
        let kind = if zoned { Temporal::DateTime } else { Temporal::LocalDateTime };
        (kind, micros(&object.sub(epoch(&module, zoned)?)?)?)
    } else if is("date")? {
        (Temporal::Date, object.call_method0("toordinal")?.extract::<i64>()? - EPOCH)
    } else if is("time")? {
        if !object.getattr("tzinfo")?.is_none() {
            return Err(PyValueError::new_err(format!(
                "{object} has a time zone, which a time of day does not keep"
            )));
        }
        let part = |name: &str| object.getattr(name)?.extract::<i64>();
        let seconds = (part("hour")? * 60 + part("minute")?) * 60 + part("second")?;
        (Temporal::Time, seconds * 1_000_000 + part("microsecond")?)
    } else if is("timedelta")? {
        (Temporal::Duration, micros(object)?)
    } else {
        return Ok(None);
    };
    Ok(Some(Value::Temporal(kind, value)))
}
