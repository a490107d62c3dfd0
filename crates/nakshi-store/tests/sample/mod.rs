//! A small store with every kind of file, and a reader of all of it.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{RealFs, WriteFs};
use nakshi_io::{CancelToken, PagedFile, Resident};
use nakshi_store::*;
use tempfile::TempDir;

/// A store of `n` vertices, directed, with weights, text ids and a moved order.
pub fn build(fs: Arc<dyn WriteFs>, dest: &Path, n: u32, page_size: u32) -> Result<Manifest> {
    let out: Vec<Vec<u32>> =
        (0..n).map(|v| (0..v % 23).map(|i| (v * 7 + i * i * 3) % n).collect()).collect();
    let mut lists = out.clone();
    lists.iter_mut().for_each(|l| {
        l.sort_unstable();
        l.dedup();
    });
    let mut into = vec![Vec::new(); n as usize];
    for (v, list) in (0..).zip(&lists) {
        list.iter().for_each(|&u| into[u as usize].push(v));
    }
    let weight = |a: u32, b: u32| i64::from((a * 31 + b) % 250);
    let columns = vec![ColumnSpec { name: "w".into(), ty: ColumnType::U8 }];
    let options =
        BuildOptions { vertices: u64::from(n), page_size, columns, ..BuildOptions::default() };
    let mut builder = StoreBuilder::create(fs, dest, options)?;
    for (direction, lists) in [(Direction::Out, &lists), (Direction::In, &into)] {
        builder.begin_adjacency(direction)?;
        for (v, list) in (0..).zip(lists) {
            let values: Vec<i64> = list
                .iter()
                .map(|&u| if direction == Direction::Out { weight(v, u) } else { weight(u, v) })
                .collect();
            builder.push_list(v, list, &[NumberSlice::Int(&values)])?;
        }
        builder.finish_adjacency()?;
    }
    let order: Vec<u32> = (0..n).rev().collect();
    builder.begin_ids(IdKind::Text)?;
    for r in 0..n {
        builder.push_id(Key::Bytes(format!("vertex/{r:07}").as_bytes()))?;
    }
    builder.finish_ids(Some(&order))?;
    builder.commit()
}

/// A temporary folder, and the path of a store in it.
pub fn home() -> std::io::Result<(TempDir, PathBuf)> {
    let home = tempfile::tempdir()?;
    let dest = home.path().join("g");
    Ok((home, dest))
}

/// A store of [`plain`] in a temporary folder.
pub fn stored(n: u32) -> std::result::Result<(TempDir, PathBuf), Box<dyn std::error::Error>> {
    let (home, dest) = home()?;
    plain(&dest, n)?;
    Ok((home, dest))
}

/// A store with defaults.
pub fn plain(dest: &Path, n: u32) -> Result<Manifest> {
    build(Arc::new(RealFs::new()), dest, n, 512)
}

/// All data that a reader can get from a store.
#[derive(Debug, PartialEq)]
pub struct Everything {
    lists: Vec<Vec<Vec<u32>>>,
    degrees: Vec<Vec<u32>>,
    heads: Vec<Vec<[u32; 2]>>,
    columns: Vec<Vec<u8>>,
    ids: Vec<ExternalId>,
    ranks: Vec<u32>,
    internal: Vec<u32>,
}

/// Reads all files through the ordinary ways.
pub fn read_all(dest: &Path) -> Result<Everything> {
    let cancel = CancelToken::new();
    let load = |file: &Arc<PagedFile>| -> Result<Resident> { Ok(file.load(&cancel)?) };
    let store = Store::open(dest, &OpenOptions::default())?;
    let mut all = Everything {
        lists: Vec::new(),
        degrees: Vec::new(),
        heads: Vec::new(),
        columns: Vec::new(),
        ids: Vec::new(),
        ranks: Vec::new(),
        internal: Vec::new(),
    };
    for direction in [Direction::Out, Direction::In] {
        let adjacency = store.adjacency(direction)?;
        let bytes = load(adjacency.file())?;
        let mut lists = Vec::new();
        for (v, e) in (0..).zip(adjacency.extents(0..store.num_vertices())) {
            let mut list = Vec::new();
            adjacency
                .list(bytes.with_slack(), e.start as usize..e.end as usize)
                .and_then(|l| l.decode_into(&mut list))
                .map_err(|error| adjacency.blame(v, error))?;
            lists.push(list);
        }
        all.lists.push(lists);
        all.degrees.push(adjacency.degrees(&cancel)?);
        all.heads.push(store.heads(direction, &CancelToken::new())?.pairs().to_vec());
        let column = store.column("w", direction)?;
        all.columns.push(load(column.file())?.to_vec());
    }
    let ids = store.ids()?;
    ids.for_each(|_, key| {
        all.ids.push(key.to_external(ids.kind())?);
        Ok(())
    })?;
    // the offsets of blocks are used by look-ups only
    for id in all.ids.iter().step_by(64) {
        ids.internal(id)?;
    }
    all.ranks = ids.rank_of()?;
    all.internal = ids.internal_by_rank()?;
    Ok(all)
}

/// Returns the factor by which loops are longer than usual.
pub fn scale() -> u32 {
    std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}
