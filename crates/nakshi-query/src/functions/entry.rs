//! Entries of the tables of functions.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::value::Value;
use crate::view::View;

/// Code of a function.
pub(super) type Call = fn(&View, &[Value]) -> Result<Value>;

/// A function: its name in lower case, how many arguments it takes, and if null among them gives null.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) takes: RangeInclusive<usize>,
    pub(super) strict: bool,
    pub(super) call: Call,
    /// Bytes that the value takes, about; for functions whose values may take many times what their arguments
    /// take.
    pub(super) weight: Option<fn(&[Value]) -> u64>,
}

impl Entry {
    /// The function, with the bytes that its value takes.
    pub(super) const fn weighed(self, weight: fn(&[Value]) -> u64) -> Self {
        Entry { weight: Some(weight), ..self }
    }
}

/// A function that gives null for null.
pub(super) const fn strict(name: &'static str, takes: RangeInclusive<usize>, call: Call) -> Entry {
    Entry { name, takes, strict: true, call, weight: None }
}

/// A function that is asked with null as well.
pub(super) const fn lenient(name: &'static str, takes: RangeInclusive<usize>, call: Call) -> Entry {
    Entry { name, takes, strict: false, call, weight: None }
}
