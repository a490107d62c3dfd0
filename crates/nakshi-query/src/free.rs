//! The variables that expressions need.

use std::collections::HashSet;

use super::ir::{Binary, Compare, Expr, Name, Projected, Slot};

/// The conditions that hold if and only if an expression does.
pub(crate) fn conjunctions(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Binary(Binary::And, a, b) => [conjunctions(a), conjunctions(b)].concat(),
        other => vec![other.clone()],
    }
}

/// The slots that an expression reads; `None` if it has a query inside, which may read any.
pub(crate) fn free_slots(expr: &Expr) -> Option<HashSet<Slot>> {
    let mut found = HashSet::new();
    collect(expr, &mut found).then_some(found)
}

/// Returns true for a condition of a simple kind whose value is the same as long as the graph, the parameters and
/// its slots are.
pub(crate) fn is_fixed(expr: &Expr) -> bool {
    let simple = matches!(
        expr,
        Expr::Literal(_)
            | Expr::Slot(_)
            | Expr::Parameter(_)
            | Expr::Property(..)
            | Expr::HasLabels(..)
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::In(..)
            | Expr::IsNull(_)
            | Expr::IsTyped(..)
            | Expr::List(_)
    );
    simple && children(expr).into_iter().all(is_fixed)
}

/// The property of a node that a condition wants to be equal to a value, and the expression of the value.
pub(crate) fn wanted_value(condition: &Expr, slot: Slot) -> Option<(&Name, &Expr)> {
    let Expr::Compare(Compare::Equal, a, b) = condition else { return None };
    let own = |of: &'_ Expr| matches!(of, Expr::Property(of, _) if matches!(**of, Expr::Slot(own) if own == slot));
    match (&**a, &**b) {
        (Expr::Property(_, name), value) if own(a) => Some((name, value)),
        (value, Expr::Property(_, name)) if own(b) => Some((name, value)),
        _ => None,
    }
}

/// Adds the slots of an expression; false for a query inside.
fn collect(expr: &Expr, found: &mut HashSet<Slot>) -> bool {
    let mut inner = HashSet::new();
    let known = match expr {
        Expr::Slot(slot) => {
            found.insert(*slot);
            true
        }
        Expr::Subquery(..) => false,
        Expr::Comprehension { slot, .. } | Expr::Quantified { slot, .. } => {
            let known = children(expr).into_iter().all(|child| collect(child, &mut inner));
            inner.remove(slot);
            known
        }
        Expr::Reduce { slot, accumulator, .. } => {
            let known = children(expr).into_iter().all(|child| collect(child, &mut inner));
            inner.remove(slot);
            inner.remove(accumulator);
            known
        }
        other => children(other).into_iter().all(|child| collect(child, found)),
    };
    found.extend(inner);
    known
}

/// The expressions that an expression consists of.
pub(crate) fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Slot(_) | Expr::Parameter(_) | Expr::Subquery(..) => Vec::new(),
        Expr::Property(one, _)
        | Expr::Not(one)
        | Expr::Negate(one)
        | Expr::Plus(one)
        | Expr::IsNull(one)
        | Expr::IsTyped(one, _) => vec![one],
        Expr::HasLabels(one, labels) => std::iter::once(&**one).chain(labels.computed()).collect(),
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) | Expr::In(a, b) | Expr::Index(a, b) => {
            vec![a, b]
        }
        Expr::Slice(list, from, to) => {
            let bounds = from.iter().chain(to).map(|bound| &**bound);
            std::iter::once(&**list).chain(bounds).collect()
        }
        Expr::List(items) | Expr::Call(_, items) => items.iter().collect(),
        Expr::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
        Expr::Case { scrutinee, branches, otherwise } => {
            let ends = scrutinee.iter().chain(otherwise).map(|one| &**one);
            branches.iter().flat_map(|(when, then)| [when, then]).chain(ends).collect()
        }
        Expr::Comprehension { list, filter, map, .. } => {
            let parts = filter.iter().chain(map).map(|one| &**one);
            std::iter::once(&**list).chain(parts).collect()
        }
        Expr::Quantified { list, filter, .. } => vec![list, filter],
        Expr::Reduce { initial, list, step, .. } => vec![initial, list, step],
        Expr::Projection(base, items) => {
            let values = items.iter().filter_map(|item| match item {
                Projected::Entry(_, value) => Some(value),
                Projected::All | Projected::Property(_) => None,
            });
            std::iter::once(&**base).chain(values).collect()
        }
    }
}
