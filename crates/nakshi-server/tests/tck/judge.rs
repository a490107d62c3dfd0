//! Runs a case and judges what it gives.

use std::collections::{BTreeMap, BTreeSet};

use gherkin::Step;
use nakshi_query::{Class, Phase};

use crate::door::{Answer, Door, Fault, Parameters, Sort};
use crate::expected::Expected;
use crate::scenario::Case;

/// How a step begins that has a procedure.
const PROCEDURE: &str = "there exists a procedure";

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

/// The parts of a graph: ids of nodes and edges, labels, and properties.
#[derive(Debug, Default, PartialEq)]
struct Census {
    nodes: BTreeSet<String>,
    edges: BTreeSet<String>,
    labels: BTreeSet<String>,
    properties: BTreeSet<String>,
}

fn census(door: &mut dyn Door) -> Census {
    let mut found = Census::default();
    let mut rows = |text: &str| door.ask(text, &Parameters::new()).unwrap().rows;
    let mut parts = rows("MATCH (n) RETURN elementId(n), labels(n), properties(n)");
    parts.extend(rows("MATCH ()-[r]->() RETURN elementId(r), null, properties(r)"));
    for part in parts {
        let [Expected::Text(id), labels, Expected::Map(properties)] = &part[..] else {
            panic!("{part:?}")
        };
        let entries = properties.iter();
        found.properties.extend(entries.map(|(name, value)| format!("{id}.{name}={value:?}")));
        match labels {
            Expected::List(labels) => {
                found.labels.extend(labels.iter().map(|label| format!("{label:?}")));
                found.nodes.insert(id.clone());
            }
            _ => {
                found.edges.insert(id.clone());
            }
        }
    }
    found
}

struct Judge<'d> {
    door: &'d mut dyn Door,
    parameters: Parameters,
    before: Census,
    answer: Option<Result<Answer, Fault>>,
}

/// Runs a case, and returns true, or false for one that this door cannot run; `graphs` are the queries that make
/// the named graphs.
pub fn run(case: &Case, door: &mut dyn Door, graphs: &BTreeMap<String, String>) -> Judged<bool> {
    door.empty();
    let mut procedures = case.steps.iter().filter(|step| step.value.starts_with(PROCEDURE));
    if !procedures.all(|step| door.add_procedure(step)) {
        return Ok(false);
    }
    let (parameters, before) = (Parameters::new(), Census::default());
    let mut judge = Judge { door, parameters, before, answer: None };
    case.steps.iter().try_for_each(|step| judge.step(step, graphs))?;
    Ok(true)
}

impl Judge<'_> {
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
                    self.parameters.insert(row[0].clone(), Expected::parse(&row[1]));
                }
                Ok(())
            }
            "executing query:" | "executing control query:" => {
                self.before = census(self.door);
                self.answer = Some(self.door.ask(text, &self.parameters));
                Ok(())
            }
            "no side effects" => self.side_effects(&[]),
            "the side effects should be:" => self.side_effects(&step.table.as_ref().unwrap().rows),
            "the result should be empty" => self.rows(&[], false, false),
            what if what.starts_with(PROCEDURE) => Ok(()),
            what if what.starts_with("the result should be") => {
                let (ordered, sorted) = (what.contains("in order"), what.contains("ignoring"));
                self.rows(&step.table.as_ref().unwrap().rows, ordered, sorted)
            }
            what if what.contains("should be raised") => self.error(what),
            other => panic!("the step '{other}' is unknown"),
        }
    }

    fn prepare(&mut self, text: &str) -> Judged {
        match self.door.ask(text, &self.parameters) {
            Ok(_) => Ok(()),
            Err(fault) => fail(Kind::Error, format!("before the query: {fault}")),
        }
    }

    fn rows(&mut self, table: &[Vec<String>], ordered: bool, sorted: bool) -> Judged {
        let answer = match self.answer.as_ref().unwrap() {
            Ok(answer) => answer,
            Err(fault) => return fail(Kind::Error, fault.to_string()),
        };
        let form = |value: Expected| if sorted { value.without_order() } else { value };
        let found =
            answer.rows.iter().map(|row| row.iter().map(|value| form(value.clone())).collect());
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
        let after = census(self.door);
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
        let fault = match self.answer.as_ref().unwrap() {
            Ok(_) => return fail(Kind::WrongError, format!("no error, and {what}")),
            Err(fault) => fault,
        };
        let fits = match &fault.sort {
            Sort::Whole(found, at, own) => {
                let in_phase = match phase {
                    "compile time" => *at == Phase::Compile,
                    "runtime" => *at == Phase::Run,
                    _ => true,
                };
                found.name() == class && in_phase && (detail == "*" || **own == *detail)
            }
            // A client is told no phase and no detail.
            Sort::Code(code) => Class::of_name(class).is_some_and(|class| class.code() == code),
        };
        match fits {
            true => Ok(()),
            false => fail(Kind::WrongError, format!("{fault}, and {what}")),
        }
    }
}
