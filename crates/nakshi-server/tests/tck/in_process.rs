//! A database in this process, on a new store for each scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gherkin::Step;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Database, Options};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;
use tempfile::TempDir;

use crate::door::{Answer, Door, Fault, Parameters, Sort};
use crate::expected::Expected;
use crate::procedures::Known;

/// A directory in memory, if there is one.
pub fn home() -> TempDir {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("nakshi-tck-");
    match memory.is_dir() {
        true => builder.tempdir_in(memory).unwrap(),
        false => builder.tempdir().unwrap(),
    }
}

/// A store without nodes.
pub fn empty_store(path: &Path) {
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
}

/// Opens a store.
pub fn open(path: &Path) -> Arc<PropertyStore> {
    PropertyStore::open(path, &OpenOptions::default()).unwrap().shared()
}

/// A database, and the empty store that each scenario begins with a copy of.
pub struct InProcess {
    home: TempDir,
    template: PathBuf,
    database: Option<Database>,
    procedures: Known,
}

impl InProcess {
    pub fn new() -> Self {
        let home = home();
        let template = home.path().join("empty.nakshi");
        empty_store(&template);
        InProcess { home, template, database: None, procedures: Known::default() }
    }

    fn database(&mut self) -> &Database {
        let (path, template) = (self.home.path().join("g.nakshi"), &self.template);
        let procedures = &self.procedures;
        self.database.get_or_insert_with(|| {
            if path.exists() {
                std::fs::remove_dir_all(&path).unwrap();
            }
            copy(template, &path);
            Database::new(open(&path)).with_procedures(Arc::new(procedures.clone()))
        })
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

impl Door for InProcess {
    fn empty(&mut self) {
        self.database = None;
        self.procedures = Known::default();
    }

    fn add_procedure(&mut self, step: &Step) -> bool {
        self.procedures.add(step);
        true
    }

    fn ask(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Fault> {
        let parameters = parameters.iter();
        let parameters =
            parameters.map(|(name, value)| (Arc::from(name.as_str()), value.to_value())).collect();
        let fault = |error: nakshi_query::QueryError| Fault {
            message: error.to_string(),
            sort: Sort::Whole(error.class(), error.phase(), error.detail().into()),
        };
        let ran = self.database().run(text, parameters, &Options::default());
        let mut cursor = ran.map_err(fault)?;
        let columns = cursor.columns().iter().map(|name| name.to_string()).collect();
        let rows = cursor.next(usize::MAX).map_err(fault)?;
        let rows = rows.iter().map(|row| row.iter().map(Expected::of).collect()).collect();
        Ok(Answer { columns, rows })
    }
}
