//! Procedures that tell what a graph has, and that tools ask first, under Neo4j's names.

use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{Catalog, PropertyGraph, PropertySummary};

use super::error::Result;
use super::procedure::{Procedure, ProcedureType, Procedures, Signature};
use super::value::{Row, Value};

/// Version of Neo4j whose procedures these are.
const COMPATIBLE: &str = "5.26.0";
/// Values of a property that are read to count those that differ; beyond, they are estimated.
const EXACT: u64 = 0;

/// Rows of a procedure.
#[derive(Clone, Copy)]
enum Tell {
    /// The same for all graphs.
    Fixed(fn() -> Vec<Row>),
    /// From the description of a graph, which takes a sample of it.
    Described(fn(&Catalog) -> Vec<Row>),
}

/// Names and types of columns.
type Columns = &'static [(&'static str, ProcedureType)];

/// The procedures: name, columns, rows.
const TOLD: [(&str, Columns, Tell); 6] = [
    (
        "dbms.components",
        &[
            ("name", ProcedureType::String),
            ("versions", ProcedureType::List),
            ("edition", ProcedureType::String),
        ],
        Tell::Fixed(|| {
            let version = texts([COMPATIBLE]);
            vec![vec![Value::text("Neo4j Kernel"), version, Value::text("community")]]
        }),
    ),
    ("db.ping", &[("success", ProcedureType::Bool)], Tell::Fixed(|| vec![vec![Value::Bool(true)]])),
    (
        "db.labels",
        &[("label", ProcedureType::String)],
        Tell::Described(|graph| {
            let found = graph.labels.iter().filter(|label| label.nodes > 0);
            found.map(|label| vec![Value::text(&*label.label)]).collect()
        }),
    ),
    (
        "db.relationshipTypes",
        &[("relationshipType", ProcedureType::String)],
        Tell::Described(|graph| {
            let found = graph.edge_types.iter().filter(|ty| ty.edges > 0);
            found.map(|ty| vec![Value::text(&*ty.name)]).collect()
        }),
    ),
    (
        "db.propertyKeys",
        &[("propertyKey", ProcedureType::String)],
        Tell::Described(|graph| {
            let all = graph.node_properties.iter().chain(&graph.edge_properties);
            let mut keys: Vec<&str> = all.filter(|p| p.values > 0).map(|p| &*p.name).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().map(|key| vec![Value::text(key)]).collect()
        }),
    ),
    (
        "db.schema.relTypeProperties",
        &[
            ("relType", ProcedureType::String),
            ("propertyName", ProcedureType::String),
            ("propertyTypes", ProcedureType::List),
            ("mandatory", ProcedureType::Bool),
        ],
        Tell::Described(|graph| {
            let types = graph.edge_types.iter().filter(|ty| ty.edges > 0);
            let of = |name: &str| format!(":`{name}`");
            let row = |name: &str, property: &PropertySummary| {
                let ty = texts([&*property.ty]);
                vec![Value::text(of(name)), Value::text(&*property.name), ty, Value::Bool(false)]
            };
            let properties = &graph.edge_properties;
            types.flat_map(|ty| properties.iter().map(|p| row(&ty.name, p))).collect()
        }),
    ),
];

fn texts<const N: usize>(items: [&str; N]) -> Value {
    Value::list(items.map(Value::text).into())
}

/// A procedure that tells something of the graph.
struct Told {
    signature: Signature,
    tell: Tell,
}

impl Procedure for Told {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn call(&self, graph: &PropertyGraph, _: &[Value], cancel: &CancelToken) -> Result<Vec<Row>> {
        Ok(match self.tell {
            Tell::Fixed(tell) => tell(),
            Tell::Described(tell) => tell(&graph.catalog(EXACT, cancel)?),
        })
    }
}

/// These procedures, and others beside them.
pub(crate) struct WithCatalog(pub(crate) Arc<dyn Procedures>);

impl Procedures for WithCatalog {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        let told = TOLD.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        let Some((_, columns, tell)) = told else { return self.0.find(name) };
        let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
        let signature = Signature { arguments: Vec::new(), columns };
        Some(Arc::new(Told { signature, tell: *tell }))
    }
}
