//! Vectors of vertices from known classes of some of them.
//!
//! C. Shen, Q. Wang, C. E. Priebe, "One-Hot Graph Encoder Embedding", IEEE Transactions on Pattern Analysis
//! and Machine Intelligence 45 (2023). The entry of a vertex for a class is the sum of the weights of its
//! edges to the vertices of that class, over the number of these vertices; with `laplacian` a weight is
//! divided by the root of the product of what both ends have in sum.
//!
//! The lists are read once, and once more for the sums. State: the class, 4 bytes a vertex, the sums, 8 bytes
//! a vertex, and the result, 8 bytes for each class.

use super::communities::lists::checked;
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::parallel_for;
use crate::shared::{SharedF64, share_f64, zeroed};
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, VertexId};

/// Classes at most.
const MOST: f64 = 4096.0;
/// The class of a vertex of which none is known.
const NONE: u32 = u32::MAX;

algorithm! {
    /// Vectors of vertices from known classes of some of them (GEE), one entry a class.
    ///
    /// The direction of edges is ignored. Classes of vertices that are not named are unknown; these vertices
    /// have vectors, too.
    pub struct Gee = "gee" {
        /// Vertices whose classes are known.
        pub labeled: Vec<VertexId> = Vec::new() => Parameter::VERTICES;
        /// Their classes, in the same order: whole numbers from 0 on.
        pub classes: Vec<f64> = Vec::new() => Parameter::NUMBERS;
        /// Divide the weight of an edge by the root of the product of the sums at both ends, so that hubs
        /// count less.
        pub laplacian: bool = false => Parameter::FLAG;
        /// Scale every vector to length 1.
        pub normalized: bool = false => Parameter::FLAG;
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "C. Shen, Q. Wang, C. E. Priebe, \"One-Hot Graph Encoder Embedding\", IEEE Transactions on \
        Pattern Analysis and Machine Intelligence 45 (2023)";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("embedding_*", "float64", "the entry of this class")];
    summary: &[
        Output::new("classes", "uint64", "length of a vector: the largest class, and 1"),
        Output::new("labeled", "uint64", "vertices whose classes are known"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "no vertex with a class, or another number of classes; a class that is no whole number from 0 to \
        4,095; a vertex with two classes; a weight that is negative or not finite; no such column.";
}

/// Vectors in internal order.
#[derive(Debug, Clone, Default)]
pub struct ClassEmbedding {
    /// By class, then vertex.
    pub columns: Vec<Vec<f64>>,
    /// Vertices whose classes are known.
    pub labeled: u64,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<ClassEmbedding> for Outcome {
    fn from(found: ClassEmbedding) -> Self {
        let classes = found.columns.len();
        let named = |(at, values)| Column::new(format!("embedding_{at}"), Values::F64(values));
        Outcome::of(found.columns.into_iter().enumerate().map(named).collect(), found.stats)
            .with_summary("classes", classes)
            .with_summary("labeled", found.labeled)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for Gee {
    type Output = ClassEmbedding;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let most = self.classes.iter().copied().fold(0.0, f64::max).min(MOST - 1.0);
        let sums = if self.laplacian { 8.0 } else { 0.0 };
        let needs = Needs::new(4.0 + sums + 8.0 * (most + 1.0), directions);
        Needs { column: self.weight.clone(), ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<ClassEmbedding> {
        self.check()?;
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let known = self.known(n)?;
        let sums = if self.laplacian { sums(graph, cx)? } else { Vec::new() };
        log.end("sums", n as u64);
        let mut columns = Vec::new();
        for _ in &known.sizes {
            columns.push(zeroed::<f64>(n, "vectors")?);
        }
        let shared: Vec<_> = columns.iter_mut().map(|column| share_f64(column)).collect();
        let encoder = Encoder { known: &known, sums: &sums, columns: &shared };
        for &direction in graph.all_lists() {
            encoder.add(graph, direction, cx)?;
            log.end("encode", n as u64);
        }
        if self.normalized {
            encoder.normalize(n, cx)?;
        }
        let labeled = known.classes.iter().filter(|class| **class != NONE).count() as u64;
        let weight = self.weight.clone();
        Ok(ClassEmbedding { columns, labeled, weight, stats: log.finish() })
    }
}

/// The class of each vertex that has one, and the sizes of classes.
struct Known {
    /// Class of each vertex, or [`NONE`].
    classes: Vec<u32>,
    /// Vertices of each class.
    sizes: Vec<f64>,
}

impl Gee {
    fn known(&self, n: usize) -> Result<Known> {
        if self.labeled.is_empty() {
            return Err(Error::parameter("labeled", "name vertices whose classes are known"));
        }
        if self.labeled.len() != self.classes.len() {
            let (vertices, classes) = (self.labeled.len(), self.classes.len());
            let message = format!("{classes} classes for {vertices} vertices; give one for each");
            return Err(Error::parameter("classes", message));
        }
        let mut classes = zeroed::<u32>(n, "classes")?;
        classes.fill(NONE);
        let mut sizes = Vec::new();
        for (&v, &class) in self.labeled.iter().zip(&self.classes) {
            if !(class.fract() == 0.0 && (0.0..MOST).contains(&class)) {
                let message = format!("{class} is no whole number from 0 to {}", MOST - 1.0);
                return Err(Error::parameter("classes", message));
            }
            // Whole and small, as was just checked.
            let class = class as u32;
            let Some(slot) = classes.get_mut(v as usize) else {
                return Err(Error::UnknownVertex { id: v.to_string() });
            };
            if *slot != NONE {
                if *slot != class {
                    return Err(Error::parameter(
                        "labeled",
                        "a vertex stands there with two classes",
                    ));
                }
                continue;
            }
            *slot = class;
            sizes.resize(sizes.len().max(class as usize + 1), 0.0);
            if let Some(size) = sizes.get_mut(class as usize) {
                *size += 1.0;
            }
        }
        Ok(Known { classes, sizes })
    }
}

/// The sum of the weights of the edges of each vertex; a self-loop counts once.
fn sums(graph: &Graph, cx: &Context) -> Result<Vec<f64>> {
    let mut sums = zeroed::<f64>(graph.num_vertices(), "sums of weights")?;
    let shared = share_f64(&mut sums);
    for (turn, &direction) in graph.all_lists().iter().enumerate() {
        graph.scan_weighted(
            direction,
            cx,
            |_| (),
            |(), v, list, weights| {
                let (mut at, mut sum, mut fault) = (0, 0.0, Ok(0.0));
                list.for_each(|u| {
                    let weight = checked(weights.get(at));
                    at += 1;
                    match weight {
                        Ok(weight) if turn == 0 || u != v => sum += weight,
                        Ok(_) => {}
                        Err(error) => fault = Err(error),
                    }
                })?;
                fault?;
                shared.get(v as usize).into_iter().for_each(|slot| slot.set(slot.get() + sum));
                Ok(())
            },
        )?;
    }
    Ok(sums)
}

/// The vectors while they are added up.
struct Encoder<'a> {
    known: &'a Known,
    /// Sums of the weights at each vertex; empty if weights count as they are.
    sums: &'a [f64],
    columns: &'a [&'a [SharedF64]],
}

impl Encoder<'_> {
    /// Adds the edges in the lists of a direction.
    fn add(&self, graph: &Graph, direction: Direction, cx: &Context) -> Result<()> {
        let Known { classes, sizes } = self.known;
        let again = direction == Direction::In && graph.directed();
        let share = |v: VertexId| match self.sums.get(v as usize) {
            Some(&sum) if sum > 0.0 => 1.0 / sum.sqrt(),
            Some(_) => 0.0,
            None => 1.0,
        };
        let init = |_| vec![0.0; sizes.len()];
        graph.scan_weighted(direction, cx, init, |entries, v, list, weights| {
            entries.fill(0.0);
            let (mut at, mut fault) = (0, Ok(0.0));
            list.for_each(|u| {
                let weight = checked(weights.get(at));
                at += 1;
                let class = classes.get(u as usize).copied().unwrap_or(NONE);
                match (weight, entries.get_mut(class as usize)) {
                    // A self-loop is in both lists of its vertex.
                    (Ok(weight), Some(entry)) if !(again && u == v) => *entry += weight * share(u),
                    (Ok(_), _) => {}
                    (Err(error), _) => fault = Err(error),
                }
            })?;
            fault?;
            let own = share(v);
            for ((column, entry), size) in self.columns.iter().zip(entries.iter()).zip(sizes) {
                if let Some(slot) = column.get(v as usize).filter(|_| *entry > 0.0) {
                    slot.set(slot.get() + own * entry / size);
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Scales the vectors to length 1; those of zeros stay.
    fn normalize(&self, n: usize, cx: &Context) -> Result<()> {
        parallel_for(cx, n, |range| {
            for v in range {
                let slots = || self.columns.iter().filter_map(|column| column.get(v));
                let length = slots().map(|slot| slot.get() * slot.get()).sum::<f64>().sqrt();
                if length > 0.0 {
                    slots().for_each(|slot| slot.set(slot.get() / length));
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{gee as oracle, sample};
    use proptest::prelude::*;

    fn compare(found: &ClassEmbedding, expected: &[Vec<f64>]) {
        for (v, row) in expected.iter().enumerate() {
            for (column, entry) in found.columns.iter().zip(row) {
                assert!((column[v] - entry).abs() < 1e-9, "{} is not {entry}", column[v]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_a_product_of_matrices(
            sample in sample::graphs(30, 120),
            drawn in proptest::collection::vec(0u32..6, 30),
            laplacian in any::<bool>(),
        ) {
            // Class 5 stands for none; the first vertex always has one.
            let class = |(v, &class): (usize, &u32)| (class < 5).then_some(class as usize).or((v == 0).then_some(3));
            let classes: Vec<_> = drawn.iter().take(sample.n).enumerate().map(class).collect();
            let known: Vec<(u32, f64)> =
                (0..).zip(&classes).filter_map(|(v, class)| Some((v, (*class)? as f64))).collect();
            let (labeled, numbers) = known.into_iter().unzip();
            let arcs: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let expected = oracle::embedding(sample.n, &arcs, sample.directed, &classes, laplacian);
            let config = Gee { labeled, classes: numbers, laplacian, ..Gee::default() };
            let mut first = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap();
                compare(&found, &expected);
                prop_assert_eq!(found.labeled as usize, config.labeled.len());
                prop_assert_eq!(first.get_or_insert_with(|| found.columns.clone()), &found.columns);
            }
            let graph = sample.graph();
            let found = Gee { normalized: true, ..config }.run(&graph, &Context::new()).unwrap();
            let unit = |row: &Vec<f64>| {
                let length = row.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
                row.iter().map(|entry| if length > 0.0 { entry / length } else { 0.0 }).collect()
            };
            compare(&found, &expected.iter().map(unit).collect::<Vec<_>>());
        }

        #[test]
        fn adds_up_weights(
            edges in sample::distinct_arcs(12),
            seed in proptest::collection::vec(0u32..5, 144),
            laplacian in any::<bool>(),
        ) {
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w)).collect();
            let arcs: Vec<_> = edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
            let classes: Vec<_> = (0..12).map(|v| Some(v % 3)).collect();
            let expected = oracle::embedding(12, &arcs, true, &classes, laplacian);
            let config = Gee {
                labeled: (0..12).collect(),
                classes: (0..12).map(|v| f64::from(v % 3)).collect(),
                weight: Some("weight".into()),
                laplacian,
                ..Gee::default()
            };
            for cx in sample::contexts() {
                let graph = Graph::from_edges(12, &edges, true, Some(&weights)).unwrap();
                compare(&config.run(&graph, &cx).unwrap(), &expected);
            }
        }
    }

    #[test]
    fn refuses_what_is_no_class() {
        let graph = Graph::from_edges(3, &[(0, 1)], true, Some(&[-1.0])).unwrap();
        let run = |labeled: &[u32], classes: &[f64]| {
            let (labeled, classes) = (labeled.to_vec(), classes.to_vec());
            let config = Gee { labeled, classes, ..Gee::default() };
            config.run(&graph, &Context::new()).unwrap_err().to_string()
        };
        assert!(run(&[], &[]).contains("name vertices"));
        assert!(run(&[0], &[0.0, 1.0]).contains("2 classes for 1 vertices"));
        for class in [0.5, -1.0, 4096.0, f64::NAN] {
            assert!(run(&[0], &[class]).contains("whole number"));
        }
        assert!(run(&[0, 0], &[0.0, 1.0]).contains("two classes"));
        assert!(run(&[7], &[0.0]).contains('7'));
        assert!(run(&[1], &[0.0]).contains("negative"));
    }
}
