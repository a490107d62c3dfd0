//! Random draws of workloads.

use nakshi_store::layout::mix;
use nakshi_store::{Error, ExternalId, Result};
use serde::{Deserialize, Serialize};

/// Distribution of accesses over the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// All nodes are equally likely.
    #[default]
    Uniform,
    /// Zipf's law over the nodes in random order.
    Zipf,
}

/// Pseudo-random numbers of one thread.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    /// A number of at least 0 and less than 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Shuffles by the method of Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

/// Zipf's law: of `n` ranks, counted from 0, rank `k` is drawn with a probability in proportion to
/// `(k + 1)^-exponent`.
///
/// Exact for any exponent, without a table: rejection-inversion (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 1996).
pub(crate) struct Zipf {
    n: f64,
    exponent: f64,
    /// The integral of the law at both ends of the range of ranks.
    ends: [f64; 2],
    /// Distance below a rank within which a point is accepted without evaluating the law.
    near: f64,
}

impl Zipf {
    /// # Errors
    /// An exponent that is not a positive number.
    pub fn new(n: usize, exponent: f64) -> Result<Self> {
        if !(exponent > 0.0 && exponent.is_finite()) {
            let told = format!("an exponent of Zipf's law of {exponent}; it is a positive number");
            return Err(Error::Invalid(told));
        }
        let mut law = Zipf { n: n.max(1) as f64, exponent, ends: [0.0; 2], near: 0.0 };
        law.ends = [law.integral(1.5) - 1.0, law.integral(law.n + 0.5)];
        law.near = 2.0 - law.inverse(law.integral(2.5) - law.at(2.0));
        Ok(law)
    }

    fn at(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the law from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), 1.0 - self.exponent);
        // For an exponent near 1 the quotient below would lose its digits.
        if (power * log).abs() < 1e-8 { log } else { (power * log).exp_m1() / power }
    }

    fn inverse(&self, integral: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let log = match (power * integral).abs() < 1e-8 {
            true => integral,
            false => (power * integral).max(-1.0).ln_1p() / power,
        };
        log.exp()
    }

    pub fn draw(&self, random: &mut Random) -> usize {
        let [first, last] = self.ends;
        loop {
            let point = last + random.part() * (first - last);
            let x = self.inverse(point);
            let rank = x.round().clamp(1.0, self.n);
            if rank - x <= self.near || point >= self.integral(rank + 0.5) - self.at(rank) {
                return rank as usize - 1;
            }
        }
    }
}

/// Draws nodes, all equally often or some more often than others.
pub(crate) struct Nodes {
    ids: Vec<ExternalId>,
    law: Option<Zipf>,
}

impl Nodes {
    /// # Errors
    /// Errors of [`Zipf::new`].
    pub fn new(
        mut ids: Vec<ExternalId>,
        access: Access,
        exponent: f64,
        random: &mut Random,
    ) -> Result<Self> {
        let law = match access {
            Access::Uniform => None,
            Access::Zipf => Some(Zipf::new(ids.len(), exponent)?),
        };
        if law.is_some() {
            // Ids often correlate with degrees, which must not decide how often a node is read.
            random.shuffle(&mut ids);
        }
        Ok(Nodes { ids, law })
    }

    pub fn draw(&self, random: &mut Random) -> ExternalId {
        let at = match &self.law {
            Some(law) => law.draw(random),
            None => random.below(self.ids.len()),
        };
        self.ids.get(at).cloned().unwrap_or(ExternalId::U64(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with one less in the exponent of `at`, with `near` of 1, with a rank too many in the
    /// last of `ends`, and with the continuous law (the inverse alone) that LinkBench's draws had.
    #[test]
    fn ranks_follow_zipfs_law() {
        const DRAWS: usize = 400_000;
        for (n, exponent) in [(1000, 0.99), (1000, 0.625), (50, 1.0), (300, 1.7), (1, 0.99)] {
            let (law, mut random) = (Zipf::new(n, exponent).unwrap(), Random(7));
            let mut counts = vec![0usize; n];
            (0..DRAWS).for_each(|_| counts[law.draw(&mut random)] += 1);
            let weights: Vec<f64> = (1..=n).map(|rank| (rank as f64).powf(-exponent)).collect();
            let whole: f64 = weights.iter().sum();
            let expected = weights.iter().map(|weight| weight / whole * DRAWS as f64);
            // Pearson's chi-square: mean n - 1, deviation sqrt(2 (n - 1)).
            let squares = std::iter::zip(&counts, expected).map(|(&count, expected)| {
                (count as f64 - expected) * (count as f64 - expected) / expected
            });
            let (chi, free) = (squares.sum::<f64>(), (n - 1) as f64);
            assert!(chi <= free + 5.0 * (2.0 * free).sqrt(), "{n} {exponent}: {chi}");
        }
    }

    /// Seen red with `Access::Zipf` left uniform, and without the shuffle.
    #[test]
    fn nodes_are_asked_for_as_told() {
        let ids: Vec<ExternalId> = (0..1000).map(ExternalId::U64).collect();
        let shares = |access| {
            let mut random = Random(1);
            let nodes = Nodes::new(ids.clone(), access, 0.99, &mut random).unwrap();
            let mut counts = vec![0; 1000];
            for _ in 0..100_000 {
                let ExternalId::U64(id) = nodes.draw(&mut random) else { unreachable!() };
                counts[id as usize] += 1;
            }
            let most = counts.iter().max().copied().unwrap_or(0);
            (most, counts[0])
        };
        assert!(shares(Access::Uniform).0 < 200);
        // One in 7.7, the sum of 1 / rank^0.99.
        let (most, first) = shares(Access::Zipf);
        assert!((12_000..14_000).contains(&most) && first < most, "{most} {first}");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Zipf::new(10, wrong).is_err());
        }
    }
}
