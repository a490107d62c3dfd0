//! A graph in memory, for layouts that visit it many times.

use super::LayoutInput;
use crate::hooks::Hooks;
use crate::stream::ListStream;
use crate::{Direction, Error, Result, VertexId};

/// The lists of all vertices by rank: vertices ascending by external id, in any order of the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// Beginning of each list, then the number of entries.
    pub offsets: Vec<u64>,
    /// Neighbours, ascending in each list.
    pub targets: Vec<VertexId>,
    /// Weights of the entries; `None` means that all are 1.
    pub weights: Option<Vec<f32>>,
}

impl Csr {
    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of the list of `v`.
    #[inline]
    pub fn range(&self, v: VertexId) -> std::ops::Range<usize> {
        match self.offsets.get(v as usize..v as usize + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// Returns the neighbours of `v`.
    #[inline]
    pub fn list(&self, v: VertexId) -> &[VertexId] {
        self.targets.get(self.range(v)).unwrap_or_default()
    }

    /// Returns the number of neighbours of `v`.
    #[inline]
    pub fn degree(&self, v: VertexId) -> usize {
        self.range(v).len()
    }

    /// Returns the neighbours of `v` and the weights of the edges to them.
    #[inline]
    pub fn edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let range = self.range(v);
        let weights = self.weights.as_ref().and_then(|weights| weights.get(range));
        self.list(v)
            .iter()
            .enumerate()
            .map(move |(i, &u)| (u, weights.and_then(|w| w.get(i)).copied().unwrap_or(1.0)))
    }

    /// Returns the sum of the weights of the edges of `v`.
    pub fn strength(&self, v: VertexId) -> f64 {
        match self.weights {
            None => self.degree(v) as f64,
            Some(_) => self.edges(v).map(|(_, weight)| f64::from(weight)).sum(),
        }
    }

    /// Returns all vertices.
    pub fn vertices(&self) -> std::ops::Range<VertexId> {
        // Lossless: a store holds at most 2^32 vertices, and a layout refuses the last one.
        0..self.len() as VertexId
    }

    /// Loads the lists of one direction of a store.
    ///
    /// # Errors
    /// [`Error::Budget`] if the system cannot provide the memory; read errors.
    pub fn load(source: &LayoutInput<'_>, direction: Direction) -> Result<Self> {
        let store = source.store;
        let ranks = source.ranks()?;
        let rank =
            |v: VertexId| ranks.as_ref().map_or(v, |r| r.get(v as usize).copied().unwrap_or(v));
        let degrees = store.degrees(direction, &source.hooks.cancel)?;
        let mut offsets = reserved(degrees.len() + 1)?;
        offsets.resize(degrees.len() + 1, 0);
        for (v, &degree) in (0..).zip(&degrees) {
            if let Some(slot) = offsets.get_mut(rank(v) as usize + 1) {
                *slot = u64::from(degree);
            }
        }
        drop(degrees);
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut targets: Vec<VertexId> = reserved(sum as usize)?;
        targets.resize(sum as usize, 0);
        let column = match &source.weight {
            Some(name) => Some(store.column_until(name, direction, &source.hooks.cancel)?),
            None => None,
        };
        let mut weights: Option<Vec<f32>> = match column {
            Some(_) => Some(reserved(sum as usize)?),
            None => None,
        };
        if let Some(weights) = &mut weights {
            weights.resize(sum as usize, 0.0);
        }
        let stream = ListStream::new(store, direction, column.as_ref())?;
        let mut reader = stream.reader()?;
        let mut pairs: Vec<(VertexId, f32)> = Vec::new();
        for chunk in 0..stream.chunks() {
            source.hooks.check()?;
            reader.visit(chunk, |list| {
                source.hooks.check()?;
                pairs.clear();
                for (i, &u) in list.neighbours.iter().enumerate() {
                    let weight = list.values.as_ref().and_then(|values| values.get_f64(i));
                    pairs.push((rank(u), weight.unwrap_or(1.0) as f32));
                }
                if ranks.is_some() {
                    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                }
                let begin = offsets.get(rank(list.vertex) as usize).copied().unwrap_or(0) as usize;
                let to = targets.get_mut(begin..begin + pairs.len()).unwrap_or_default();
                to.iter_mut().zip(&pairs).for_each(|(to, pair)| *to = pair.0);
                if let Some(weights) = &mut weights {
                    let to = weights.get_mut(begin..begin + pairs.len()).unwrap_or_default();
                    to.iter_mut().zip(&pairs).for_each(|(to, pair)| *to = pair.1);
                }
                Ok(())
            })?;
        }
        Ok(Self { offsets, targets, weights })
    }

    /// Loads the graph without directions: joins the lists of both directions, adds the weights of
    /// edges between the same two vertices, and leaves self-loops out.
    ///
    /// # Errors
    /// Same as [`Csr::load`].
    pub fn symmetric(source: &LayoutInput<'_>) -> Result<Self> {
        let out = Self::load(source, Direction::Out)?;
        if source.store.directed() {
            let into = Self::load(source, Direction::In)?;
            Self::join(&out, &into, &source.hooks)
        } else {
            Self::join(&out, &Self::default(), &source.hooks)
        }
    }

    /// Joins the lists of `a` and `b` for [`Csr::symmetric`].
    fn join(a: &Self, b: &Self, hooks: &Hooks) -> Result<Self> {
        let mut joined = Self { offsets: vec![0], targets: Vec::new(), weights: None };
        let mut weights = Vec::new();
        let mut all: Vec<(VertexId, f32)> = Vec::new();
        for v in a.vertices() {
            hooks.check()?;
            all.clear();
            all.extend(a.edges(v).chain(b.edges(v)).filter(|(u, _)| *u != v));
            all.sort_unstable_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
            all.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            joined.targets.extend(all.iter().map(|edge| edge.0));
            weights.extend(all.iter().map(|edge| edge.1));
            joined.offsets.push(joined.targets.len() as u64);
        }
        joined.weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(joined)
    }

    /// Makes a graph from edges without weights, for tests.
    #[cfg(test)]
    pub(crate) fn of_edges(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut lists = vec![Vec::new(); vertices];
        for &(u, v) in edges {
            lists[u as usize].push(v);
            lists[v as usize].push(u);
        }
        let mut csr = Self { offsets: vec![0], targets: Vec::new(), weights: None };
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            csr.targets.extend_from_slice(list);
            csr.offsets.push(csr.targets.len() as u64);
        }
        csr
    }
}

/// Returns an empty vector with capacity for `len` values; an error if the system cannot provide
/// the memory, instead of the end of the process.
pub(super) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(len).map_err(|_| Error::Budget {
        needed: (len as u64).saturating_mul(size_of::<T>() as u64),
        given: 0,
    })?;
    Ok(vector)
}
