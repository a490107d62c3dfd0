//! The procedures of scenarios, whose rows a table has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gherkin::Step;
use nakshi_query::{
    Called, Caller, Procedure, ProcedureType, Procedures, Result, Row, Signature, Value,
};

use crate::expected::Expected;

/// A procedure that looks its answer up.
struct Looked {
    signature: Signature,
    rows: Vec<Vec<Expected>>,
}

impl Procedure for Looked {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        "rows of a table"
    }

    fn call(&self, _: &Caller<'_>, arguments: &[Value]) -> Result<Called> {
        let wanted: Vec<Expected> = arguments.iter().map(Expected::of).collect();
        let same = |a: &Expected, b: &Expected| match (a, b) {
            (Expected::Int(a), Expected::Float(b)) | (Expected::Float(b), Expected::Int(a)) => {
                b.parse::<f64>().unwrap() == *a as f64
            }
            _ => a == b,
        };
        let fits = |row: &&Vec<Expected>| wanted.iter().zip(row.iter()).all(|(a, b)| same(a, b));
        let rows = self.rows.iter().filter(fits);
        let rows = rows.map(|row| row[wanted.len()..].iter().map(Expected::to_value).collect());
        Ok(Box::new(rows.map(Ok).collect::<Vec<Result<Row>>>().into_iter()))
    }
}

/// The procedures of a scenario.
#[derive(Clone, Default)]
pub struct Known(BTreeMap<String, Arc<dyn Procedure>>);

impl Procedures for Known {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        self.0.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl Known {
    /// Adds the procedure of a step: `there exists a procedure name(a :: TYPE?) :: (b :: TYPE?):`.
    pub fn add(&mut self, step: &Step) {
        let text =
            step.value.strip_prefix("there exists a procedure ").unwrap().trim_end_matches(':');
        let (name, rest) = text.split_once('(').unwrap();
        let (arguments, columns) = rest.split_once(") :: (").unwrap();
        let signature = Signature {
            arguments: fields(arguments),
            columns: fields(columns.trim_end_matches(')')),
            optional: 0,
        };
        let rows = step.table.iter().flat_map(|table| table.rows.iter().skip(1));
        let rows = rows.map(|row| row.iter().map(|cell| Expected::parse(cell)).collect()).collect();
        self.0.insert(name.trim().to_owned(), Arc::new(Looked { signature, rows }));
    }
}

/// The procedures of a server that runs already.
#[derive(Default)]
pub struct Shared(Mutex<Known>);

impl Shared {
    pub fn add(&self, step: &Step) {
        self.0.lock().unwrap().add(step);
    }
}

impl Procedures for Shared {
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        self.0.lock().unwrap().find(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().names()
    }
}

fn fields(text: &str) -> Vec<(String, ProcedureType)> {
    let fields = text.split(',').filter(|field| !field.trim().is_empty());
    let field = |field: &str| {
        let (name, ty) = field.split_once("::").unwrap();
        let ty = match ty.trim().trim_end_matches('?') {
            "INTEGER" => ProcedureType::Int,
            "FLOAT" => ProcedureType::Float,
            "NUMBER" => ProcedureType::Number,
            "STRING" => ProcedureType::String,
            "BOOLEAN" => ProcedureType::Bool,
            _ => ProcedureType::Any,
        };
        (name.trim().to_owned(), ty)
    };
    fields.map(field).collect()
}
