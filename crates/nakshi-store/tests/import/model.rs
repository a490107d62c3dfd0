//! The reference model, and a store read back into it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nakshi_io::CancelToken;
use nakshi_store::import::{Hooks, ImportOptions, Input, Report, import};
use nakshi_store::{Direction, OpenOptions, Result, Store};

/// A graph by external ids: each edge with its weights, ascending, one for each time it occurs.
#[derive(Debug, Default, PartialEq)]
pub struct Model {
    pub directed: bool,
    pub vertices: BTreeSet<String>,
    pub edges: BTreeMap<(String, String), Vec<f64>>,
}

impl Model {
    /// Makes a model from edges as a user would write them; an undirected edge is added in both
    /// directions.
    pub fn new(directed: bool, edges: &[(&str, &str)], isolated: &[&str]) -> Self {
        let mut model = Self { directed, ..Self::default() };
        for (source, target) in edges {
            model.add(source, target, 1.0);
        }
        model.vertices.extend(isolated.iter().map(ToString::to_string));
        model
    }

    pub fn add(&mut self, source: &str, target: &str, weight: f64) {
        let mut one =
            |a: &str, b: &str| self.edges.entry((a.into(), b.into())).or_default().push(weight);
        one(source, target);
        if !self.directed && source != target {
            one(target, source);
        }
        self.vertices.extend([source.into(), target.into()]);
    }

    /// Resolves duplicates by a rule over the weights of an edge.
    pub fn settle(&mut self, rule: impl Fn(&mut Vec<f64>)) {
        for weights in self.edges.values_mut() {
            weights.sort_by(f64::total_cmp);
            rule(weights);
        }
    }

    /// Edges as the product counts them.
    pub fn count(&self) -> u64 {
        let arcs: usize = self.edges.values().map(Vec::len).sum();
        let loops: usize =
            self.edges.iter().filter(|((a, b), _)| a == b).map(|(_, w)| w.len()).sum();
        if self.directed { arcs as u64 } else { ((arcs + loops) / 2) as u64 }
    }
}

/// Reads a whole store. Unweighted edges weigh 1.
pub fn read(store: &Store, direction: Direction) -> Result<Model> {
    let adjacency = store.adjacency(direction)?;
    let bytes = adjacency.file().load(&CancelToken::new())?;
    let ids = store.ids()?;
    let places = ids.internal_by_rank()?;
    let mut names = vec![String::new(); places.len()];
    ids.for_each(|rank, key| {
        names[places[rank as usize] as usize] = match key.to_external(ids.kind())? {
            nakshi_store::ExternalId::Bytes(bytes) => bytes.escape_ascii().to_string(),
            other => other.to_string(),
        };
        Ok(())
    })?;
    let name = |v: u32| names[v as usize].clone();
    let column =
        store.manifest().columns.first().map(|c| store.column(&c.name, direction)).transpose()?;
    let values = column.as_ref().map(|c| c.file().load(&CancelToken::new())).transpose()?;
    let mut model = Model { directed: store.directed(), ..Model::default() };
    for v in 0..store.num_vertices() as u32 {
        model.vertices.insert(name(v));
        let extent = adjacency.extent(v);
        let mut list = Vec::new();
        if !extent.is_empty() {
            let range = extent.start as usize..extent.end as usize;
            adjacency.list(bytes.with_slack(), range)?.decode_into(&mut list)?;
        }
        assert!(list.is_sorted());
        for (at, &u) in list.iter().enumerate() {
            let weight = column.as_ref().zip(values.as_ref()).and_then(|(column, values)| {
                let extent = column.extent(v);
                column.slice(&values[extent.start as usize..extent.end as usize]).get_f64(at)
            });
            let (a, b) = if direction == Direction::In { (u, v) } else { (v, u) };
            model.edges.entry((name(a), name(b))).or_default().push(weight.unwrap_or(1.0));
        }
    }
    model.settle(|_| ());
    Ok(model)
}

/// Imports, checks that both directions hold the same, and reads back.
pub fn round(
    inputs: Vec<Input<'_>>,
    store: &Path,
    options: &ImportOptions,
) -> Result<(Model, Report)> {
    let report = import(inputs, store, options, &Hooks::default())?;
    let parent = store.parent().unwrap_or(store);
    let hidden = std::fs::read_dir(parent)
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "something was left behind");
    let opened = Store::open(store, &OpenOptions::default())?;
    let model = read(&opened, Direction::Out)?;
    assert_eq!(model, read(&opened, Direction::In)?);
    assert_eq!((model.vertices.len() as u64, model.count()), (report.vertices, report.edges));
    assert_eq!(report.content_hash, opened.content_hash());
    Ok((model, report))
}

/// Writes `text` to a file and imports it.
pub fn text(
    name: &str,
    text: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<(Model, Report)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::create_dir(dir.path().join("out")).unwrap();
    round(vec![Input::Path(path)], &dir.path().join("out/store"), options)
}

/// Returns the message of an import that must fail, without the directory; the import must leave
/// nothing behind.
pub fn error(name: &str, text: impl AsRef<[u8]>, options: &ImportOptions) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let failed = import(vec![Input::Path(path)], &out.join("store"), options, &Hooks::default());
    assert_eq!(
        std::fs::read_dir(&out).unwrap().count(),
        0,
        "a failed import left something behind"
    );
    let message = failed.expect_err("the import must fail").to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", dir.path().display()), "")
}
