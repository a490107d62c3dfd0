//! Algorithms as procedures of queries in Cypher: `CALL nakshi.pagerank({damping: 0.9}) YIELD node, rank`.
//!
//! Each algorithm of the registry is one, under the name of its Python method. It runs on the state that the
//! query sees. `nakshi.NAME.stats` has the results for the graph as a whole.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use nakshi_engine::algo::{Declaration, Entry, Kind, Output, REGISTRY};
use nakshi_engine::{Context, Error as EngineError};
use nakshi_property::{
    Along, Condition, LABELS, Projection, PropertyGraph, Topology, Value as Stored,
};
use nakshi_query::{
    Called, Caller, Class, Map, Procedure, ProcedureType, Procedures, QueryError, Row, Signature,
    Value,
};
use nakshi_store::import::{Hooks, ImportOptions};
use nakshi_store::{ExternalId, Store};
use serde_json::Value as Json;

use crate::analysis::{self, Answer};
use crate::names::{id_at, json_id};
use crate::table::{Table, TableReader};
use crate::topology::{Topologies, TopologyRequest};
use crate::{Error, Result};

/// Beginning of the names.
const PREFIX: &str = "nakshi.";
/// End of the names of procedures with results for the graph as a whole.
const STATS: &str = ".stats";
/// The column with the node of a row.
const NODE: &str = "node";
/// End of the names of columns of which there are many, which are one list here.
const MANY: &str = "_*";

/// The algorithms, with the edge lists that they ran on.
#[derive(Debug, Default)]
pub struct Algorithms(Arc<Topologies>);

impl Procedures for Algorithms {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        let name = name.strip_prefix(PREFIX)?;
        let (method, stats) = match name.strip_suffix(STATS) {
            Some(method) => (method, true),
            None => (name, false),
        };
        let entry = REGISTRY.iter().find(|entry| entry.declaration.method == method)?;
        let topologies = Arc::clone(&self.0);
        Some(Arc::new(Algorithm { signature: signature(entry, stats), entry, stats, topologies }))
    }

    fn names(&self) -> Vec<String> {
        let names = |entry: &Entry| {
            let name = format!("{PREFIX}{}", entry.declaration.method);
            let stats = format!("{name}{STATS}");
            [name, stats]
        };
        REGISTRY.iter().flat_map(names).collect()
    }
}

/// An algorithm as a procedure.
struct Algorithm {
    signature: Signature,
    entry: &'static Entry,
    /// True for the results for the graph as a whole.
    stats: bool,
    topologies: Arc<Topologies>,
}

/// Names of outputs; of those of which there are many, the part that they share.
fn names(outputs: &'static [Output]) -> impl Iterator<Item = &'static str> {
    outputs.iter().map(|output| output.name.strip_suffix(MANY).unwrap_or(output.name))
}

/// Returns true for an algorithm whose results are for the graph as a whole only.
fn is_whole(declaration: &Declaration) -> bool {
    declaration.columns.is_empty()
}

fn signature(entry: &Entry, stats: bool) -> Signature {
    let declaration = &entry.declaration;
    let columns = match stats || is_whole(declaration) {
        true => names(declaration.summary).map(any).collect(),
        false => {
            let node = [(NODE.to_owned(), ProcedureType::Node)];
            node.into_iter().chain(names(declaration.columns).map(any)).collect()
        }
    };
    let arguments = vec![("configuration".to_owned(), ProcedureType::Map)];
    Signature { arguments, optional: 1, columns }
}

fn any(name: &str) -> (String, ProcedureType) {
    (name.to_owned(), ProcedureType::Any)
}

impl Procedure for Algorithm {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        self.entry.about
    }

    fn call(&self, caller: &Caller<'_>, arguments: &[Value]) -> Result<Called, QueryError> {
        let none = Map::new();
        let configuration = match arguments {
            [Value::Map(given), ..] => &**given,
            _ => &none,
        };
        let (graph, answer) = self.run(caller, configuration).map_err(of_error)?;
        if self.stats || is_whole(&self.entry.declaration) {
            let row = self.summary(&answer);
            return Ok(Box::new([Ok(row)].into_iter()));
        }
        let Some(table) = answer.table else { return Ok(Box::new(std::iter::empty())) };
        Ok(Box::new(Rows::new(graph, &table, &self.signature)))
    }
}

impl Algorithm {
    fn run(&self, caller: &Caller<'_>, configuration: &Map) -> Result<(PropertyGraph, Answer)> {
        let graph = caller.graph;
        let mut wanted = Wanted::of(&self.entry.declaration, configuration, graph)?;
        let mut cx = Context::new().with_cancel(caller.cancel.clone()).with_memory(caller.memory);
        if let Some(threads) = wanted.threads {
            cx = cx.with_threads(threads);
        }
        if let Some(deadline) = caller.deadline {
            cx = cx.with_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        let hooks = Hooks { cancel: caller.cancel.clone(), ..Hooks::default() };
        let topology = match wanted.projection.take() {
            Some(projection) => {
                let usual = ImportOptions::default();
                let memory = caller.memory.unwrap_or(usual.memory);
                let options = ImportOptions { memory, threads: cx.threads(), ..usual };
                let store: Arc<Store> = graph.store()?;
                let made = Topology::of_projection(graph, &store, &projection, &options, &hooks)?;
                wanted.note_weight(projection.weight);
                Arc::new(made)
            }
            None => {
                let chosen = self.topologies.of_graph(graph, &wanted.request, &cx, &hooks)?;
                wanted.note_weight(chosen.info.and_then(|info| info.weight));
                chosen.topology
            }
        };
        let parameters = Json::Object(wanted.parameters);
        let answer = analysis::run(topology.store(), self.entry.name, &parameters, &cx)?;
        Ok((graph.clone(), answer))
    }

    /// The fields of the summary, in the order of the columns.
    fn summary(&self, answer: &Answer) -> Row {
        let field = |output: &Output| match output.name.strip_suffix('*') {
            None => answer.summary.get(output.name).cloned().map_or(Value::Null, Value::of_json),
            Some(shared) => {
                let fields = (0..).map_while(|at| answer.summary.get(&format!("{shared}{at}")));
                Value::list(fields.cloned().map(Value::of_json).collect())
            }
        };
        self.entry.declaration.summary.iter().map(field).collect()
    }
}

/// The configuration of a call.
struct Wanted {
    parameters: serde_json::Map<String, Json>,
    request: TopologyRequest,
    /// Some nodes and edges only, or edges in another direction.
    projection: Option<Projection>,
    threads: Option<usize>,
}

impl Wanted {
    fn of(declaration: &Declaration, given: &Map, graph: &PropertyGraph) -> Result<Self> {
        let weighs = declaration.parameters.iter().any(|one| matches!(one.kind, Kind::Column));
        let mut parameters = serde_json::Map::new();
        let (mut projection, mut projects) = (Projection::default(), false);
        let (mut missing, mut unit, mut threads) = (None, false, None);
        for (name, value) in given {
            match &**name {
                "labels" => (projection.nodes, projects) = (Some(labelled(graph, value)?), true),
                "types" => (projection.edge_types, projects) = (Some(texts(name, value)?), true),
                "direction" => {
                    (projection.direction, projects) = (direction(value)?, true);
                }
                "missing_weight" if weighs => missing = Some(number(name, value)?),
                "unit" if weighs => unit = truth(name, value)?,
                "threads" => threads = Some(count(name, value)?),
                _ => {
                    parameters.insert(name.to_string(), argument(graph, value)?);
                }
            }
        }
        let weight = parameters.get("weight").filter(|_| weighs).and_then(Json::as_str);
        let weight = weight.map(str::to_owned);
        let request = TopologyRequest {
            weighs: weighs && !unit && weight.is_none(),
            weight: weight.clone(),
            missing,
            ..TopologyRequest::default()
        };
        let usual = request.weighs && graph.weights().contains(&"weight");
        projection.weight = weight.or_else(|| usual.then(|| "weight".to_owned()));
        projection.missing = missing;
        Ok(Wanted { parameters, request, projection: projects.then_some(projection), threads })
    }

    /// Names the weight that the edge lists have.
    fn note_weight(&mut self, weight: Option<String>) {
        if let Some(weight) = weight {
            self.parameters.insert("weight".into(), weight.into());
        }
    }
}

fn wrong(name: &str, value: &Value, takes: &str) -> Error {
    let message = format!("{value} is none; give {takes}");
    EngineError::Parameter { name: name.to_owned(), message }.into()
}

/// One text, or a list of texts.
fn texts(name: &str, value: &Value) -> Result<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.to_string()),
        other => Err(wrong(name, other, "a name or a list of names")),
    };
    match value {
        Value::List(items) => items.iter().map(text).collect(),
        one => Ok(vec![text(one)?]),
    }
}

fn truth(name: &str, value: &Value) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(wrong(name, other, "true or false")),
    }
}

fn number(name: &str, value: &Value) -> Result<f64> {
    match value {
        Value::Int(value) => Ok(*value as f64),
        Value::Float(value) => Ok(*value),
        other => Err(wrong(name, other, "a number")),
    }
}

fn count(name: &str, value: &Value) -> Result<usize> {
    let count = match value {
        Value::Int(value) => usize::try_from(*value).ok().filter(|count| *count > 0),
        _ => None,
    };
    count.ok_or_else(|| wrong(name, value, "a number above 0"))
}

fn direction(value: &Value) -> Result<Along> {
    match value {
        Value::String(word) => match &**word {
            "out" => Ok(Along::Out),
            "in" => Ok(Along::In),
            "both" => Ok(Along::Both),
            _ => Err(wrong("direction", value, "'out', 'in' or 'both'")),
        },
        other => Err(wrong("direction", other, "'out', 'in' or 'both'")),
    }
}

/// The nodes that have one of the labels.
fn labelled(graph: &PropertyGraph, value: &Value) -> Result<Vec<ExternalId>> {
    let mut numbers = Vec::new();
    for label in texts("labels", value)? {
        let is = Condition::Is(Stored::String(label));
        numbers.extend(graph.numbers_of(&[(LABELS, is)])?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers.into_iter().map(|v| graph.id_of(v)).collect::<Result<_, _>>()?)
}

/// A parameter of an algorithm; nodes become their ids.
fn argument(graph: &PropertyGraph, value: &Value) -> Result<Json> {
    Ok(match value {
        Value::Node(node) => json_id(&graph.id_of(node.number())?),
        Value::List(items) => {
            let items = items.iter().map(|item| argument(graph, item));
            Json::Array(items.collect::<Result<_>>()?)
        }
        other => other.to_json(),
    })
}

/// The rows of a table, whose ids become nodes.
struct Rows {
    graph: PropertyGraph,
    batches: TableReader,
    batch: Option<RecordBatch>,
    row: usize,
    /// For each column behind the node, those of the table that it is made of.
    parts: Vec<Part>,
    vertices: Vec<bool>,
}

/// Where the values of a column come from.
enum Part {
    /// A column that this run has not.
    Absent,
    One(usize),
    /// Columns that are one list.
    List(Vec<usize>),
}

impl Rows {
    fn new(graph: PropertyGraph, table: &Arc<Table>, signature: &Signature) -> Self {
        let schema = table.schema();
        let part = |(name, _): &(String, ProcedureType)| {
            if let Ok(place) = schema.index_of(name) {
                return Part::One(place);
            }
            let of_list = |at: usize| schema.index_of(&format!("{name}_{at}")).ok();
            let places: Vec<usize> = (0..).map_while(of_list).collect();
            if places.is_empty() { Part::Absent } else { Part::List(places) }
        };
        let parts = signature.columns.iter().skip(1).map(part).collect();
        let (batches, vertices) = (table.reader(None), table.vertex_columns());
        Rows { graph, batches, batch: None, row: 0, parts, vertices }
    }

    fn row(&self, batch: &RecordBatch) -> Result<Row> {
        let schema = batch.schema();
        let cell = |place: usize| match schema.fields().get(place) {
            Some(field) => {
                let vertex = self.vertices.get(place).copied().unwrap_or_default();
                cell(field, batch.column(place), self.row, vertex)
            }
            None => Ok(Value::Null),
        };
        let id = id_at(schema.field(0), batch.column(0), self.row)?;
        let node = self.graph.vertex(&id)?.map_or(Value::Null, Value::node);
        let mut row = Row::with_capacity(1 + self.parts.len());
        row.push(node);
        for part in &self.parts {
            row.push(match part {
                Part::Absent => Value::Null,
                Part::One(place) => cell(*place)?,
                Part::List(places) => {
                    Value::list(places.iter().map(|place| cell(*place)).collect::<Result<_>>()?)
                }
            });
        }
        Ok(row)
    }
}

impl Iterator for Rows {
    type Item = Result<Row, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.row < batch.num_rows()) {
                let row = self.row(batch).map_err(of_error);
                self.row += 1;
                return Some(row);
            }
            match self.batches.next()? {
                Ok(batch) => (self.batch, self.row) = (Some(batch), 0),
                Err(error) => return Some(Err(of_error(error.into()))),
            }
        }
    }
}

/// A value of a table; vertices are told by their ids.
fn cell(field: &Field, array: &ArrayRef, row: usize, vertex: bool) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    if vertex {
        return Ok(match id_at(field, array, row)? {
            ExternalId::I64(id) => Value::Int(id),
            ExternalId::Bytes(id) => Value::Bytes(id.into()),
            other => Value::text(other.to_string()),
        });
    }
    Ok(match array.data_type() {
        DataType::UInt32 => Value::Int(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or(Value::Float(value as f64), Value::Int)
        }
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        _ => return Err(nakshi_store::Error::Internal("a column of an unknown type").into()),
    })
}

/// The error of a query for the error of an algorithm.
fn of_error(error: Error) -> QueryError {
    let message = error.to_string();
    let (class, detail) = match error {
        Error::Store(error) => return error.into(),
        Error::Engine(EngineError::Store(error)) => return error.into(),
        Error::Engine(EngineError::Cancelled) => (Class::Cancelled, "Cancelled"),
        Error::Engine(EngineError::Deadline { .. }) => (Class::Deadline, "Deadline"),
        Error::Engine(EngineError::Budget { .. } | EngineError::OutOfMemory { .. }) => {
            (Class::Memory, "Memory")
        }
        Error::Engine(EngineError::UnknownVertex { .. } | EngineError::UnknownVertices { .. }) => {
            (Class::EntityNotFound, "NodeNotFound")
        }
        Error::Engine(
            EngineError::Parameter { .. }
            | EngineError::NegativeWeight { .. }
            | EngineError::Unsupported { .. },
        ) => (Class::Argument, "InvalidArgumentValue"),
        Error::Query(error) => return error,
        _ => (Class::Store, "Store"),
    };
    QueryError::run(class, detail, message)
}
