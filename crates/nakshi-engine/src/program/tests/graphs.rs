//! Test graphs, in memory and on the SSD, and threads to run them with.

use crate::{Context, Direction, EngineMode, Graph, Needs, VertexId};
use nakshi_io::write::RealFs;
use nakshi_io::{FaultPlan, FaultyBackend, StorageBackend};
use nakshi_store::{BuildOptions, OpenOptions, Store, StoreBuilder};
use std::collections::VecDeque;
use std::sync::Arc;

/// Numbers that look random and are the same everywhere.
pub(super) struct Lcg(pub(super) u64);

impl Lcg {
    pub(super) fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A list of edges with its number of vertices.
pub(super) struct Edges {
    pub(super) n: usize,
    pub(super) edges: Vec<(VertexId, VertexId)>,
    pub(super) directed: bool,
}

/// A graph in which a few vertices have most edges, with self-loops, duplicates and isolated
/// vertices.
pub(super) fn skewed(n: usize, edges: usize, directed: bool, seed: u64) -> Edges {
    let mut lcg = Lcg(seed);
    let mut end = |limit: u64| {
        let (a, b) = (lcg.below(limit) + 1, lcg.below(limit) + 1);
        (a * b / limit) as VertexId
    };
    // The last tenth stays isolated.
    let limit = n as u64 * 9 / 10;
    let edges = (0..edges).map(|_| (end(limit) % n as u32, end(limit) % n as u32)).collect();
    Edges { n, edges, directed }
}

impl Edges {
    /// Level of each vertex in a search from `source`, by a plain queue; `unreached` elsewhere.
    pub(super) fn levels(&self, source: VertexId, unreached: u32) -> Vec<u32> {
        let lists = self.adjacency();
        let mut levels = vec![unreached; self.n];
        levels[source as usize] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(u) = queue.pop_front() {
            for &v in &lists[u as usize] {
                if levels[v as usize] == unreached {
                    levels[v as usize] = levels[u as usize] + 1;
                    queue.push_back(v);
                }
            }
        }
        levels
    }

    /// Neighbours of each vertex, ascending, without duplicates.
    pub(super) fn adjacency(&self) -> Vec<Vec<VertexId>> {
        let mut lists = vec![Vec::new(); self.n];
        for &(u, v) in &self.edges {
            lists[u as usize].push(v);
            if !self.directed && u != v {
                lists[v as usize].push(u);
            }
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
        }
        lists
    }

    /// The graph in SSD mode over files in memory, of which `plan` spoils the reads.
    pub(super) fn faulty(&self, plan: FaultPlan) -> Graph {
        let wrap = |inner: Arc<dyn StorageBackend>| -> Arc<dyn StorageBackend> {
            Arc::new(FaultyBackend::new(inner, plan.clone()))
        };
        Graph::from_edges_on_ssd(self.n, &self.edges, self.directed, None, 64 << 10, &wrap).unwrap()
    }

    /// The graph as a store of files, opened in SSD mode.
    pub(super) fn stored(&self, dir: &std::path::Path) -> Graph {
        let path = dir.join("graph.nakshi");
        let options = BuildOptions {
            directed: self.directed,
            vertices: self.n as u64,
            page_size: 512,
            ..BuildOptions::default()
        };
        let mut builder = StoreBuilder::create(Arc::new(RealFs::new()), &path, options).unwrap();
        let mut write = |direction, lists: Vec<Vec<VertexId>>| {
            builder.begin_adjacency(direction).unwrap();
            for (v, list) in (0..).zip(&lists) {
                builder.push_list(v, list, &[]).unwrap();
            }
            builder.finish_adjacency().unwrap();
        };
        write(Direction::Out, self.adjacency());
        if self.directed {
            let edges = self.edges.iter().map(|&(u, v)| (v, u)).collect();
            write(Direction::In, Edges { n: self.n, edges, directed: true }.adjacency());
        }
        builder.set_dense_ids(0, None).unwrap();
        builder.commit().unwrap();
        let store = Store::open(&path, &OpenOptions::default()).unwrap();
        let needs = Needs::new(16.0, &[Direction::Out, Direction::In]);
        let cx = Context::new().with_mode(EngineMode::Ssd);
        Graph::open(&store, &needs, &cx).unwrap()
    }

    /// Runs `check` on the graph in memory, in SSD mode with a page cache that is too small,
    /// with late reads, and as files.
    pub(super) fn each(&self, check: impl Fn(&Graph)) {
        let graph = Graph::from_edges(self.n, &self.edges, self.directed, None).unwrap();
        assert_eq!(graph.mode(), EngineMode::Memory);
        check(&graph);
        let late = FaultPlan {
            delays: 0.01,
            delay: std::time::Duration::from_millis(1),
            ..FaultPlan::default()
        };
        let graph = self.faulty(late);
        assert_eq!(graph.mode(), EngineMode::Ssd);
        check(&graph);
        if self.n > 0 {
            let dir = tempfile::tempdir().unwrap();
            check(&self.stored(dir.path()));
        }
    }

    /// Runs `check` as [`Edges::each`], with 1, 2 and 4 threads each.
    pub(super) fn each_threads(&self, check: impl Fn(&Graph, &Context)) {
        self.each(|graph| {
            for threads in [1, 2, 4] {
                check(graph, &Context::new().with_threads(threads));
            }
        });
    }
}
