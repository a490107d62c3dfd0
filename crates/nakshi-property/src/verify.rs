//! Deep check of property files: every value, every edge, every list of rows.

use nakshi_io::CancelToken;

use super::base::{Base, Shard};
use super::shard_map::{Dealing, shard_of};
use super::value::Value;
use nakshi_store::Result;

/// Rows between two checks of the cancel token.
const CANCEL_INTERVAL: u64 = 1 << 12;

impl Base {
    /// Reads everything, and hands `problem` a line for each fault.
    pub(crate) fn verify(
        &self,
        distinct_edges: u64,
        cancel: &CancelToken,
        problem: &mut dyn FnMut(String),
    ) -> Result<()> {
        self.dealt(cancel, problem)?;
        let (mut nodes, mut edges, mut distinct) = (0, 0, 0);
        for (number, shard) in self.shards().iter().enumerate() {
            let mut told = |what: String| problem(format!("properties of shard {number}: {what}"));
            shard.nodes.verify(&|node| Ok((node, 0)), &mut told)?;
            shard.edges.verify(&mut told)?;
            self.nodes(shard, cancel, &mut told)?;
            distinct += self.edges(shard, cancel, &mut told)?;
            nodes += shard.nodes.len();
            edges += shard.edges.rows.len();
        }
        let entry = self.entry();
        if (nodes, edges) != (entry.nodes, entry.edges) {
            problem(format!(
                "the property files have {nodes} nodes and {edges} edges, the manifest says {} and {}",
                entry.nodes, entry.edges
            ));
        }
        if distinct != distinct_edges {
            problem(format!(
                "the edges of the property files are {distinct} of the {distinct_edges} in the lists"
            ));
        }
        Ok(())
    }

    /// Checks that every node is in the shard of its id, and the counts of the shard map.
    fn dealt(&self, cancel: &CancelToken, problem: &mut dyn FnMut(String)) -> Result<()> {
        let Dealing::Hash(map) = self.dealing() else { return Ok(()) };
        map.flaw()?.into_iter().for_each(|flaw| problem(flaw.to_owned()));
        for v in 0..u32::try_from(self.entry().nodes).unwrap_or(u32::MAX) {
            if u64::from(v).is_multiple_of(CANCEL_INTERVAL) {
                cancel.check()?;
            }
            let (found, id) = (self.dealing().shard(v), self.ids().external(v)?.into_bytes());
            let shard = shard_of(&id, self.entry().shards) as usize;
            if found != shard {
                problem(format!("node {v} is in shard {found}, its id belongs to shard {shard}"));
            }
        }
        Ok(())
    }

    /// Checks that every value of a node has the type of its property.
    fn nodes(
        &self,
        shard: &Shard,
        cancel: &CancelToken,
        told: &mut dyn FnMut(String),
    ) -> Result<()> {
        let specs = &self.entry().node_properties;
        for row in 0..shard.nodes.len() {
            if row % CANCEL_INTERVAL == 0 {
                cancel.check()?;
            }
            shard.nodes.each(row, |property, value| {
                match specs.get(property as usize) {
                    Some(spec) if Value::decode(spec.ty, value).is_some() => {}
                    Some(spec) => {
                        told(format!("node {row}: '{}' is no {}", spec.name, spec.ty));
                    }
                    None => told(format!("node {row} has property {property}, which is none")),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Checks that every edge leads to a node, that times ascend, and that values have their types.
    /// Returns the number of pairs of nodes with an edge.
    fn edges(
        &self,
        shard: &Shard,
        cancel: &CancelToken,
        told: &mut dyn FnMut(String),
    ) -> Result<u64> {
        let specs = &self.entry().edge_properties;
        let (mut distinct, mut expected) = (0, 0);
        for node in 0..shard.nodes.len() {
            if node % CANCEL_INTERVAL == 0 {
                cancel.check()?;
            }
            let (mut ends, mut last_type) = (Vec::new(), None);
            for (ty, rows) in shard.edges.records(node)? {
                if rows.start != expected || last_type >= Some(ty) {
                    told(format!("the edge records of node {node} are out of order"));
                }
                (expected, last_type) = (rows.end, Some(ty));
                let mut last_time = None;
                for row in rows {
                    let time = shard.edges.rows.time(row)?;
                    if last_time > Some(time) {
                        told(format!("edge {row} is older than the one before it"));
                    }
                    last_time = Some(time);
                    let end = shard.edges.rows.end(row)?;
                    if end >= self.entry().nodes {
                        told(format!("edge {row} leads to node {end}, which is none"));
                    }
                    ends.push(end);
                    shard.edges.rows.each(row, |property, value| {
                        let spec = specs.get(property as usize);
                        if spec.is_none_or(|spec| Value::decode(spec.ty, value).is_none()) {
                            told(format!("edge {row}: property {property} does not decode"));
                        }
                        Ok(())
                    })?;
                }
            }
            ends.sort_unstable();
            ends.dedup();
            distinct += ends.len() as u64;
        }
        if expected != shard.edges.rows.len() {
            told("some edges belong to no node".to_owned());
        }
        Ok(distinct)
    }
}
