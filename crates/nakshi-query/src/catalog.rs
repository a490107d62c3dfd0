//! Procedures that tell what a graph has, and that tools ask first, under Neo4j's names.

use std::sync::Arc;

use nakshi_property::{Catalog, PropertySummary};

use super::error::Result;
use super::functions;
use super::procedure::{Called, Caller, Procedure, ProcedureType, Procedures, Signature};
use super::rules;
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

/// A procedure: its name, a sentence about it, its columns and rows.
type Entry = (&'static str, &'static str, Columns, Tell);

const TOLD: [Entry; 6] = [
    (
        "dbms.components",
        "Name and version of the server.",
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
    (
        "db.ping",
        "True: the server answers.",
        &[("success", ProcedureType::Bool)],
        Tell::Fixed(|| vec![vec![Value::Bool(true)]]),
    ),
    (
        "db.labels",
        "Labels that nodes have.",
        &[("label", ProcedureType::String)],
        Tell::Described(|graph| {
            let found = graph.labels.iter().filter(|label| label.nodes > 0);
            found.map(|label| vec![Value::text(&*label.label)]).collect()
        }),
    ),
    (
        "db.relationshipTypes",
        "Types that edges have.",
        &[("relationshipType", ProcedureType::String)],
        Tell::Described(|graph| {
            let found = graph.edge_types.iter().filter(|ty| ty.edges > 0);
            found.map(|ty| vec![Value::text(&*ty.name)]).collect()
        }),
    ),
    (
        "db.propertyKeys",
        "Names of the properties of nodes and edges.",
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
        "Properties of edges, with their types.",
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
    about: &'static str,
    tell: Tell,
}

impl Procedure for Told {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        self.about
    }

    fn call(&self, caller: &Caller<'_>, _: &[Value]) -> Result<Called> {
        let rows = match self.tell {
            Tell::Fixed(tell) => tell(),
            Tell::Described(tell) => tell(&caller.graph.catalog(EXACT, caller.cancel)?),
        };
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// Columns of the commands that show what there is, as Neo4j has them.
const SHOWN: [(&str, &[&str]); 5] = [
    (
        "SHOW INDEXES",
        &[
            "id",
            "name",
            "state",
            "populationPercent",
            "type",
            "entityType",
            "labelsOrTypes",
            "properties",
            "indexProvider",
            "owningConstraint",
            "lastRead",
            "readCount",
        ],
    ),
    (
        "SHOW CONSTRAINTS",
        &[
            "id",
            "name",
            "type",
            "entityType",
            "labelsOrTypes",
            "properties",
            "ownedIndex",
            "propertyType",
        ],
    ),
    ("SHOW FUNCTIONS", &["name", "category", "description"]),
    ("SHOW PROCEDURES", &["name", "description", "mode", "worksOn"]),
    ("SHOW DATABASES", &["name", "type", "access", "role", "currentStatus", "default", "home"]),
];

/// A command that shows what there is.
struct Shown {
    name: &'static str,
    signature: Signature,
    /// The procedures of the database.
    known: WithCatalog,
}

impl Procedure for Shown {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        "Shows what there is."
    }

    fn call(&self, caller: &Caller<'_>, _: &[Value]) -> Result<Called> {
        let rows = match self.name {
            "SHOW CONSTRAINTS" => rules::constraints(caller.graph),
            "SHOW INDEXES" => rules::indexes(caller.graph),
            "SHOW FUNCTIONS" => functions(),
            "SHOW PROCEDURES" => self.known.procedures(),
            "SHOW DATABASES" => databases(),
            _ => Vec::new(),
        };
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// The rows of `SHOW FUNCTIONS`.
fn functions() -> Vec<Row> {
    let mut names: Vec<&str> = functions::names().collect();
    names.sort_unstable();
    let row = |name| vec![Value::text(name), Value::text("Cypher"), Value::text("")];
    names.into_iter().map(row).collect()
}

/// The rows of `SHOW DATABASES`.
fn databases() -> Vec<Row> {
    let text = Value::text;
    let (yes, access) = (Value::Bool(true), text("read-write"));
    let row = [
        text("neo4j"),
        text("standard"),
        access,
        text("primary"),
        text("online"),
        yes.clone(),
        yes,
    ];
    vec![row.into()]
}

/// These procedures, and others beside them.
#[derive(Clone)]
pub(crate) struct WithCatalog(pub(crate) Arc<dyn Procedures>);

impl WithCatalog {
    /// The rows of `SHOW PROCEDURES`.
    fn procedures(&self) -> Vec<Row> {
        let mut names = self.names();
        names.sort_unstable();
        let row = |name: String| {
            let found = self.find(&name)?;
            let about = Value::text(found.about());
            Some(vec![Value::text(name), about, Value::text("READ"), Value::text("DBMS")])
        };
        names.into_iter().filter_map(row).collect()
    }

    fn shown(&self, name: &str) -> Option<Shown> {
        let (name, columns) = SHOWN.iter().find(|(known, _)| *known == name)?;
        let columns = columns.iter().map(|name| ((*name).to_owned(), ProcedureType::Any)).collect();
        let signature = Signature { columns, ..Signature::default() };
        Some(Shown { name, signature, known: self.clone() })
    }
}

impl Procedures for WithCatalog {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        if let Some(shown) = self.shown(name) {
            return Some(Arc::new(shown));
        }
        let told = TOLD.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        let Some((_, about, columns, tell)) = told else { return self.0.find(name) };
        let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
        let signature = Signature { columns, ..Signature::default() };
        Some(Arc::new(Told { signature, about, tell: *tell }))
    }

    fn names(&self) -> Vec<String> {
        let told = TOLD.iter().map(|(name, ..)| (*name).to_owned());
        told.chain(self.0.names()).collect()
    }
}
