//! The store depends on graph and options only.

use nakshi_store::generate::{Generator, Kronecker};
use nakshi_store::import::{
    Duplicates, Hooks, ImportLayout, ImportOptions, Input, SelfLoops, import, import_tightly,
};

fn scale() -> u64 {
    std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

fn hash(input: Input<'_>, options: &ImportOptions) -> String {
    let dir = tempfile::tempdir().unwrap();
    let report = import(vec![input], &dir.path().join("s"), options, &Hooks::default()).unwrap();
    report.content_hash
}

/// A graph as text: a hub with 30 % of the edges, with these ids.
fn hub(edges: u64, id: &dyn Fn(u64) -> String) -> Vec<u8> {
    let mut lines = Vec::new();
    for i in 0..edges {
        let other = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let source = if i % 10 < 3 { 5 } else { other % 5003 };
        let (source, target) = (id(source), id(other % 40_009));
        lines.extend_from_slice(format!("{source} {target} {}\n", i % 5).as_bytes());
    }
    lines
}

/// Spreads small integers over 64 bits.
fn sparse(v: u64) -> u64 {
    v.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Ids of all kinds: dense, text, sparse with and without sign, and integers among which a few
/// exceed 64 bits or are none.
const IDS: [fn(u64) -> String; 6] = [
    |v| v.to_string(),
    |v| format!("v{v}"),
    |v| sparse(v).to_string(),
    |v| sparse(v).cast_signed().to_string(),
    |v| if v % 1000 == 7 { format!("{v}00000000000000000000") } else { sparse(v).to_string() },
    |v| if v % 1000 == 7 { format!("0{v}") } else { v.to_string() },
];

/// Memory below the allowed minimum makes buckets of 1,024 arcs, so that runs, merges, giant lists
/// and many generations of ids occur in a small test. Seen red with a bucket that forgot its last
/// run, with a list that kept a duplicate across pieces of a merge, and with the table of the wrong
/// generation.
#[test]
fn memory_and_threads_do_not_matter() {
    for (kind, id) in IDS.iter().enumerate() {
        let text = hub(if kind < 2 { 60_000 } else { 10_000 } * scale(), id);
        for (directed, weighted, duplicates) in [
            (true, false, Duplicates::Drop),
            (false, true, Duplicates::Sum),
            (true, true, Duplicates::Keep),
            (false, false, Duplicates::Drop),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("e");
            std::fs::write(&path, &text).unwrap();
            let mut hashes = Vec::new();
            for (memory, threads) in
                [(1 << 30, 1), (1 << 30, 2), (40 << 10, 1), (40 << 10, 2), (400 << 10, 3)]
            {
                let options = ImportOptions {
                    directed,
                    weighted,
                    duplicates,
                    memory,
                    threads,
                    allow_empty: true,
                    ..ImportOptions::default()
                };
                let store = dir.path().join(format!("s{}", hashes.len()));
                let report =
                    import_tightly(vec![Input::Path(path.clone())], &store, &options).unwrap();
                hashes.push(report.content_hash);
            }
            assert!(
                hashes.windows(2).all(|pair| pair[0] == pair[1]),
                "{kind} {directed} {weighted} {duplicates:?}: {hashes:?}"
            );
        }
    }
}

/// Each worker has room for the counters of its own small integers, but not for those of all. Some vertices
/// are only named by self-loops, which are dropped. Seen red with these vertices left out, and with the edges
/// left out of the batches.
#[test]
fn workers_may_read_different_ids() {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for file in 0..8_u64 {
        let mut text = String::new();
        for v in file * 800..file * 800 + 790 {
            text += &format!("{v} {} {}\n", v + 1, v % 5);
        }
        for v in file * 800 + 795..file * 800 + 800 {
            text += &format!("{v} {v} 1\n");
        }
        paths.push(dir.path().join(format!("e{file}")));
        std::fs::write(&paths[paths.len() - 1], text).unwrap();
    }
    for (directed, weighted) in [(true, true), (false, false)] {
        let mut found = Vec::new();
        for (memory, threads) in [(1 << 30, 1), (40 << 10, 2), (40 << 10, 1)] {
            let options = ImportOptions {
                directed,
                weighted,
                self_loops: SelfLoops::Drop,
                memory,
                threads,
                ..ImportOptions::default()
            };
            let store = dir.path().join(format!("s{directed}{}", found.len()));
            let inputs = paths.iter().map(|path| Input::Path(path.clone())).collect();
            let report = import_tightly(inputs, &store, &options).unwrap();
            found.push((report.content_hash, report.vertices, report.self_loops));
        }
        assert_eq!(found[0].1, 8 * 796);
        assert!(found.iter().all(|one| *one == found[0]), "{directed}: {found:?}");
    }
}

#[test]
fn order_of_input_does_not_matter() {
    let graph = Kronecker::new(11);
    let mut edges = Vec::new();
    (0..graph.pieces()).for_each(|piece| graph.piece(piece, &mut edges));
    let backwards = edges.iter().rev().map(|&[s, t]| (s, t)).collect::<Vec<_>>();
    for layout in [
        ImportLayout::Auto,
        ImportLayout::Degree,
        ImportLayout::Original,
        ImportLayout::Random { seed: 1 },
    ] {
        let options = ImportOptions { layout, allow_empty: true, ..ImportOptions::default() };
        let one = hash(Input::Generated(&graph), &options);
        assert_eq!(one, hash(Input::Edges(Box::new(backwards.iter().copied())), &options));
    }
}

/// Seen red with `AtomicDir` not removing its directory.
#[test]
fn cancelling_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let hooks = Hooks::default();
    let token = hooks.cancel.clone();
    let progress: std::sync::Arc<dyn Fn(nakshi_store::import::Progress) + Send + Sync> =
        std::sync::Arc::new(move |progress| {
            if progress.edges > 100_000 {
                token.cancel();
            }
        });
    let hooks = Hooks { progress: Some(progress), ..hooks };
    let failed = import(
        vec![Input::Generated(&Kronecker::new(16))],
        &dir.path().join("s"),
        &ImportOptions::default(),
        &hooks,
    );
    assert!(matches!(failed, Err(nakshi_store::Error::Cancelled)));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A lattice with consecutive ids keeps its order; where ids have no meaning, hubs come first. Both
/// graphs have more edges than a sample, and the choice must be the same with ids as text, which go
/// through generations, and in reverse. Seen red with the two sums exchanged, and with arcs of a
/// generation looked up among those of another.
#[test]
fn the_layout_is_that_with_the_shorter_lists() {
    const N: u64 = 40_009;
    let lattice = (0..N).flat_map(|v| (1..5).map(move |d| (v, (v + d) % N))).collect::<Vec<_>>();
    let scramble = |v: u64| v * 7919 % N;
    let skewed = |i: u64| {
        let uniform = (i * 0x9e37_79b9 % (1 << 32)) as f64 / f64::from(u32::MAX);
        (uniform.powi(4) * N as f64) as u64
    };
    let hubs = (0..4 * N).map(|i| (scramble(i % N), scramble(skewed(i)))).collect::<Vec<_>>();
    for (edges, expected) in [(lattice, "original"), (hubs, "degree")] {
        for directed in [false, true] {
            let options = ImportOptions { directed, allow_empty: true, ..ImportOptions::default() };
            let mut chosen = Vec::new();
            let dir = tempfile::tempdir().unwrap();
            let numbers = Input::Edges(Box::new(edges.iter().rev().copied()));
            let report = import(vec![numbers], &dir.path().join("n"), &options, &Hooks::default());
            chosen.push(report.unwrap().layout);
            let text: String = edges.iter().map(|(a, b)| format!("v{a:06}\tv{b:06}\n")).collect();
            let path = dir.path().join("e.tsv");
            std::fs::write(&path, text).unwrap();
            let report = import_tightly(vec![Input::Path(path)], &dir.path().join("t"), &options);
            chosen.push(report.unwrap().layout);
            assert_eq!(chosen, [expected, expected], "directed: {directed}");
        }
    }
}
