//! Runs a case and judges what it gives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gherkin::Step;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Database, Options, Parameters, Phase, QueryError, Row};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;
use tempfile::TempDir;

use crate::expected::Expected;
use crate::procedures::Known;
use crate::scenario::Case;

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Panic,
    /// Rows or side effects are others.
    WrongAnswer,
    /// An error where rows are expected.
    Error,
    /// No error, or another, where one is expected.
    WrongError,
}

#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub what: String,
}

type Judged<T = ()> = Result<T, Failure>;

fn fail<T>(kind: Kind, what: impl Into<String>) -> Judged<T> {
    Err(Failure { kind, what: what.into() })
}

/// A directory in memory, if there is one.
pub fn home(number: usize) -> TempDir {
    let memory = Path::new("/dev/shm");
    let prefix = format!("nakshi-tck-{number}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    match memory.is_dir() {
        true => builder.tempdir_in(memory).unwrap(),
        false => builder.tempdir().unwrap(),
    }
}

/// A store without nodes, which cases begin with a copy of.
pub fn template(home: &Path) -> PathBuf {
    let path = home.join("empty.nakshi");
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    path
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The parts of a graph: ids of nodes and edges, labels, and properties.
#[derive(Debug, Default, PartialEq)]
struct Census {
    nodes: BTreeSet<String>,
    edges: BTreeSet<String>,
    labels: BTreeSet<String>,
    properties: BTreeSet<String>,
}

fn census(database: &Database) -> Census {
    let mut found = Census::default();
    let rows = |text: &str| {
        let mut cursor = database.run(text, Parameters::new(), &Options::default()).unwrap();
        cursor.next(usize::MAX).unwrap()
    };
    for row in rows("MATCH (n) RETURN n") {
        let [nakshi_query::Value::Node(node)] = &row[..] else { panic!("{row:?}") };
        let id = node.element_id();
        found.labels.extend(node.labels().iter().map(|label| label.to_string()));
        let entries = node.properties().iter();
        found.properties.extend(entries.map(|(name, value)| format!("{id}.{name}={value}")));
        found.nodes.insert(id.to_owned());
    }
    for row in rows("MATCH ()-[r]->() RETURN r") {
        let [nakshi_query::Value::Relationship(edge)] = &row[..] else { panic!("{row:?}") };
        let id = edge.element_id();
        let entries = edge.properties().iter();
        found.properties.extend(entries.map(|(name, value)| format!("{id}.{name}={value}")));
        found.edges.insert(id.to_owned());
    }
    found
}

/// The result of the query that a case asks about.
struct Answer {
    columns: Vec<String>,
    rows: Vec<Row>,
}

struct Judge {
    database: Option<Database>,
    store: Arc<PropertyStore>,
    procedures: Known,
    parameters: Parameters,
    before: Census,
    answer: Option<Result<Answer, QueryError>>,
}

/// Runs a case; `graphs` are the queries that make the named graphs.
pub fn run(case: &Case, home: &Path, template: &Path, graphs: &BTreeMap<String, String>) -> Judged {
    let path = home.join("g.nakshi");
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    copy(template, &path);
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    let mut judge = Judge {
        database: None,
        store,
        procedures: Known::default(),
        parameters: Parameters::new(),
        before: Census::default(),
        answer: None,
    };
    case.steps.iter().try_for_each(|step| judge.step(step, graphs))
}

impl Judge {
    fn database(&mut self) -> &Database {
        let (store, procedures) = (&self.store, &mut self.procedures);
        self.database.get_or_insert_with(|| {
            Database::new(Arc::clone(store)).with_procedures(Arc::new(std::mem::take(procedures)))
        })
    }

    fn query(&mut self, text: &str) -> Result<Answer, QueryError> {
        let parameters = self.parameters.clone();
        let mut cursor = self.database().run(text, parameters, &Options::default())?;
        let columns = cursor.columns().iter().map(|name| name.to_string()).collect();
        Ok(Answer { columns, rows: cursor.next(usize::MAX)? })
    }

    fn step(&mut self, step: &Step, graphs: &BTreeMap<String, String>) -> Judged {
        let text = step.docstring.as_deref().unwrap_or_default().trim();
        let what = step.value.as_str();
        if let Some(name) = what.strip_prefix("the ").and_then(|what| what.strip_suffix(" graph")) {
            return self.prepare(&graphs[name]);
        }
        match what {
            "an empty graph" | "any graph" => Ok(()),
            "having executed:" => self.prepare(text),
            "parameters are:" => {
                for row in &step.table.as_ref().unwrap().rows {
                    let value = Expected::parse(&row[1]).to_value();
                    self.parameters.insert(row[0].as_str().into(), value);
                }
                Ok(())
            }
            "executing query:" | "executing control query:" => {
                self.before = census(self.database());
                self.answer = Some(self.query(text));
                Ok(())
            }
            "no side effects" => self.side_effects(&[]),
            "the side effects should be:" => self.side_effects(&step.table.as_ref().unwrap().rows),
            "the result should be empty" => self.rows(&[], false, false),
            what if what.starts_with("there exists a procedure") => {
                self.procedures.add(step);
                Ok(())
            }
            what if what.starts_with("the result should be") => {
                let (ordered, sorted) = (what.contains("in order"), what.contains("ignoring"));
                self.rows(&step.table.as_ref().unwrap().rows, ordered, sorted)
            }
            what if what.contains("should be raised") => self.error(what),
            other => panic!("the step '{other}' is unknown"),
        }
    }

    fn prepare(&mut self, text: &str) -> Judged {
        match self.query(text) {
            Ok(_) => Ok(()),
            Err(error) => {
                fail(Kind::Error, format!("before the query: {error} [{}]", error.detail()))
            }
        }
    }

    fn rows(&mut self, table: &[Vec<String>], ordered: bool, sorted: bool) -> Judged {
        let answer = match self.answer.as_ref().unwrap() {
            Ok(answer) => answer,
            Err(error) => return fail(Kind::Error, format!("{error} [{}]", error.detail())),
        };
        let form = |value: Expected| if sorted { value.without_order() } else { value };
        let found = answer
            .rows
            .iter()
            .map(|row| row.iter().map(|value| form(Expected::of(value))).collect());
        let mut found: Vec<Vec<Expected>> = found.collect();
        let Some((header, rows)) = table.split_first() else {
            return match found.is_empty() {
                true => Ok(()),
                false => {
                    fail(Kind::WrongAnswer, format!("rows where none are expected: {found:?}"))
                }
            };
        };
        if *header != answer.columns {
            return fail(
                Kind::WrongAnswer,
                format!("columns {:?}, not {header:?}", answer.columns),
            );
        }
        let wanted =
            rows.iter().map(|row| row.iter().map(|cell| form(Expected::parse(cell))).collect());
        let mut wanted: Vec<Vec<Expected>> = wanted.collect();
        if !ordered {
            found.sort();
            wanted.sort();
        }
        match found == wanted {
            true => Ok(()),
            false => fail(Kind::WrongAnswer, format!("{found:?}, not {wanted:?}")),
        }
    }

    fn side_effects(&mut self, table: &[Vec<String>]) -> Judged {
        let after = census(self.database());
        let before = &self.before;
        let mut found = BTreeMap::new();
        let mut count = |name: &str, before: &BTreeSet<String>, after: &BTreeSet<String>| {
            let added = after.difference(before).count();
            let removed = before.difference(after).count();
            for (sign, number) in [("+", added), ("-", removed)] {
                if number > 0 {
                    found.insert(format!("{sign}{name}"), number.to_string());
                }
            }
        };
        count("nodes", &before.nodes, &after.nodes);
        count("relationships", &before.edges, &after.edges);
        count("labels", &before.labels, &after.labels);
        count("properties", &before.properties, &after.properties);
        let wanted: BTreeMap<String, String> = table
            .iter()
            .map(|row| (row[0].clone(), row[1].clone()))
            .filter(|(_, n)| n != "0")
            .collect();
        match found == wanted {
            true => Ok(()),
            false => fail(Kind::WrongAnswer, format!("side effects {found:?}, not {wanted:?}")),
        }
    }

    /// Judges an error: `a TypeError should be raised at runtime: Detail`.
    fn error(&mut self, what: &str) -> Judged {
        let (class, rest) = what.split_once(" should be raised at ").unwrap();
        let class = class.trim_start_matches("an ").trim_start_matches("a ");
        let (phase, detail) = rest.split_once(": ").unwrap();
        let error = match self.answer.as_ref().unwrap() {
            Ok(_) => return fail(Kind::WrongError, format!("no error, and {what}")),
            Err(error) => error,
        };
        let phase_fits = match phase {
            "compile time" => error.phase() == Phase::Compile,
            "runtime" => error.phase() == Phase::Run,
            _ => true,
        };
        if error.class().name() == class
            && phase_fits
            && (detail == "*" || error.detail() == detail)
        {
            return Ok(());
        }
        let found = format!("{} {:?} {}", error.class().name(), error.phase(), error.detail());
        fail(Kind::WrongError, format!("{found} ({error}), and {what}"))
    }
}
