//! Projection of a property graph: some of its edges as a graph for algorithms.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Float64Builder, LargeBinaryBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::graph::PropertyGraph;
use super::record::EdgeRecord;
use super::value::Value;
use super::walk::Walk;
use nakshi_store::import::{Hooks, ImportOptions, Input, Report, import};
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Nodes or edges in a record batch.
const ROWS: usize = 16 << 10;

/// Direction of the edges of a projection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Along {
    /// The direction that they have in the property graph.
    #[default]
    Out,
    /// The opposite direction.
    In,
    /// Undirected.
    Both,
}

/// The edges that a projection takes, and what it makes of them.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// Types of edges; all if `None`.
    pub edge_types: Option<Vec<String>>,
    /// Direction of the edges.
    pub direction: Along,
    /// Edge property that becomes the weight.
    pub weight: Option<String>,
    /// Weight of edges that lack the property; `None` refuses them.
    pub missing: Option<f64>,
    /// Nodes that become vertices, with the edges between them; all if `None`.
    pub nodes: Option<Vec<ExternalId>>,
}

/// Writes the edges of a projection to the new store `destination`. Nodes without such edges become
/// vertices too. The projection overrides direction, weights, columns and nodes of `options`.
///
/// # Errors
/// [`Error::Invalid`] for an unknown type or weight, a weight that is no number, or an edge without one;
/// [`Error::NoNode`]; errors of the import.
pub fn project(
    graph: &PropertyGraph,
    destination: &Path,
    projection: &Projection,
    options: &ImportOptions,
    hooks: &Hooks,
) -> Result<Report> {
    let mut edges = ProjectedEdges::new(graph, projection)?;
    edges.walk = Walk::new(graph).until(&hooks.cancel);
    let mut nodes = ProjectedNodes::new(graph, edges.nodes.clone());
    let options = ImportOptions {
        directed: projection.direction != Along::Both,
        weighted: projection.weight.is_some(),
        columns: None,
        nodes: None,
        allow_empty: true,
        ..options.clone()
    };
    let (edge, node) = (Arc::clone(&edges.schema), Arc::clone(&nodes.schema));
    // An import would wrap the error of an edge as one of its input.
    let failed = Arc::new(Mutex::new(None));
    let told = Arc::clone(&failed);
    let batch = move || {
        edges.batch().map_err(|error| {
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Abandoned
        })
    };
    let inputs = vec![
        Input::Batches(Box::new(RecordBatches { schema: edge, batch })),
        Input::Vertices(Box::new(RecordBatches { schema: node, batch: move || nodes.batch() })),
    ];
    import(inputs, destination, &options, hooks).map_err(|error| {
        failed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error)
    })
}

/// The nodes as record batches, including nodes without edges.
struct ProjectedNodes {
    wanted: Option<NodeSet>,
    schema: SchemaRef,
    walk: Walk,
}

/// The nodes of a projection.
type NodeSet = Arc<HashSet<VertexId>>;

impl ProjectedNodes {
    fn new(graph: &PropertyGraph, wanted: Option<NodeSet>) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::LargeBinary, false)]));
        ProjectedNodes { wanted, schema, walk: Walk::new(graph) }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let (mut ids, mut count) = (LargeBinaryBuilder::new(), 0);
        while count < ROWS {
            let Some(v) = self.walk.node() else { break };
            if self.wanted.as_ref().is_none_or(|nodes| nodes.contains(&v)) {
                ids.append_value(self.walk.graph().state().external(v.into())?.into_bytes());
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

/// The edges as record batches, in the order of their sources.
struct ProjectedEdges {
    types: Option<BTreeSet<String>>,
    nodes: Option<NodeSet>,
    reversed: bool,
    /// Number of the property.
    weight: Option<u32>,
    missing: Option<f64>,
    schema: SchemaRef,
    walk: Walk,
}

impl ProjectedEdges {
    fn new(graph: &PropertyGraph, projection: &Projection) -> Result<Self> {
        let state = graph.state();
        for name in projection.edge_types.iter().flatten() {
            state.schema.known_type(name)?;
        }
        let nodes = projection.nodes.as_ref();
        let nodes = nodes.map(|ids| ids.iter().map(|id| state.node(id)).collect::<Result<_>>());
        let weight = projection.weight.as_deref();
        let weight = weight.map(|name| state.schema.edges.weight(name));
        let weight = weight.transpose()?;
        let id = |name| Field::new(name, DataType::LargeBinary, false);
        let mut fields = vec![id("source"), id("target")];
        if weight.is_some() {
            fields.push(Field::new("weight", DataType::Float64, false));
        }
        Ok(ProjectedEdges {
            types: projection.edge_types.as_ref().map(|types| types.iter().cloned().collect()),
            nodes: nodes.transpose()?.map(Arc::new),
            reversed: projection.direction == Along::In,
            weight,
            missing: projection.missing,
            schema: Arc::new(Schema::new(fields)),
            walk: Walk::new(graph),
        })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut ids = [LargeBinaryBuilder::new(), LargeBinaryBuilder::new()];
        let (mut weights, mut count) = (Float64Builder::new(), 0);
        let ProjectedEdges { types, nodes, walk, .. } = self;
        let has = |v| nodes.as_ref().is_none_or(|nodes| nodes.contains(&v));
        let typed = |record: &EdgeRecord| {
            types.as_ref().is_none_or(|types| types.contains(record.edge_type()))
        };
        while count < ROWS {
            let Some((record, i)) = walk.edge(has, typed)? else { break };
            let Some(place) = record.place(i)? else { break };
            let end = place.end()?;
            if !u32::try_from(end).is_ok_and(has) {
                continue;
            }
            let graph = record.graph();
            let (from, to) = (u64::from(record.node()), end);
            let ends = if self.reversed { [to, from] } else { [from, to] };
            for (builder, v) in ids.iter_mut().zip(ends) {
                builder.append_value(graph.state().external(v)?.into_bytes());
            }
            if let Some(weight) = self.weight {
                let mut bytes = Vec::new();
                let found = place.values().get(weight, &mut bytes)?.then_some(bytes);
                weights.append_value(match (found, self.missing) {
                    (Some(bytes), _) => number(graph, weight, &bytes)?,
                    (None, Some(missing)) => missing,
                    (None, None) => {
                        let name = graph.state().schema.edges.get(weight);
                        return Err(Error::Invalid(format!(
                            "the edge {} -> {} has no '{}'; give the weight of such edges \
                             (missing_weight=1)",
                            graph.state().external(from)?,
                            graph.state().external(to)?,
                            name.map_or("", |spec| &spec.name)
                        )));
                    }
                });
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

/// Decodes a value as a weight.
fn number(graph: &PropertyGraph, property: u32, bytes: &[u8]) -> Result<f64> {
    let spec = graph.state().schema.edges.get(property);
    match spec.and_then(|spec| Value::decode(spec.ty, bytes)) {
        Some(Value::Float(weight)) => Ok(weight),
        // Weights are floats, which hold integers of up to 53 bits exactly.
        Some(Value::Int(weight)) => Ok(weight as f64),
        other => Err(Error::Invalid(format!(
            "{} is no weight; name a property of numbers",
            other.unwrap_or(Value::Null)
        ))),
    }
}

/// A closure as a reader of record batches, as an import takes them.
struct RecordBatches<F> {
    schema: SchemaRef,
    batch: F,
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> Iterator for RecordBatches<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.batch)().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> RecordBatchReader for RecordBatches<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
