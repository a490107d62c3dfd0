//! PageRank (section 2.2.4), normalised as [`crate::algo::PageRank`]: ranks sum to 1, and the mass of
//! vertices without out-edges is spread evenly, which the totals make possible.

use crate::error::Result;
use crate::program::pull::{Origin, PullProgram, PullVertex, Totals};

/// A vertex's value is what each of its out-neighbours gets of its rank.
#[derive(Clone, Copy, Debug)]
pub struct PullPageRank {
    /// Probability of following an edge, in `0..1`.
    pub damping: f64,
    /// Steps at most.
    pub iterations: u32,
    /// Ends after a step in which ranks change by no more than this in sum (L1); 0 runs all steps.
    pub tolerance: f64,
}

impl PullPageRank {
    fn share(rank: f64, origin: &Origin, totals: impl FnOnce(f64)) -> f64 {
        if origin.degree == 0 {
            totals(rank);
        }
        rank / f64::from(origin.degree.max(1))
    }
}

impl PullProgram for PullPageRank {
    types!(Value = f64, Output = f64);

    fn init(&self, origin: &Origin, totals: &mut Totals) -> f64 {
        PullPageRank::share(1.0 / origin.vertices as f64, origin, |mass| totals.add(mass))
    }

    #[inline]
    fn step<V: PullVertex<f64>>(&self, me: &mut V) -> Result<()> {
        let mut sum = 0.0;
        me.links(|_, share, _| sum += share)?;
        let origin = me.origin();
        let dangling = me.totals().sum;
        let n = origin.vertices as f64;
        let rank = (1.0 - self.damping) / n + self.damping * (sum + dangling / n);
        let share = PullPageRank::share(rank, &origin, |mass| me.add(mass));
        if self.tolerance > 0.0 {
            let before = *me.value() * f64::from(origin.degree.max(1));
            me.add_apart((rank - before).abs());
        }
        me.put(share);
        Ok(())
    }

    fn finished(&self, step: u32, totals: &Totals, _: u64) -> bool {
        step >= self.iterations || self.tolerance > 0.0 && totals.apart() <= self.tolerance
    }

    fn output(&self, origin: &Origin, value: &f64) -> f64 {
        value * f64::from(origin.degree.max(1))
    }
}
