//! The index of a fragment: the directory of its files, and its sets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use nakshi_store::layout::mix;
use nakshi_store::{ExternalId, VertexId, varint};

use super::super::elias_fano::EliasFano;
use super::super::key_filter::KeyFilter;
use super::super::logstore::LayerId;
use super::super::packed::Packed;
use super::super::row_set::{RowSet, number};
use super::super::segment::{EdgeDirectory, NodeDirectory};

/// First bytes of an index.
const MAGIC: &[u8; 8] = b"NKFRAG01";

/// Directory of the files of a fragment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct FragmentDirectory {
    /// Rows of the changed nodes.
    pub(super) nodes: NodeDirectory,
    /// Ids of new nodes: of each kind of ids a column; see [`name_of`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) names: Option<NodeDirectory>,
    /// The first new node.
    pub(super) first: VertexId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edges: Option<EdgeDirectory>,
    /// Destinations of edges, in blocks of neighbouring rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ends: Vec<EndBlock>,
    /// Deletions in older layers; their rows are among the sets.
    #[serde(skip)]
    pub(super) hidden: Vec<Hidden>,
}

/// Destinations of neighbouring edges: to the i-th of its set lead the rows `starts[i]` to
/// `starts[i + 1]` of `rows`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndBlock {
    pub(super) starts: EliasFano,
    pub(super) rows: Packed,
}

/// Edges of an older layer that a fragment deletes.
#[derive(Clone, Debug)]
pub(in super::super) struct Hidden {
    /// The layer, and in layer 0 the shard.
    pub(in super::super) layer: LayerId,
    pub(in super::super) shard: u32,
    /// Rows of the layer's edges.
    pub(in super::super) rows: RowSet,
}

impl Hidden {
    /// Deletions, each row once, by layer and shard.
    pub(super) fn of(rows: BTreeMap<(LayerId, u32), Vec<u64>>) -> Vec<Hidden> {
        let one = |((layer, shard), mut rows): ((LayerId, u32), Vec<u64>)| {
            rows.sort_unstable();
            Hidden { layer, shard, rows: RowSet::of(rows) }
        };
        rows.into_iter().map(one).collect()
    }
}

/// The sets of a fragment.
#[derive(Clone, Debug, Default)]
pub(super) struct FragmentSets {
    pub(super) nodes: RowSet,
    pub(super) deleted: RowSet,
    pub(super) cut: RowSet,
    pub(super) partial: RowSet,
    pub(super) sources: RowSet,
    /// Destinations of each block.
    pub(super) ends: Vec<RowSet>,
    /// The edges and the new ids, by [`edge_key`] and [`name_key`].
    pub(super) keys: Option<KeyFilter>,
}

impl FragmentDirectory {
    /// The bytes of an index.
    pub(super) fn write(&self, sets: &FragmentSets) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = MAGIC.to_vec();
        varint::put(&mut bytes, json.len() as u64);
        bytes.extend_from_slice(&json);
        let FragmentSets { nodes, deleted, cut, partial, sources, ends, keys } = sets;
        [nodes, deleted, cut, partial, sources].iter().for_each(|set| set.write(&mut bytes));
        ends.iter().for_each(|set| set.write(&mut bytes));
        varint::put(&mut bytes, self.hidden.len() as u64);
        for hidden in &self.hidden {
            varint::put(&mut bytes, hidden.layer);
            varint::put(&mut bytes, hidden.shard.into());
            hidden.rows.write(&mut bytes);
        }
        keys.iter().for_each(|keys| keys.write(&mut bytes));
        Ok(bytes)
    }

    /// Reads an index.
    ///
    /// # Errors
    /// A description of the damage.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, FragmentSets), String> {
        let short = || "an index of a fragment ends early".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or("it is no index of a fragment")?;
        let mut at = 0;
        let len = varint::get(rest, &mut at).ok_or_else(short)?;
        let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
        let json = end.and_then(|end| rest.get(at..end)).ok_or_else(short)?;
        let mut directory: FragmentDirectory = serde_json::from_slice(json)
            .map_err(|error| format!("it is of a newer nakshi, use that one ({error})"))?;
        let mut rest = rest.get(at + json.len()..).ok_or_else(short)?;
        let mut set = || RowSet::read(&mut rest).ok_or_else(short);
        let (nodes, deleted, cut) = (set()?, set()?, set()?);
        let (partial, sources) = (set()?, set()?);
        let ends = directory.ends.iter().map(|_| set()).collect::<Result<Vec<_>, _>>()?;
        for _ in 0..number(&mut rest).ok_or_else(short)? {
            let layer = number(&mut rest).ok_or_else(short)?;
            let shard = number(&mut rest).and_then(|shard| shard.try_into().ok());
            let rows = RowSet::read(&mut rest).ok_or_else(short)?;
            directory.hidden.push(Hidden { layer, shard: shard.ok_or_else(short)?, rows });
        }
        let keys = match rest.is_empty() {
            true => None,
            false => Some(KeyFilter::read(&mut rest).ok_or_else(short)?),
        };
        Ok((directory, FragmentSets { nodes, deleted, cut, partial, sources, ends, keys }))
    }
}

/// The column of an id among the names of a fragment, and its bytes there.
pub(super) fn name_of(id: &ExternalId) -> (u32, Vec<u8>) {
    match id {
        ExternalId::U64(id) => (0, id.to_be_bytes().to_vec()),
        ExternalId::I64(id) => (1, id.to_be_bytes().to_vec()),
        ExternalId::Big(id) => (2, id.clone().into_bytes()),
        ExternalId::Text(id) => (3, id.clone().into_bytes()),
        ExternalId::Bytes(id) => (4, id.clone()),
    }
}

/// The hash of an edge in the filter of keys.
pub(super) fn edge_key((source, ty, end): (VertexId, u64, VertexId)) -> u64 {
    mix(mix(u64::from(source) << 32 | u64::from(end)).wrapping_add(ty))
}

/// The hash of a new id in the filter of keys, by its [`name_of`]: FNV-1a, mixed.
pub(super) fn name_key(kind: u32, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(kind);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(start, step))
}

/// The inverse of [`name_of`].
pub(super) fn id_of(kind: u32, bytes: &[u8]) -> Option<ExternalId> {
    let text = || String::from_utf8(bytes.to_vec()).ok();
    match kind {
        0 => bytes.try_into().ok().map(|id| ExternalId::U64(u64::from_be_bytes(id))),
        1 => bytes.try_into().ok().map(|id| ExternalId::I64(i64::from_be_bytes(id))),
        2 => text().map(ExternalId::Big),
        3 => text().map(ExternalId::Text),
        4 => Some(ExternalId::Bytes(bytes.to_vec())),
        _ => None,
    }
}
