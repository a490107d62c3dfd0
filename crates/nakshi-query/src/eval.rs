//! Evaluation of expressions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::arithmetic;
use super::error::{Class, QueryError, Result};
use super::functions;
use super::ir::{Binary, Compare, Expr, Labels, Name, Projected, Quantifier, Slot, SubqueryKind};
use super::order::{compare, equal};
use super::value::{List, Map, Node, Relationship, Row, Value};
use super::view::View;

/// Bytes of a text whose memory is not looked at.
const SMALL: usize = 1024;

/// The surroundings in which an expression is evaluated.
pub(crate) trait Scope {
    /// The graph.
    fn view(&self) -> &View;

    /// The value of a parameter.
    fn parameter(&self, name: &str) -> Result<Value>;

    /// The value of a query inside of an expression.
    fn subquery(&self, kind: SubqueryKind, number: usize, row: &Row) -> Result<Value>;

    /// Counts a step, and fails if the query has to end.
    fn step(&self) -> Result<()>;

    /// Fails if a value of so many bytes is more than the query may take.
    fn admit(&self, bytes: u64) -> Result<()>;
}

/// Most lists and maps inside of each other. Whoever compares, sends or drops one calls itself once for each.
const LEVELS: u16 = 1000;

/// A new value, unless it is larger or deeper than the query may have one.
fn admitted(scope: &dyn Scope, value: Value) -> Result<Value> {
    match &value {
        Value::String(text) if text.len() < SMALL => {}
        Value::String(_) | Value::List(_) | Value::Map(_) => {
            if value.levels() > LEVELS {
                let message = format!("more than {LEVELS} lists and maps are inside of each other");
                return Err(QueryError::of_argument(message));
            }
            scope.admit(value.weight())?;
        }
        _ => {}
    }
    Ok(value)
}

/// The value of an expression. Comprehensions leave their variables in `row`.
pub(crate) fn eval(scope: &dyn Scope, expr: &Expr, row: &mut Row) -> Result<Value> {
    Ok(match expr {
        Expr::Literal(value) => value.clone(),
        Expr::Slot(slot) => row.get(*slot).cloned().unwrap_or_default(),
        Expr::Parameter(name) => scope.parameter(name)?,
        Expr::Property(of, name) => {
            if let Expr::Slot(slot) = &**of
                && let Some(value) = row.get(*slot)
            {
                return property(scope.view(), value, name);
            }
            let of = eval(scope, of, row)?;
            property(scope.view(), &of, name)?
        }
        Expr::HasLabels(of, labels) => {
            let of = eval(scope, of, row)?;
            let known = known_labels(scope, labels, row)?;
            has_labels(scope.view(), &of, &known)?
        }
        Expr::Not(one) => {
            truth(&eval(scope, one, row)?)?.map_or(Value::Null, |one| Value::Bool(!one))
        }
        Expr::Negate(one) => arithmetic::negate(&eval(scope, one, row)?)?,
        Expr::Plus(one) => eval(scope, one, row)?,
        Expr::Binary(operator, a, b) => {
            let value = binary(scope, *operator, a, b, row)?;
            admitted(scope, value)?
        }
        Expr::Compare(operator, a, b) => {
            let (a, b) = (eval(scope, a, row)?, eval(scope, b, row)?);
            compared(*operator, &a, &b)?
        }
        Expr::In(item, list) => {
            let (item, list) = (eval(scope, item, row)?, eval(scope, list, row)?);
            contained(&item, &list)?
        }
        Expr::IsNull(one) => Value::Bool(eval(scope, one, row)?.is_null()),
        Expr::IsTyped(one, of) => Value::Bool(of.has(&eval(scope, one, row)?)),
        Expr::Index(of, index) => {
            let (of, index) = (eval(scope, of, row)?, eval(scope, index, row)?);
            indexed(scope.view(), &of, &index)?
        }
        Expr::Slice(list, from, to) => {
            let list = eval(scope, list, row)?;
            let from = from.as_ref().map(|from| eval(scope, from, row)).transpose()?;
            let to = to.as_ref().map(|to| eval(scope, to, row)).transpose()?;
            sliced(&list, from, to)?
        }
        Expr::List(items) => {
            let items = items.iter().map(|item| eval(scope, item, row));
            admitted(scope, Value::list(items.collect::<Result<_>>()?))?
        }
        Expr::Map(entries) => {
            let mut map = BTreeMap::new();
            for (name, value) in entries {
                map.insert(Arc::clone(name), eval(scope, value, row)?);
            }
            admitted(scope, Value::of_map(map))?
        }
        Expr::Call(function, arguments) => {
            let arguments = arguments.iter().map(|one| eval(scope, one, row));
            let arguments = arguments.collect::<Result<Vec<_>>>()?;
            functions::call(*function, scope.view(), &arguments, |bytes| scope.admit(bytes))?
        }
        Expr::Subquery(kind, number) => scope.subquery(*kind, *number, row)?,
        other => with_parts(scope, other, row)?,
    })
}

/// As [`eval`], for expressions that evaluate others many times.
fn with_parts(scope: &dyn Scope, expr: &Expr, row: &mut Row) -> Result<Value> {
    match expr {
        Expr::Case { scrutinee, branches, otherwise } => {
            let wanted = scrutinee.as_ref().map(|one| eval(scope, one, row)).transpose()?;
            for (when, then) in branches {
                let when = eval(scope, when, row)?;
                let holds = match &wanted {
                    Some(wanted) => equal(wanted, &when) == Some(true),
                    None => truth(&when)? == Some(true),
                };
                if holds {
                    return eval(scope, then, row);
                }
            }
            otherwise.as_ref().map_or(Ok(Value::Null), |otherwise| eval(scope, otherwise, row))
        }
        Expr::Comprehension { slot, list, filter, map } => {
            let Some(items) = items(eval(scope, list, row)?)? else { return Ok(Value::Null) };
            let (mut found, mut weight) = (Vec::new(), 0_u64);
            for item in items.iter() {
                scope.step()?;
                set(row, *slot, item.clone());
                if let Some(filter) = filter
                    && truth(&eval(scope, filter, row)?)? != Some(true)
                {
                    continue;
                }
                let value = match map {
                    Some(map) => eval(scope, map, row)?,
                    None => item.clone(),
                };
                weight = weight.saturating_add(value.weight());
                scope.admit(weight)?;
                found.push(value);
            }
            admitted(scope, Value::list(found))
        }
        Expr::Quantified { quantifier, slot, list, filter } => {
            let Some(items) = items(eval(scope, list, row)?)? else { return Ok(Value::Null) };
            quantified(scope, *quantifier, *slot, &items, filter, row)
        }
        Expr::Reduce { accumulator, initial, slot, list, step } => {
            let mut so_far = eval(scope, initial, row)?;
            let Some(items) = items(eval(scope, list, row)?)? else { return Ok(Value::Null) };
            for item in items.iter() {
                scope.step()?;
                set(row, *accumulator, so_far);
                set(row, *slot, item.clone());
                so_far = eval(scope, step, row)?;
            }
            Ok(so_far)
        }
        Expr::Projection(base, projected) => {
            let base = eval(scope, base, row)?;
            projection(scope, &base, projected, row)
        }
        _ => Ok(Value::Null),
    }
}

/// Puts a value into a slot.
pub(crate) fn set(row: &mut Row, slot: Slot, value: Value) {
    if let Some(place) = row.get_mut(slot) {
        *place = value;
    }
}

/// The truth of a value; `None` for unknown.
pub(crate) fn truth(value: &Value) -> Result<Option<bool>> {
    match value {
        Value::Bool(value) => Ok(Some(*value)),
        Value::Null => Ok(None),
        other => Err(QueryError::of_type(format!(
            "{other} is neither true nor false, and a condition needs that"
        ))),
    }
}

/// The items of a list; `None` for null.
fn items(value: Value) -> Result<Option<Arc<List>>> {
    match value {
        Value::List(items) => Ok(Some(items)),
        Value::Null => Ok(None),
        other => Err(QueryError::of_type(format!("{other} is no list"))),
    }
}

/// A property of a node, an edge or a map, or a field of a value.
pub(crate) fn property(view: &View, of: &Value, name: &str) -> Result<Value> {
    match of {
        Value::Null => Ok(Value::Null),
        Value::Node(Node { content: Some(shown), .. })
        | Value::Relationship(Relationship { content: Some(shown), .. }) => {
            Ok(shown.properties.get(name).cloned().unwrap_or_default())
        }
        Value::Node(node) => view.node_property(node.vertex, name),
        Value::Relationship(edge) => view.edge_property(&edge.edge, name),
        Value::Map(map) => Ok(map.get(name).cloned().unwrap_or_default()),
        other => functions::fields::field(other, name).ok_or_else(|| {
            QueryError::of_type(format!("{} has no property '{name}'", other.type_name()))
        }),
    }
}

/// Returns true if a node has labels, or an edge a type.
/// A condition on labels with the names that its expressions give.
fn known_labels<'l>(
    scope: &dyn Scope,
    labels: &'l Labels,
    row: &mut Row,
) -> Result<Cow<'l, Labels>> {
    if labels.computed().is_empty() {
        return Ok(Cow::Borrowed(labels));
    }
    let mut all = |all: &[Labels]| {
        let known = all.iter().map(|one| Ok(known_labels(scope, one, row)?.into_owned()));
        known.collect::<Result<Vec<_>>>()
    };
    Ok(Cow::Owned(match labels {
        Labels::Any | Labels::Has(_) => labels.clone(),
        Labels::Not(one) => Labels::Not(Box::new(known_labels(scope, one, row)?.into_owned())),
        Labels::All(some) => Labels::All(all(some)?),
        Labels::Some(some) => Labels::Some(all(some)?),
        Labels::Computed { names, any } => {
            let names = names_in(&eval(scope, names, row)?)?.into_iter().map(Labels::Has);
            if *any { Labels::Some(names.collect()) } else { Labels::All(names.collect()) }
        }
    }))
}

/// The names that something new gets, in the order in which they are written.
///
/// # Errors
/// An expression in place of a name that gives neither texts nor names.
pub(crate) fn given_names(scope: &dyn Scope, labels: &Labels, row: &mut Row) -> Result<Vec<Name>> {
    let mut found = Vec::new();
    match labels {
        Labels::Has(name) => found.push(Arc::clone(name)),
        Labels::All(all) => {
            for one in all {
                found.extend(given_names(scope, one, row)?);
            }
        }
        Labels::Computed { names, .. } => {
            found = names_in(&eval(scope, names, row)?)?;
            if found.iter().any(|name| name.is_empty()) {
                return Err(QueryError::of_type("a label or a type has at least one letter"));
            }
        }
        Labels::Any | Labels::Not(_) | Labels::Some(_) => {}
    }
    Ok(found)
}

/// The names in a value: a text, or a list of texts.
fn names_in(value: &Value) -> Result<Vec<Name>> {
    let name = |value: &Value| match value {
        Value::String(name) => Ok(Arc::clone(name)),
        other => Err(QueryError::of_type(format!(
            "the value of $(...) is text or a list of texts, and not {other}"
        ))),
    };
    match value {
        Value::List(items) => items.iter().map(name).collect(),
        one => Ok(vec![name(one)?]),
    }
}

pub(crate) fn has_labels(view: &View, of: &Value, labels: &Labels) -> Result<Value> {
    match of {
        Value::Null => Ok(Value::Null),
        Value::Node(Node { content: Some(shown), .. })
        | Value::Relationship(Relationship { content: Some(shown), .. }) => {
            let has = |name: &str| shown.names.iter().any(|own| **own == *name);
            Ok(Value::Bool(labels.holds(&has, !shown.names.is_empty())))
        }
        Value::Node(node) => {
            let own = view.labels(node.vertex)?;
            let has = |name: &str| own.iter().any(|label| **label == *name);
            Ok(Value::Bool(labels.holds(&has, !own.is_empty())))
        }
        Value::Relationship(edge) => {
            let own = view.edge_type(&edge.edge);
            Ok(Value::Bool(labels.holds(&|name| own == name, true)))
        }
        other => Err(QueryError::of_type(format!("{} has no labels", other.type_name()))),
    }
}

fn binary(scope: &dyn Scope, operator: Binary, a: &Expr, b: &Expr, row: &mut Row) -> Result<Value> {
    let unknown = |known: Option<bool>| known.map_or(Value::Null, Value::Bool);
    let a = eval(scope, a, row)?;
    match operator {
        Binary::And => {
            let a = truth(&a)?;
            if a == Some(false) {
                return Ok(Value::Bool(false));
            }
            let b = truth(&eval(scope, b, row)?)?;
            Ok(unknown(if b == Some(false) { b } else { a.and(b) }))
        }
        Binary::Or => {
            let a = truth(&a)?;
            if a == Some(true) {
                return Ok(Value::Bool(true));
            }
            let b = truth(&eval(scope, b, row)?)?;
            Ok(unknown(if b == Some(true) { b } else { a.and(b) }))
        }
        Binary::Xor => {
            let (a, b) = (truth(&a)?, truth(&eval(scope, b, row)?)?);
            Ok(unknown(a.zip(b).map(|(a, b)| a != b)))
        }
        _ => arithmetic::binary(operator, &a, &eval(scope, b, row)?),
    }
}

/// Result of a comparison.
pub(crate) fn compared(operator: Compare, a: &Value, b: &Value) -> Result<Value> {
    let known = match operator {
        Compare::Equal => equal(a, b),
        Compare::NotEqual => equal(a, b).map(|equal| !equal),
        Compare::Less => ordered(a, b, Ordering::is_lt),
        Compare::LessEqual => ordered(a, b, Ordering::is_le),
        Compare::Greater => ordered(a, b, Ordering::is_gt),
        Compare::GreaterEqual => ordered(a, b, Ordering::is_ge),
        Compare::StartsWith => texts(a, b).map(|(a, b)| a.starts_with(b)),
        Compare::EndsWith => texts(a, b).map(|(a, b)| a.ends_with(b)),
        Compare::Contains => texts(a, b).map(|(a, b)| a.contains(b)),
        Compare::Matches => match texts(a, b) {
            Some((a, b)) => Some(arithmetic::matches(a, b)?),
            None => None,
        },
    };
    Ok(known.map_or(Value::Null, Value::Bool))
}

fn ordered(a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Option<bool> {
    match (a, b) {
        // Numbers that cannot be ordered are NaN, of which no comparison holds.
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            Some(compare(a, b).is_some_and(holds))
        }
        _ => compare(a, b).map(holds),
    }
}

fn texts<'v>(a: &'v Value, b: &'v Value) -> Option<(&'v str, &'v str)> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some((a, b)),
        _ => None,
    }
}

fn contained(item: &Value, list: &Value) -> Result<Value> {
    let items = match list {
        Value::List(items) => items,
        Value::Null => return Ok(Value::Null),
        other => {
            return Err(QueryError::of_type(format!("IN needs a list, and {other} is none")));
        }
    };
    let mut known = true;
    for one in items.iter() {
        match equal(item, one) {
            Some(true) => return Ok(Value::Bool(true)),
            Some(false) => {}
            None => known = false,
        }
    }
    Ok(if known { Value::Bool(false) } else { Value::Null })
}

fn indexed(view: &View, of: &Value, index: &Value) -> Result<Value> {
    match (of, index) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::List(items), Value::Int(index)) => {
            let len = items.len() as i64;
            let at = if *index < 0 { index.checked_add(len) } else { Some(*index) };
            let at = at.and_then(|at| usize::try_from(at).ok());
            Ok(at.and_then(|at| items.get(at)).cloned().unwrap_or_default())
        }
        (Value::List(_), other) => {
            Err(QueryError::of_type(format!("the index of a list is an integer, not {other}")))
        }
        (Value::Map(_) | Value::Node(_) | Value::Relationship(_), Value::String(name)) => {
            property(view, of, name)
        }
        (Value::Map(_) | Value::Node(_) | Value::Relationship(_), other) => {
            let message = format!("the name of a property is text, not {other}");
            Err(QueryError::run(Class::Type, "MapElementAccessByNonString", message))
        }
        (other, _) => {
            Err(QueryError::of_type(format!("a value of type {} has no items", other.type_name())))
        }
    }
}

fn sliced(list: &Value, from: Option<Value>, to: Option<Value>) -> Result<Value> {
    let items = match list {
        Value::Null => return Ok(Value::Null),
        Value::List(items) => items,
        other => return Err(QueryError::of_type(format!("{other} is no list"))),
    };
    let len = items.len() as i64;
    let place = |bound: Option<Value>, missing: i64| match bound {
        None => Ok(Some(missing)),
        Some(Value::Null) => Ok(None),
        Some(Value::Int(at)) if at < 0 => Ok(Some(at.saturating_add(len).max(0))),
        Some(Value::Int(at)) => Ok(Some(at.min(len))),
        Some(other) => {
            Err(QueryError::of_type(format!("the bound of a slice is an integer, not {other}")))
        }
    };
    let (Some(from), Some(to)) = (place(from, 0)?, place(to, len)?) else { return Ok(Value::Null) };
    let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
    Ok(Value::list(items.get(range).unwrap_or_default().to_vec()))
}

fn quantified(
    scope: &dyn Scope,
    quantifier: Quantifier,
    slot: Slot,
    items: &[Value],
    filter: &Expr,
    row: &mut Row,
) -> Result<Value> {
    let (mut holds, mut fails, mut unknown) = (0_usize, 0_usize, 0_usize);
    for item in items {
        scope.step()?;
        set(row, slot, item.clone());
        match truth(&eval(scope, filter, row)?)? {
            Some(true) => holds += 1,
            Some(false) => fails += 1,
            None => unknown += 1,
        }
    }
    let known = match quantifier {
        Quantifier::All if fails > 0 => Some(false),
        Quantifier::Any if holds > 0 => Some(true),
        Quantifier::None if holds > 0 => Some(false),
        Quantifier::Single if holds > 1 => Some(false),
        _ if unknown > 0 => None,
        Quantifier::All | Quantifier::None => Some(true),
        Quantifier::Any => Some(false),
        Quantifier::Single => Some(holds == 1),
    };
    Ok(known.map_or(Value::Null, Value::Bool))
}

fn projection(
    scope: &dyn Scope,
    base: &Value,
    projected: &[Projected],
    row: &mut Row,
) -> Result<Value> {
    if base.is_null() {
        return Ok(Value::Null);
    }
    let mut map = Map::new();
    for item in projected {
        match item {
            Projected::All => map.extend(properties(scope.view(), base)?),
            Projected::Property(name) => {
                map.insert(Name::clone(name), property(scope.view(), base, name)?);
            }
            Projected::Entry(name, value) => {
                map.insert(Name::clone(name), eval(scope, value, row)?);
            }
        }
    }
    admitted(scope, Value::of_map(map))
}

/// All properties of a node, an edge or a map.
pub(crate) fn properties(view: &View, of: &Value) -> Result<Map> {
    match of {
        Value::Node(_) | Value::Relationship(_) => view.properties(of),
        Value::Map(map) => Ok(Map::clone(map)),
        other => Err(QueryError::of_type(format!(
            "a value of type {} has no properties",
            other.type_name()
        ))),
    }
}
