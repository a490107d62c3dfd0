//! Orders do not depend on the previous order of a store; a rewritten store has the same graph, and
//! a failed rewrite leaves nothing.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::{FaultyFs, RealFs, WriteAction, WriteFault, WriteFs};
use nakshi_store::import::{Hooks, ImportLayout, ImportOptions, Input, import};
use nakshi_store::layout::cost::{arrangement_by_vertex, layout_cost};
use nakshi_store::layout::{
    Bisection, Bondhu, By, Communities, Csr, Degree, Gorder, LayoutInput, Model, Norder, Ordering,
    OrganPipe, Original, Random, Sides,
};
use nakshi_store::*;
use proptest::prelude::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns every order, also with unusual parameters.
fn orders() -> Vec<Box<dyn Ordering>> {
    let parcom = Communities::ParCom(None);
    let mut orders: Vec<Box<dyn Ordering>> = vec![
        Box::new(Original),
        Box::new(Random { seed: 7 }),
        Box::new(Degree { by: By::In }),
        Box::new(Degree { by: By::Out }),
        Box::new(Degree::default()),
        Box::new(OrganPipe),
        Box::new(Norder::default()),
        Box::new(Norder { depth: 1 }),
        Box::new(Gorder::default()),
        Box::new(Gorder { window: Some(3) }),
        Box::new(Bisection::default()),
    ];
    for model in [Model::Uniform, Model::Preferential, Model::Overlap] {
        orders.push(Box::new(Bondhu { communities: parcom, model, sides: Sides::Nearer, seed: 3 }));
        let communities = Communities::ModCom(None);
        orders.push(Box::new(Bondhu { communities, model, sides: Sides::Alternate, seed: 3 }));
    }
    orders
}

/// Edges as text, with weights.
fn write_edges(path: &Path, edges: &[(u32, u32)], text_ids: bool) -> std::io::Result<()> {
    let id = |v: u32| {
        if text_ids {
            format!("v{}", v.wrapping_mul(2_654_435_761) % 97 + v)
        } else {
            v.to_string()
        }
    };
    let lines: String = edges
        .iter()
        .map(|&(u, v)| format!("{}\t{}\t{}\n", id(u), id(v), (u * 31 + v * 17) % 250))
        .collect();
    std::fs::write(path, lines)
}

fn imported(folder: &Path, name: &str, edges: &Path, options: ImportOptions) -> Result<Arc<Store>> {
    let path = folder.join(name);
    import(vec![Input::Path(edges.to_path_buf())], &path, &options, &Hooks::default())?;
    Store::open(path, &OpenOptions::default())
}

fn rewritten(folder: &Path, name: &str, store: &Store, order: &Permutation) -> Result<Arc<Store>> {
    let options = RewriteOptions { layout: name.into(), threads: 2, ..RewriteOptions::default() };
    let path = folder.join(name);
    rewrite(store, &path, order, &options, &Hooks::default())?;
    Store::open(path, &OpenOptions::default())
}

/// Source, target and weight of every edge, by the users' ids.
fn exported(folder: &Path, store: &Store) -> Result<Vec<String>> {
    let file = folder.join("edges-out.tsv");
    export::export_edges(store, &file, &export::ExportOptions::default(), &Hooks::default())?;
    let text = std::fs::read_to_string(&file).map_err(|e| Error::io("read", &file, e))?;
    let undirected = !store.directed();
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut fields: Vec<&str> = line.split('\t').collect();
            if undirected && fields[0] > fields[1] {
                fields.swap(0, 1);
            }
            fields.join("\t")
        })
        .collect();
    lines.sort_unstable();
    Ok(lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// Seen red with neighbours visited in the order of internal ids instead of ranks (Norder),
    /// and with weights left where they were.
    #[test]
    fn any_order_of_any_graph(
        edges in prop::collection::vec((0u32..60, 0u32..60), 1..200),
        directed: bool, text_ids: bool, weighted: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let text = folder.join("edges.tsv");
        write_edges(&text, &edges, text_ids).unwrap();
        let options = |layout| ImportOptions { directed, weighted, layout, threads: 1, ..ImportOptions::default() };
        let plain = imported(folder, "plain", &text, options(ImportLayout::Original)).unwrap();
        let mixed = imported(folder, "mixed", &text, options(ImportLayout::Random { seed: 5 })).unwrap();
        let all = exported(folder, &plain).unwrap();
        for (k, ordering) in orders().into_iter().enumerate() {
            let weight = weighted.then(|| "weight".to_owned());
            let hash = |from: &Store, tag: &str, threads: usize| {
                let source = LayoutInput { weight: weight.clone(), threads, ..LayoutInput::new(from) };
                let order = ordering.order(&source).unwrap();
                let store = rewritten(folder, &format!("{k}-{tag}"), from, &order).unwrap();
                assert_eq!(exported(folder, &store).unwrap(), all, "{ordering:?}");
                store
            };
            let (a, b) = (hash(&plain, "a", 1), hash(&mixed, "b", 3));
            // The name of the layout is part of the hash.
            prop_assert_eq!(lists(&a).unwrap(), lists(&b).unwrap(), "{:?}", ordering);
        }
        let back = Original.order(&LayoutInput::new(&mixed)).unwrap();
        let options = RewriteOptions { layout: "original".into(), ..RewriteOptions::default() };
        let path = folder.join("back");
        let manifest = rewrite(&mixed, &path, &back, &options, &Hooks::default()).unwrap();
        prop_assert_eq!(manifest.content_hash(), plain.content_hash());
        let report = check(&path, &OpenOptions::default(), &[], &mut |_, _| ()).unwrap();
        prop_assert!(report.ok, "{:?}", report.problems);
    }
}

/// All lists in internal order, neighbours by rank.
fn lists(store: &Store) -> Result<Vec<Vec<VertexId>>> {
    let graph = Csr::load(&LayoutInput::new(store), Direction::Out)?;
    let ranks = store.ids()?.rank_of()?;
    Ok(ranks.iter().map(|&rank| graph.list(rank).to_vec()).collect())
}

#[test]
fn import_and_rewrite_agree() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    // No edge twice: an import counts them all when it looks for hubs.
    let edges: Vec<(u32, u32)> = (1..400).flat_map(|v| [(v, v / 2), (v, v / 3 + 500)]).collect();
    write_edges(&text, &edges, false)?;
    for directed in [false, true] {
        let options = |layout| ImportOptions { directed, layout, ..ImportOptions::default() };
        let name = |what: &str| format!("{what}-{directed}");
        let plain =
            imported(folder.path(), &name("plain"), &text, options(ImportLayout::Original))?;
        let hubs = imported(folder.path(), &name("hubs"), &text, options(ImportLayout::Degree))?;
        let order = Degree::default().order(&LayoutInput::new(&plain))?;
        let options = RewriteOptions { layout: "degree".into(), ..RewriteOptions::default() };
        let path = folder.path().join(name("again"));
        let again = rewrite(&plain, &path, &order, &options, &Hooks::default())?;
        assert_eq!(again.content_hash(), hubs.content_hash());
    }
    Ok(())
}

#[test]
fn graphs_without_much_in_them() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    let nodes = folder.path().join("nodes.txt");
    for (name, edges, vertices) in [
        ("nothing", "", ""),
        ("alone", "", "7\n"),
        ("loop", "7\t7\n", ""),
        ("apart", "1\t2\n5\t6\n", "9\n10\n"),
    ] {
        std::fs::write(&text, edges)?;
        std::fs::write(&nodes, vertices)?;
        let options = ImportOptions {
            nodes: Some(nodes.clone()),
            allow_empty: true,
            ..ImportOptions::default()
        };
        let store = imported(folder.path(), name, &text, options)?;
        for (k, ordering) in orders().into_iter().enumerate() {
            let order = ordering.order(&LayoutInput::new(&store));
            let order = order.map_err(|error| format!("{ordering:?} of {name}: {error}"))?;
            let again = rewritten(folder.path(), &format!("{name}-{k}"), &store, &order)?;
            assert_eq!(again.num_edges(), store.num_edges());
        }
        let cost = layout_cost(&LayoutInput::new(&store))?;
        assert!(cost.linear_arrangement.is_finite() && cost.norder.is_finite(), "{cost:?}");
    }
    Ok(())
}

/// Computes Norder by its description, on lists in memory: no batches, no cache, no early ends.
fn norder_plainly(out: &Csr, into: &Csr, depth: u32) -> Vec<VertexId> {
    let mut roots: Vec<VertexId> = out.vertices().collect();
    roots.sort_by_key(|&v| std::cmp::Reverse(into.degree(v)));
    let mut order = Vec::new();
    let mut seen = vec![false; out.len()];
    for root in roots {
        let mut frontier = vec![root];
        if !seen[root as usize] {
            seen[root as usize] = true;
            order.push(root);
        }
        for _ in 0..depth {
            let mut next = Vec::new();
            for v in frontier {
                for &u in out.list(v) {
                    if !seen[u as usize] {
                        seen[u as usize] = true;
                        order.push(u);
                        next.push(u);
                    }
                }
            }
            frontier = next;
        }
    }
    order
}

/// Seen red with roots that were expanded as neighbours of the last level skipped, and with
/// lists of a batch taken in the order in which reads end.
#[test]
fn norder_is_what_the_paper_says() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    let mut x = 1u32;
    let mut draw = |n: u32| {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x % n
    };
    let edges: Vec<(u32, u32)> = (0..250_000)
        .map(|_| {
            (draw(20_000), {
                let n = draw(20_000) + 1;
                draw(n)
            })
        })
        .collect();
    write_edges(&text, &edges, false)?;
    for (directed, layout) in
        [(true, ImportLayout::Random { seed: 3 }), (false, ImportLayout::Original)]
    {
        let options = ImportOptions { directed, layout, ..ImportOptions::default() };
        let store = imported(folder.path(), &format!("{directed}"), &text, options)?;
        let source = LayoutInput::new(&store);
        let (out, into) = (Csr::load(&source, Direction::Out)?, Csr::load(&source, Direction::In)?);
        let least = Norder::default().memory(&store);
        // More than the smallest page cache.
        assert!(store.entry(Direction::Out)?.lists.len > 300 << 10);
        for depth in 1..4 {
            let plain = norder_plainly(&out, &into, depth);
            // In memory, and from pages under the least memory.
            for memory in [None, Some(least)] {
                let order = Norder { depth }.order(&LayoutInput { memory, ..source.clone() })?;
                let by_rank = store.ids()?.internal_by_rank()?;
                let mut found = vec![0; plain.len()];
                for (rank, &v) in by_rank.iter().enumerate() {
                    found[order.as_slice()[v as usize] as usize] = rank as u32;
                }
                assert!(found == plain, "depth {depth}, memory {memory:?}");
            }
        }
        let short =
            Norder::default().order(&LayoutInput { memory: Some(least - 1), ..source.clone() });
        assert!(matches!(short, Err(Error::Budget { needed, .. }) if needed == least));
    }
    Ok(())
}

#[test]
fn costs_of_a_store_are_those_of_its_edges() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    // Table 3.2 of the thesis, and its linear layout.
    std::fs::write(&text, "1\t2\n1\t3\n1\t5\n2\t3\n2\t4\n3\t4\n3\t5\n4\t6\n4\t7\n6\t7\n")?;
    let options = ImportOptions {
        directed: false,
        layout: ImportLayout::Original,
        ..ImportOptions::default()
    };
    let store = imported(folder.path(), "store", &text, options)?;
    let cost = layout_cost(&LayoutInput::new(&store))?;
    assert_eq!(cost.linear_arrangement, 19.0);
    assert_eq!(cost.linear_arrangement_per_vertex, 38.0 / 7.0);
    assert_eq!(cost.pages_per_neighbourhood, 1.0);
    // Degree times variance: 1: {2,3,5}, 2: {1,3,4}, 3: {1,2,4,5}, 4: {2,3,6,7}, 5: {1,3}, 6:
    // {4,7}, 7: {4,6}.
    let norder = 3.0 * 14.0 / 9.0 * 2.0 + 4.0 * 2.5 + 4.0 * 4.25 + 2.0 + 2.0 * 2.25 + 2.0;
    assert!((cost.norder - norder).abs() < 1e-9, "{} {norder}", cost.norder);
    let best = Permutation::from_order(&[4, 0, 2, 1, 3, 5, 6])?;
    let store = rewritten(folder.path(), "best", &store, &best)?;
    assert_eq!(layout_cost(&LayoutInput::new(&store))?.linear_arrangement, 14.0);
    let graph = Csr::symmetric(&LayoutInput::new(&store))?;
    assert_eq!(arrangement_by_vertex(&graph, best.as_slice())?.iter().sum::<f64>(), 28.0);
    Ok(())
}

/// After any failure the source is unchanged and there is no part of a new store.
#[test]
fn a_failed_rewrite_leaves_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    write_edges(&text, &(0..300).map(|v| (v, v * 7 % 300)).collect::<Vec<_>>(), true)?;
    let store = imported(folder.path(), "store", &text, ImportOptions::default())?;
    let order = Random { seed: 1 }.order(&LayoutInput::new(&store))?;
    let options = RewriteOptions { threads: 1, ..RewriteOptions::default() };
    let before = std::fs::read_dir(folder.path())?.count();
    let real: Arc<RealFs> = Arc::new(RealFs::new());
    let counter = Arc::new(FaultyFs::new(Arc::clone(&real) as _, Vec::new()));
    let fs = Arc::clone(&counter) as Arc<dyn WriteFs>;
    let whole = folder.path().join("whole");
    rewrite_with(&fs, &store, &whole, &order, &options, &Hooks::default())?;
    std::fs::remove_dir_all(&whole)?;
    let operations = counter.operations();
    assert!(operations > 20);
    for nth in 0..operations {
        let errno = if nth % 2 == 0 { 5 } else { 28 };
        let fault = WriteFault { op: None, nth, onwards: false, action: WriteAction::Fail(errno) };
        let fs: Arc<dyn WriteFs> = Arc::new(FaultyFs::new(Arc::clone(&real) as _, vec![fault]));
        let dest = folder.path().join("new");
        let failed = rewrite_with(&fs, &store, &dest, &order, &options, &Hooks::default());
        assert!(failed.is_err(), "operation {nth} failed and nobody noticed");
        if dest.exists() {
            // Only the very last step, the fsync of the parent, comes after the rename.
            assert!(
                nth == operations - 1
                    && check(&dest, &OpenOptions::default(), &[], &mut |_, _| ())?.ok
            );
            std::fs::remove_dir_all(&dest)?;
        }
        assert_eq!(std::fs::read_dir(folder.path())?.count(), before, "operation {nth}");
    }
    let short = Permutation::identity(3)?;
    let hooks = Hooks::default();
    let dest = folder.path().join("new");
    assert!(matches!(rewrite(&store, &dest, &short, &options, &hooks), Err(Error::Invalid(_))));
    let poor = RewriteOptions { memory: 1 << 20, ..RewriteOptions::default() };
    assert!(matches!(rewrite(&store, &dest, &order, &poor, &hooks), Err(Error::Budget { .. })));
    let taken = rewrite(&store, store.path(), &order, &options, &hooks);
    assert!(matches!(taken, Err(Error::Exists(_))));
    hooks.cancel.cancel();
    let stopped = rewrite(&store, &dest, &order, &options, &hooks);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(std::fs::read_dir(folder.path())?.count(), before);
    Ok(())
}

#[test]
fn parameters_that_cannot_be() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("edges.tsv");
    write_edges(&text, &[(1, 2), (2, 3)], false)?;
    let store = imported(folder.path(), "store", &text, ImportOptions::default())?;
    let source = LayoutInput::new(&store);
    let parcom = |wanted| {
        let communities = Communities::ParCom(Some(wanted));
        Bondhu { communities, model: Model::Uniform, sides: Sides::Nearer, seed: 1 }.order(&source)
    };
    for wanted in [0, 4] {
        let message = parcom(wanted).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains("choose from 1 to 3"), "{message}");
    }
    assert_eq!(parcom(3)?.len(), 3);
    assert!(matches!(Gorder { window: Some(0) }.order(&source), Err(Error::Invalid(_))));
    assert!(matches!(Norder { depth: 0 }.order(&source), Err(Error::Invalid(_))));
    let weight = Some("nothing".to_owned());
    let unknown = Bisection::default().order(&LayoutInput { weight, ..source.clone() });
    assert!(matches!(unknown, Err(Error::NoColumn { .. })));
    for ordering in orders() {
        let poor = LayoutInput { memory: Some(1), ..source.clone() };
        assert!(matches!(ordering.order(&poor), Err(Error::Budget { .. })), "{ordering:?}");
    }
    Ok(())
}
