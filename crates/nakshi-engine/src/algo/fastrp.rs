//! Vectors of vertices by random projection.
//!
//! H. Chen et al., "Fast and accurate network embeddings via very sparse random projection" (FastRP),
//! CIKM 2019.
//!
//! Every vertex begins with a sparse random vector. An iteration replaces it by the mean of those of the
//! out-neighbours, and adds it, scaled to length 1, to the result. State: three vectors of 4 bytes a
//! dimension, of which two make room for the columns of the result, 8 bytes a dimension.

use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::parallel_for;
use crate::shared::{SharedF32, share_f32, zeroed};
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, List, VertexId, mix};

algorithm! {
    /// Vectors of vertices by very sparse random projection (FastRP).
    ///
    /// Vertices with similar neighbourhoods have similar vectors, in the sense of the cosine.
    pub struct FastRp = "fastrp" {
        /// Length of a vector.
        pub dimensions: u32 = 128 => Parameter::INTEGER.at_least(1.0).at_most(4096.0);
        /// The part of each iteration in the result, one number an iteration.
        pub iteration_weights: Vec<f64> = vec![0.0, 1.0, 1.0] => Parameter::NUMBERS;
        /// Power of the degree by which the first vectors are scaled. Below 0 hubs count less.
        pub normalization: f64 = 0.0 => Parameter::NUMBER;
        /// Seed of the first vectors.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "H. Chen et al., \"Fast and accurate network embeddings via very sparse random projection\", \
        CIKM 2019";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("embedding_*", "float64", "that entry of the vector")];
    summary: &[
        Output::new("dimensions", "uint64", "length of a vector"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "iteration weights that are not finite; no such column.";
}

/// Vectors in internal order.
#[derive(Debug, Clone, Default)]
pub struct Embedding {
    /// By dimension, then vertex.
    pub columns: Vec<Vec<f64>>,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Embedding> for Outcome {
    fn from(found: Embedding) -> Self {
        let dimensions = found.columns.len() as u64;
        let named = |(at, values)| Column::new(format!("embedding_{at}"), Values::F64(values));
        Outcome::of(found.columns.into_iter().enumerate().map(named).collect(), found.stats)
            .with_summary("dimensions", dimensions)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for FastRp {
    type Output = Embedding;

    fn needs(&self, _summary: &Summary) -> Needs {
        let bytes = 12.0 * f64::from(self.dimensions) + 4.0;
        Needs { repeats: true, column: self.weight.clone(), ..Needs::new(bytes, &[Direction::Out]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Embedding> {
        self.check()?;
        if let Some(wrong) = self.iteration_weights.iter().find(|weight| !weight.is_finite()) {
            let message = format!("{wrong} is no finite number");
            return Err(Error::parameter("iteration_weights", message));
        }
        let mut log = IterationLog::new(graph);
        let (n, width) = (graph.num_vertices(), self.dimensions as usize);
        let mut vectors = self.first(graph, cx)?;
        let mut next = zeroed::<f32>(n * width, "vectors")?;
        let mut sums = zeroed::<f32>(n * width, "vectors")?;
        for &weight in &self.iteration_weights {
            let step = Step { width, weight: weight as f32, vectors: &vectors };
            step.run(graph, cx, share_f32(&mut next), share_f32(&mut sums))?;
            std::mem::swap(&mut vectors, &mut next);
            log.end("project", n as u64);
        }
        drop((vectors, next));
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            cx.check()?;
            let entries = sums.iter().skip(at).step_by(width);
            columns.push(entries.map(|&entry| f64::from(entry)).collect());
        }
        Ok(Embedding { columns, weight: self.weight.clone(), stats: log.finish() })
    }
}

impl FastRp {
    /// The first vectors: two thirds of the entries are 0, the others plus or minus the root of 3.
    fn first(&self, graph: &Graph, cx: &Context) -> Result<Vec<f32>> {
        let (n, width) = (graph.num_vertices(), self.dimensions as usize);
        let degrees = graph.degrees(Direction::Out, cx)?;
        let mut vectors = zeroed::<f32>(n * width, "vectors")?;
        let shared = share_f32(&mut vectors);
        parallel_for(cx, n, |range| {
            for v in range {
                let degree = degrees.get(v).copied().unwrap_or(0).max(1);
                let scale = f64::from(degree).powf(self.normalization);
                let slots = shared.get(v * width..(v + 1) * width).unwrap_or_default();
                for (at, slot) in slots.iter().enumerate() {
                    slot.set((scale * entry(self.seed, v, at)) as f32);
                }
            }
            Ok(())
        })?;
        Ok(vectors)
    }
}

/// An entry of the first vector of a vertex.
fn entry(seed: u64, v: usize, at: usize) -> f64 {
    let hash = mix(mix(mix(seed) ^ v as u64) ^ at as u64);
    // A sixth each: the high half of a product with 6.
    match (u128::from(hash) * 6) >> 64 {
        0 => 3f64.sqrt(),
        1 => -(3f64.sqrt()),
        _ => 0.0,
    }
}

/// One iteration.
struct Step<'a> {
    width: usize,
    weight: f32,
    vectors: &'a [f32],
}

impl Step<'_> {
    fn run(
        &self,
        graph: &Graph,
        cx: &Context,
        next: &[SharedF32],
        sums: &[SharedF32],
    ) -> Result<()> {
        let init = |_| vec![0f32; self.width];
        if graph.weighted() {
            graph.scan_weighted(Direction::Out, cx, init, |mean, v, list, weights| {
                // Weights are lengths of vectors here: single precision is theirs.
                self.mean(mean, list, |at| weights.get(at) as f32)?;
                self.put(v, mean, next, sums);
                Ok(())
            })?;
        } else {
            graph.scan(Direction::Out, cx, init, |mean, v, list| {
                self.mean(mean, list, |_| 1.0)?;
                self.put(v, mean, next, sums);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The mean of the vectors of a list, times the weights.
    fn mean(&self, mean: &mut [f32], list: &List<'_>, weight: impl Fn(usize) -> f32) -> Result<()> {
        mean.fill(0.0);
        let share = 1.0 / list.degree().max(1) as f32;
        let mut at = 0;
        list.for_each(|u| {
            let from = u as usize * self.width;
            let vector = self.vectors.get(from..from + self.width).unwrap_or_default();
            let weight = weight(at) * share;
            mean.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += weight * entry);
            at += 1;
        })?;
        Ok(())
    }

    fn put(&self, v: VertexId, mean: &[f32], next: &[SharedF32], sums: &[SharedF32]) {
        let range = v as usize * self.width..(v as usize + 1) * self.width;
        let length = mean.iter().map(|entry| entry * entry).sum::<f32>().sqrt();
        let scale = if length > 0.0 { self.weight / length } else { 0.0 };
        let next = next.get(range.clone()).unwrap_or_default();
        let sums = sums.get(range).unwrap_or_default();
        for ((next, sum), &entry) in next.iter().zip(sums).zip(mean) {
            next.set(entry);
            sum.set(sum.get() + scale * entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{projection as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_powers_of_the_matrix(
            sample in sample::graphs(20, 80),
            iteration_weights in proptest::collection::vec(-1.0..1.0f64, 0..4),
            normalization in -1.0..1.0f64,
        ) {
            let lists = sample.adjacency();
            let config = FastRp {
                dimensions: 7,
                iteration_weights,
                normalization,
                seed: 5,
                ..FastRp::default()
            };
            let first = |v: usize| -> Vec<f64> {
                let scale = (lists[v].len().max(1) as f64).powf(normalization);
                (0..7).map(|at| scale * entry(5, v, at)).collect()
            };
            let first: Vec<_> = (0..sample.n).map(first).collect();
            let expected = oracle::embedding(&lists, &first, &config.iteration_weights);
            let mut bits: Option<Vec<Vec<f64>>> = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap().columns;
                for (at, column) in found.iter().enumerate() {
                    for (v, value) in column.iter().enumerate() {
                        prop_assert!((value - expected[v][at]).abs() < 1e-4, "{} {}", v, at);
                    }
                }
                assert_eq!(bits.get_or_insert_with(|| found.clone()), &found);
            }
        }
    }

    #[test]
    fn entries_are_sparse() {
        let all: Vec<f64> =
            (0..1000).flat_map(|v| (0..60).map(move |at| entry(1, v, at))).collect();
        let zeros = all.iter().filter(|entry| **entry == 0.0).count() as f64 / all.len() as f64;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((zeros - 2.0 / 3.0).abs() < 0.01 && mean.abs() < 0.02, "{zeros} {mean}");
    }
}
