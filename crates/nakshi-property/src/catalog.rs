//! Labels, types of edges and properties of a graph, each with its counts.
//!
//! Counts of nodes by label and of edges by type are exact. ValueCounts values are counted where a property
//! has few values to read, and estimated from a sample elsewhere; a summary says which of both it has.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use nakshi_io::CancelToken;
use serde::Serialize;

use super::graph::PropertyGraph;
use super::import::LABELS;
use super::row::RowValues;
use super::segment::SegmentRows;
use super::spec::PropertySpec;
use super::value::items;
use nakshi_store::{Result, VertexId};

/// Values between two looks at a cancel token.
const PATIENCE: u64 = 1 << 12;

/// Nodes, and edges, of the sample from which distinct values are estimated.
const SAMPLE: u64 = 1 << 15;

/// Labels, types of edges and properties of a graph after one commit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Catalog {
    /// Number of the commit.
    pub commit: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Labels, the most frequent first; a node with two labels counts for both.
    pub labels: Vec<LabelSummary>,
    /// Number of nodes without a label.
    pub unlabelled: u64,
    /// Types of edges, the most frequent first; those without an edge as well.
    pub edge_types: Vec<EdgeTypeSummary>,
    /// Properties of nodes, in the order of their declarations.
    pub node_properties: Vec<PropertySummary>,
    /// Properties of edges, in the order of their declarations.
    pub edge_properties: Vec<PropertySummary>,
}

/// A label and its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelSummary {
    /// The label.
    pub label: String,
    /// Number of nodes that have it.
    pub nodes: u64,
}

/// A type of edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeTypeSummary {
    /// Its name.
    #[serde(rename = "type")]
    pub name: String,
    /// Number of edges.
    pub edges: u64,
    /// The type of the edges that lead back, if one was set.
    pub inverse: Option<String>,
    /// Labels of sources and destinations, the most frequent first.
    pub ends: Vec<EndsSummary>,
    /// True if `ends` are those of a sample, and their numbers of edges estimates.
    pub ends_estimated: bool,
}

/// Edges of one type between nodes of the same labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndsSummary {
    /// Labels of the sources.
    pub from: Vec<String>,
    /// Labels of the destinations.
    pub to: Vec<String>,
    /// Number of edges.
    pub edges: u64,
}

/// A property of nodes or of edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PropertySummary {
    /// Its name.
    pub name: String,
    /// Its type, such as `int` or `string[]`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Number of nodes, or edges, that have a value.
    pub values: u64,
    /// Number of distinct values.
    pub distinct: u64,
    /// True if both numbers are estimates from a sample.
    pub estimated: bool,
    /// Codecs of its columns in the files; empty if only the log has values.
    pub codec: Vec<&'static str>,
    /// The structure that finds a value without reading all of them, if there is one.
    pub index: Option<&'static str>,
    /// True if parts of its values are found without reading all of them.
    pub searchable: bool,
}

impl PropertyGraph {
    /// Describes what the graph holds. ValueCounts values of a property are counted if at most `exact`
    /// values have to be read for it, and else estimated by a sample of 32,768 nodes or edges; the same
    /// holds for the labels at the ends of edges.
    ///
    /// # Errors
    /// [`nakshi_store::Error::Cancelled`]; those of reading.
    pub fn catalog(&self, exact: u64, cancel: &CancelToken) -> Result<Catalog> {
        let survey = Survey { graph: self, exact, cancel, sample: None };
        survey.take()
    }
}

/// An edge as a survey meets it.
#[derive(Clone)]
struct Met {
    source: VertexId,
    ty: u64,
    end: u64,
    at: MetAt,
}

#[derive(Clone)]
enum MetAt {
    /// Shard and row of a file.
    Row(usize, u64),
    /// Its properties, as [`RowValues`] has them.
    Values(std::sync::Arc<[u8]>),
}

struct Survey<'g> {
    graph: &'g PropertyGraph,
    exact: u64,
    cancel: &'g CancelToken,
    /// Edges evenly spaced among all, drawn once.
    sample: Option<Vec<Met>>,
}

impl Survey<'_> {
    fn take(mut self) -> Result<Catalog> {
        let graph = self.graph;
        let (labels, unlabelled) = self.labels()?;
        let edge_types = self.edge_types()?;
        let node_properties = self.node_properties()?;
        let edge_properties = self.edge_properties()?;
        Ok(Catalog {
            commit: graph.commit(),
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            labels,
            unlabelled,
            edge_types,
            node_properties,
            edge_properties,
        })
    }

    /// The property that has the labels of nodes.
    fn label_property(&self) -> Option<u32> {
        let (number, spec) = self.graph.state().schema.nodes.find(LABELS).ok()?;
        spec.ty.list.then_some(number)
    }

    fn labels(&self) -> Result<(Vec<LabelSummary>, u64)> {
        let Some(property) = self.label_property() else {
            return Ok((Vec::new(), self.graph.num_nodes()));
        };
        let (mut lists, mut labelled) = (HashMap::<Vec<u8>, i64>::new(), 0);
        self.tally_nodes(property, &mut |list, times| {
            *lists.entry(list.to_vec()).or_insert(0) += times;
            Ok(())
        })?;
        let mut found = BTreeMap::<String, u64>::new();
        for (list, nodes) in &lists {
            let nodes = u64::try_from(*nodes).unwrap_or(0);
            let mut own = names(list);
            own.dedup();
            labelled += if own.is_empty() { 0 } else { nodes };
            own.into_iter().for_each(|label| *found.entry(label).or_insert(0) += nodes);
        }
        let labels = found.into_iter().filter(|(_, nodes)| *nodes > 0);
        let mut labels: Vec<_> =
            labels.map(|(label, nodes)| LabelSummary { label, nodes }).collect();
        labels.sort_by_key(|one| std::cmp::Reverse(one.nodes));
        Ok((labels, self.graph.num_nodes().saturating_sub(labelled)))
    }

    /// Hands every value of a node property to `f`, with the number of nodes that have it: negative for
    /// values of files that nodes do not have any more.
    fn tally_nodes(&self, property: u32, f: &mut TallySink<'_>) -> Result<()> {
        let state = self.graph.state();
        for shard in state.base.shards() {
            self.tally(&shard.nodes, property, f)?;
        }
        let mut value = Vec::new();
        for v in state.changed_nodes() {
            if u64::from(v) < state.filed() {
                let (shard, row) = state.base.place(v)?;
                value.clear();
                if shard.nodes.get(row, property, &mut value)? {
                    f(&value, -1)?;
                }
            }
            value.clear();
            if let Some(row) = state.row(v)?
                && row.get(property, &mut value)?
            {
                f(&value, 1)?;
            }
        }
        Ok(())
    }

    /// As [`Survey::tally_nodes`], of a property of edges.
    fn tally_edges(&self, property: u32, f: &mut TallySink<'_>) -> Result<()> {
        let state = self.graph.state();
        for shard in state.base.shards() {
            self.tally(&shard.edges.rows, property, f)?;
        }
        let mut value = Vec::new();
        state.each_deleted_edge(&mut |rows, row, _| {
            value.clear();
            if rows.get(row, property, &mut value)? { f(&value, -1) } else { Ok(()) }
        })?;
        state.each_new_edge(|_, _, edge| {
            value.clear();
            if edge.values().get(property, &mut value)? { f(&value, 1) } else { Ok(()) }
        })
    }

    fn tally(&self, rows: &SegmentRows, property: u32, f: &mut TallySink<'_>) -> Result<()> {
        let mut told = 0_u64;
        let mut counted = |value: &[u8], times: u64| {
            told += 1;
            if told.is_multiple_of(PATIENCE) {
                self.cancel.check()?;
            }
            f(value, i64::try_from(times).unwrap_or(i64::MAX))
        };
        if let Some(columns) = rows.columns(property) {
            return columns.iter().try_for_each(|column| column.tally(rows.blob(), &mut counted));
        }
        let mut value = Vec::new();
        for row in 0..rows.len() {
            value.clear();
            if rows.get(row, property, &mut value)? {
                counted(&value, 1)?;
            }
        }
        Ok(())
    }

    fn edge_types(&mut self) -> Result<Vec<EdgeTypeSummary>> {
        let state = self.graph.state();
        let mut counts = vec![0_i64; state.schema.types().len()];
        let mut add = |ty: u64, edges: i64| {
            if let Some(count) = counts.get_mut(usize::try_from(ty).unwrap_or(usize::MAX)) {
                *count += edges;
            }
        };
        let mut told = 0_u64;
        for shard in state.base.shards() {
            shard.edges.each_record(|ty, edges| {
                told += 1;
                if told.is_multiple_of(PATIENCE) {
                    self.cancel.check()?;
                }
                add(ty, i64::try_from(edges).unwrap_or(i64::MAX));
                Ok(())
            })?;
        }
        state.each_deleted_edge(&mut |_, _, ty| {
            add(ty, -1);
            Ok(())
        })?;
        state.each_new_edge(|_, ty, _| {
            add(ty, 1);
            Ok(())
        })?;
        let (mut ends, estimated) = self.ends()?;
        let one = |(ty, count): (u64, i64)| {
            let edges = u64::try_from(count).unwrap_or(0);
            EdgeTypeSummary {
                name: state.schema.type_name(ty).to_owned(),
                edges,
                inverse: state.schema.inverse(ty).map(|ty| state.schema.type_name(ty).to_owned()),
                ends: scaled(ends.remove(&ty).unwrap_or_default(), edges),
                ends_estimated: estimated,
            }
        };
        let mut types: Vec<_> = (0..).zip(counts).map(one).collect();
        types.sort_by_key(|one| std::cmp::Reverse(one.edges));
        Ok(types)
    }

    /// Labels of the ends of edges, by type, with numbers of edges; whether only a sample was looked at.
    fn ends(&mut self) -> Result<(HashMap<u64, EndCounts>, bool)> {
        let Some(property) = self.label_property() else { return Ok((HashMap::new(), false)) };
        let mut found = HashMap::<u64, EndCounts>::new();
        let (graph, mut from, mut to) = (self.graph, Vec::new(), Vec::new());
        let mut met = |ty: u64, source: VertexId, end: u64, known: bool| -> Result<()> {
            if !known {
                label_list(graph, source, property, &mut from)?;
            }
            let end = VertexId::try_from(end).unwrap_or(VertexId::MAX);
            label_list(graph, end, property, &mut to)?;
            *found.entry(ty).or_default().entry((from.clone(), to.clone())).or_insert(0) += 1;
            Ok(())
        };
        let walked = graph.num_edges() <= self.exact
            && graph.state().numbered() <= self.exact.saturating_mul(4);
        if walked {
            let state = graph.state();
            for v in 0..state.numbered() {
                let v = VertexId::try_from(v).unwrap_or(VertexId::MAX);
                if u64::from(v).is_multiple_of(PATIENCE) {
                    self.cancel.check()?;
                }
                if !state.is_alive(v) {
                    continue;
                }
                for record in graph.records_of(v)? {
                    let ty = state.schema.edge_type(record.edge_type()).unwrap_or(u64::MAX);
                    let ends = record.ends(0..record.len())?;
                    (0..).zip(ends).try_for_each(|(i, end)| met(ty, v, end, i > 0))?;
                }
            }
        } else {
            for edge in self.sampled()? {
                met(edge.ty, edge.source, edge.end, false)?;
            }
        }
        Ok((found, !walked))
    }

    /// Edges evenly spaced among those of files, and as densely among those of the log.
    fn sampled(&mut self) -> Result<Vec<Met>> {
        if let Some(sample) = &self.sample {
            return Ok(sample.clone());
        }
        let state = self.graph.state();
        let shards = state.base.shards();
        let all: u64 = shards.iter().map(|shard| shard.edges.rows.len()).sum();
        let step = (all / SAMPLE).max(1);
        let (mut sample, mut first) = (Vec::new(), 0);
        for (number, shard) in shards.iter().enumerate() {
            self.cancel.check()?;
            let len = shard.edges.rows.len();
            let mut row = first;
            while row < len {
                let (node, ty) = shard.edges.of_row(row)?;
                let source = state.base.node_at(number, node)?;
                if state.shows_filed(number, shard, (source, ty), row)? {
                    let end = shard.edges.rows.end(row)?;
                    sample.push(Met { source, ty, end, at: MetAt::Row(number, row) });
                }
                row += step;
            }
            first = row - len;
        }
        let mut met = 0;
        state.each_new_edge(|source, ty, edge| {
            if met % step == 0 {
                let mut values = Vec::new();
                edge.values().each(|property, value| {
                    RowValues::put(property, value, &mut values);
                    Ok(())
                })?;
                let (end, at) = (edge.end()?, MetAt::Values(values.into()));
                sample.push(Met { source, ty, end, at });
            }
            met += 1;
            Ok(())
        })?;
        self.sample = Some(sample.clone());
        Ok(sample)
    }

    fn node_properties(&self) -> Result<Vec<PropertySummary>> {
        let state = self.graph.state();
        let specs = state.schema.nodes.specs();
        let files: Vec<&SegmentRows> =
            state.base.shards().iter().map(|shard| &shard.nodes).collect();
        let changed = state.changed_nodes().len() as u64;
        let (mut exact, rest) =
            self.counted(specs.len(), &files, changed, |property, values| {
                self.tally_nodes(property, &mut |value, times| values.add(value, times))
            })?;
        let mut samples = vec![ValueCounts::default(); specs.len()];
        let step = (state.numbered() / SAMPLE).max(1);
        let (mut v, mut drawn) = (0, 0_u64);
        while v < state.numbered() && !rest.is_empty() {
            let node = VertexId::try_from(v).unwrap_or(VertexId::MAX);
            v += step;
            let mut each =
                |property: u32, value: &[u8]| sampled_value(&mut samples, property, value);
            let Some(row) = state.row(node)? else { continue };
            row.each(&mut each)?;
            drawn += 1;
            if drawn.is_multiple_of(PATIENCE) {
                self.cancel.check()?;
            }
        }
        estimated(&mut exact, &rest, &samples, drawn, self.graph.num_nodes());
        Ok(summaries(specs, &files, &exact))
    }

    fn edge_properties(&mut self) -> Result<Vec<PropertySummary>> {
        let graph = self.graph;
        let state = graph.state();
        let specs = state.schema.edges.specs();
        let files: Vec<&SegmentRows> =
            state.base.shards().iter().map(|shard| &shard.edges.rows).collect();
        let changed = state.changed_edges();
        let (mut exact, rest) =
            self.counted(specs.len(), &files, changed, |property, values| {
                self.tally_edges(property, &mut |value, times| values.add(value, times))
            })?;
        let mut samples = vec![ValueCounts::default(); specs.len()];
        let sample = if rest.is_empty() { Vec::new() } else { self.sampled()? };
        for met in &sample {
            let mut each =
                |property: u32, value: &[u8]| sampled_value(&mut samples, property, value);
            match &met.at {
                MetAt::Values(values) => {
                    RowValues(values).try_for_each(|(p, value)| each(p, value))?
                }
                MetAt::Row(shard, row) => {
                    if let Some(rows) = files.get(*shard) {
                        rows.each(*row, each)?;
                    }
                }
            }
        }
        estimated(&mut exact, &rest, &samples, sample.len() as u64, graph.num_edges());
        Ok(summaries(specs, &files, &exact))
    }

    /// The counts of the properties whose values are read in full by `tally`, and the numbers of
    /// the other properties.
    fn counted(
        &self,
        properties: usize,
        files: &[&SegmentRows],
        changed: u64,
        tally: impl Fn(u32, &mut ValueCounts) -> Result<()>,
    ) -> Result<(PropertyCounts, Vec<u32>)> {
        let (mut exact, mut rest) = (BTreeMap::new(), Vec::new());
        for property in (0..).take(properties) {
            if self.reads(files, property, changed) > self.exact {
                rest.push(property);
                continue;
            }
            let mut values = ValueCounts::default();
            tally(property, &mut values)?;
            exact.insert(property, (values.count(), values.distinct(), false));
        }
        Ok((exact, rest))
    }

    /// Values that counting the distinct ones of a property reads.
    fn reads(&self, files: &[&SegmentRows], property: u32, changed: u64) -> u64 {
        let of = |rows: &&SegmentRows| match rows.columns(property) {
            Some(columns) => columns.iter().map(|column| column.tallied()).sum(),
            None => rows.len(),
        };
        files.iter().map(of).sum::<u64>() + changed
    }
}

/// Receiver of values, each with the number of times that it occurs; negative where the log hides it.
type TallySink<'f> = dyn FnMut(&[u8], i64) -> Result<()> + 'f;

/// Numbers of edges by the labels of their sources and destinations, as [`items`] has these.
type EndCounts = HashMap<(Vec<u8>, Vec<u8>), u64>;

/// The labels of a node, as [`items`] has them; empty if it has none.
fn label_list(graph: &PropertyGraph, v: VertexId, property: u32, out: &mut Vec<u8>) -> Result<()> {
    let state = graph.state();
    out.clear();
    if let Some(row) = state.row(v)? {
        row.get(property, out)?;
    }
    Ok(())
}

/// The labels of a list.
fn names(list: &[u8]) -> Vec<String> {
    items(list).map(|label| String::from_utf8_lossy(label).into_owned()).collect()
}

/// Ends of a type, whose numbers of edges are scaled to add up to about `edges`.
fn scaled(ends: EndCounts, edges: u64) -> Vec<EndsSummary> {
    let all: u64 = ends.values().sum();
    let scale = |seen: u64| share_of(seen, all, edges);
    let mut found: Vec<_> = ends
        .into_iter()
        .map(|((from, to), seen)| EndsSummary {
            from: names(&from),
            to: names(&to),
            edges: scale(seen),
        })
        .collect();
    found.sort_by(|a, b| (b.edges, &a.from, &a.to).cmp(&(a.edges, &b.from, &b.to)));
    found
}

/// `seen` of `drawn`, in proportion of `all`.
fn share_of(seen: u64, drawn: u64, all: u64) -> u64 {
    let whole = u128::from(seen) * u128::from(all) / u128::from(drawn.max(1));
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// Values by hashes of 128 bits, with the number of rows that have each.
#[derive(Clone, Default)]
struct ValueCounts {
    hashers: (RandomState, RandomState),
    rows: HashMap<(u64, u64), i64>,
}

impl ValueCounts {
    fn add(&mut self, value: &[u8], times: i64) -> Result<()> {
        let key = (self.hashers.0.hash_one(value), self.hashers.1.hash_one(value));
        *self.rows.entry(key).or_insert(0) += times;
        Ok(())
    }

    fn count(&self) -> u64 {
        self.rows.values().map(|rows| u64::try_from(*rows).unwrap_or(0)).sum()
    }

    fn distinct(&self) -> u64 {
        self.rows.values().filter(|rows| **rows > 0).count() as u64
    }
}

fn sampled_value(samples: &mut [ValueCounts], property: u32, value: &[u8]) -> Result<()> {
    samples.get_mut(property as usize).map_or(Ok(()), |sample| sample.add(value, 1))
}

/// Number of values, of distinct ones, and whether both are estimates; by property.
type PropertyCounts = BTreeMap<u32, (u64, u64, bool)>;

/// Estimates numbers of values and of distinct values from `drawn` of `all` rows.
fn estimated(
    counts: &mut PropertyCounts,
    rest: &[u32],
    samples: &[ValueCounts],
    drawn: u64,
    all: u64,
) {
    for property in rest {
        let Some(sample) = samples.get(*property as usize) else { continue };
        let (seen, distinct) = (sample.count(), sample.distinct());
        let once = sample.rows.values().filter(|rows| **rows == 1).count() as u64;
        let values = share_of(seen, drawn, all);
        counts.insert(*property, (values, estimate(seen, distinct, once, values), true));
    }
}

/// Distinct values among `all`, by a sample of `seen` values, `distinct` of which differ and `once` of
/// which occur once: the estimator Duj1 of Haas and Stokes, "Estimating the number of classes in a finite
/// population", JASA 93 (1998).
fn estimate(seen: u64, distinct: u64, once: u64, all: u64) -> u64 {
    if seen == 0 || all <= seen {
        return distinct;
    }
    // Counts are far below 2^53.
    let (n, d, f, total) = (seen as f64, distinct as f64, once as f64, all as f64);
    let found = n * d / (n - f + f * n / total);
    (found.round() as u64).clamp(distinct, all)
}

fn summaries(
    specs: &[PropertySpec],
    files: &[&SegmentRows],
    counts: &PropertyCounts,
) -> Vec<PropertySummary> {
    let one = |(property, spec): (u32, &PropertySpec)| {
        let (values, distinct, estimated) = counts.get(&property).copied().unwrap_or_default();
        let (mut codec, mut index, mut searchable) = (Vec::new(), None, spec.searchable);
        for rows in files {
            match (rows, rows.columns(property)) {
                (SegmentRows::Flat(_), _) => {
                    (index, searchable) = (Some("text"), true);
                    codec.push("succinct");
                }
                (_, None) => codec.push("blocks"),
                (_, Some(columns)) => {
                    codec.extend(columns.iter().map(|column| column.codec()));
                    index = index.or_else(|| columns.iter().find_map(|column| column.index()));
                }
            }
        }
        codec.sort_unstable();
        codec.dedup();
        let (name, ty) = (spec.name.clone(), spec.ty.to_string());
        PropertySummary { name, ty, values, distinct, estimated, codec, index, searchable }
    };
    (0..).zip(specs).filter(|(_, spec)| !spec.is_hidden()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_distinct_values() {
        // All values seen once: as many as there are.
        assert_eq!(estimate(1000, 1000, 1000, 50_000), 50_000);
        // None seen once: no more than were seen.
        assert_eq!(estimate(1000, 7, 0, 50_000), 7);
        // The sample is everything.
        assert_eq!(estimate(10, 4, 2, 10), 4);
        assert_eq!(estimate(0, 0, 0, 0), 0);
        let some = estimate(1000, 600, 400, 10_000);
        assert!((900..1100).contains(&some), "{some}");
    }
}
