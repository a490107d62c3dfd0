//! The value behind which rows are not wanted.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ir::Expr;
use crate::order::order;
use crate::plan::Plan;
use crate::value::Value;

/// The order of two values of a key, which ascends or descends.
pub(super) fn of_key(a: &Value, b: &Value, descends: bool) -> Ordering {
    if descends { order(b, a) } else { order(a, b) }
}

/// The first key of a sort of which only the first rows are wanted, and its value in the last of them so far. Whoever
/// makes the rows can leave out those behind it.
pub(crate) struct Bound {
    /// A [`Plan::Sort`].
    plan: Arc<Plan>,
    last: Mutex<Option<Value>>,
}

impl Bound {
    pub(super) fn new(plan: &Arc<Plan>) -> Arc<Self> {
        Arc::new(Bound { plan: Arc::clone(plan), last: Mutex::default() })
    }

    /// Notes the value of the last row that is wanted.
    pub(super) fn set(&self, last: Value) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// The key, once rows may be left out.
    pub(super) fn key(&self) -> Option<&Expr> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?;
        match &*self.plan {
            Plan::Sort { keys, .. } => keys.first().map(|(key, _)| key),
            _ => None,
        }
    }

    /// Returns true for a row with such a value of the key that is not wanted.
    pub(super) fn is_before(&self, value: &Value) -> bool {
        let Plan::Sort { keys, .. } = &*self.plan else { return false };
        let descends = keys.first().is_some_and(|(_, descends)| *descends);
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|last| of_key(value, last, descends) == Ordering::Greater)
    }
}
