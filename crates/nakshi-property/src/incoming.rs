//! The edges that lead to a node, with their properties.
//!
//! Properties of an edge are kept with its source. The in-lists of the store say which nodes have edges to
//! a node; their records are searched for these edges.

use super::conflict::Subject;
use super::graph::PropertyGraph;
use super::record::EdgeRecord;
use super::value::Value;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Source, type, time and properties of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct IncomingEdge {
    /// Id of the source.
    pub source: ExternalId,
    /// Type of the edge.
    pub edge_type: String,
    /// Time, in the unit of the import.
    pub timestamp: i64,
    /// Properties that are not null, by name.
    pub properties: Vec<(String, Value)>,
}

impl PropertyGraph {
    /// The edges of a type, or of any, that lead to a node, in the order of types, times and sources. The
    /// records of their sources are read to the end, which takes a while where these are long.
    ///
    /// # Errors
    /// [`Error::NoNode`]; [`Error::Invalid`] for an unknown type; damage.
    pub fn get_incoming_edges(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
    ) -> Result<Vec<IncomingEdge>> {
        let state = self.state();
        let v = state.node(id)?;
        let ty = edge_type.map(|name| state.schema.known_type(name)).transpose()?;
        let mut found = Vec::new();
        for source in self.sources_of(v)? {
            let mut records = self.records_of(source)?;
            records.retain(|record| ty.is_none_or(|ty| record.type_number() == ty));
            for record in records {
                for (i, end) in (0..).zip(record.ends(0..record.len())?) {
                    if end == u64::from(v) {
                        found.push(self.incoming(&record, source, i)?);
                    }
                }
            }
        }
        found.sort_by_key(|(key, _)| *key);
        Ok(found.into_iter().map(|(_, edge)| edge).collect())
    }

    /// The edge at a place of a record, and where it belongs.
    fn incoming(
        &self,
        record: &EdgeRecord,
        source: VertexId,
        i: u64,
    ) -> Result<((u64, i64, VertexId), IncomingEdge)> {
        let data = self.get_edge_data(record, i)?;
        let properties = data.properties.into_iter();
        let edge = IncomingEdge {
            source: self.state().external(source.into())?,
            edge_type: record.edge_type().to_owned(),
            timestamp: data.timestamp,
            properties: properties.map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        Ok(((record.type_number(), data.timestamp, source), edge))
    }

    /// The nodes that have, or have had, edges to a node.
    pub(super) fn sources_of(&self, v: VertexId) -> Result<Vec<VertexId>> {
        let state = self.state();
        state.note(Subject::Incoming(v));
        let mut found: Vec<VertexId> =
            state.leading_to(v)?.into_iter().map(|(source, _)| source).collect();
        if u64::from(v) < state.filed() {
            match state.base.in_list(v) {
                Ok(list) => found.extend(list),
                // A compaction has removed the lists of this snapshot, and left only what was loaded.
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                    found.extend(0..u32::try_from(state.numbered()).unwrap_or(u32::MAX));
                }
                Err(error) => return Err(error),
            }
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|source| state.is_alive(*source));
        Ok(found)
    }
}
