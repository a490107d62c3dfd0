//! Random hyperbolic graphs, which have hubs, clusters and locality, as real networks do.

use std::f64::consts::{PI, TAU};
use std::sync::OnceLock;

use super::random::SplitMix64;
use super::{Generator, PIECE};
use crate::random::Shuffle;

/// Steps of the search for the radius of the disk, each of which halves its error.
const HALVINGS: u32 = 100;

/// A random hyperbolic graph: points of a disk, joined if they are nearer than its radius.
///
/// Degrees follow a power law, neighbours of a vertex are often neighbours of each other, and ids go round the
/// disk, so that most edges join ids near each other.
///
/// Source: Krioukov, Papadopoulos, Kitsak, Vahdat, Boguñá, "Hyperbolic geometry of complex networks", Physical
/// Review E 82 (2010), section IV: the model of temperature 0. Points are searched by bands of the disk, as von
/// Looz, Özdayi, Laue, Meyerhenke do ("Generating massive complex networks with hyperbolic geometry faster in
/// practice", HPEC 2016). Each edge is found from its outer end, whose degree inwards is small.
#[derive(Debug)]
pub struct Hyperbolic {
    vertices: u64,
    degree: f64,
    exponent: f64,
    seed: u64,
    shuffle: bool,
    disk: OnceLock<Disk>,
}

/// The points, band by band from the centre, by angle in each.
#[derive(Debug)]
struct Disk {
    /// `cosh` of the radius.
    cosh: f64,
    points: Vec<Point>,
    /// Inner edge of each band and its first point.
    bands: Vec<(Radius, usize)>,
}

/// A radius by its exponential and the inverse of that.
#[derive(Clone, Copy, Debug)]
struct Radius {
    exp: f64,
    inverse: f64,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    angle: f64,
    /// Sine and cosine of half the angle.
    half: [f64; 2],
    radius: Radius,
    id: u64,
}

impl Radius {
    fn new(radius: f64) -> Self {
        let exp = radius.exp();
        Self { exp, inverse: exp.recip() }
    }

    /// Twice the hyperbolic sine.
    fn twice_sinh(self) -> f64 {
        self.exp - self.inverse
    }

    /// The square of the sine of half the angle below which points of these radii are neighbours, by the
    /// hyperbolic law of cosines; differences of small angles keep their digits in this form. Not above 1.
    fn nearest(self, other: Self, cosh: f64) -> f64 {
        let difference = (self.exp * other.inverse + other.exp * self.inverse) / 2.0;
        let product = self.twice_sinh() * other.twice_sinh() / 2.0;
        // Two points at the centre have no angle between them.
        if product > 0.0 { ((cosh - difference) / product).min(1.0) } else { 1.0 }
    }
}

impl Point {
    fn joins(&self, other: &Self, cosh: f64) -> bool {
        let [sin, cos] = self.half;
        let half = sin * other.half[1] - cos * other.half[0];
        half * half < self.radius.nearest(other.radius, cosh)
    }

    /// True if this end of an edge finds it.
    fn is_outside(&self, other: &Self) -> bool {
        (self.radius.exp, self.id) > (other.radius.exp, other.id)
    }
}

/// The mean degree of a disk of this radius (Krioukov et al., equation 22).
fn mean_degree(vertices: f64, alpha: f64, radius: f64) -> f64 {
    let xi = alpha / (alpha - 0.5);
    let inner =
        alpha * (radius / 2.0) * (PI / 4.0 / (alpha * alpha) - (PI - 1.0) / alpha + (PI - 2.0))
            - 1.0;
    2.0 / PI * xi * xi * vertices * ((-radius / 2.0).exp() + (-alpha * radius).exp() * inner)
}

impl Disk {
    #[expect(clippy::cast_precision_loss, reason = "counts of vertices that fit memory")]
    fn new(graph: &Hyperbolic) -> Self {
        let n = graph.vertices as f64;
        let alpha = (graph.exponent - 1.0) / 2.0;
        let (mut low, mut high) = (0.0, 2.0 * n.ln() + 100.0);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if mean_degree(n, alpha, middle) > graph.degree { low = middle } else { high = middle }
        }
        let edge = low;
        let mut points = graph.points(alpha, edge);
        let last = (edge.ceil() as usize).max(1);
        let band = |point: &Point| (point.radius.exp.ln() as usize).min(last - 1);
        points.sort_by_cached_key(band);
        let bands = (0..last).map(|number| {
            let first = points.partition_point(|point| band(point) < number);
            // The logarithm may have rounded a point up into its band.
            (Radius::new((number as f64 - 1e-9).max(0.0)), first)
        });
        Self { cosh: edge.cosh(), bands: bands.collect(), points }
    }

    /// Calls `found` for each neighbour of `point` that is nearer to the centre.
    fn inwards(&self, point: &Point, mut found: impl FnMut(&Point)) {
        let ends = self.bands.iter().skip(1).map(|band| band.1).chain([self.points.len()]);
        for (&(inner, first), end) in self.bands.iter().zip(ends) {
            if inner.exp > point.radius.exp {
                break;
            }
            let band = self.points.get(first..end).unwrap_or_default();
            // A little more than the widest angle, for rounding.
            let reach =
                2.0 * inner.nearest(point.radius, self.cosh).max(0.0).sqrt().asin() * (1.0 + 1e-9);
            let (from, to) = (point.angle - reach, point.angle + reach);
            let parts = if reach >= PI {
                [(0.0, TAU), (TAU, TAU)]
            } else if from < 0.0 {
                [(0.0, to), (from + TAU, TAU)]
            } else if to > TAU {
                [(0.0, to - TAU), (from, TAU)]
            } else {
                [(from, to), (TAU, TAU)]
            };
            for (from, to) in parts {
                let begin = band.partition_point(|other| other.angle < from);
                let near = band.iter().skip(begin).take_while(|other| other.angle <= to);
                near.filter(|other| point.is_outside(other) && point.joins(other, self.cosh))
                    .for_each(&mut found);
            }
        }
    }
}

impl Hyperbolic {
    /// Makes a graph of this mean `degree`; the density of degrees falls with `exponent`, which is above 2.
    pub fn new(vertices: u64, degree: f64, exponent: f64) -> Self {
        Self { vertices, degree, exponent, seed: 1, shuffle: false, disk: OnceLock::new() }
    }

    /// The graph of another seed than 1.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, disk: OnceLock::new(), ..self }
    }

    /// The same graph with shuffled ids.
    #[must_use]
    pub fn with_shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// The points by angle, with the ids of their order.
    fn points(&self, alpha: f64, edge: f64) -> Vec<Point> {
        // Sums of exponential gaps, divided by the last sum, are uniform numbers in order.
        let gap = |number| -(1.0 - SplitMix64::new(self.seed, number).unit()).ln();
        let whole: f64 = (0..=self.vertices).map(gap).sum();
        let mut sum = 0.0;
        let point = |id| {
            sum += gap(id);
            let angle = (sum / whole).min(1.0) * TAU;
            let mut random = SplitMix64::new(self.seed, id);
            random.next();
            let radius = (1.0 + random.unit() * ((alpha * edge).cosh() - 1.0)).acosh() / alpha;
            let (sin, cos) = (angle / 2.0).sin_cos();
            Point { angle, half: [sin, cos], radius: Radius::new(radius.min(edge)), id }
        };
        (0..self.vertices).map(point).collect()
    }
}

impl Generator for Hyperbolic {
    fn pieces(&self) -> u64 {
        self.expected_edges().max(self.vertices).div_ceil(PIECE)
    }

    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>) {
        let disk = self.disk.get_or_init(|| Disk::new(self));
        let shuffle = self.shuffle.then(|| Shuffle::new(self.vertices, self.seed));
        let id = |v| shuffle.as_ref().map_or(v, |shuffle| shuffle.apply(v));
        let size = self.vertices.div_ceil(self.pieces().max(1));
        let points = disk.points.iter().skip((number * size) as usize).take(size as usize);
        for point in points {
            disk.inwards(point, |other| edges.push([id(point.id), id(other.id)]));
        }
    }

    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "an estimate")]
    #[expect(clippy::cast_sign_loss, reason = "an estimate")]
    fn expected_edges(&self) -> u64 {
        (self.vertices as f64 * self.degree / 2.0) as u64
    }

    fn memory(&self) -> u64 {
        // Sorting takes a number and a place of each beside it.
        self.vertices.saturating_mul((size_of::<Point>() + 16) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::edges;
    use std::collections::HashSet;

    /// The hyperbolic distance by the law of cosines, without bands.
    fn are_near(a: &Point, b: &Point, cosh: f64) -> bool {
        let (ra, rb) = (a.radius.exp.ln(), b.radius.exp.ln());
        let angle = (a.angle - b.angle).cos();
        ra.cosh() * rb.cosh() - ra.sinh() * rb.sinh() * angle < cosh
    }

    #[test]
    fn edges_join_all_that_are_near() {
        for (n, degree, exponent) in
            [(1, 1.0, 3.0), (2, 1.0, 2.5), (700, 6.0, 2.2), (900, 40.0, 3.5)]
        {
            let graph = Hyperbolic::new(n, degree, exponent).with_seed(n);
            let found: Vec<_> = edges(&graph).collect();
            let disk = graph.disk.get().unwrap();
            let mut wanted = HashSet::new();
            for (at, a) in disk.points.iter().enumerate() {
                for b in disk.points.iter().skip(at + 1).filter(|b| are_near(a, b, disk.cosh)) {
                    wanted.insert([a.id.min(b.id), a.id.max(b.id)]);
                }
            }
            let each: HashSet<_> = found.iter().map(|[a, b]| [*a.min(b), *a.max(b)]).collect();
            assert_eq!(each, wanted, "{n}");
            assert_eq!(each.len(), found.len(), "an edge twice");
        }
    }

    #[test]
    fn degrees_and_clusters_are_those_of_the_model() {
        let graph = Hyperbolic::new(60_000, 12.0, 2.5);
        let all: Vec<_> = edges(&graph).collect();
        let mean = 2.0 * all.len() as f64 / 60_000.0;
        assert!((mean / 12.0 - 1.0).abs() < 0.1, "{mean}");
        let mut lists = vec![Vec::new(); 60_000];
        for [a, b] in &all {
            lists[*a as usize].push(*b);
            lists[*b as usize].push(*a);
        }
        let above = |limit: usize| lists.iter().filter(|list| list.len() >= limit).count() as f64;
        let slope = (above(30) / above(480)).ln() / 16_f64.ln();
        assert!((slope - 1.5).abs() < 0.2, "{slope}");
        let sets: Vec<HashSet<u64>> =
            lists.iter().map(|list| list.iter().copied().collect()).collect();
        let clustering = |v: usize| {
            let (list, mut closed) = (&lists[v], 0);
            for (at, a) in list.iter().enumerate() {
                closed += list[at + 1..].iter().filter(|b| sets[*a as usize].contains(b)).count();
            }
            2.0 * closed as f64 / (list.len() * (list.len() - 1)) as f64
        };
        let small: Vec<usize> =
            (0..60_000).filter(|&v| (2..50).contains(&lists[v].len())).collect();
        let mean = small.iter().map(|&v| clustering(v)).sum::<f64>() / small.len() as f64;
        assert!(mean > 0.6, "{mean}");
        let near = all.iter().filter(|[a, b]| a.abs_diff(*b) < 600).count();
        assert!(near * 3 > all.len(), "{near} of {}", all.len());
    }

    #[test]
    fn shuffled_ids_are_another_order_of_the_same_graph() {
        let degrees = |graph: Hyperbolic| {
            let mut degrees = vec![0; 300];
            edges(&graph).flatten().for_each(|v| degrees[v as usize] += 1);
            degrees
        };
        let (mut plain, mut shuffled) = (
            degrees(Hyperbolic::new(300, 8.0, 2.5)),
            degrees(Hyperbolic::new(300, 8.0, 2.5).with_shuffle(true)),
        );
        assert_ne!(plain, shuffled);
        plain.sort_unstable();
        shuffled.sort_unstable();
        assert_eq!(plain, shuffled);
    }
}
