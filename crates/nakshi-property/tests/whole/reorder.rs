//! Stores with properties in another order.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{FaultyFs, RealFs, WriteAction, WriteFault, WriteFs};
use nakshi_property::check;
use nakshi_property::export::{ExportOptions, export};
use nakshi_property::{
    LoadOptions, Projection, PropertyEntry, PropertyLayout, PropertyStore, Reorder, project,
};
use nakshi_store::import::{Hooks, ImportOptions};
use nakshi_store::layout::{
    Bisection, Bondhu, Communities, Degree, Extend, Gorder, LayoutInput, Model, Norder, Ordering,
    OrganPipe, Original, Random, Sides,
};
use nakshi_store::{
    Error, ExternalId, Manifest, OpenOptions, Permutation, Result, RewriteOptions, Store, rewrite,
};
use proptest::prelude::*;

use super::sample::{LAYOUTS, built, content, graphs, options};

fn orders() -> Vec<Box<dyn Ordering>> {
    let bondhu =
        |communities| Bondhu { communities, model: Model::Uniform, sides: Sides::Nearer, seed: 3 };
    vec![
        Box::new(Original),
        Box::new(Random { seed: 7 }),
        Box::new(Degree::default()),
        Box::new(OrganPipe),
        Box::new(Norder::default()),
        Box::new(Gorder::default()),
        Box::new(Bisection::default()),
        Box::new(bondhu(Communities::ParCom(None))),
        Box::new(bondhu(Communities::ModCom(None))),
    ]
}

fn opened(path: &Path) -> Arc<Store> {
    Store::open(path, &OpenOptions::default()).unwrap()
}

fn order_of(ordering: &dyn Ordering, store: &Arc<Store>) -> Permutation {
    let source =
        LayoutInput { store, weight: None, memory: None, threads: 1, hooks: Hooks::default() };
    ordering.order(&source).unwrap()
}

fn snapshot(path: &Path) -> nakshi_property::PropertyGraph {
    PropertyStore::open(path, &OpenOptions::default()).unwrap().snapshot()
}

/// Rewrites a store in another order.
fn reordered(
    fs: &Arc<dyn WriteFs>,
    from: &Path,
    to: &Path,
    ordering: &dyn Ordering,
    options: &LoadOptions,
) -> Result<Manifest> {
    let read = Reorder::read_with(fs, snapshot(from), to, options, &Hooks::default())?;
    let order = order_of(ordering, read.topology());
    read.write(&order, ordering.name())
}

/// The ids and the plain edges of a store, in its order.
fn lists(home: &Path, store: &Store) -> (Vec<ExternalId>, Vec<u8>) {
    let file = home.join("lists.parquet");
    let options = ExportOptions { plain: true, ..ExportOptions::default() };
    export(store, &file, &options, &Hooks::default()).unwrap();
    let ids = store.ids().unwrap();
    let ids = (0..u32::try_from(store.num_vertices()).unwrap()).map(|v| ids.external(v).unwrap());
    (ids.collect(), fs::read(file).unwrap())
}

/// The same edges as a store without properties, in the same order.
fn plain(home: &Path, from: &Path, ordering: &dyn Ordering) -> PathBuf {
    let (first, path) = (home.join("first.nakshi"), home.join("plain.nakshi"));
    for old in [&first, &path] {
        let _ = fs::remove_dir_all(old);
    }
    let (import, hooks) = (ImportOptions::default(), Hooks::default());
    project(&snapshot(from), &first, &Projection::default(), &import, &hooks).unwrap();
    let first = opened(&first);
    let order = order_of(ordering, &first);
    rewrite(&first, &path, &order, &RewriteOptions::default(), &hooks).unwrap();
    path
}

fn real() -> Arc<dyn WriteFs> {
    Arc::new(RealFs::new())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]
    /// Seen red with nodes of the log left out, rows in the order of the old store, inverses
    /// dropped, and the order of a graph in which nodes have edges to themselves.
    #[test]
    fn orders_change_no_answer(
        graph in graphs(true),
        layout in prop::sample::select(LAYOUTS.to_vec()),
        seed in 0..9usize,
    ) {
        let home = tempfile::tempdir().unwrap();
        let old = built(home.path(), &graph, layout);
        let (before, entry) = (content(&old), PropertyEntry::of(opened(&old).manifest()).unwrap().unwrap());
        let commit = snapshot(&old).commit();
        for (turn, ordering) in orders().iter().skip(seed % 3).step_by(3).enumerate() {
            let path = home.path().join(format!("{turn}.nakshi"));
            // The options name another layout of properties, which has no effect.
            let manifest = reordered(&real(), &old, &path, ordering.as_ref(), &options(LAYOUTS[0]));
            let manifest = manifest.unwrap();
            prop_assert_eq!(&content(&path), &before);
            prop_assert_eq!(&manifest.layout, ordering.name());
            let new = PropertyEntry::of(&manifest).unwrap().unwrap();
            prop_assert_eq!((new.layout, new.shards), (layout, entry.shards));
            prop_assert_eq!((&new.inverses, new.inverses.len()), (&entry.inverses, 2));
            let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
            prop_assert_eq!((store.log_bytes(), store.snapshot().commit()), (0, commit));
            let expected = opened(&plain(home.path(), &old, ordering.as_ref()));
            prop_assert_eq!(lists(home.path(), &opened(&path)), lists(home.path(), &expected));
            let report = check(&path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
            prop_assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
        let random = home.path().join("0.nakshi");
        let extended = home.path().join("extended.nakshi");
        let like = Extend { like: opened(&random) };
        reordered(&real(), &old, &extended, &like, &options(layout)).unwrap();
        prop_assert_eq!(lists(home.path(), &opened(&extended)), lists(home.path(), &opened(&random)));
    }
}

/// A store of a cycle with a few chords.
fn circle(home: &Path, layout: PropertyLayout) -> PathBuf {
    let mut edges = "source,target,type,timestamp,note\n".to_owned();
    for v in 0..40 {
        edges += &format!("{v},{},next,{v},n{v}\n{v},{},jump,1,\n", (v + 1) % 40, v * 7 % 40);
    }
    let (file, path) = (home.join("circle.csv"), home.join("circle.nakshi"));
    fs::write(&file, edges).unwrap();
    let rows = nakshi_property::TableRows::Path(file);
    let table = vec![nakshi_property::Table::new(None, rows)];
    let hooks = Hooks::default();
    nakshi_property::load(&path, Vec::new(), table, &options(layout), &hooks).unwrap();
    path
}

/// Whichever operation fails, no part of a new store is left. Seen red with the temporary stores
/// beside the new one.
#[test]
fn a_failed_relayout_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let old = circle(home.path(), PropertyLayout::Columns);
    let before = content(&old);
    let out = tempfile::tempdir().unwrap();
    let new = out.path().join("new.nakshi");
    let write = |faults| {
        let fs = Arc::new(FaultyFs::new(real(), faults));
        let seam = Arc::clone(&fs) as Arc<dyn WriteFs>;
        let done = reordered(&seam, &old, &new, &Degree::default(), &options(LAYOUTS[0]));
        (done, fs.operations())
    };
    let (done, operations) = write(Vec::new());
    done.unwrap();
    assert_eq!(content(&new), before);
    assert!(operations > 60, "{operations}");
    fs::remove_dir_all(&new).unwrap();
    for nth in 0..operations {
        let fault = WriteFault { op: None, nth, onwards: false, action: WriteAction::Fail(28) };
        let (done, _) = write(vec![fault]);
        assert!(done.is_err(), "operation {nth} failed and nobody noticed");
        if new.exists() {
            // Only the very last step, the fsync of the parent, comes after the rename.
            assert!(nth == operations - 1 && content(&new) == before);
            fs::remove_dir_all(&new).unwrap();
        }
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0, "operation {nth}");
    }
}

/// Seen red with lists that are rewritten alone.
#[test]
fn what_cannot_be() {
    let home = tempfile::tempdir().unwrap();
    let old = circle(home.path(), PropertyLayout::Zipg);
    let to = |name: &str| home.path().join(name);
    let hooks = Hooks::default();
    let little = LoadOptions { memory: 64 << 20, ..LoadOptions::default() };
    let error = Reorder::read(snapshot(&old), &to("new"), &little, &hooks).unwrap_err();
    assert!(matches!(error, Error::Budget { .. }), "{error}");
    let options = LoadOptions::default();
    let error = Reorder::read(snapshot(&old), &old, &options, &hooks).unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
    let read = Reorder::read(snapshot(&old), &to("new"), &options, &hooks).unwrap();
    read.write(&Permutation::identity(3).unwrap(), "three").unwrap_err();
    let plain = RewriteOptions::default();
    let order = Permutation::identity(40).unwrap();
    let error = rewrite(&opened(&old), &to("new"), &order, &plain, &hooks).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    hooks.cancel.cancel();
    let error = Reorder::read(snapshot(&old), &to("new"), &options, &hooks).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    let left = fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["circle.csv", "circle.nakshi"]);
}
