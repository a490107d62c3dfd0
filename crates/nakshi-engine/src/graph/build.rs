//! Small graphs from edges, in memory or as files of a backend in memory.

use super::Graph;
use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::source::{Data, Shared, Side, WeightColumn};
use nakshi_io::{
    FileSpec, MemoryBackend, PagedFile, Resident, Salt, StorageBackend, Striping, page_checksum,
};
use nakshi_store::{ColumnType, Encoding, ListIndex, VertexId, codec};
use std::sync::Arc;

/// An arc with its weight.
type Arc3 = (VertexId, VertexId, f64);

/// Makes data of the bytes of a named file.
type Keep<'a> = &'a dyn Fn(&str, Vec<u8>) -> Result<Data>;

impl Graph {
    /// A graph in memory from `(source, target)` pairs; duplicates are dropped, self-loops
    /// kept. Undirected: each edge goes into both lists. Weights belong to the pairs, the
    /// smallest one wins among duplicates. For tests, examples and small graphs.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`] if an end is not below `n`; [`Error::Parameter`] if
    /// `weights` has another length than `edges`.
    pub fn from_edges(
        n: usize,
        edges: &[(VertexId, VertexId)],
        directed: bool,
        weights: Option<&[f64]>,
    ) -> Result<Graph> {
        let edges = EdgeArrays { n, edges, directed, weights };
        edges.build(Shared::new(0, &Context::new()), EngineMode::Memory, &|_, bytes| {
            Ok(Data::Memory(Arc::new(Resident::from_bytes(&bytes)?)))
        })
    }

    /// As [`Graph::from_edges`], in SSD mode: the lists are files of 512-byte pages of a
    /// backend in memory, around which `wrap` may put a faulty one, and every read goes
    /// through queues and a page cache of `cache_bytes`. For tests of programs that shall
    /// run on the SSD.
    ///
    /// # Errors
    /// As [`Graph::from_edges`].
    pub fn from_edges_on_ssd(
        n: usize,
        edges: &[(VertexId, VertexId)],
        directed: bool,
        weights: Option<&[f64]>,
        cache_bytes: usize,
        wrap: &dyn Fn(Arc<dyn StorageBackend>) -> Arc<dyn StorageBackend>,
    ) -> Result<Graph> {
        let edges = EdgeArrays { n, edges, directed, weights };
        edges.on_ssd(Shared::new(cache_bytes, &Context::new()), wrap)
    }

    /// As [`Graph::from_edges_on_ssd`], read as [`Context::with_selective`] says.
    #[cfg(test)]
    pub(crate) fn from_edges_selective(
        n: usize,
        edges: &[(VertexId, VertexId)],
        directed: bool,
        cache_bytes: usize,
    ) -> Result<Graph> {
        let edges = EdgeArrays { n, edges, directed, weights: None };
        edges.on_ssd(Shared::new(cache_bytes, &Context::new().with_selective(true)), &|b| b)
    }
}

#[cfg(test)]
impl Graph {
    /// The same graph in memory with decoded lists.
    pub(crate) fn decoded_lists(mut self) -> Result<Graph> {
        for side in [&mut self.out, &mut self.incoming].into_iter().flatten() {
            // Chunks are those of the encoded lists, as of a graph that is opened.
            if let Data::Memory(bytes) = &side.data {
                let lists = (&*side.index, side.encoding);
                let cancel = nakshi_io::CancelToken::new();
                let decoded =
                    nakshi_store::DecodedLists::decode(lists, bytes.with_slack(), 2, &cancel)?;
                side.data = Data::Decoded(Arc::new(decoded));
            }
        }
        Ok(self)
    }
}

/// Pages of the files of [`Graph::from_edges_on_ssd`], small so that small graphs have many.
const PAGE: u32 = 512;

fn describe(name: &str, bytes: &[u8]) -> FileSpec {
    let salt = Salt { store: [7; 16], file: 1 };
    let sum = |(number, page): (u64, &[u8])| {
        let mut padded = page.to_vec();
        padded.resize(PAGE as usize, 0);
        page_checksum(&salt, number, &padded)
    };
    let checksums: Vec<u32> = (0..).zip(bytes.chunks(PAGE as usize)).map(sum).collect();
    FileSpec {
        striping: Striping::single(name),
        len: bytes.len() as u64,
        page_size: PAGE,
        salt,
        checksums: checksums.into(),
    }
}

struct EdgeArrays<'a> {
    n: usize,
    edges: &'a [(VertexId, VertexId)],
    directed: bool,
    weights: Option<&'a [f64]>,
}

impl EdgeArrays<'_> {
    fn arcs(&self) -> Result<Vec<Arc3>> {
        if self.weights.is_some_and(|w| w.len() != self.edges.len()) {
            return Err(Error::parameter("weights", "one weight per edge is needed"));
        }
        let mut arcs: Vec<Arc3> = Vec::with_capacity(self.edges.len() * 2);
        for (i, &(u, v)) in self.edges.iter().enumerate() {
            if let Some(bad) = [u, v].into_iter().find(|&x| x as usize >= self.n) {
                return Err(Error::UnknownVertex { id: bad.to_string() });
            }
            let w = self.weights.and_then(|w| w.get(i)).copied().unwrap_or(1.0);
            arcs.push((u, v, w));
            if !self.directed && u != v {
                arcs.push((v, u, w));
            }
        }
        Ok(arcs)
    }

    fn build(&self, shared: Arc<Shared>, mode: EngineMode, keep: Keep<'_>) -> Result<Graph> {
        let arcs = self.arcs()?;
        let incoming = if self.directed {
            let reversed = arcs.iter().map(|&(u, v, w)| (v, u, w)).collect();
            Some(self.side(reversed, ["in", "in-weights"], &shared, keep)?.0)
        } else {
            None
        };
        let (out, count) = self.side(arcs, ["out", "out-weights"], &shared, keep)?;
        Ok(Graph {
            n: self.n,
            arcs: count,
            directed: self.directed,
            mode,
            out: Some(out),
            incoming,
            shared,
            store: None,
            heads: Default::default(),
            opened: 0,
            #[cfg(test)]
            thin: None,
        })
    }

    fn on_ssd(
        &self,
        shared: Arc<Shared>,
        wrap: &dyn Fn(Arc<dyn StorageBackend>) -> Arc<dyn StorageBackend>,
    ) -> Result<Graph> {
        let files = MemoryBackend::new();
        let backend = wrap(Arc::new(files.clone()));
        self.build(shared, EngineMode::Ssd, &|name, bytes| {
            let spec = describe(name, &bytes);
            files.insert(name, bytes);
            Ok(Data::Ssd(PagedFile::open(&backend, &spec)?))
        })
    }

    /// Encodes `arcs` as the lists of one direction and returns them with their number.
    fn side(
        &self,
        mut arcs: Vec<Arc3>,
        names: [&str; 2],
        shared: &Arc<Shared>,
        keep: Keep<'_>,
    ) -> Result<(Side, u64)> {
        arcs.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
        arcs.dedup_by_key(|a| (a.0, a.1));
        let mut sizes = vec![0u64; self.n];
        let mut degrees = vec![0u64; self.n];
        let mut bytes = Vec::new();
        for list in arcs.chunk_by(|a, b| a.0 == b.0) {
            let v = list.first().map_or(0, |a| a.0 as usize);
            let neighbours: Vec<VertexId> = list.iter().map(|a| a.1).collect();
            let before = bytes.len();
            codec::encode(Encoding::Packed, &neighbours, &mut bytes);
            if let (Some(size), Some(degree)) = (sizes.get_mut(v), degrees.get_mut(v)) {
                *size = (bytes.len() - before) as u64;
                *degree = neighbours.len() as u64;
            }
        }
        let weights = if self.weights.is_some() {
            let column: Vec<u8> = arcs.iter().flat_map(|a| a.2.to_le_bytes()).collect();
            Some(WeightColumn {
                kind: ColumnType::F64,
                entries: Arc::new(ListIndex::from_sizes(&degrees)?),
                data: keep(names[1], column)?,
            })
        } else {
            None
        };
        let index = Arc::new(ListIndex::from_sizes(&sizes)?);
        let data = keep(names[0], bytes)?;
        let side = Side::new(index, Encoding::Packed, data, weights, Arc::clone(shared));
        Ok((side, arcs.len() as u64))
    }
}
