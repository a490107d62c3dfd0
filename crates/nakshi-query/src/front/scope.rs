//! Variables and their slots.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use decypher::cst::{AstNode, ProjectionBody};
use decypher::syntax::SyntaxNode;

use super::notes::Notes;
use crate::error::{Class, QueryError};
use crate::ir::{Aggregation, Mode, Name, Query, Slot, Statement};
use crate::procedure::Procedures;

/// The variables that can be named, and their slots.
pub(super) type Scope = BTreeMap<Name, Slot>;

/// The columns of `WITH` and `RETURN` as they are written, by the byte at which the clause begins.
pub(super) type WrittenColumns = HashMap<usize, Vec<String>>;

/// Resolver of the names of a query.
pub(super) struct Resolver<'t> {
    pub(super) text: &'t str,
    pub(super) procedures: &'t dyn Procedures,
    pub(super) notes: Notes,
    pub(super) scope: Scope,
    pub(super) written: WrittenColumns,
    /// Names of all slots.
    names: Vec<Name>,
    /// Slots of lists that quantified path patterns make, which are no nodes or edges of other patterns.
    pub(super) lists: HashSet<Slot>,
    pub(super) subqueries: Vec<Query>,
    pub(super) parameters: Vec<Name>,
    /// True if the query calls procedures.
    pub(super) calls: bool,
    /// The aggregations of the projection that is being resolved; `None` where none may be.
    pub(super) aggregations: Option<Vec<Aggregation>>,
    /// True inside of the arguments of an aggregation.
    pub(super) aggregates: bool,
    /// True inside of `CALL { ... }`.
    pub(super) inner: bool,
    /// True if the query that is resolved next sees no variables but those that its first `WITH` names.
    pub(super) isolated: bool,
    /// An error that counts if `decypher` finds one as well.
    pub(super) suspicion: Option<QueryError>,
    /// While an `ORDER BY` is resolved: the columns as Cypher prints them, and their slots.
    pub(super) projected: Vec<(String, Slot)>,
}

impl<'t> Resolver<'t> {
    pub(super) fn new(
        text: &'t str,
        procedures: &'t dyn Procedures,
        written: WrittenColumns,
        notes: Notes,
    ) -> Self {
        Resolver {
            text,
            procedures,
            notes,
            scope: Scope::new(),
            written,
            names: Vec::new(),
            lists: HashSet::new(),
            subqueries: Vec::new(),
            parameters: Vec::new(),
            calls: false,
            aggregations: None,
            aggregates: false,
            inner: false,
            isolated: false,
            suspicion: None,
            projected: Vec::new(),
        }
    }

    /// A new slot.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        self.names.push(Arc::from(name));
        self.names.len() - 1
    }

    /// A new slot of a variable that can be named from here on.
    pub(super) fn declare(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.scope.insert(Arc::from(name), slot);
        slot
    }

    /// Resolves something in which more variables can be named.
    pub(super) fn within<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        let done = f(self);
        self.scope = scope;
        done
    }

    /// An error of meaning at a byte of the text.
    pub(super) fn refuse(
        &self,
        detail: &'static str,
        message: impl Into<String>,
        at: usize,
    ) -> QueryError {
        QueryError::compile(Class::Syntax, detail, message, Some((self.text, at)))
    }

    pub(super) fn finish(self, query: Query, columns: Vec<Name>, mode: Mode) -> Statement {
        Statement {
            query,
            subqueries: self.subqueries,
            columns,
            width: self.names.len(),
            names: self.names,
            parameters: self.parameters,
            calls: self.calls,
            mode,
        }
    }
}

/// The columns of all projections as they are written.
pub(super) fn columns_of(tree: &SyntaxNode, text: &str, notes: &Notes) -> WrittenColumns {
    let mut found = WrittenColumns::new();
    for node in tree.descendants() {
        let Some(begin) = node.parent().map(|parent| usize::from(parent.text_range().start()))
        else {
            continue;
        };
        let Some(body) = ProjectionBody::cast(node) else { continue };
        // Only columns without a name are shown as they are written.
        let columns = body.items().map(|item| {
            let range = item.syntax().text_range();
            let range = usize::from(range.start())..usize::from(range.end());
            notes.with_breaks(text.get(range).unwrap_or_default().trim())
        });
        found.insert(begin, columns.collect());
    }
    found
}
