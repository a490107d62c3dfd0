//! Deep check of a fragment.

use nakshi_io::CancelToken;
use nakshi_store::{Result, VertexId};

use super::Fragment;

impl Fragment {
    /// Reads everything, and hands `problem` a line for each fault. The graph has `nodes` numbers of nodes.
    ///
    /// # Errors
    /// Damage; [`Error::Cancelled`](nakshi_store::Error::Cancelled).
    pub(in super::super) fn verify(
        &self,
        nodes: u64,
        cancel: &CancelToken,
        problem: &mut dyn FnMut(String),
    ) -> Result<()> {
        let mut told = |what: String| problem(format!("fragment {}: {what}", self.id()));
        self.rows.verify(&|node| Ok((node, 0)), &mut told)?;
        if let Some(names) = &self.names {
            names.verify(&|node| Ok((node, 0)), &mut told)?;
            for v in (self.first..).take(names.len() as usize) {
                let known = self.name(v)?.map(|id| self.number(&id)).transpose()?;
                if known.flatten() != Some(v) {
                    told(format!("the new node {v} is not found by its id"));
                }
            }
        }
        for (set, what) in [(&self.nodes, "changed node"), (&self.sources, "source of edges")] {
            if set.get(set.len().saturating_sub(1)).is_some_and(|last| last >= nodes) {
                told(format!("a {what} is none of the {nodes} nodes"));
            }
        }
        for v in self.deleted.iter().chain(self.cut.iter()).filter(|v| !self.nodes.contains(*v)) {
            told(format!("node {v} is deleted and not changed"));
        }
        let Some(edges) = &self.edges else { return Ok(()) };
        edges.segment.verify(&mut told)?;
        let mut expected = 0;
        for source in self.sources.iter().filter_map(|v| VertexId::try_from(v).ok()) {
            cancel.check()?;
            for (ty, rows) in self.records(source)? {
                if rows.start != expected {
                    told(format!("the edge record of node {source} and type {ty} is out of order"));
                }
                expected = rows.end;
                let mut last = None;
                for row in rows.clone() {
                    let (time, end) = (edges.segment.rows.time(row)?, edges.segment.rows.end(row)?);
                    if last > Some(time) {
                        told(format!("edge {row} is older than the one before it"));
                    }
                    last = Some(time);
                    let narrow = VertexId::try_from(end).ok().filter(|_| end < nodes);
                    let Some(narrow) = narrow else {
                        told(format!("edge {row} leads to node {end}, which is none"));
                        continue;
                    };
                    if !self.may_have_edge((source, ty, narrow)) {
                        told(format!("edge {row} is not in the filter of edges"));
                    }
                    if !self.rows_to(narrow, Some(&(row..row + 1)))?.contains(&row) {
                        told(format!("edge {row} is not among those that lead to node {end}"));
                    }
                }
            }
        }
        if expected != edges.segment.rows.len() {
            told("some edges belong to no node".to_owned());
        }
        Ok(())
    }
}
