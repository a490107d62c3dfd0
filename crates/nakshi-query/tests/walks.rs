//! Walks along several edges, against all walks of a small graph with loops and parallel edges.
//!
//! Seen red with edges of a walk that are passed again, with a node that is taken unseen while those with its
//! label are looked up, and with a row that has values of another repetition of a pattern.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Database, Options, Parameters, Value};
use nakshi_store::import::Hooks;
use nakshi_store::{OpenOptions, mix};

const NODES: u64 = 6;
const EDGES: u64 = 18;
const TYPES: [&str; 2] = ["A", "B"];

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Out,
    In,
    Both,
}
use Way::{Both, In, Out};

/// Direction and type of a step.
type Step = (Way, Option<&'static str>);

/// Edges by their places in the list, and the nodes between them.
#[derive(Clone)]
struct Walk {
    edges: Vec<usize>,
    nodes: Vec<u64>,
}

/// A graph whose edges have their places as `k`, and whose nodes have their numbers as `i`.
struct Graph {
    database: Database,
    edges: Vec<(u64, &'static str, u64)>,
}

impl Graph {
    fn new(path: &Path, seed: u64) -> Self {
        let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
        load(path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
        let store = PropertyStore::open(path, &OpenOptions::default()).unwrap().shared();
        let draw = |at: u64| mix(seed.wrapping_mul(1000).wrapping_add(at));
        let edge = |i| {
            let [from, ty, to] = [3 * i, 3 * i + 1, 3 * i + 2].map(draw);
            (from % NODES, TYPES[(ty % 2) as usize], to % NODES)
        };
        let graph = Graph {
            database: Database::new(Arc::clone(&store)),
            edges: (0..EDGES).map(edge).collect(),
        };
        graph.ask(&format!("UNWIND range(0, {}) AS i CREATE (:N {{i: i}})", NODES - 1));
        for (k, (from, ty, to)) in graph.edges.iter().enumerate() {
            graph.ask(&format!(
                "MATCH (a {{i: {from}}}), (b {{i: {to}}}) CREATE (a)-[:{ty} {{k: {k}}}]->(b)"
            ));
        }
        graph
    }

    fn ask(&self, text: &str) -> Vec<Vec<Value>> {
        let ran = self.database.run(text, Parameters::new(), &Options::default());
        let mut cursor = ran.unwrap_or_else(|error| panic!("{text}: {error}"));
        cursor.next(usize::MAX).unwrap()
    }

    /// Rows as texts, sorted.
    fn rows(&self, text: &str) -> Vec<String> {
        let line =
            |row: Vec<Value>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let mut found: Vec<String> = self.ask(text).into_iter().map(line).collect();
        found.sort_unstable();
        found
    }

    /// The walks that go on from `walk` by some steps, which pass no edge of the walk again.
    fn walks(&self, walk: &Walk, steps: &[Step]) -> Vec<Walk> {
        let Some(((way, ty), rest)) = steps.split_first() else { return vec![walk.clone()] };
        let at = *walk.nodes.last().unwrap();
        let mut found = Vec::new();
        for (place, (from, own, to)) in self.edges.iter().enumerate() {
            if walk.edges.contains(&place) || ty.is_some_and(|ty| ty != *own) {
                continue;
            }
            let ends = [(Out, *from, *to), (In, *to, *from)];
            // An edge from a node to itself is there once.
            let ends = ends.iter().filter(|(side, ..)| *way == *side || *way == Both);
            for (_, from, to) in ends.take(if from == to { 1 } else { 2 }) {
                if *from == at {
                    let mut next = walk.clone();
                    next.edges.push(place);
                    next.nodes.push(*to);
                    found.extend(self.walks(&next, rest));
                }
            }
        }
        found
    }

    fn walks_from(&self, node: u64, steps: &[Step]) -> Vec<Walk> {
        self.walks(&Walk { edges: Vec::new(), nodes: vec![node] }, steps)
    }

    fn check(&self, node: u64, text: &str, expected: impl IntoIterator<Item = String>) {
        let text = text.replace("$i", &node.to_string());
        let mut expected: Vec<String> = expected.into_iter().collect();
        expected.sort_unstable();
        assert_eq!(self.rows(&text), expected, "{text}");
        // What is profiled has an operator for each step and each condition.
        assert_eq!(self.rows(&format!("PROFILE {text}")), expected, "PROFILE {text}");
    }
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn list(numbers: &[usize]) -> String {
    format!("[{}]", numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn check_single_edges(graph: &Graph, i: u64) {
    let walks = graph.walks_from(i, &[(Out, None), (Both, None), (In, Some("A"))]);
    graph.check(
        i,
        "MATCH ({i: $i})-[x]->()-[y]-()<-[z:A]-() RETURN x.k, y.k, z.k",
        walks.iter().map(|walk| joined(&walk.edges)),
    );
    let fits = |walk: &&Walk| walk.nodes[1] != walk.nodes[2] && walk.nodes[3].is_multiple_of(2);
    graph.check(
        i,
        "MATCH ({i: $i})-->(b)--(c:N)<-[z:A]-(d) WHERE b.i <> c.i AND d.i IN [0, 2, 4] RETURN z.k, d.i",
        walks.iter().filter(fits).map(|walk| format!("{} {}", walk.edges[2], walk.nodes[3])),
    );
    // The conditions on the nodes of two steps tell different nodes.
    let fits = |walk: &&Walk| walk.nodes[1] > 2 && walk.nodes[2] < 3 && walk.nodes[3] > 1;
    graph.check(
        i,
        "MATCH ({i: $i})-->(b)--(c)<-[:A]-(d) WHERE b.i > 2 AND c.i < 3 AND d.i > 1 RETURN count(*)",
        [walks.iter().filter(fits).count().to_string()],
    );
    graph.check(
        i,
        "MATCH p = ({i: $i})-->()--()<-[:A]-() RETURN [r IN relationships(p) | r.k]",
        walks.iter().map(|walk| list(&walk.edges)),
    );
    let round = walks.iter().filter(|walk| walk.nodes[3] == i);
    graph.check(
        i,
        "MATCH (a {i: $i})-[x]->()-[y]-()<-[z:A]-(a) RETURN x.k, y.k, z.k",
        round.map(|walk| joined(&walk.edges)),
    );
    let first = graph.walks_from(i, &[(Out, None)]);
    let second = |walk: &Walk| graph.walks_from(walk.nodes[1], &[(Both, None)]);
    graph.check(
        i,
        "MATCH ({i: $i})-[x]->(b) MATCH (b)-[y]-() RETURN x.k, y.k",
        first.iter().flat_map(|walk| {
            second(walk).into_iter().map(|next| format!("{} {}", walk.edges[0], next.edges[0]))
        }),
    );
}

fn check_paths(graph: &Graph, i: u64) {
    let of_length = |way: Way, length: usize| graph.walks_from(i, &vec![(way, None); length]);
    let paths: Vec<Walk> = (1..=3).flat_map(|length| of_length(Out, length)).collect();
    graph.check(i, "MATCH ({i: $i})-[*1..3]->() RETURN count(*)", [paths.len().to_string()]);
    graph.check(
        i,
        "MATCH ({i: $i})-[r*1..3]->(b) RETURN [e IN r | e.k], b.i",
        paths.iter().map(|walk| format!("{} {}", list(&walk.edges), walk.nodes.last().unwrap())),
    );
    let both: Vec<Walk> = (0..=2).flat_map(|length| of_length(Both, length)).collect();
    graph.check(
        i,
        "MATCH p = ({i: $i})-[*0..2]-() RETURN [e IN relationships(p) | e.k]",
        both.iter().map(|walk| list(&walk.edges)),
    );
    let further = paths.iter().filter(|walk| walk.edges.len() < 3);
    let further: Vec<Walk> = further.flat_map(|walk| graph.walks(walk, &[(In, None)])).collect();
    graph.check(
        i,
        "MATCH ({i: $i})-[*1..2]->()<-[y]-() RETURN y.k",
        further.iter().map(|walk| walk.edges.last().unwrap().to_string()),
    );
}

/// The walks that pass some steps from `least` to `most` times, and whose repetitions meet a condition, which is given
/// the nodes and the edges of each.
fn repeated(
    graph: &Graph,
    walk: &Walk,
    steps: &[Step],
    (least, most): (usize, usize),
    fits: &dyn Fn(&[u64], &[usize]) -> bool,
) -> Vec<Walk> {
    let (mut found, mut walks) = (Vec::new(), vec![walk.clone()]);
    for times in 0..=most {
        if times >= least {
            found.extend(walks.iter().cloned());
        }
        let next = walks.iter().flat_map(|walk| {
            let at = walk.edges.len();
            let next = graph.walks(walk, steps).into_iter();
            next.filter(move |next| fits(&next.nodes[at..], &next.edges[at..]))
        });
        walks = next.collect();
    }
    found
}

fn nodes(walk: &Walk, place: usize, k: usize) -> String {
    let begins = (0..walk.edges.len()).step_by(k);
    list(&begins.map(|at| walk.nodes[at + place] as usize).collect::<Vec<_>>())
}

fn edges(walk: &Walk, place: usize, k: usize) -> String {
    list(&walk.edges.iter().skip(place).step_by(k).copied().collect::<Vec<_>>())
}

fn check_repeated(graph: &Graph, i: u64) {
    let from = Walk { edges: Vec::new(), nodes: vec![i] };
    let steps = [(Out, Some("A")), (Both, None)];
    let all = |_: &[u64], _: &[usize]| true;
    let walks = repeated(graph, &from, &steps, (1, 3), &all);
    let line = |walk: &Walk| {
        let lists = [nodes(walk, 0, 2), edges(walk, 0, 2), nodes(walk, 1, 2), edges(walk, 1, 2)];
        format!("{} {} {}", lists.join(" "), nodes(walk, 2, 2), walk.nodes.last().unwrap())
    };
    let columns =
        "[n IN x | n.i], [e IN r | e.k], [n IN y | n.i], [e IN s | e.k], [n IN z | n.i], b.i";
    let ways =
        ["({i: $i})((x)-[r:A]->(y)-[s]-(z)){1,3}(b)", "(b)((z)-[s]-(y)<-[r:A]-(x)){1,3}({i: $i})"];
    graph.check(i, &format!("MATCH {} RETURN {columns}", ways[0]), walks.iter().map(line));
    // Written from the other end, the repetitions come in the other order.
    let backwards = |walk: &Walk| {
        let mut walk = walk.clone();
        walk.edges.reverse();
        walk.nodes.reverse();
        let lists =
            [nodes(&walk, 2, 2), edges(&walk, 1, 2), nodes(&walk, 1, 2), edges(&walk, 0, 2)];
        format!("{} {} {}", lists.join(" "), nodes(&walk, 0, 2), walk.nodes[0])
    };
    graph.check(i, &format!("MATCH {} RETURN {columns}", ways[1]), walks.iter().map(backwards));
    graph.check(
        i,
        "MATCH p = ({i: $i})((x)-[:A]->()--()){1,3} RETURN [e IN relationships(p) | e.k]",
        walks.iter().map(|walk| list(&walk.edges)),
    );
    let none = repeated(graph, &from, &steps, (0, 2), &all);
    graph.check(
        i,
        "MATCH ({i: $i})(()-[:A]->()--(z)){,2}(b) RETURN [n IN z | n.i], b.i",
        none.iter().map(|walk| format!("{} {}", nodes(walk, 2, 2), walk.nodes.last().unwrap())),
    );
    let fits = |nodes: &[u64], edges: &[usize]| {
        nodes[0] != nodes[2] && nodes[1] > 0 && edges[0] < edges[1] && nodes[2].is_multiple_of(2)
    };
    let some = repeated(graph, &from, &steps, (1, 9), &fits);
    graph.check(
        i,
        "MATCH ({i: $i})((x)-[r:A]->(y WHERE y.i > 0)-[s]-(z) \
         WHERE x.i <> z.i AND r.k < s.k AND EXISTS { (z) WHERE z.i % 2 = 0 })+(b) \
         RETURN [e IN r | e.k], [e IN s | e.k], b.i",
        some.iter().map(|walk| {
            format!("{} {} {}", edges(walk, 0, 2), edges(walk, 1, 2), walk.nodes.last().unwrap())
        }),
    );
}

fn check_several_parts(graph: &Graph, i: u64) {
    let from = Walk { edges: Vec::new(), nodes: vec![i] };
    // A round, and properties that depend on the repetition.
    let steps = [(Both, None), (Both, None)];
    let round = |nodes: &[u64], _: &[usize]| nodes[0] == nodes[2];
    graph.check(
        i,
        "MATCH ({i: $i})((x)-[r]-()-[s]-(x))+ RETURN [e IN r | e.k], [e IN s | e.k]",
        repeated(graph, &from, &steps, (1, EDGES as usize / 2), &round)
            .iter()
            .map(|walk| format!("{} {}", edges(walk, 0, 2), edges(walk, 1, 2))),
    );
    let next = |nodes: &[u64], _: &[usize]| nodes[1] == (nodes[0] + 1) % NODES;
    let text =
        "MATCH ({i: $i})((x)-[r:B]-(y {i: (x.i + 1) % 6}))*(b)-[t]->(c) RETURN [e IN r | e.k], t.k";
    let walks = repeated(graph, &from, &[(Both, Some("B"))], (0, EDGES as usize), &next);
    let walks: Vec<Walk> =
        walks.iter().flat_map(|walk| graph.walks(walk, &[(Out, None)])).collect();
    let line = |walk: &Walk| {
        let (last, passed) = walk.edges.split_last().unwrap();
        format!("{} {last}", list(passed))
    };
    graph.check(i, text, walks.iter().map(line));
    // Two patterns, and an edge that is passed several times with a condition.
    let all = |_: &[u64], _: &[usize]| true;
    let small = |_: &[u64], edges: &[usize]| edges[0] < 12;
    let first = repeated(graph, &from, &[(Out, None), (In, None)], (1, 1), &all);
    let both = first.iter().flat_map(|walk| repeated(graph, walk, &[(Both, None)], (1, 2), &small));
    let (w, both) = (edges, both.collect::<Vec<_>>());
    graph.check(
        i,
        "MATCH p = ({i: $i}) (()-[v]->()<-[w]-()) {1} (()-[u WHERE u.k < 12]-()) {1,2} \
         RETURN [e IN v + w + u | e.k]",
        both.iter().map(|walk| w(walk, 0, 1)),
    );
    graph.check(
        i,
        "MATCH p = ({i: $i})-->()<--()-[u WHERE u.k < 12]-{1,2}(c) \
         RETURN [e IN relationships(p) | e.k], [e IN u | e.k], c.i",
        both.iter().map(|walk| {
            let own = list(&walk.edges[2..]);
            format!("{} {own} {}", list(&walk.edges), walk.nodes.last().unwrap())
        }),
    );
}

#[test]
fn all_walks_are_found() {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok());
    for seed in 0..3 * scale.unwrap_or(1_u64) {
        let home = tempfile::tempdir().unwrap();
        let graph = Graph::new(&home.path().join("g.nakshi"), seed);
        for i in 0..NODES {
            check_single_edges(&graph, i);
            check_paths(&graph, i);
            check_repeated(&graph, i);
            check_several_parts(&graph, i);
        }
    }
}

/// Counts the ends of walks of two steps in a graph in which many lead to the same nodes, of which few meet a
/// condition: so few that they are looked up.
fn check_few(database: &Database) {
    let count = |text: &str| {
        let text = format!("MATCH (:Hub)-->(){text} RETURN count(*)");
        let ran = database.run(&text, Parameters::new(), &Options::default());
        match ran.unwrap().next(2).unwrap()[..] {
            [ref row] => row[0].to_string().parse::<u64>().unwrap(),
            _ => panic!("{text}"),
        }
    };
    // Each of 20 nodes leads to 300 of 1,500, so that each of these is reached four times.
    for (text, expected) in [
        ("-->(c {p: 7})", 4 * 30),
        ("-->(c) WHERE c.p = 7.0", 4 * 30),
        ("-->(c:Third)", 4 * 500),
        ("-->(c:Third {p: 7})", 4 * 10),
        ("-->(c:Third) WHERE NOT c:Third OR c.p = 7", 4 * 10),
        ("-->(c) WHERE c.name = 'name 7'", 4),
        ("-->(c) WHERE c.p = 1000", 0),
        ("-->(c:Nothing)", 0),
        ("-->(c) WHERE c.p = null", 0),
        // The value of a row, which is another one for each.
        ("-->(c), (x:Wanted) WHERE c.p = x.p", 4 * 30 * 2),
    ] {
        assert_eq!(count(text), expected, "{text}");
    }
}

#[test]
fn nodes_that_a_condition_wants_are_looked_up() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    let options = LoadOptions { allow_empty: true, shards: Some(2), ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    let database = Database::new(Arc::clone(&store));
    let ask = |text: &str| database.run(text, Parameters::new(), &Options::default()).map(|_| ());
    ask("CREATE (h:Hub) WITH h UNWIND range(0, 19) AS i CREATE (h)-[:TO]->(:Middle {i: i})")
        .unwrap();
    ask("UNWIND range(0, 1499) AS i CREATE (c:End {i: i, p: i % 50, name: 'name ' + i})").unwrap();
    ask("MATCH (c:End) WHERE c.i % 3 = 0 SET c:Third").unwrap();
    ask("UNWIND [7, 8] AS p CREATE (:Wanted {p: p})").unwrap();
    ask("MATCH (m:Middle), (c:End) WHERE (c.i + m.i) % 5 = 0 CREATE (m)-[:TO]->(c)").unwrap();
    check_few(&database);
    store.freeze(&CancelToken::new()).unwrap();
    check_few(&database);
    store.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
    check_few(&database);
    // Nodes that came to the value, and others that have left it.
    ask("MATCH (c:End) WHERE c.p = 7 SET c.p = 8").unwrap();
    ask("MATCH (c:End) WHERE c.i % 50 = 9 SET c.p = 7").unwrap();
    ask("MATCH (c:End) WHERE c.i % 50 = 8 SET c.p = 9").unwrap();
    check_few(&database);
}
