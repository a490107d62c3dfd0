//! Shortest paths between two nodes, breadth first.

use std::collections::HashMap;
use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::context::{Context, Held, Source};
use super::expand::{Feed, FlatMap, Rows, edges_at, node_in, other_end, types};
use super::many::{has_properties, wanted_properties};
use crate::error::Result;
use crate::eval::set;
use crate::ir::Shortest;
use crate::plan::{Expand, Plan};
use crate::value::{Relationship, Row, Value};

/// The shortest paths for each row.
pub(super) fn shortest(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::Shortest { expand, which } = &*plan else { return Ok(None) };
        let ends = node_in(&row, expand.from)?.zip(node_in(&row, expand.to)?);
        let Some((from, to)) = ends else { return Ok(None) };
        let mut paths = paths(cx, expand, &mut row, (from, to))?;
        if *which == Shortest::One {
            paths.truncate(1);
        }
        let rows = paths.into_iter().map(|mut edges| {
            if expand.backwards {
                edges.reverse();
            }
            let edges = edges.into_iter().map(|edge| Value::Relationship(Relationship::of(edge)));
            let mut edges: Vec<Value> = edges.collect();
            let value = match (expand.edge.length, edges.pop()) {
                (None, Some(one)) => one,
                (_, last) => {
                    edges.extend(last);
                    Value::list(edges)
                }
            };
            let mut row = row.clone();
            set(&mut row, expand.edge.slot, value);
            row
        });
        Ok(Some(Box::new(Rows(rows.collect::<Vec<_>>().into_iter())) as Box<dyn Feed>))
    }))
}

/// For each node that was reached, its distance and the edges over which it was reached first.
type Reached = HashMap<u32, (u64, Vec<EdgeNumbers>)>;

fn paths(
    cx: &Context,
    expand: &Expand,
    row: &mut Row,
    (from, to): (u32, u32),
) -> Result<Vec<Vec<EdgeNumbers>>> {
    let (least, most) = expand.edge.length.unwrap_or((1, Some(1)));
    if from == to && least == 0 {
        return Ok(vec![Vec::new()]);
    }
    let properties = wanted_properties(cx, &expand.edge, row)?;
    let types = types(&cx.view, &expand.edge);
    let mut held = Held::new(cx);
    let mut reached = Reached::from([(from, (0, Vec::new()))]);
    let (mut frontier, mut distance, mut closing) = (vec![from], 0, Vec::new());
    while !frontier.is_empty() && distance < most.unwrap_or(u64::MAX) {
        distance += 1;
        let mut next = Vec::new();
        for v in frontier {
            for edge in edges_at(&cx.view, v, expand.edge.direction, types.as_deref())? {
                cx.limits.step()?;
                if !has_properties(cx, &edge, &properties)? {
                    continue;
                }
                let end = other_end(&edge, v);
                if end == to && from == to {
                    closing.push((v, edge));
                    continue;
                }
                held.take(64)?;
                let found = reached.entry(end).or_insert_with(|| {
                    next.push(end);
                    (distance, Vec::new())
                });
                if found.0 == distance {
                    found.1.push(edge);
                }
            }
        }
        if reached.contains_key(&to) && from != to || !closing.is_empty() {
            break;
        }
        frontier = next;
    }
    let mut found = Vec::new();
    if from == to {
        for (v, edge) in closing {
            back(cx, &reached, v, from, &mut vec![edge], &mut found)?;
        }
    } else {
        back(cx, &reached, to, from, &mut Vec::new(), &mut found)?;
    }
    Ok(found)
}

/// Adds the paths to a node, which are followed back to where they begin.
fn back(
    cx: &Context,
    reached: &Reached,
    v: u32,
    from: u32,
    path: &mut Vec<EdgeNumbers>,
    found: &mut Vec<Vec<EdgeNumbers>>,
) -> Result<()> {
    cx.limits.step()?;
    if v == from {
        found.push(path.iter().rev().copied().collect());
        return Ok(());
    }
    let Some((_, edges)) = reached.get(&v) else { return Ok(()) };
    for edge in edges {
        path.push(*edge);
        back(cx, reached, other_end(edge, v), from, path, found)?;
        path.pop();
    }
    Ok(())
}
