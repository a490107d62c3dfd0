//! A store reads everything that a builder wrote: lists, degrees, heads, columns and ids.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::RealFs;
use nakshi_io::{CancelToken, Resident};
use nakshi_store::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A small graph as a reader sees it: every list, from the store on disk.
fn lists(store: &Store, direction: Direction) -> Result<Vec<Vec<u32>>> {
    let adjacency = store.adjacency(direction)?;
    let bytes: Resident = adjacency.file().load(&CancelToken::new())?;
    adjacency
        .extents(0..store.num_vertices())
        .map(|e| {
            let mut out = Vec::new();
            adjacency
                .list(bytes.with_slack(), e.start as usize..e.end as usize)?
                .decode_into(&mut out)?;
            Ok(out)
        })
        .collect()
}

fn graph(n: u32) -> Vec<Vec<u32>> {
    // degrees 0..=300 and the borders of a byte, gaps of all sizes, some duplicates
    (0..n)
        .map(|v| {
            let degree = v % 301;
            let mut list: Vec<u32> =
                (0..degree).map(|i| (i * i * (v % 7) + i * (v % 3)) % n).collect();
            list.sort_unstable();
            list
        })
        .collect()
}

fn build(
    dest: &Path,
    graph: &[Vec<u32>],
    options: BuildOptions,
    in_parts: bool,
) -> Result<Manifest> {
    let weights = !options.columns.is_empty();
    let mut builder = StoreBuilder::create(Arc::new(RealFs::new()), dest, options)?;
    builder.begin_adjacency(Direction::Out)?;
    for (v, list) in (0..).zip(graph) {
        let values: Vec<i64> = list.iter().map(|u| i64::from(u % 200)).collect();
        let column = [NumberSlice::Int(&values)];
        let columns = if weights { &column[..] } else { &[] };
        if in_parts && list.len() > 100 {
            builder.start_list(v, list.len() as u64)?;
            for (part, values) in list.chunks(77).zip(values.chunks(77)) {
                let column = [NumberSlice::Int(values)];
                builder.extend_list(part, if weights { &column } else { &[] })?;
            }
            builder.finish_list()?;
        } else {
            builder.push_list(v, list, columns)?;
        }
    }
    builder.finish_adjacency()?;
    builder.commit()
}

#[test]
fn lists_degrees_heads_and_columns() -> Outcome {
    let dir = tempfile::tempdir()?;
    let graph = graph(2000);
    for (i, encoding) in [Encoding::Raw, Encoding::Packed].into_iter().enumerate() {
        for (j, page_size) in [512, 4096, 1 << 16].into_iter().enumerate() {
            let dest = dir.path().join(format!("g{i}{j}"));
            let columns = vec![ColumnSpec { name: "w".into(), ty: ColumnType::U8 }];
            let options = BuildOptions {
                vertices: 2050,
                encoding,
                page_size,
                columns,
                ..BuildOptions::default()
            };
            build(&dest, &graph, options, j == 1)?;
            let store = Store::open(&dest, &OpenOptions::default())?;
            let mut expected = graph.clone();
            expected.resize(2050, Vec::new());
            assert_eq!(lists(&store, Direction::Out)?, expected);
            let degrees = store.adjacency(Direction::Out)?.degrees(&CancelToken::new())?;
            assert!(degrees.iter().zip(&expected).all(|(d, l)| *d as usize == l.len()));
            let heads = store.heads(Direction::Out, &CancelToken::new())?;
            let column = store.column("w", Direction::Out)?;
            let values = column.file().load(&CancelToken::new())?;
            for (v, list) in (0..).zip(&expected) {
                let first = list.first().copied().unwrap_or(v);
                assert_eq!(
                    heads.get(v),
                    [first, list.get(1).copied().unwrap_or(first)],
                    "vertex {v}"
                );
                let extent = column.extent(v);
                let slice = column.slice(&values[extent.start as usize..extent.end as usize]);
                let mut out = vec![0; list.len()];
                assert_eq!(slice.decode_u32(0, &mut out), list.len());
                assert!(out.iter().zip(list).all(|(w, u)| *w == u % 200));
            }
        }
    }
    Ok(())
}

#[test]
fn two_builds_of_one_graph_have_one_hash_and_two_identities() -> Outcome {
    let dir = tempfile::tempdir()?;
    let graph = graph(500);
    let options = || BuildOptions { vertices: 500, ..BuildOptions::default() };
    let a = build(&dir.path().join("a"), &graph, options(), false)?;
    let b = build(&dir.path().join("b"), &graph, options(), true)?;
    assert_eq!(a.content_hash(), b.content_hash());
    assert_ne!(a.uuid, b.uuid);
    let mut other = graph;
    other[7][0] += 1;
    other[7].sort_unstable();
    let c = build(&dir.path().join("c"), &other, options(), false)?;
    assert_ne!(a.content_hash(), c.content_hash());
    Ok(())
}

#[test]
fn ids_of_every_kind_come_back() -> Outcome {
    let dir = tempfile::tempdir()?;
    let n = 500u32;
    // vertex v has rank (v * 7) % 500
    let mut order = vec![0; n as usize];
    (0..n).for_each(|v| order[(v * 7 % n) as usize] = v);
    let big = |r: u64| format!("{}{r:04}", "9".repeat(20 + (r / 100) as usize));
    let ids = |kind: IdKind, r: u64| match kind {
        IdKind::Dense => ExternalId::I64(r as i64 - 30),
        IdKind::U64 => ExternalId::U64(u64::MAX - 3 * (499 - r)),
        IdKind::I64 => {
            ExternalId::I64((i128::from(i64::MIN) + i128::from(r) * 36_000_000_000_000_000) as i64)
        }
        IdKind::Big => ExternalId::Big(big(r)),
        IdKind::Text => ExternalId::Text(format!("user/{r:05}")),
        IdKind::Bytes => ExternalId::Bytes([&r.to_be_bytes()[..], b"\xff"].concat()),
    };
    for (i, kind) in
        [IdKind::Dense, IdKind::U64, IdKind::I64, IdKind::Big, IdKind::Text, IdKind::Bytes]
            .into_iter()
            .enumerate()
    {
        for permuted in [false, true] {
            let dest = dir.path().join(format!("{i}{permuted}"));
            let options = BuildOptions { vertices: u64::from(n), ..BuildOptions::default() };
            let mut builder = StoreBuilder::create(Arc::new(RealFs::new()), &dest, options)?;
            builder.begin_adjacency(Direction::Out)?;
            builder.finish_adjacency()?;
            let order = permuted.then_some(order.as_slice());
            if kind == IdKind::Dense {
                builder.set_dense_ids(-30, order)?;
            } else {
                builder.begin_ids(kind)?;
                for r in 0..u64::from(n) {
                    match &ids(kind, r) {
                        ExternalId::U64(v) => builder.push_id(Key::U64(*v))?,
                        ExternalId::I64(v) => builder.push_id(Key::I64(*v))?,
                        ExternalId::Big(v) | ExternalId::Text(v) => {
                            builder.push_id(Key::Bytes(v.as_bytes()))?
                        }
                        ExternalId::Bytes(v) => builder.push_id(Key::Bytes(v))?,
                    }
                }
                builder.finish_ids(order)?;
            }
            builder.commit()?;
            let map = Store::open(&dest, &OpenOptions::default())?.ids()?;
            let by_rank = map.internal_by_rank()?;
            let ranks = map.rank_of()?;
            for r in (0..u64::from(n)).step_by(37) {
                let v = order.map_or(r as u32, |o| o[r as usize]);
                assert_eq!(map.internal(&ids(kind, r))?, Some(v), "{kind:?} {r}");
                assert_eq!(map.external(v)?, ids(kind, r));
                assert_eq!((by_rank[r as usize], u64::from(ranks[v as usize])), (v, r));
            }
            assert_eq!(map.internal(&ExternalId::Text("nobody".into()))?, None);
            assert_eq!(map.internal(&ExternalId::I64(5_000))?, None);
            let mut next = 0;
            map.for_each(|rank, key| {
                assert_eq!((rank, key.to_external(kind)?), (next, ids(kind, next)));
                next += 1;
                Ok(())
            })?;
            assert_eq!(next, u64::from(n));
        }
    }
    Ok(())
}

#[test]
fn an_undirected_graph_counts_each_edge_once() -> Outcome {
    let dir = tempfile::tempdir()?;
    let dest = dir.path().join("g");
    let options = BuildOptions { directed: false, vertices: 4, ..BuildOptions::default() };
    build(&dest, &[vec![0, 1, 2], vec![0], vec![0]], options, false)?;
    let store = Store::open(&dest, &OpenOptions::default())?;
    assert_eq!(
        (store.num_vertices(), store.num_edges(), store.arcs(), store.manifest().self_loops),
        (4, 3, 5, 1)
    );
    assert_eq!(lists(&store, Direction::In)?, lists(&store, Direction::Out)?);
    Ok(())
}

#[test]
fn stripes_over_directories() -> Outcome {
    let dir = tempfile::tempdir()?;
    let dirs: Vec<_> = ["d0", "d1", "d2"].iter().map(|d| dir.path().join(d)).collect();
    dirs.iter().try_for_each(std::fs::create_dir)?;
    let graph = graph(3000);
    let stripes = Some(Stripes { dirs: dirs.clone(), unit: 8192 });
    let options = BuildOptions { vertices: 3000, stripes, ..BuildOptions::default() };
    let dest = dir.path().join("g");
    let mut lost = StoreBuilder::create(Arc::new(RealFs::new()), &dest, options.clone())?;
    lost.begin_adjacency(Direction::Out)?;
    drop(lost);
    for d in &dirs {
        assert_eq!(std::fs::read_dir(d)?.count(), 0, "an abandoned build leaves nothing");
    }
    build(&dest, &graph, options, false)?;
    let store = Store::open(&dest, &OpenOptions::default())?;
    assert_eq!(lists(&store, Direction::Out)?, graph);
    for d in &dirs {
        assert_eq!(std::fs::read_dir(d)?.count(), 1);
    }
    Ok(())
}
