//! A power law fitted to the degrees.
//!
//! A. Clauset, C. Shalizi, M. Newman, "Power-law distributions in empirical data", SIAM Rev. 51 (2009).
//! For each degree from which the law may hold, the exponent is that of the largest likelihood; of these
//! degrees that one counts whose law is nearest to the distribution, by Kolmogorov and Smirnov's distance.
//! The law is discrete: the probability of degree k is k to the power of -alpha over the Hurwitz zeta
//! function.
//!
//! State: the degrees, 12 bytes a vertex, and a count for each different degree.

use super::degrees::{Counted, Degrees, counted};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use crate::parallel::map_ranges;
use crate::stats::{IterationLog, RunStats};

algorithm! {
    /// Power law of the degrees: its exponent, the degree from which it holds, and its distance.
    ///
    /// Vertices of degree 0 are left out.
    #[derive(Eq)]
    pub struct PowerLaw = "power-law" {
        /// Edges that count.
        pub direction: Counted = Counted::Both => Parameter::choice(Counted::CHOICES);
        /// Degree from which the law holds. 0 finds the one whose law is nearest to the distribution.
        pub least: u32 = 0 => Parameter::INTEGER;
    }
    method: "power_law";
    citation: "A. Clauset, C. Shalizi, M. Newman, \"Power-law distributions in empirical data\", SIAM Rev. 51 \
        (2009)";
    summary: &[
        Output::new("alpha", "float64", "the exponent; missing if the degrees are too few for a law"),
        Output::new("error", "float64", "standard error of the exponent"),
        Output::new("least", "uint64", "the degree from which the law holds"),
        Output::new("distance", "float64", "largest difference of the two cumulative distributions"),
        Output::new("vertices", "uint64", "vertices of that degree and more"),
    ];
}

/// A law that was fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// The exponent.
    pub alpha: f64,
    /// The degree from which the law holds.
    pub least: u64,
    /// Largest difference of the two cumulative distributions from that degree on.
    pub distance: f64,
    /// Vertices of that degree and more.
    pub vertices: u64,
}

/// Result of [`PowerLaw`].
#[derive(Debug, Clone, Default)]
pub struct FittedLaw {
    /// The law; `None` if there are not two different degrees.
    pub law: Option<Law>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<FittedLaw> for Outcome {
    fn from(found: FittedLaw) -> Self {
        let number =
            |of: fn(Law) -> f64| found.law.and_then(|law| serde_json::Number::from_f64(of(law)));
        let count = |of: fn(Law) -> u64| found.law.map(of);
        let (alpha, distance) = (number(|law| law.alpha), number(|law| law.distance));
        let error = number(|law| (law.alpha - 1.0) / (law.vertices as f64).sqrt());
        let (least, vertices) = (count(|law| law.least), count(|law| law.vertices));
        Outcome::of(Vec::new(), found.stats)
            .with_summary("alpha", alpha)
            .with_summary("error", error)
            .with_summary("least", least)
            .with_summary("distance", distance)
            .with_summary("vertices", vertices)
    }
}

impl Algorithm for PowerLaw {
    type Output = FittedLaw;

    fn needs(&self, summary: &Summary) -> Needs {
        let mut needs = Degrees { direction: self.direction }.needs(summary);
        // Different degrees are at most as many as the root of the sum of all of them.
        needs.state_bytes_fixed += 64 * (4 * summary.arcs).isqrt();
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<FittedLaw> {
        self.check()?;
        let found = Degrees { direction: self.direction }.run(graph, cx)?;
        let mut log = IterationLog::new(graph);
        let tail = Tail::of(&found.degrees, cx)?;
        let law = tail.fit(self.least.into(), cx)?;
        log.end("fit", tail.counts.len() as u64);
        let mut stats = found.stats;
        stats.append(log.finish());
        Ok(FittedLaw { law, stats })
    }
}

/// The different degrees above 0, ascending, with the vertices that have them.
struct Tail {
    counts: Vec<(u64, u64)>,
}

impl Tail {
    fn of(degrees: &[u64], cx: &Context) -> Result<Tail> {
        let counts = counted(degrees, cx)?;
        Ok(Tail { counts: counts.into_iter().filter(|(degree, _)| *degree > 0).collect() })
    }

    /// The nearest law, from degree `least` on or from the best one.
    fn fit(&self, least: u64, cx: &Context) -> Result<Option<Law>> {
        // Two different degrees are needed for an exponent.
        let starts = self.counts.len().saturating_sub(1);
        let from = self.counts.partition_point(|(degree, _)| *degree < least);
        let (first, end) = if least > 0 { (from, starts.min(from + 1)) } else { (0, starts) };
        let total = end.saturating_sub(first);
        let laws = map_ranges(
            cx,
            (total, 1),
            || (),
            |(), range| Ok(range.map(|at| self.law(first + at, least)).next()),
        )?;
        let nearer = |a: Law, b: Law| if b.distance < a.distance { b } else { a };
        Ok(laws.into_iter().flatten().reduce(nearer))
    }

    /// The law from the degree at a place on, or from `least` if it is above 0.
    fn law(&self, place: usize, least: u64) -> Law {
        let tail = self.counts.get(place..).unwrap_or_default();
        let least = if least > 0 { least } else { tail.first().map_or(1, |first| first.0) };
        let vertices: u64 = tail.iter().map(|(_, count)| count).sum();
        let logs: f64 = tail.iter().map(|&(k, count)| count as f64 * (k as f64).ln()).sum();
        let start = least as f64;
        // The likelihood a vertex, in logarithms.
        let mean = logs / vertices as f64;
        let alpha = largest(1.0 + 1e-6, 20.0, |alpha| -zeta(alpha, start).ln() - alpha * mean);
        let distance = distance(tail, alpha, (start, vertices));
        Law { alpha, least, distance, vertices }
    }
}

/// The largest difference of the cumulative distributions, at each degree and before the next one.
fn distance(tail: &[(u64, u64)], alpha: f64, (start, vertices): (f64, u64)) -> f64 {
    let whole = zeta(alpha, start);
    let (mut most, mut seen) = (0.0f64, 0);
    for &(degree, count) in tail {
        let before = 1.0 - zeta(alpha, degree as f64) / whole;
        most = most.max((before - seen as f64 / vertices as f64).abs());
        seen += count;
        let here = 1.0 - zeta(alpha, degree as f64 + 1.0) / whole;
        most = most.max((here - seen as f64 / vertices as f64).abs());
    }
    most
}

/// The place of the maximum of a function with one maximum, by golden sections.
fn largest(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let part = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - part * (high - low), low + part * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > 1e-9 {
        if at_a < at_b {
            (low, a, at_a) = (a, b, at_b);
            b = low + part * (high - low);
            at_b = f(b);
        } else {
            (high, b, at_b) = (b, a, at_a);
            a = high - part * (high - low);
            at_a = f(a);
        }
    }
    low.midpoint(high)
}

/// The Hurwitz zeta function: the sum of (start + i) to the power of -s, by Euler and Maclaurin.
fn zeta(s: f64, start: f64) -> f64 {
    let (mut sum, mut at) = (0.0, start);
    while at < 10.0 {
        sum += at.powf(-s);
        at += 1.0;
    }
    // The terms of B2, B4, B6 and B8 over the factorials.
    let mut term = at.powf(-s) * s / at;
    sum += at.powf(1.0 - s) / (s - 1.0) + at.powf(-s) / 2.0;
    for (order, factor) in
        [(1.0, 1.0 / 12.0), (3.0, -1.0 / 720.0), (5.0, 1.0 / 30_240.0), (7.0, -1.0 / 1_209_600.0)]
    {
        sum += factor * term;
        term *= (s + order) * (s + order + 1.0) / (at * at);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{power_law as oracle, sample};
    use proptest::prelude::*;

    fn tail(counts: &[(u64, u64)]) -> Tail {
        Tail { counts: counts.to_vec() }
    }

    #[test]
    fn zeta_is_known() {
        let pi = std::f64::consts::PI;
        assert!((zeta(2.0, 1.0) - pi * pi / 6.0).abs() < 1e-12);
        assert!((zeta(4.0, 1.0) - pi.powi(4) / 90.0).abs() < 1e-12);
        assert!((zeta(2.5, 30.0) - oracle::zeta(2.5, 30)).abs() < 1e-7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(20)))]
        #[test]
        fn equals_sums_and_a_grid(given in proptest::collection::btree_map(1u64..25, 1u64..60, 3..9)) {
            let counts: Vec<_> = given.into_iter().collect();
            let cx = Context::new();
            let mut nearest = f64::INFINITY;
            for &(least, _) in counts.iter().take(counts.len() - 1) {
                let found = tail(&counts).fit(least, &cx).unwrap().unwrap();
                let (alpha, distance) = oracle::fit(&counts, least);
                nearest = nearest.min(distance);
                prop_assert!((found.alpha - alpha).abs() < 2e-3 || alpha > 15.0, "{:?} {}", found, alpha);
                prop_assert!((found.distance - distance).abs() < 2e-3, "{:?} {}", found, distance);
            }
            let found = tail(&counts).fit(0, &cx).unwrap().unwrap();
            prop_assert!((found.distance - nearest).abs() < 2e-3, "{:?} {}", found, nearest);
        }
    }

    /// Numbers of a law, by its inverse distribution.
    #[test]
    fn finds_the_exponent() {
        let alpha = 2.5;
        let n = 200_000u64;
        let whole = zeta(alpha, 5.0);
        let above = |k: u64| (n as f64 * zeta(alpha, k as f64) / whole).round() as u64;
        let law = (5..4000).map(|k| (k, above(k) - above(k + 1)));
        // Below 5 another distribution.
        let counts: Vec<_> =
            (1..5).map(|k| (k, 30_000)).chain(law).filter(|(_, c)| *c > 0).collect();
        let found = tail(&counts).fit(0, &Context::new()).unwrap().unwrap();
        assert_eq!(found.least, 5);
        assert!((found.alpha - alpha).abs() < 0.01 && found.distance < 0.01, "{found:?}");
    }

    #[test]
    fn settings_find_the_same() {
        for sample in sample::power_laws(2000, 9000, 3) {
            let mut first = None;
            for (graph, cx) in sample.settings() {
                let law = PowerLaw::default().run(&graph, &cx).unwrap().law;
                assert!(law.is_some_and(|law| law.alpha > 1.0));
                assert_eq!(*first.get_or_insert(law), law);
            }
        }
        let regular = Graph::from_edges(3, &[(0, 1), (1, 2), (2, 0)], false, None).unwrap();
        assert_eq!(PowerLaw::default().run(&regular, &Context::new()).unwrap().law, None);
    }
}
