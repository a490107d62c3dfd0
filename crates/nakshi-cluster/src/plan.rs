//! Predicted costs of a partition, without a run (2.4, 2.5).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nakshi_engine::{Context, Direction, Graph, VertexId, VertexSet, both_lists};
use serde::Serialize;

use crate::exchange::BATCH;
use crate::{Partition, Result};

/// Encoded bytes of lists that a loader reads at a time: they take several times as much on the wire.
pub(crate) const SHARE: u64 = 1 << 20;

/// Values that are sent in an iteration in which all change, per vertex, by the equations of section
/// 2.4.1 and by counting.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Communication {
    /// Equation 2.2: every edge between servers.
    pub pregel: f64,
    /// Equation 2.4: ghosts of neighbours in both directions.
    pub graphlab: f64,
    /// Equation 2.5, where a vertex without edges has no replica less than one: twice for each mirror.
    pub powergraph: f64,
    /// Equation 2.7: every server that has an out-neighbour.
    pub lfgraph: f64,
    /// The count of equation 2.7 with this hash.
    pub exact: f64,
}

/// Least, mean and greatest of something over servers or pairs of them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Spread {
    fn of(numbers: &[u64]) -> Self {
        let floats = || numbers.iter().map(|&number| number as f64);
        Spread {
            least: floats().reduce(f64::min).unwrap_or_default(),
            mean: floats().sum::<f64>() / numbers.len().max(1) as f64,
            greatest: floats().fold(0.0, f64::max),
        }
    }

    /// Greatest over mean; 1 if all are alike.
    pub fn imbalance(&self) -> f64 {
        if self.mean > 0.0 { self.greatest / self.mean } else { 1.0 }
    }
}

/// Predicted costs of a number of servers.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Servers.
    pub servers: usize,
    /// Values sent.
    pub communication: Communication,
    /// In-edges of a server: what it computes in an iteration (Figures 2.4, 2.5).
    pub computation: Spread,
    /// Values between each pair of servers (Figure 2.7).
    pub pairs: Spread,
    /// Values that a server sends, and that come to it.
    pub sent: Spread,
    /// See [`Row::sent`].
    pub received: Spread,
    /// Bytes that a server needs, by [`memory`].
    pub memory: Spread,
}

/// Bytes of a buffer that timely sends from, or receives to.
const SLAB: u64 = 1 << 20;

/// Numbers of vertices, links and values of one server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Servers of the cluster.
    pub servers: u64,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Vertices of this server.
    pub own: u64,
    /// Links to them that are in memory.
    pub links: u64,
    /// Vertices of other servers whose values come here.
    pub subscribed: u64,
    /// Values that leave when all change.
    pub published: u64,
}

/// Bytes that a server takes beside its process, with values of `value` bytes: what [`crate::Shard`] and
/// the value stores hold, and what is under way.
pub fn memory(part: Part, value: u64) -> u64 {
    let Part { servers, vertices, own, links, subscribed, published } = part;
    let slots = own + subscribed;
    // Ids by slot; rank, degree, offset by vertex; links; publish lists; real and shadow values, flags.
    let shard = 4 * slots + 16 * own + 8 + 4 * links + 4 * published;
    let values = value * (slots + own) + 2 * slots.div_ceil(8) + own.div_ceil(8);
    // Frames as they were made and as timely sends them; its buffers for each other server.
    let exchanged = 2 * (BATCH as u64).min(value * published) + 2 * SLAB * (servers - 1);
    // Lists as they leave and as they come, and where the slot of each vertex is.
    let loading = 8 * SHARE + 4 * vertices;
    shard + values + exchanged + loading
}

/// Vertices and links of all servers, and the values between them.
#[derive(Debug)]
struct Counts {
    own: Vec<u64>,
    links: Vec<u64>,
    /// Values by sender, then by receiver.
    pairs: Vec<u64>,
}

impl Counts {
    fn new(servers: usize) -> Self {
        Counts { own: vec![0; servers], links: vec![0; servers], pairs: vec![0; servers * servers] }
    }

    fn add(&mut self, other: &Counts) {
        let add = |to: &mut [u64], more: &[u64]| to.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        add(&mut self.own, &other.own);
        add(&mut self.links, &other.links);
        add(&mut self.pairs, &other.pairs);
    }
}

fn increase(numbers: &mut [u64], at: usize) {
    if let Some(number) = numbers.get_mut(at) {
        *number += 1;
    }
}

/// The plan for each number of servers; `value` is the bytes of a value.
///
/// # Errors
/// Errors of reading; [`crate::Error::Servers`].
pub fn plan(graph: &Graph, servers: &[usize], value: u64, cx: &Context) -> Result<Vec<Row>> {
    let partitions = servers.iter().map(|n| Partition::new(*n)).collect::<Result<Vec<_>>>()?;
    let degrees = Degrees::count(graph, cx)?;
    let mut rows = Vec::new();
    for partition in partitions {
        let counts = count(graph, &partition, cx)?;
        rows.push(row(&partition, &degrees, &counts, value));
    }
    Ok(rows)
}

/// Number of vertices by number of neighbours.
type Histogram = BTreeMap<u64, u64>;

/// Degree histograms of the graph.
struct Degrees {
    vertices: u64,
    out: Histogram,
    /// Degrees in either direction, each neighbour once.
    any: Histogram,
}

impl Degrees {
    fn count(graph: &Graph, cx: &Context) -> Result<Self> {
        let n = graph.num_vertices();
        let all = Mutex::new((Histogram::new(), Histogram::new()));
        both_lists(
            graph,
            &VertexSet::full(n),
            cx,
            |_| (),
            |(), v, out, other| {
                // A vertex that is a neighbour of its own is where it is.
                let others = |list: &[VertexId]| list.iter().filter(|u| **u != v).count() as u64;
                let mut any: Vec<VertexId> =
                    out.iter().chain(other).copied().filter(|u| *u != v).collect();
                any.sort_unstable();
                any.dedup();
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                *all.0.entry(others(out)).or_default() += 1;
                *all.1.entry(any.len() as u64).or_default() += 1;
                Ok(())
            },
        )?;
        let (out, any) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Degrees { vertices: n as u64, out, any })
    }

    /// The mean of `f(neighbours)` over vertices.
    fn mean(&self, of: &Histogram, f: impl Fn(f64) -> f64) -> f64 {
        let sum: f64 = of.iter().map(|(degree, count)| f(*degree as f64) * *count as f64).sum();
        sum / self.vertices.max(1) as f64
    }
}

fn row(partition: &Partition, degrees: &Degrees, counts: &Counts, value: u64) -> Row {
    let n = partition.servers() as f64;
    // The probability that a server has none of so many neighbours.
    let none = |degree: f64| (1.0 - 1.0 / n).powf(degree);
    let sent: u64 = counts.pairs.iter().sum();
    let communication = Communication {
        pregel: degrees.mean(&degrees.out, |d| d * (1.0 - 1.0 / n)),
        graphlab: degrees.mean(&degrees.any, |d| (n - 1.0) * (1.0 - none(d))),
        powergraph: degrees.mean(&degrees.any, |d| 2.0 * (n * (1.0 - none(d)) - 1.0).max(0.0)),
        lfgraph: degrees.mean(&degrees.out, |d| (n - 1.0) * (1.0 - none(d))),
        exact: sent as f64 / degrees.vertices.max(1) as f64,
    };
    let servers = partition.servers();
    let between = |f: &dyn Fn(usize, usize) -> usize, one: usize| -> u64 {
        (0..servers).map(|other| counts.pairs.get(f(one, other)).copied().unwrap_or_default()).sum()
    };
    let leaving = |server| between(&|one, other| one * servers + other, server);
    let arriving = |server| between(&|one, other| other * servers + one, server);
    let (leave, arrive): (Vec<u64>, Vec<u64>) =
        (0..servers).map(|server| (leaving(server), arriving(server))).unzip();
    let needs: Vec<u64> = (0..servers)
        .map(|server| {
            let at = |numbers: &[u64]| numbers.get(server).copied().unwrap_or_default();
            let (own, links) = (at(&counts.own), at(&counts.links));
            let (subscribed, published) = (at(&arrive), at(&leave));
            let (servers, vertices) = (servers as u64, degrees.vertices);
            memory(Part { servers, vertices, own, links, subscribed, published }, value)
        })
        .collect();
    let pairs: Vec<u64> = (0..servers * servers)
        .filter(|k| k / servers != k % servers)
        .map(|k| counts.pairs.get(k).copied().unwrap_or_default())
        .collect();
    Row {
        servers,
        communication,
        computation: Spread::of(&counts.links),
        pairs: Spread::of(&pairs),
        sent: Spread::of(&leave),
        received: Spread::of(&arrive),
        memory: Spread::of(&needs),
    }
}

/// Counts what the hash does, in one pass over out-lists.
fn count(graph: &Graph, partition: &Partition, cx: &Context) -> Result<Counts> {
    let n = graph.num_vertices();
    let servers = partition.servers();
    // Ids are 32 bits wide, servers 16.
    let owners: Vec<u16> = (0..n).map(|v| partition.owner(v as VertexId) as u16).collect();
    let owner = |v: VertexId| owners.get(v as usize).copied().map_or(0, usize::from);
    let new = |_: usize| (Counts::new(servers), vec![VertexId::MAX; servers]);
    let parts = graph.scan(Direction::Out, cx, new, |(counts, asked), v, list| {
        let from = owner(v);
        increase(&mut counts.own, from);
        list.for_each(|u| {
            let to = owner(u);
            increase(&mut counts.links, to);
            // The last vertex whose value the server is known to ask for.
            if let Some(last) = asked.get_mut(to).filter(|last| to != from && **last != v) {
                *last = v;
                increase(&mut counts.pairs, from * servers + to);
            }
        })?;
        Ok(())
    })?;
    let mut counts = Counts::new(servers);
    parts.iter().for_each(|(part, _)| counts.add(part));
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nakshi_engine::program::pull::programs::PullPageRank;

    fn graph(n: u32, directed: bool) -> Graph {
        let mut state = 7u64;
        let mut draw = move |limit: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(limit)) as u32
        };
        let edges: Vec<_> = (0..8 * n).map(|_| (draw(n) * draw(n) / n, draw(n))).collect();
        Graph::from_edges(n as usize, &edges, directed, None).unwrap()
    }

    /// The plan counts exactly the values that a run sends when all change, and the contents of its
    /// shards.
    #[test]
    fn counts_are_those_of_a_run() {
        let cx = Context::new().with_threads(2);
        for directed in [true, false] {
            let graph = graph(3000, directed);
            for servers in [1, 2, 3, 8] {
                let rows = plan(&graph, &[servers], 8, &cx).unwrap();
                let [row] = rows.as_slice() else { panic!("a row") };
                let program = PullPageRank { damping: 0.85, iterations: 3, tolerance: 0.0 };
                let run = crate::local::run(&graph, &program, servers, None, &cx).unwrap();
                for step in 0..4 {
                    let sent: u64 = run.steps.iter().map(|steps| steps[step].sent).sum();
                    assert_eq!(sent as f64 / 3000.0, row.communication.exact);
                }
                let c = row.communication;
                assert!((c.exact / c.lfgraph - 1.0).abs() < 0.02 || servers == 1);
                assert!(
                    c.lfgraph <= c.graphlab + 1e-9 && c.graphlab <= c.powergraph.max(c.graphlab)
                );
                assert!(c.lfgraph <= c.pregel + 1e-9);
            }
        }
    }

    /// Two vertices on two servers, by hand; one of them also leads to itself. Seen red with that counted.
    #[test]
    fn a_pair() {
        let graph = Graph::from_edges(2, &[(0, 1), (1, 1)], true, None).unwrap();
        let rows = plan(&graph, &[1, 2], 8, &Context::new()).unwrap();
        let one = rows[0].communication;
        assert_eq!((one.pregel, one.graphlab, one.powergraph, one.lfgraph), (0.0, 0.0, 0.0, 0.0));
        let two = rows[1].communication;
        // One of two vertices has an out-neighbour, both have a neighbour.
        assert_eq!((two.pregel, two.lfgraph, two.graphlab), (0.25, 0.25, 0.5));
        assert_eq!(two.powergraph, 0.0);
    }
}
