//! Some edges of a property graph as a graph that every algorithm takes.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, LargeBinaryBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::graph::PropertyGraph;
use super::record::EdgeRecord;
use super::value::Value;
use super::walk::{Walk, id_bytes};
use nakshi_store::import::{Hooks, ImportOptions, Input, Report, import};
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Nodes or edges that are handed on at once.
const ROWS: usize = 16 << 10;

/// The direction that the edges of a projection have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Along {
    /// As in the property graph.
    #[default]
    Out,
    /// The other way round.
    In,
    /// None: the graph is undirected.
    Both,
}

/// Which edges, and as what.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// Types of edges; all if not given.
    pub edge_types: Option<Vec<String>>,
    /// Their direction.
    pub direction: Along,
    /// The property of edges that is their weight; 1 where an edge has none.
    pub weight: Option<String>,
    /// The nodes that are vertices, with the edges between them; all if not given.
    pub nodes: Option<Vec<ExternalId>>,
}

/// Writes the edges of a projection to the new store `destination`. Nodes without such edges are
/// vertices too. Of `options`, direction, weights, columns and nodes are those of the projection.
///
/// # Errors
/// [`Error::Invalid`] for types or a weight that are not there, or a weight that is no number;
/// [`Error::NoNode`]; those of importing.
pub fn project(
    graph: &PropertyGraph,
    destination: &Path,
    projection: &Projection,
    options: &ImportOptions,
    hooks: &Hooks,
) -> Result<Report> {
    let mut edges = Edges::new(graph, projection)?;
    let mut nodes = Nodes::new(graph, edges.nodes.clone());
    let options = ImportOptions {
        directed: projection.direction != Along::Both,
        weighted: projection.weight.is_some(),
        columns: None,
        nodes: None,
        ..options.clone()
    };
    let (edge, node) = (Arc::clone(&edges.schema), Arc::clone(&nodes.schema));
    let inputs = vec![
        Input::Batches(Box::new(Batches { schema: edge, batch: move || edges.batch() })),
        Input::Vertices(Box::new(Batches { schema: node, batch: move || nodes.batch() })),
    ];
    import(inputs, destination, &options, hooks)
}

/// The nodes, as record batches: those too that have no edges.
struct Nodes {
    wanted: Option<Wanted>,
    schema: SchemaRef,
    walk: Walk,
}

/// The nodes that a projection has.
type Wanted = Arc<HashSet<VertexId>>;

impl Nodes {
    fn new(graph: &PropertyGraph, wanted: Option<Wanted>) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::LargeBinary, false)]));
        Nodes { wanted, schema, walk: Walk::new(graph) }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let (mut ids, mut count) = (LargeBinaryBuilder::new(), 0);
        while count < ROWS {
            let Some(v) = self.walk.node() else { break };
            if self.wanted.as_ref().is_none_or(|nodes| nodes.contains(&v)) {
                ids.append_value(id_bytes(self.walk.graph().state().external(v.into())?));
                count += 1;
            }
        }
        if count == 0 {
            return Ok(None);
        }
        batch(&self.schema, vec![Arc::new(ids.finish())])
    }
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<Option<RecordBatch>> {
    let batch = RecordBatch::try_new(Arc::clone(schema), columns);
    batch.map(Some).map_err(|error| Error::Invalid(error.to_string()))
}

/// The edges, in the order of their sources, as record batches.
struct Edges {
    types: Option<BTreeSet<String>>,
    nodes: Option<Wanted>,
    reversed: bool,
    /// Number of the property.
    weight: Option<u32>,
    schema: SchemaRef,
    walk: Walk,
}

impl Edges {
    fn new(graph: &PropertyGraph, projection: &Projection) -> Result<Self> {
        let state = graph.state();
        for name in projection.edge_types.iter().flatten() {
            if state.schema.edge_type(name).is_none() {
                let known = graph.edge_types().join(", ");
                return Err(Error::Invalid(format!(
                    "there are no edges of type '{name}' (types are: {known})"
                )));
            }
        }
        let nodes = projection.nodes.as_ref();
        let nodes = nodes.map(|ids| ids.iter().map(|id| state.node(id)).collect::<Result<_>>());
        let weight = projection.weight.as_deref();
        let weight = weight.map(|name| Ok::<_, Error>(state.schema.edges.find(name)?.0));
        let weight = weight.transpose()?;
        let id = |name| Field::new(name, DataType::LargeBinary, false);
        let mut fields = vec![id("source"), id("target")];
        if weight.is_some() {
            fields.push(Field::new("weight", DataType::Float64, false));
        }
        Ok(Edges {
            types: projection.edge_types.as_ref().map(|types| types.iter().cloned().collect()),
            nodes: nodes.transpose()?.map(Arc::new),
            reversed: projection.direction == Along::In,
            weight,
            schema: Arc::new(Schema::new(fields)),
            walk: Walk::new(graph),
        })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut ids = [LargeBinaryBuilder::new(), LargeBinaryBuilder::new()];
        let (mut weights, mut count) = (Float64Builder::new(), 0);
        let Edges { types, nodes, walk, .. } = self;
        let has = |v| nodes.as_ref().is_none_or(|nodes| nodes.contains(&v));
        let typed = |record: &EdgeRecord| {
            types.as_ref().is_none_or(|types| types.contains(record.edge_type()))
        };
        while count < ROWS {
            let Some((record, i)) = walk.edge(has, typed)? else { break };
            let Some(place) = record.place(i)? else { break };
            let end = record.end(place)?;
            if !u32::try_from(end).is_ok_and(has) {
                continue;
            }
            let graph = record.graph();
            let (from, to) = (u64::from(record.node()), end);
            let ends = if self.reversed { [to, from] } else { [from, to] };
            for (builder, v) in ids.iter_mut().zip(ends) {
                builder.append_value(id_bytes(graph.state().external(v)?));
            }
            if let Some(weight) = self.weight {
                let mut found = None;
                record.each_value(place, |property, bytes| {
                    if property == weight {
                        found = Some(bytes.to_vec());
                    }
                })?;
                weights.append_value(found.map_or(Ok(1.0), |bytes| number(graph, weight, &bytes))?);
            }
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let [mut source, mut target] = ids;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(source.finish()), Arc::new(target.finish())];
        if self.weight.is_some() {
            columns.push(Arc::new(weights.finish()));
        }
        batch(&self.schema, columns)
    }
}

/// The weight that a value is.
fn number(graph: &PropertyGraph, property: u32, bytes: &[u8]) -> Result<f64> {
    let spec = graph.edge_properties().get(property as usize);
    match spec.and_then(|spec| Value::decode(spec.ty, bytes)) {
        Some(Value::Float(weight)) => Ok(weight),
        // Exact up to 53 bits, as weights are everywhere.
        Some(Value::Int(weight)) => Ok(weight as f64),
        other => Err(Error::Invalid(format!(
            "{} is no weight; name a property of numbers",
            other.unwrap_or(Value::Null)
        ))),
    }
}

/// Record batches as an import reads them.
struct Batches<F> {
    schema: SchemaRef,
    batch: F,
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> Iterator for Batches<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.batch)().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> RecordBatchReader for Batches<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
