//! NumPy arrays: edge arrays as input, value arrays as output.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch,
    RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use nakshi::names::BIG;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};

use crate::arrow_stream::BatchStream;

/// Rows copied from NumPy at a time; the interpreter lock is then held for microseconds only.
const ROWS: usize = 1 << 16;

/// One contiguous one-dimensional NumPy array, or a list of `str`.
enum ArraySource {
    I32(Py<PyArray1<i32>>),
    I64(Py<PyArray1<i64>>),
    U32(Py<PyArray1<u32>>),
    U64(Py<PyArray1<u64>>),
    F32(Py<PyArray1<f32>>),
    F64(Py<PyArray1<f64>>),
    Text(Py<PyList>),
}

impl ArraySource {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Self::Text(list.clone().unbind()));
        }
        macro_rules! try_types {
            ($($variant:ident: $type:ty),*) => {$(
                if let Ok(array) = object.cast::<PyArray1<$type>>() {
                    return Ok(Self::$variant(array.clone().unbind()));
                }
            )*};
        }
        try_types!(I64: i64, I32: i32, U64: u64, U32: u32, F64: f64, F32: f32);
        Err(PyTypeError::new_err(
            "arrays must be one-dimensional, of int32, int64, uint32, uint64, float32 or float64",
        ))
    }

    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        match self {
            Self::I32(array) => array.bind(py).len(),
            Self::I64(array) => array.bind(py).len(),
            Self::U32(array) => array.bind(py).len(),
            Self::U64(array) => array.bind(py).len(),
            Self::F32(array) => array.bind(py).len(),
            Self::F64(array) => array.bind(py).len(),
            Self::Text(list) => Ok(list.bind(py).len()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::I32(_) => DataType::Int32,
            Self::I64(_) => DataType::Int64,
            Self::U32(_) => DataType::UInt32,
            Self::U64(_) => DataType::UInt64,
            Self::F32(_) => DataType::Float32,
            Self::F64(_) => DataType::Float64,
            Self::Text(_) => DataType::Utf8,
        }
    }

    fn rows(&self, py: Python<'_>, from: usize, to: usize) -> PyResult<ArrayRef> {
        match self {
            Self::I32(array) => primitive::<Int32Type>(array.bind(py), from, to),
            Self::I64(array) => primitive::<Int64Type>(array.bind(py), from, to),
            Self::U32(array) => primitive::<UInt32Type>(array.bind(py), from, to),
            Self::U64(array) => primitive::<UInt64Type>(array.bind(py), from, to),
            Self::F32(array) => primitive::<Float32Type>(array.bind(py), from, to),
            Self::F64(array) => primitive::<Float64Type>(array.bind(py), from, to),
            Self::Text(list) => {
                let texts: Vec<String> = list.bind(py).get_slice(from, to).extract()?;
                Ok(Arc::new(StringArray::from(texts)))
            }
        }
    }
}

fn primitive<T>(
    array: &Bound<'_, PyArray1<T::Native>>,
    from: usize,
    to: usize,
) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    let guard = array
        .try_readonly()
        .map_err(|_| PyValueError::new_err("an array is being written while it is imported"))?;
    let rows = guard
        .as_slice()
        .map_err(|_| PyValueError::new_err("arrays must be contiguous"))?
        .get(from..to)
        .ok_or_else(|| PyValueError::new_err("an array was resized while it was imported"))?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(rows.iter().copied())))
}

/// Arrays of equal length as a stream of record batches, copied piece by piece.
struct ArrayReader {
    schema: SchemaRef,
    columns: Vec<ArraySource>,
    next: usize,
    rows: usize,
}

impl Iterator for ArrayReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.rows {
            return None;
        }
        let (from, to) = (self.next, self.rows.min(self.next + ROWS));
        self.next = to;
        let columns: PyResult<Vec<ArrayRef>> = Python::attach(|py| {
            self.columns.iter().map(|column| column.rows(py, from, to)).collect()
        });
        Some(match columns {
            Ok(columns) => RecordBatch::try_new(self.schema.clone(), columns),
            Err(error) => Err(ArrowError::ExternalError(error.into())),
        })
    }
}

impl RecordBatchReader for ArrayReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Reads arrays of equal length under the given column names.
///
/// # Errors
/// `TypeError` for another dtype or shape, `ValueError` for lengths that differ.
pub fn import(columns: &[(String, Bound<'_, PyAny>)]) -> PyResult<BatchStream> {
    let mut fields = Vec::new();
    let mut sources = Vec::new();
    let mut rows = None;
    for (name, object) in columns {
        let source = ArraySource::new(object)?;
        let length = source.len(object.py())?;
        if *rows.get_or_insert(length) != length {
            return Err(PyValueError::new_err("arrays of edges must have equal lengths"));
        }
        fields.push(Field::new(name, source.data_type(), false));
        sources.push(source);
    }
    Ok(Box::new(ArrayReader {
        schema: Arc::new(Schema::new(fields)),
        columns: sources,
        next: 0,
        rows: rows.unwrap_or(0),
    }))
}

/// Values, and a mask that is true where a value is missing.
pub type Masked<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyArray1<bool>>>);

/// A column as a NumPy array of `rows` values, and a mask that is true where a value is missing
/// (`None` if the column cannot miss values). Text and bytes become arrays of objects.
///
/// # Errors
/// Errors of the reader; a type that no result has.
pub fn export<'py>(py: Python<'py>, mut reader: BatchStream, rows: usize) -> PyResult<Masked<'py>> {
    let schema = reader.schema();
    let field = schema.field(0);
    let mask = field.is_nullable().then(|| PyArray1::<bool>::zeros(py, rows, false));
    macro_rules! numbers {
        ($type:ty) => {
            copy_numbers::<$type>(py, &mut reader, rows, mask.as_ref())?
        };
    }
    let values = match field.data_type() {
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Boolean => {
            copy_values(py, &mut reader, rows, mask.as_ref(), |array, target: &mut [bool]| {
                let typed = array.as_any().downcast_ref::<BooleanArray>();
                let flags = typed.into_iter().flat_map(|typed| typed.values().iter());
                target.iter_mut().zip(flags).for_each(|(slot, flag)| *slot = flag);
                typed.is_some()
            })?
        }
        _ => copy_objects(py, field, &mut reader, rows, mask.as_ref())?,
    };
    Ok((values, mask))
}

type Mask<'a, 'py> = Option<&'a Bound<'py, PyArray1<bool>>>;

fn batches(reader: &mut BatchStream) -> impl Iterator<Item = PyResult<ArrayRef>> + '_ {
    reader.map(|batch| {
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(batch.column(0).clone())
    })
}

fn note_missing(mask: Mask<'_, '_>, array: &dyn Array, from: usize) {
    let Some(nulls) = array.nulls() else { return };
    if let Some(mask) = mask {
        let mut mask = mask.readwrite();
        if let Ok(mask) = mask.as_slice_mut() {
            for (flag, valid) in mask.iter_mut().skip(from).zip(nulls.iter()) {
                *flag = !valid;
            }
        }
    }
}

fn copy_numbers<'py, T>(
    py: Python<'py>,
    reader: &mut BatchStream,
    rows: usize,
    mask: Mask<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>>
where
    T: ArrowPrimitiveType,
    T::Native: Element + Copy,
{
    copy_values(py, reader, rows, mask, |array, target: &mut [T::Native]| {
        let typed = array.as_any().downcast_ref::<PrimitiveArray<T>>();
        typed.map(|typed| target.copy_from_slice(typed.values())).is_some()
    })
}

/// Copies the values of each batch by `copy`, which returns false for an array of another type.
fn copy_values<'py, T: Element>(
    py: Python<'py>,
    reader: &mut BatchStream,
    rows: usize,
    mask: Mask<'_, 'py>,
    copy: impl Fn(&dyn Array, &mut [T]) -> bool,
) -> PyResult<Bound<'py, PyAny>> {
    let values = PyArray1::<T>::zeros(py, rows, false);
    let mut from = 0;
    for array in batches(reader) {
        let array = array?;
        let mut guard = values.readwrite();
        let target =
            guard.as_slice_mut().ok().and_then(|all| all.get_mut(from..from + array.len()));
        let Some(target) = target else {
            return Err(PyValueError::new_err("a column has more rows than vertices"));
        };
        if !copy(&array, target) {
            return Err(PyValueError::new_err("a column changed its type between batches"));
        }
        drop(guard);
        note_missing(mask, &array, from);
        from += array.len();
    }
    Ok(values.into_any())
}

fn copy_objects<'py>(
    py: Python<'py>,
    field: &Field,
    reader: &mut BatchStream,
    rows: usize,
    mask: Mask<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for array in batches(reader) {
        let array = array?;
        note_missing(mask, &array, list.len());
        for row in 0..array.len() {
            list.append(object(py, field, &array, row)?)?;
        }
    }
    if list.len() != rows {
        return Err(PyValueError::new_err("a column has another number of rows than vertices"));
    }
    // Filled by slice assignment: numpy.array(list) would try to look inside the strings.
    let values = py.import("numpy")?.call_method1("empty", (rows, "O"))?;
    values.set_item(pyo3::types::PySlice::full(py), list)?;
    Ok(values)
}

/// One cell as a Python object: `int`, `float`, `str`, `bytes` or `None`.
///
/// # Errors
/// `TypeError` for a type that no result has.
pub fn object<'py>(
    py: Python<'py>,
    field: &Field,
    array: &dyn Array,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! cell {
        ($($type:ty => $convert:expr),* $(,)?) => {$(
            if let Some(typed) = array.as_any().downcast_ref::<$type>() {
                return $convert(typed.value(row));
            }
        )*};
    }
    cell!(
        PrimitiveArray<Int32Type> => |v: i32| Ok(v.into_pyobject(py)?.into_any()),
        PrimitiveArray<Int64Type> => |v: i64| Ok(v.into_pyobject(py)?.into_any()),
        PrimitiveArray<UInt32Type> => |v: u32| Ok(v.into_pyobject(py)?.into_any()),
        PrimitiveArray<UInt64Type> => |v: u64| Ok(v.into_pyobject(py)?.into_any()),
        PrimitiveArray<Float32Type> => |v: f32| Ok(v.into_pyobject(py)?.into_any()),
        PrimitiveArray<Float64Type> => |v: f64| Ok(v.into_pyobject(py)?.into_any()),
        BooleanArray => |v: bool| Ok(v.into_pyobject(py)?.to_owned().into_any()),
        LargeStringArray => |v: &str| text(py, field, v),
        LargeBinaryArray => |v: &[u8]| Ok(text_or_bytes(py, v)),
    );
    Err(PyTypeError::new_err(format!("no Python type for {}", array.data_type())))
}

/// Text, or the integer of any size that it stands for.
fn text<'py>(py: Python<'py>, field: &Field, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if field.metadata().contains_key(BIG) {
        return py.get_type::<PyInt>().call1((text,));
    }
    Ok(PyString::new(py, text).into_any())
}

/// Converts an id of a column that is not all UTF-8: UTF-8 becomes `str`, other bytes stay `bytes`.
fn text_or_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    match std::str::from_utf8(bytes) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, bytes).into_any(),
    }
}
