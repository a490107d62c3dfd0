//! The registry: all algorithms by name.

use super::algorithm::{Algorithm, defaults, parse};
use super::declaration::{Choice, Declaration, Kind, Parameter};
use super::pulling::{self, PullVisitor};
use super::{
    apsp, article_rank, articulation_points, assortativity, bc, bfs, bridges, cdlp, closeness,
    coloring, dag_longest_path, degrees, densest_subgraph, diameter, eccentricity, eigenvector,
    fastrp, gee, harmonic, hits, k_core, k_truss, katz, label_propagation, lcc, leiden, louvain,
    matching, mis, pagerank, personalized_pagerank, power_law, rich_club, scan_statistics, scc,
    similar, spanning_forest, sssp, topological_sort, triad_census, triangles, wcc,
    weighted_matching,
};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use serde_json::{Value, json};

/// One line of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name as users write it.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Parameters, help and outputs.
    pub declaration: Declaration,
    /// True if a pull program computes it, so that it runs on several servers.
    pub pulls: bool,
    /// The defaults of all parameters, as JSON.
    pub defaults: fn() -> Value,
    /// The memory and lists that a run with these parameters (users' ids) needs.
    pub needs: fn(&Value, &Summary) -> Result<Needs>,
    /// Runs with these parameters (users' ids).
    pub run: fn(&Value, &Graph, &Context) -> Result<Outcome>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Declaration {
    /// `parameters` with every vertex replaced by what `translate` makes of it.
    ///
    /// # Errors
    /// Errors of `translate`.
    pub fn with_vertices<E>(
        &self,
        parameters: &Value,
        mut translate: impl FnMut(&Value) -> std::result::Result<Value, E>,
    ) -> std::result::Result<Value, E> {
        let mut parameters = parameters.clone();
        let vertices =
            |parameter: &&Parameter| matches!(parameter.kind, Kind::Vertex | Kind::Vertices);
        for Parameter { name, .. } in self.parameters.iter().filter(vertices) {
            match parameters.get_mut(*name) {
                None | Some(Value::Null) => {}
                Some(Value::Array(ids)) => {
                    for id in ids {
                        *id = translate(id)?;
                    }
                }
                Some(id) => *id = translate(id)?,
            }
        }
        Ok(parameters)
    }
}

const fn entry<A: Algorithm>() -> Entry {
    Entry {
        name: A::NAME,
        about: A::DECLARATION.headline(),
        declaration: A::DECLARATION,
        pulls: false,
        defaults: defaults::<A>,
        needs: |parameters, summary| {
            // An estimate needs no graph: any vertex stands for any other.
            let any = |_: &Value| Ok::<_, Error>(Value::from(0u32));
            let parameters = A::DECLARATION.with_vertices(parameters, any)?;
            Ok(parse::<A>(parameters)?.needs(summary))
        },
        run: |parameters, graph, cx| {
            let number = |id: &Value| graph.vertex_by_json(id, cx).map(Value::from);
            let parameters = A::DECLARATION.with_vertices(parameters, number)?;
            Ok(parse::<A>(parameters)?.run(graph, cx)?.into())
        },
    }
}

impl Entry {
    const fn pulls(mut self) -> Self {
        self.pulls = true;
        self
    }

    /// The declaration as JSON, with the defaults, and for each variant its bytes of state a vertex on a
    /// directed graph of a million vertices without weights.
    pub fn json(&self) -> Value {
        let defaults = (self.defaults)();
        let mut all = self.declaration.json(&defaults);
        let summary = Summary {
            vertices: 1_000_000,
            listed: 1_000_000,
            arcs: 10_000_000,
            directed: true,
            out_bytes: 20_000_000,
            in_bytes: 20_000_000,
            longest_list: 100_000,
            index_bytes: 4_000_000,
            weight_width: 0,
        };
        let bytes = |parameters: &Value| {
            let needs = (self.needs)(parameters, &summary);
            needs.map_or(Value::Null, |needs| needs.state_bytes_per_vertex.into())
        };
        let words = match self.declaration.parameter("variant").map(|parameter| parameter.kind) {
            Some(Kind::Choice(choices)) => choices,
            _ => &[],
        };
        let memory: serde_json::Map<_, _> = if words.is_empty() {
            [("".to_owned(), bytes(&json!({})))].into_iter().collect()
        } else {
            let of = |(word, _): &Choice| ((*word).to_owned(), bytes(&json!({ "variant": word })));
            words.iter().map(of).collect()
        };
        all.insert("memory".to_owned(), memory.into());
        all.insert("pulls".to_owned(), self.pulls.into());
        all.into()
    }
}

/// Declarations of all algorithms, as a JSON array: all that Python and the command line know of them.
pub fn declarations() -> Value {
    REGISTRY.iter().map(Entry::json).collect()
}

/// Writes [`REGISTRY`] and what turns a name into the type of an algorithm.
macro_rules! algorithms {
    ($($Config:ty $(, $pulls:ident)?;)*) => {
        /// All algorithms by name.
        pub const REGISTRY: &[Entry] = &[$(entry::<$Config>() $(.$pulls())?),*];

        fn dispatch<V: PullVisitor>(name: &str, parameters: &Value, visitor: V) -> Result<V::Result> {
            $($(
                if name == <$Config as Algorithm>::NAME {
                    return pulling::$pulls::<$Config, V>(parameters, visitor);
                }
            )?)*
            let known = REGISTRY.iter().filter(|entry| entry.pulls).map(|entry| entry.name);
            Err(unknown(name, known))
        }
    };
}

// The list: a line for each algorithm, in the order of names; `pulls` if it implements `Pulls`.
algorithms! {
    apsp::Apsp;
    article_rank::ArticleRank;
    articulation_points::ArticulationPoints;
    assortativity::Assortativity;
    bc::Bc;
    bfs::Bfs, pulls;
    bridges::Bridges;
    cdlp::Cdlp, pulls;
    closeness::Closeness;
    coloring::Coloring, pulls;
    dag_longest_path::DagLongestPath;
    degrees::Degrees;
    densest_subgraph::DensestSubgraph;
    diameter::Diameter;
    eccentricity::Eccentricity;
    eigenvector::Eigenvector;
    fastrp::FastRp;
    gee::Gee;
    harmonic::Harmonic;
    hits::Hits;
    k_core::KCore;
    k_truss::KTruss;
    katz::Katz;
    label_propagation::LabelPropagation;
    lcc::Lcc;
    leiden::Leiden;
    louvain::Louvain;
    matching::Matching, pulls;
    mis::Mis;
    pagerank::PageRank, pulls;
    personalized_pagerank::PersonalizedPageRank;
    power_law::PowerLaw;
    rich_club::RichClub;
    scan_statistics::ScanStatistics;
    scc::Scc;
    similar::Similar;
    spanning_forest::SpanningForest;
    sssp::Sssp, pulls;
    topological_sort::TopologicalSort;
    triad_census::TriadCensus;
    triangles::Triangles, pulls;
    wcc::Wcc, pulls;
    weighted_matching::WeightedMatching;
}

fn unknown(name: &str, known: impl Iterator<Item = &'static str>) -> Error {
    let known = known.collect::<Vec<_>>().join(", ");
    Error::UnknownAlgorithm { name: name.to_owned(), known }
}

/// The registry's entry for `name`.
///
/// # Errors
/// [`Error::UnknownAlgorithm`].
pub fn find(name: &str) -> Result<&'static Entry> {
    let known = REGISTRY.iter().map(|entry| entry.name);
    REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| unknown(name, known))
}

/// Runs the algorithm `name` with JSON `parameters`, in which vertices are users' ids.
///
/// # Errors
/// [`Error::UnknownAlgorithm`], [`Error::Parameter`], [`Error::UnknownVertex`], and
/// those of the run.
pub fn run_named(name: &str, parameters: &Value, graph: &Graph, cx: &Context) -> Result<Outcome> {
    (find(name)?.run)(parameters, graph, cx)
}

/// Calls `visitor` with the algorithm `name`, if a pull program computes it; `parameters` are JSON with
/// internal ids, without any that the program does not know.
///
/// # Errors
/// [`Error::UnknownAlgorithm`], [`Error::Parameter`].
pub fn with_pull<V: PullVisitor>(name: &str, parameters: &Value, visitor: V) -> Result<V::Result> {
    dispatch(name, parameters, visitor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;
    use crate::algo::oracle::sample;
    use crate::algo::{Declared, Output};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(30)))]
        /// The variants that the other tests compare with oracles, and the pull programs.
        #[test]
        fn pull_programs_find_the_same(sample in sample::graphs(40, 160)) {
            for name in ["bfs", "cdlp", "pagerank", "sssp", "triangles", "wcc"] {
                for (graph, cx) in sample.settings() {
                    let of = |variant: Option<&str>| {
                        let mut given = json!({ "tolerance": 0.0, "iterations": 7, "source": 0 });
                        let known = find(name).unwrap().declaration;
                        given.as_object_mut().unwrap().retain(|name, _| known.parameter(name).is_some());
                        if let Some(variant) = variant {
                            given["variant"] = variant.into();
                        }
                        run_named(name, &given, &graph, &cx).unwrap()
                    };
                    let (direct, mut pulled) = (of(None), of(Some("pull-program")));
                    for (a, b) in direct.columns.iter().zip(&pulled.columns) {
                        prop_assert_eq!((&a.name, &a.valid), (&b.name, &b.valid));
                        match (&a.values, &b.values) {
                            (Values::F64(a), Values::F64(b)) => {
                                let close = |(a, b): (&f64, &f64)| a == b || (a - b).abs() < 1e-9;
                                prop_assert!(a.iter().zip(b).all(close), "{}", name);
                            }
                            (Values::U32(u), Values::U32(v)) => {
                                let known = a.valid.as_ref().unwrap();
                                prop_assert!(known.iter().all(|i| u[i] == v[i]));
                            }
                            (a, b) => prop_assert_eq!(a, b),
                        }
                    }
                    if name == "pagerank" {
                        // Without a tolerance the program does not look at changes, so that it runs all
                        // iterations where the kernel stops at ranks that do not change at all.
                        let change = direct.summary["change"].clone();
                        if change == 0.0 {
                            prop_assert_eq!(&pulled.summary["iterations"], 7);
                            let stopped = direct.summary["iterations"].clone();
                            pulled.summary.insert("iterations".into(), stopped);
                        }
                        pulled.summary.insert("change".into(), change);
                    }
                    prop_assert_eq!(&direct.summary, &pulled.summary, "{}", name);
                }
            }
        }
    }

    /// Every algorithm in every variant has the outputs that it declares. Seen red with a summary field
    /// that the declaration lacks, and with a column declared under another name.
    #[test]
    fn outputs_are_those_declared() {
        let [undirected, directed] = sample::power_laws(200, 900, 5);
        let forward = |&(u, v): &(u32, u32)| (u != v).then(|| (u.min(v), u.max(v)));
        let edges = directed.edges.iter().filter_map(forward).collect();
        let acyclic = sample::Sample { edges, ..directed.clone() }.graph();
        let [undirected, graph] = [undirected, directed].map(|sample| sample.graph());
        let cx = Context::new().with_threads(1);
        for entry in REGISTRY {
            let words: Vec<Option<&str>> = match entry.declaration.parameter("variant") {
                Some(Parameter { kind: Kind::Choice(all), .. }) => {
                    all.iter().map(|(word, _)| Some(*word)).collect()
                }
                _ => vec![None],
            };
            for word in words {
                let mut given = needed(entry);
                if let Some(word) = word {
                    given["variant"] = word.into();
                }
                // The vertex programs of triangles and scan statistics are for undirected graphs.
                let graph = match (entry.name, word) {
                    ("dag-longest-path" | "topological-sort", _) => &acyclic,
                    (_, Some("vertex")) => &undirected,
                    _ => &graph,
                };
                let found = run_named(entry.name, &given, graph, &cx).unwrap();
                check_outputs(entry, &found, false);
            }
            let flags = entry.declaration.parameters.iter().filter(|p| p.kind == Kind::Flag);
            for flag in flags {
                let mut given = needed(entry);
                given[flag.name] = ((entry.defaults)()[flag.name] == false).into();
                // Along directed edges some eccentricities are infinite.
                let graph = if entry.name == "eccentricity" { &undirected } else { &graph };
                let found = run_named(entry.name, &given, graph, &cx).unwrap();
                check_outputs(entry, &found, true);
            }
        }
    }

    /// Arguments without which a run fails.
    fn needed(entry: &Entry) -> Value {
        match entry.name {
            // The default is NetworkX's, and too large for a graph with hubs.
            "katz" => json!({ "alpha": 0.01 }),
            "personalized-pagerank" => json!({ "sources": [0] }),
            "gee" => json!({ "labeled": [0, 1], "classes": [0, 1] }),
            _ => json!({}),
        }
    }

    fn check_outputs(entry: &Entry, found: &Outcome, asked: bool) {
        let pattern = |name: &str| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let numbered = !stem.is_empty() && stem.len() < name.len();
            if numbered { format!("{stem}*") } else { name.to_owned() }
        };
        let kind = |values: &Values| match values {
            Values::U32(_) => "uint32",
            Values::U64(_) => "uint64",
            Values::I64(_) => "int64",
            Values::F64(_) => "float64",
            Values::Bool(_) => "bool",
            Values::Vertex(_) => "vertex",
        };
        let declared = entry.declaration.columns;
        for column in &found.columns {
            let name = pattern(&column.name);
            let known = declared.iter().find(|output| output.name == name);
            assert_eq!(known.map(|output| output.kind), Some(kind(&column.values)), "{name}");
        }
        for output in declared {
            let there = found.columns.iter().any(|column| pattern(&column.name) == output.name);
            assert!(there || !output.when.is_empty(), "{}: {}", entry.name, output.name);
            let default = output.when.starts_with("not ") || entry.name != "apsp";
            assert!(asked || !there || output.when.is_empty() || !default, "{}", output.name);
        }
        let vertices = found.summary_vertices.iter().map(|(name, _)| name);
        let told: BTreeSet<_> =
            found.summary.keys().chain(vertices).map(|name| pattern(name)).collect();
        let there = |output: &&Output| output.when.is_empty() || told.contains(output.name);
        let summary = entry.declaration.summary.iter().filter(there);
        let declared: BTreeSet<_> = summary.map(|output| output.name.to_owned()).collect();
        assert_eq!(told, declared, "{}", entry.name);
    }

    /// Declared parameters are the fields of the config struct, each with help, and `check` refuses what
    /// is outside a range.
    #[test]
    fn declarations_are_whole() {
        for entry in REGISTRY {
            let names: BTreeSet<_> = entry.declaration.parameters.iter().map(|p| p.name).collect();
            let defaults = (entry.defaults)();
            let fields: BTreeSet<_> =
                defaults.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, fields, "{}", entry.name);
            let about = entry.declaration;
            assert!(!about.citation.is_empty() && !about.headline().is_empty(), "{}", entry.name);
            let outputs = about.columns.iter().chain(about.summary);
            assert!(outputs.clone().count() > 0 && outputs.clone().all(|o| !o.help.is_empty()));
            assert!(about.parameters.iter().all(|p| !p.help.concat().is_empty()));
            let pulls = matches!(about.parameter("variant"), Some(p) if
                matches!(p.kind, Kind::Choice(all) if all.iter().any(|c| c.0 == "pull-program")));
            assert!(entry.pulls == pulls || matches!(entry.name, "coloring" | "matching"));
            for parameter in about.parameters.iter().filter(|p| p.greatest.is_some()) {
                let given = json!({ parameter.name: parameter.greatest.unwrap() + 1.0 });
                let error = (entry.needs)(&given, &summary()).unwrap_err().to_string();
                assert!(error.contains(parameter.name), "{error}");
            }
        }
        assert!(REGISTRY.is_sorted_by_key(|entry| entry.name));
        let wrong = pagerank::PageRank { damping: f64::NAN, ..pagerank::PageRank::default() };
        assert!(wrong.check().unwrap_err().to_string().contains("at least 0 and below 1"));
    }

    fn summary() -> Summary {
        sample::power_law(10, 20, true, 1).graph().summary()
    }
}
