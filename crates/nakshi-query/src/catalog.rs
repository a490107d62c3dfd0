//! Procedures that tell what a graph has, and that tools ask first, under Neo4j's names.

use std::sync::Arc;

use nakshi_property::Catalog;

use super::error::{QueryError, Result};
use super::functions;
use super::procedure::{Called, Caller, Procedure, ProcedureType, Procedures, Signature};
use super::rules;
use super::schema;
use super::survey::Survey;
use super::transactions::{Command, Transactions};
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
    /// From a part of the graph, which is looked at in full.
    Surveyed(fn(&Catalog, &Survey) -> Vec<Row>),
}

/// Names and types of columns.
type Columns = &'static [(&'static str, ProcedureType)];

/// A procedure: its name, a sentence about it, its columns and rows.
type Entry = (&'static str, &'static str, Columns, Tell);

/// Procedures without arguments.
const TOLD: [Entry; 9] = [
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
            schema::types(graph).map(|ty| vec![Value::text(&*ty.name)]).collect()
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
        "db.schema.nodeTypeProperties",
        "Properties of nodes by their labels, with their types, of a part of the nodes.",
        &[
            ("nodeType", ProcedureType::String),
            ("nodeLabels", ProcedureType::List),
            ("propertyName", ProcedureType::String),
            ("propertyTypes", ProcedureType::List),
            ("mandatory", ProcedureType::Bool),
        ],
        Tell::Surveyed(|_, survey| schema::node_type_properties(survey)),
    ),
    (
        "db.schema.relTypeProperties",
        "Properties of edges by their types, with the types of values, of a part of the edges.",
        &[
            ("relType", ProcedureType::String),
            ("propertyName", ProcedureType::String),
            ("propertyTypes", ProcedureType::List),
            ("mandatory", ProcedureType::Bool),
        ],
        Tell::Surveyed(schema::rel_type_properties),
    ),
    (
        "db.schema.visualization",
        "A node for each label, and an edge for each type and the labels of its ends.",
        &[("nodes", ProcedureType::List), ("relationships", ProcedureType::List)],
        Tell::Described(schema::visualization),
    ),
    (
        "apoc.schema.nodes",
        "Indexes of nodes.",
        &[
            ("name", ProcedureType::String),
            ("label", ProcedureType::Any),
            ("properties", ProcedureType::List),
            ("status", ProcedureType::String),
            ("type", ProcedureType::String),
            ("failure", ProcedureType::String),
            ("populationProgress", ProcedureType::Float),
            ("size", ProcedureType::Int),
            ("valuesSelectivity", ProcedureType::Float),
            ("userDescription", ProcedureType::String),
        ],
        Tell::Fixed(Vec::new),
    ),
];

/// Names of what [`META`] takes in its map: how much of the graph is looked at, which is Nakshi's matter.
const META_TAKES: [&str; 2] = ["sample", "maxRels"];

/// The procedure of APOC by which libraries for language models learn what a graph has.
const META: Entry = (
    "apoc.meta.data",
    "Labels, types of edges and properties, of a part of the graph.",
    &[
        ("label", ProcedureType::String),
        ("property", ProcedureType::String),
        ("count", ProcedureType::Int),
        ("unique", ProcedureType::Bool),
        ("index", ProcedureType::Bool),
        ("existence", ProcedureType::Bool),
        ("type", ProcedureType::String),
        ("array", ProcedureType::Bool),
        ("sample", ProcedureType::List),
        ("left", ProcedureType::Int),
        ("right", ProcedureType::Int),
        ("other", ProcedureType::List),
        ("otherLabels", ProcedureType::List),
        ("elementType", ProcedureType::String),
    ],
    Tell::Surveyed(schema::meta_data),
);

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

    fn call(&self, caller: &Caller<'_>, arguments: &[Value]) -> Result<Called> {
        if let Some(Value::Map(given)) = arguments.first()
            && let Some(other) = given.keys().find(|name| !META_TAKES.contains(&&***name))
        {
            let message =
                format!("{} does not take '{other}', only {}", META.0, META_TAKES.join(" and "));
            return Err(QueryError::of_argument(message));
        }
        let described = || caller.graph.catalog(EXACT, caller.cancel);
        let rows = match self.tell {
            Tell::Fixed(tell) => tell(),
            Tell::Described(tell) => tell(&described()?),
            Tell::Surveyed(tell) => {
                let catalog = described()?;
                tell(&catalog, &Survey::of(caller, &catalog)?)
            }
        };
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// Procedures that `SHOW` calls. Their names are short, so that a call fits the command's place.
pub(crate) const INDEXES: &str = "sh.ix";
pub(crate) const CONSTRAINTS: &str = "sh.co";
pub(crate) const FUNCTIONS: &str = "sh.fn";
pub(crate) const PROCEDURES: &str = "sh.pr";
pub(crate) const DATABASES: &str = "sh.db";

/// Columns and kinds of a procedure that `SHOW` calls, as Neo4j has them.
struct Shown {
    name: &'static str,
    columns: &'static [&'static str],
    /// Words before the noun, and what the column at [`Shown::kind_at`] contains for them.
    kinds: &'static [(&'static str, &'static str)],
    kind_at: usize,
}

const SHOWN: [Shown; 5] = [
    Shown {
        name: INDEXES,
        columns: &[
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
        kinds: &[
            ("ALL", ""),
            ("RANGE", "RANGE"),
            ("TEXT", "TEXT"),
            ("POINT", "POINT"),
            ("FULLTEXT", "FULLTEXT"),
            ("LOOKUP", "LOOKUP"),
            ("VECTOR", "VECTOR"),
        ],
        kind_at: 4,
    },
    Shown {
        name: CONSTRAINTS,
        columns: &[
            "id",
            "name",
            "type",
            "entityType",
            "labelsOrTypes",
            "properties",
            "ownedIndex",
            "propertyType",
        ],
        kinds: &[
            ("ALL", ""),
            ("UNIQUE", "UNIQUENESS"),
            ("UNIQUENESS", "UNIQUENESS"),
            ("NODE UNIQUENESS", "UNIQUENESS"),
            ("KEY", "KEY"),
            ("NODE KEY", "NODE_KEY"),
            ("EXISTENCE", "EXISTENCE"),
            ("PROPERTY EXISTENCE", "EXISTENCE"),
            ("NODE PROPERTY EXISTENCE", "NODE_PROPERTY_EXISTENCE"),
            ("RELATIONSHIP PROPERTY EXISTENCE", "RELATIONSHIP_PROPERTY_EXISTENCE"),
        ],
        kind_at: 2,
    },
    Shown {
        name: FUNCTIONS,
        columns: &["name", "category", "description"],
        kinds: &[("ALL", ""), ("BUILT IN", "Cypher"), ("USER DEFINED", "User")],
        kind_at: 1,
    },
    Shown {
        name: PROCEDURES,
        columns: &["name", "description", "mode", "worksOn"],
        kinds: &[],
        kind_at: 0,
    },
    Shown {
        name: DATABASES,
        columns: &["name", "type", "access", "role", "currentStatus", "default", "home"],
        kinds: &[("DEFAULT", ""), ("HOME", ""), (DATABASE, DATABASE)],
        kind_at: 0,
    },
];

/// Name of the only database.
const DATABASE: &str = "neo4j";

/// Columns of a procedure that `SHOW` calls.
pub(crate) fn shown_columns(name: &str) -> &'static [&'static str] {
    SHOWN.iter().find(|shown| shown.name == name).map_or(&[], |shown| shown.columns)
}

/// A procedure that `SHOW` calls.
struct Show {
    shown: &'static Shown,
    signature: Signature,
    /// The procedures of the database.
    known: WithCatalog,
}

impl Procedure for Show {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        "Shows what there is."
    }

    fn call(&self, caller: &Caller<'_>, arguments: &[Value]) -> Result<Called> {
        let Shown { name, kinds, kind_at, .. } = self.shown;
        let part = match arguments.first() {
            Some(Value::String(kind)) => {
                let found = kinds.iter().find(|(known, _)| *known == &**kind);
                if found.is_none() && *name == DATABASES {
                    // There is no database of that name.
                    return Ok(Box::new(std::iter::empty()));
                }
                let all = kinds.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
                let message = match all.as_str() {
                    "" => format!("SHOW takes no words before the noun here, and there is {kind}"),
                    all => format!("SHOW does not know {kind} here; it knows {all}"),
                };
                found.ok_or_else(|| QueryError::of_argument(message))?.1
            }
            _ => "",
        };
        let rows = match *name {
            CONSTRAINTS => rules::constraints(caller.graph),
            INDEXES => rules::indexes(caller.graph),
            FUNCTIONS => functions(),
            PROCEDURES => self.known.procedures(),
            DATABASES => databases(),
            _ => Vec::new(),
        };
        let is_wanted = move |row: &Row| match row.get(*kind_at) {
            Some(Value::String(kind)) => kind.contains(part),
            _ => false,
        };
        Ok(Box::new(rows.into_iter().filter(is_wanted).map(Ok)))
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
        text(DATABASE),
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
pub(crate) struct WithCatalog {
    pub(crate) others: Arc<dyn Procedures>,
    /// Transactions that are shown and ended.
    pub(crate) transactions: Arc<dyn Transactions>,
}

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

    fn show(&self, name: &str) -> Option<Show> {
        let shown = SHOWN.iter().find(|shown| shown.name == name)?;
        let any = |name: &&str| ((*name).to_owned(), ProcedureType::Any);
        let signature = Signature {
            arguments: vec![("kind".to_owned(), ProcedureType::String)],
            optional: 1,
            columns: shown.columns.iter().map(any).collect(),
        };
        Some(Show { shown, signature, known: self.clone() })
    }
}

/// The procedure of an entry; `takes` has its optional arguments.
fn told((_, about, columns, tell): Entry, takes: &[(&str, ProcedureType)]) -> Told {
    let owned = |(name, ty): &(&str, ProcedureType)| ((*name).to_owned(), *ty);
    let signature = Signature {
        arguments: takes.iter().map(owned).collect(),
        optional: takes.len(),
        columns: columns.iter().map(owned).collect(),
    };
    Told { signature, about, tell }
}

impl Procedures for WithCatalog {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        if let Some(show) = self.show(name) {
            return Some(Arc::new(show));
        }
        if name.eq_ignore_ascii_case(META.0) {
            return Some(Arc::new(told(META, &[("config", ProcedureType::Map)])));
        }
        if let Some(entry) = TOLD.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)) {
            return Some(Arc::new(told(*entry, &[])));
        }
        match Command::find(name, &self.transactions) {
            Some(command) => Some(Arc::new(command)),
            None => self.others.find(name),
        }
    }

    fn names(&self) -> Vec<String> {
        let own = TOLD.iter().chain([&META]).map(|(name, ..)| (*name).to_owned());
        own.chain(self.others.names()).collect()
    }
}
