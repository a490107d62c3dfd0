//! Casts of Arrow arrays to the few types that imports read.
//!
//! The crate `arrow-cast` converts between all pairs of types, and takes long to compile; the tests
//! compare with it.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayAccessor, ArrayRef, LargeListArray, PrimitiveArray,
    downcast_integer_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::take::take;

/// The dictionary whose keys lead to an array's values, if there is one.
type Keys<'a> = Option<&'a dyn AnyDictionaryArray>;

/// Converts an array; of a dictionary it converts the values.
///
/// The targets are `Int64` and `UInt64` from integers, `Float64` from numbers, `LargeBinary` from text
/// and bytes, `LargeUtf8` from text, milliseconds without a time zone from times and dates,
/// `LargeList` from lists of the same items, and the type that an array has.
///
/// # Errors
/// `CastError` for a value that the target cannot hold, and for another pair of types.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType as Ty;
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = dictionary.values();
        return match to {
            Ty::LargeUtf8 if !values.is_empty() => text(values, Some(dictionary)),
            Ty::LargeBinary if !values.is_empty() => bytes(values, Some(dictionary)),
            _ => cast(&take(values, dictionary.keys(), None)?, to),
        };
    }
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    match to {
        Ty::Int64 => integers::<Int64Type>(array),
        Ty::UInt64 => integers::<UInt64Type>(array),
        Ty::Float64 => floats(array),
        Ty::LargeBinary => bytes(array, None),
        Ty::LargeUtf8 => text(array, None),
        Ty::Timestamp(TimeUnit::Millisecond, None) => milliseconds(array),
        Ty::LargeList(_) => list(array, to),
        _ => Err(unknown(array, to)),
    }
}

fn unknown(array: &dyn Array, to: &DataType) -> ArrowError {
    ArrowError::CastError(format!("{} cannot become {to}", array.data_type()))
}

/// Converts integers to another width; a value that does not fit is an error.
fn integers<T>(array: &dyn Array) -> Result<ArrayRef, ArrowError>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i8> + TryFrom<i16> + TryFrom<i32> + TryFrom<i64>,
    T::Native: TryFrom<u8> + TryFrom<u16> + TryFrom<u32> + TryFrom<u64>,
{
    downcast_integer_array!(
        array => {
            let fit = |value| {
                T::Native::try_from(value).map_err(|_| {
                    ArrowError::CastError(format!("{value} does not fit {}", T::DATA_TYPE))
                })
            };
            Ok(Arc::new(array.try_unary::<_, T, _>(fit)?))
        }
        _ => Err(unknown(array, &T::DATA_TYPE)),
    )
}

fn floats(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    fn from<T: ArrowPrimitiveType>(array: &dyn Array, f: impl Fn(T::Native) -> f64) -> ArrayRef {
        Arc::new(array.as_primitive::<T>().unary::<_, Float64Type>(f))
    }
    Ok(match array.data_type() {
        DataType::Int8 => from::<Int8Type>(array, f64::from),
        DataType::Int16 => from::<Int16Type>(array, f64::from),
        DataType::Int32 => from::<Int32Type>(array, f64::from),
        DataType::Int64 => from::<Int64Type>(array, |value| value as f64),
        DataType::UInt8 => from::<UInt8Type>(array, f64::from),
        DataType::UInt16 => from::<UInt16Type>(array, f64::from),
        DataType::UInt32 => from::<UInt32Type>(array, f64::from),
        DataType::UInt64 => from::<UInt64Type>(array, |value| value as f64),
        DataType::Float16 => from::<Float16Type>(array, f64::from),
        DataType::Float32 => from::<Float32Type>(array, f64::from),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array)?,
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array)?,
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array)?,
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array)?,
        _ => return Err(unknown(array, &DataType::Float64)),
    })
}

/// The floats nearest to decimal numbers.
fn decimals<T: DecimalType>(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let array = array.as_primitive::<T>();
    let parse = |text: String| {
        text.parse::<f64>().map_err(|_| ArrowError::CastError(format!("{text} is no number")))
    };
    let written = |row| array.is_valid(row).then(|| array.value_as_string(row));
    let values = (0..array.len()).map(|row| written(row).map(parse).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<Float64Type>, _>>()?))
}

/// Passes on the values of an array, or those to which the keys of a dictionary of them lead.
fn each<A: ArrayAccessor>(values: A, keys: Keys<'_>, mut out: impl FnMut(Option<A::Item>)) {
    let value = |i: usize| values.is_valid(i).then(|| values.value(i));
    let Some(dictionary) = keys else { return (0..values.len()).for_each(|i| out(value(i))) };
    let nulls = dictionary.keys().nulls();
    for (i, key) in dictionary.normalized_keys().into_iter().enumerate() {
        out(if nulls.is_none_or(|nulls| nulls.is_valid(i)) { value(key) } else { None });
    }
}

fn bytes(array: &dyn Array, keys: Keys<'_>) -> Result<ArrayRef, ArrowError> {
    let mut out = LargeBinaryBuilder::with_capacity(array.len(), 0);
    match array.data_type() {
        DataType::Utf8 => each(array.as_string::<i32>(), keys, |v| out.append_option(v)),
        DataType::LargeUtf8 => each(array.as_string::<i64>(), keys, |v| out.append_option(v)),
        DataType::Utf8View => each(array.as_string_view(), keys, |v| out.append_option(v)),
        DataType::Binary => each(array.as_binary::<i32>(), keys, |v| out.append_option(v)),
        DataType::LargeBinary => each(array.as_binary::<i64>(), keys, |v| out.append_option(v)),
        DataType::BinaryView => each(array.as_binary_view(), keys, |v| out.append_option(v)),
        DataType::FixedSizeBinary(_) => {
            each(array.as_fixed_size_binary(), keys, |v| out.append_option(v));
        }
        _ => return Err(unknown(array, &DataType::LargeBinary)),
    }
    Ok(Arc::new(out.finish()))
}

fn text(array: &dyn Array, keys: Keys<'_>) -> Result<ArrayRef, ArrowError> {
    let mut out = LargeStringBuilder::with_capacity(array.len(), 0);
    match array.data_type() {
        DataType::Utf8 => each(array.as_string::<i32>(), keys, |v| out.append_option(v)),
        DataType::LargeUtf8 => each(array.as_string::<i64>(), keys, |v| out.append_option(v)),
        DataType::Utf8View => each(array.as_string_view(), keys, |v| out.append_option(v)),
        _ => return Err(unknown(array, &DataType::LargeUtf8)),
    }
    Ok(Arc::new(out.finish()))
}

/// Milliseconds since 1970-01-01 00:00 UTC; finer parts are cut off.
fn milliseconds(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    fn finer<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, by: i64) -> ArrayRef {
        let cut = |value: i64| value / by;
        Arc::new(array.as_primitive::<T>().unary::<_, TimestampMillisecondType>(cut))
    }
    fn coarser<T>(array: &dyn Array, by: i64) -> Result<ArrayRef, ArrowError>
    where
        T: ArrowPrimitiveType<Native: Into<i64>>,
    {
        let grow = |value: T::Native| {
            let value: i64 = value.into();
            value.checked_mul(by).ok_or_else(|| {
                ArrowError::CastError(format!("the time {value} is too large for milliseconds"))
            })
        };
        let array = array.as_primitive::<T>().try_unary::<_, TimestampMillisecondType, _>(grow)?;
        Ok(Arc::new(array))
    }
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => coarser::<TimestampSecondType>(array, 1000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Ok(finer::<TimestampMillisecondType>(array, 1))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(finer::<TimestampMicrosecondType>(array, 1000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ok(finer::<TimestampNanosecondType>(array, 1_000_000))
        }
        DataType::Date32 => coarser::<Date32Type>(array, 86_400_000),
        DataType::Date64 => Ok(finer::<Date64Type>(array, 1)),
        _ => Err(unknown(array, &DataType::Timestamp(TimeUnit::Millisecond, None))),
    }
}

fn list(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let (DataType::List(items), DataType::LargeList(wanted)) = (array.data_type(), to) else {
        return Err(unknown(array, to));
    };
    if items != wanted {
        return Err(unknown(array, to));
    }
    let narrow = array.as_list::<i32>();
    let offsets = narrow.offsets().iter().map(|&end| i64::from(end)).collect();
    let (values, nulls) = (Arc::clone(narrow.values()), narrow.nulls().cloned());
    let offsets = OffsetBuffer::new(offsets);
    Ok(Arc::new(LargeListArray::try_new(Arc::clone(items), offsets, values, nulls)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Decimal128Type, Decimal256Type};
    use arrow_array::{
        BinaryArray, BinaryViewArray, DictionaryArray, FixedSizeBinaryArray, Int32Array,
        LargeStringArray, ListArray, StringArray, StringViewArray,
    };
    use arrow_buffer::i256;
    use arrow_cast::CastOptions;
    use proptest::prelude::*;

    fn array<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter(values))
    }

    /// Both give the same array, or both refuse.
    fn compare(array: &ArrayRef, to: &DataType) {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        // Behind a slice, as rows of a batch are.
        for from in [0, 1.min(array.len())] {
            let array = array.slice(from, array.len() - from);
            let expected = arrow_cast::cast_with_options(&array, to, &options);
            match (cast(&array, to), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.to_data(), expected.to_data(), "{}", array.data_type());
                }
                (Err(_), Err(_)) => {}
                (found, expected) => panic!("{}: {found:?}, {expected:?}", array.data_type()),
            }
        }
    }

    fn optional<T: Clone + std::fmt::Debug>(
        values: impl Strategy<Value = T>,
    ) -> impl Strategy<Value = Vec<Option<T>>> {
        proptest::collection::vec(proptest::option::weighted(0.8, values), 0..20)
    }

    macro_rules! numbers {
        ($($name:ident: $($ty:ty),+;)+) => { proptest! { $(
            #[test]
            fn $name(seeds in optional(any::<i64>())) {
                use DataType as Ty;
                $({
                    let values = seeds.iter().map(|v| v.map(|v| v as _));
                    let numbers = array::<$ty>(values.collect());
                    for to in [Ty::Int64, Ty::UInt64, Ty::Float64] {
                        compare(&numbers, &to);
                    }
                })+
            }
        )+ } };
    }

    // Seen red with values that become null instead of being refused.
    numbers! {
        signed_integers_agree: Int8Type, Int16Type, Int32Type, Int64Type;
        unsigned_integers_agree: UInt8Type, UInt16Type, UInt32Type, UInt64Type;
    }

    proptest! {
        #[test]
        fn floats_agree(seeds in optional(any::<f64>())) {
            let narrow = seeds.iter().map(|v| v.map(|v| v as f32)).collect();
            compare(&array::<Float32Type>(narrow), &DataType::Float64);
            compare(&array::<Float64Type>(seeds), &DataType::Float64);
        }

        #[test]
        fn texts_and_bytes_agree(words in optional(".{0,20}")) {
            let words: Vec<Option<&str>> = words.iter().map(Option::as_deref).collect();
            let bytes: Vec<Option<&[u8]>> =
                words.iter().map(|word| word.map(str::as_bytes)).collect();
            let dictionary: DictionaryArray<Int32Type> = words.iter().copied().collect();
            let keys = (0..words.len() as i32).map(|key| (key % 3 > 0).then_some(key)).collect();
            let values = Arc::new(LargeStringArray::from(words.clone()));
            let with_nulls = DictionaryArray::<Int32Type>::try_new(keys, values).unwrap();
            let texts: [ArrayRef; 4] = [
                Arc::new(StringArray::from(words.clone())),
                Arc::new(StringViewArray::from(words)),
                Arc::new(dictionary),
                Arc::new(with_nulls),
            ];
            for text in &texts {
                compare(text, &DataType::LargeUtf8);
                compare(text, &DataType::LargeBinary);
            }
            let fixed = bytes.iter().map(|v| v.map(|v| [v.len() as u8, 7]));
            let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 2).unwrap();
            let arrays: [ArrayRef; 3] = [
                Arc::new(BinaryArray::from(bytes.clone())),
                Arc::new(BinaryViewArray::from(bytes)),
                Arc::new(fixed),
            ];
            arrays.iter().for_each(|array| compare(array, &DataType::LargeBinary));
        }

        /// Seen red with times that are rounded down instead of cut off, and with products that wrap.
        #[test]
        fn times_agree(times in optional(any::<i64>()), zone in any::<bool>()) {
            let to = DataType::Timestamp(TimeUnit::Millisecond, None);
            let zone = zone.then_some("+02:00");
            let of = |v: &[Option<i64>]| v.to_vec();
            let arrays: [ArrayRef; 6] = [
                Arc::new(PrimitiveArray::<TimestampSecondType>::from(of(&times))
                    .with_timezone_opt(zone)),
                Arc::new(PrimitiveArray::<TimestampMillisecondType>::from(of(&times))
                    .with_timezone_opt(zone)),
                Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(of(&times))
                    .with_timezone_opt(zone)),
                Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(of(&times))
                    .with_timezone_opt(zone)),
                array::<Date32Type>(times.iter().map(|v| v.map(|v| v as i32)).collect()),
                array::<Date64Type>(times.clone()),
            ];
            arrays.iter().for_each(|array| compare(array, &to));
        }

        #[test]
        fn lists_agree(lists in optional(optional(any::<i32>()))) {
            let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
            let DataType::List(items) = lists.data_type().clone() else { unreachable!() };
            compare(&(Arc::new(lists) as ArrayRef), &DataType::LargeList(items));
        }
    }

    #[test]
    fn decimals_are_the_nearest_floats() {
        let small = PrimitiveArray::<Decimal128Type>::from(vec![Some(-12_345), None, Some(3)]);
        let large = PrimitiveArray::<Decimal256Type>::from(vec![Some(i256::from_i128(1_005))]);
        let small: ArrayRef = Arc::new(small.with_precision_and_scale(9, 2).unwrap());
        let large: ArrayRef = Arc::new(large.with_precision_and_scale(50, 3).unwrap());
        let found = |array| cast(array, &DataType::Float64).unwrap();
        let floats = [Some(-123.45), None, Some(0.03)].into_iter();
        assert_eq!(*found(&small), PrimitiveArray::<Float64Type>::from_iter(floats));
        assert_eq!(*found(&large), PrimitiveArray::<Float64Type>::from(vec![1.005]));
    }

    /// A key of a dictionary may lead to a value that is null.
    #[test]
    fn dictionaries_give_their_values() {
        let values = array::<Int32Type>(vec![Some(5), None, Some(-7)]);
        let keys = Int32Array::from(vec![Some(2), Some(0), None, Some(1)]);
        let dictionary: ArrayRef = Arc::new(DictionaryArray::try_new(keys, values).unwrap());
        compare(&dictionary, &DataType::Int64);
        let found = cast(&dictionary, &DataType::Int64).unwrap();
        assert_eq!(*found, *array::<Int64Type>(vec![Some(-7), Some(5), None, None]));
    }

    #[test]
    fn other_pairs_are_refused() {
        let numbers = array::<Int32Type>(vec![Some(1)]);
        for to in [DataType::LargeUtf8, DataType::LargeBinary, DataType::Boolean] {
            assert!(cast(&numbers, &to).is_err(), "{to}");
        }
    }
}
