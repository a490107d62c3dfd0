//! A power law by plain sums and a fine grid of exponents.

/// The sum of k to the power of -s from `start` on: many terms, and an integral for the rest.
pub fn zeta(s: f64, start: u64) -> f64 {
    let end = start + 400;
    let sum: f64 = (start..end).map(|k| (k as f64).powf(-s)).sum();
    sum + (end as f64 - 0.5).powf(1.0 - s) / (s - 1.0)
}

/// The exponent of the largest likelihood for degrees from `least` on, on a grid of thousandths, and the
/// largest difference of the cumulative distributions over all whole numbers up to the largest degree.
pub fn fit(counts: &[(u64, u64)], least: u64) -> (f64, f64) {
    let tail: Vec<_> = counts.iter().filter(|(degree, _)| *degree >= least).collect();
    let n: f64 = tail.iter().map(|(_, count)| *count as f64).sum();
    let likelihood = |alpha: f64| {
        let one = |&&(degree, count): &&(u64, u64)| -alpha * count as f64 * (degree as f64).ln();
        tail.iter().map(one).sum::<f64>() - n * zeta(alpha, least).ln()
    };
    let best = |from: f64, to: f64, step: f64| {
        let steps = ((to - from) / step) as u32;
        let grid = (0..=steps).map(|k| from + f64::from(k) * step);
        grid.map(|alpha| (likelihood(alpha), alpha))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 2.0))
            .1
    };
    let near = best(1.05, 20.0, 0.05);
    let alpha = best((near - 0.05).max(1.001), near + 0.05, 0.001);
    let (mut expected, mut seen, mut most) = (0.0, 0.0, 0.0f64);
    for k in least..=tail.last().map_or(least, |last| last.0) {
        expected += (k as f64).powf(-alpha) / zeta(alpha, least);
        seen +=
            tail.iter().filter(|(degree, _)| *degree == k).map(|(_, c)| *c as f64).sum::<f64>() / n;
        most = most.max((expected - seen).abs());
    }
    (alpha, most)
}
