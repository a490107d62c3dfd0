//! Shortest paths between two nodes: those of least length breadth first, others length by length.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::adjacency::Adjacency;
use super::context::{Context, Source};
use super::expand::{Feed, FlatMap, Rows, edges_at, node_in, other_end, types};
use super::limits::Held;
use super::many::{has_properties, wanted_properties};
use crate::error::Result;
use crate::eval::set;
use crate::ir::{Direction, Shortest};
use crate::plan::{Expand, Plan};
use crate::value::{Relationship, Row, Value};

/// The shortest paths for each row.
pub(super) fn shortest(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    let mut adjacency = None;
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::Shortest { expand, which } = &*plan else { return Ok(None) };
        let ends = node_in(&row, expand.from)?.zip(node_in(&row, expand.to)?);
        let Some((from, to)) = ends else { return Ok(None) };
        // A longer path than the shortest, and one that comes back, may pass a node twice.
        let least = expand.edge.length.map_or(1, |(least, _)| least);
        let is_plain = least <= 1 && from != to;
        let adjacency = Adjacency::for_rows(&mut adjacency, cx, &expand.edge);
        let mut plain = |most| shortest_paths(cx, expand, &mut row, (from, to), (most, adjacency));
        let paths = match *which {
            Shortest::First(1) if is_plain => plain(1)?,
            Shortest::All | Shortest::Groups(1) if is_plain => plain(usize::MAX)?,
            Shortest::All => trails(cx, expand, &mut row, (from, to), (u64::MAX, 1))?,
            Shortest::First(count) => trails(cx, expand, &mut row, (from, to), (count, u64::MAX))?,
            Shortest::Groups(count) => trails(cx, expand, &mut row, (from, to), (u64::MAX, count))?,
        };
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

/// The paths of least length between two nodes that are not the same, at most so many.
fn shortest_paths(
    cx: &Context,
    expand: &Expand,
    row: &mut Row,
    (from, to): (u32, u32),
    (most_paths, adjacency): (usize, &mut Adjacency),
) -> Result<Vec<Vec<EdgeNumbers>>> {
    let most = expand.edge.length.map_or(Some(1), |(_, most)| most);
    let properties = wanted_properties(cx, &expand.edge, row)?;
    let mut held = Held::new(&cx.limits);
    let mut reached = Reached::from([(from, (0, Vec::new()))]);
    let (mut frontier, mut distance) = (vec![from], 0);
    while !frontier.is_empty() && distance < most.unwrap_or(u64::MAX) {
        distance += 1;
        let mut next = Vec::new();
        for v in frontier {
            for edge in adjacency.at(cx, v)?.iter() {
                cx.limits.step()?;
                if !has_properties(cx, edge, &properties)? {
                    continue;
                }
                let end = other_end(edge, v);
                held.take(64)?;
                let found = reached.entry(end).or_insert_with(|| {
                    next.push(end);
                    (distance, Vec::new())
                });
                if found.0 == distance {
                    found.1.push(*edge);
                }
            }
        }
        if reached.contains_key(&to) {
            break;
        }
        frontier = next;
    }
    back(cx, &reached, (to, from), most_paths)
}

/// The paths from a node to another, which are followed back.
fn back(
    cx: &Context,
    reached: &Reached,
    (to, from): (u32, u32),
    most: usize,
) -> Result<Vec<Vec<EdgeNumbers>>> {
    let (mut path, mut found) = (Vec::new(), Vec::new());
    // The nodes of the path, each with the number of the edge to follow next.
    let mut levels = vec![(to, 0)];
    while let Some((v, next)) = levels.last_mut() {
        cx.limits.step()?;
        let edge = reached.get(v).and_then(|(_, edges)| edges.get(*next));
        match edge.filter(|_| *v != from) {
            Some(edge) => {
                *next += 1;
                path.push(*edge);
                let end = other_end(edge, *v);
                levels.push((end, 0));
            }
            None => {
                if *v == from {
                    found.push(path.iter().rev().copied().collect());
                }
                if found.len() >= most {
                    return Ok(found);
                }
                levels.pop();
                path.pop();
            }
        }
    }
    Ok(found)
}

/// Paths in the order of their lengths: at most so many, and of so many lengths. No path passes an edge twice.
fn trails(
    cx: &Context,
    expand: &Expand,
    row: &mut Row,
    (from, to): (u32, u32),
    (most_paths, most_lengths): (u64, u64),
) -> Result<Vec<Vec<EdgeNumbers>>> {
    let (least, most) = expand.edge.length.unwrap_or((1, Some(1)));
    let types = types(&cx.view, &expand.edge);
    let properties = wanted_properties(cx, &expand.edge, row)?;
    let mut search = Trails {
        cx,
        types: types.as_deref(),
        properties: &properties,
        direction: expand.edge.direction,
        to,
        left: distances_to(cx, expand, &properties, to)?,
        found: Vec::new(),
        most: usize::try_from(most_paths).unwrap_or(usize::MAX),
        held: Held::new(&cx.limits),
        is_cut: true,
    };
    let (mut length, mut lengths) = (least, 0);
    while search.is_cut
        && length <= most.unwrap_or(u64::MAX)
        && lengths < most_lengths
        && search.found.len() < search.most
    {
        let before = search.found.len();
        search.is_cut = false;
        search.of_length(from, length)?;
        lengths += u64::from(search.found.len() > before);
        length += 1;
    }
    Ok(search.found)
}

/// For each node from which a way leads to another: the fewest edges of one.
fn distances_to(
    cx: &Context,
    expand: &Expand,
    properties: &[(Arc<str>, Value)],
    to: u32,
) -> Result<HashMap<u32, u64>> {
    let types = types(&cx.view, &expand.edge);
    let (mut found, mut frontier, mut distance) = (HashMap::from([(to, 0)]), vec![to], 0);
    let mut held = Held::new(&cx.limits);
    while !frontier.is_empty() {
        distance += 1;
        let mut next = Vec::new();
        for v in frontier {
            let back = expand.edge.direction.reversed();
            for edge in edges_at(&cx.view, v, back, types.as_deref())? {
                cx.limits.step()?;
                if has_properties(cx, &edge, properties)? {
                    let end = other_end(&edge, v);
                    found.entry(end).or_insert_with(|| {
                        next.push(end);
                        distance
                    });
                }
            }
        }
        held.take(32 * next.len() as u64)?;
        frontier = next;
    }
    Ok(found)
}

/// A search for paths of one length, depth first.
struct Trails<'s> {
    cx: &'s Context,
    types: Option<&'s [u64]>,
    properties: &'s [(Arc<str>, Value)],
    direction: Direction,
    to: u32,
    /// The fewest edges that are left from a node.
    left: HashMap<u32, u64>,
    found: Vec<Vec<EdgeNumbers>>,
    most: usize,
    held: Held,
    /// True if there may be longer paths.
    is_cut: bool,
}

impl Trails<'_> {
    fn edges(&self, v: u32) -> Result<std::vec::IntoIter<EdgeNumbers>> {
        Ok(edges_at(&self.cx.view, v, self.direction, self.types)?.into_iter())
    }

    /// Adds the paths with so many edges.
    fn of_length(&mut self, from: u32, length: u64) -> Result<()> {
        if length == 0 {
            self.is_cut = true;
            self.found.extend((from == self.to).then(Vec::new));
            return Ok(());
        }
        let (mut path, mut passed) = (Vec::new(), HashSet::new());
        let mut levels = vec![(from, self.edges(from)?)];
        while let Some((v, edges)) = levels.last_mut() {
            self.cx.limits.step()?;
            let Some(edge) = edges.next() else {
                levels.pop();
                if let Some(last) = path.pop() {
                    passed.remove(&last);
                }
                continue;
            };
            let end = other_end(&edge, *v);
            let Some(least) = self.left.get(&end).copied() else { continue };
            if passed.contains(&edge) || !has_properties(self.cx, &edge, self.properties)? {
                continue;
            }
            let left = length - 1 - path.len() as u64;
            if least > left || left == 0 {
                self.is_cut = true;
            }
            if least > left {
                continue;
            }
            path.push(edge);
            if left > 0 {
                passed.insert(edge);
                levels.push((end, self.edges(end)?));
                continue;
            }
            self.held.take(64 * (1 + path.len() as u64))?;
            self.found.push(path.clone());
            path.pop();
            if self.found.len() >= self.most {
                return Ok(());
            }
        }
        Ok(())
    }
}
