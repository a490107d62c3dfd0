//! Nodes that tables of nodes list, and ends of edges that they do not.

use arrow_array::builder::{Int64Builder, LargeBinaryBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use nakshi_io::CancelToken;
use std::path::PathBuf;
use std::sync::Arc;

use super::feed::Tables;
use nakshi_store::{
    AttributeColumn, Direction, Error, ExternalId, IdMap, ListStream, Result, Store, VertexId,
};

/// Examples that a message has.
const EXAMPLES: usize = 3;

/// The nodes that have a row.
pub(super) struct Listed {
    words: Vec<u64>,
    count: u64,
}

impl Listed {
    pub(super) fn contains(&self, v: VertexId) -> bool {
        let word = self.words.get(v as usize / 64).copied().unwrap_or(0);
        word >> (v % 64) & 1 == 1
    }

    /// Adds a node; false if it is there.
    fn insert(&mut self, v: VertexId) -> bool {
        let new = !self.contains(v);
        if let Some(word) = self.words.get_mut(v as usize / 64) {
            *word |= 1 << (v % 64);
        }
        self.count += u64::from(new);
        new
    }
}

/// Edges whose ends no table of nodes has.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    /// Nodes that edges alone name.
    pub(super) nodes: u64,
    /// Rows of edges to or from these.
    pub(super) edges: u64,
    /// The first of these rows, with the missing end.
    first: Vec<(u64, VertexId)>,
}

/// Hands each row to `f`: its number and its vertices.
fn each_row(
    ids: &Store,
    cancel: &CancelToken,
    mut f: impl FnMut(u64, VertexId, VertexId) -> Result<()>,
) -> Result<()> {
    let column = ids.column_until("weight", Direction::Out, cancel)?;
    let stream = ListStream::new(ids, Direction::Out, Some(&column))?;
    let mut reader = stream.reader()?;
    for chunk in 0..stream.chunks() {
        cancel.check()?;
        reader.visit(chunk, |list| {
            let Some(rows) = &list.values else { return Ok(()) };
            for (i, &target) in list.neighbours.iter().enumerate() {
                f(rows.bits(i), list.vertex, target)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The nodes that tables of nodes list.
///
/// # Errors
/// [`Error::Input`] for an id with more than one row; [`Error::Budget`]; those of reading.
pub(super) fn listed(
    tables: &Tables,
    ids: &Store,
    memory: u64,
    cancel: &CancelToken,
) -> Result<Listed> {
    let words = usize::try_from(ids.num_vertices().div_ceil(64)).unwrap_or(usize::MAX);
    let mut listed = Listed { words: Vec::new(), count: 0 };
    listed
        .words
        .try_reserve_exact(words)
        .map_err(|_| Error::Budget { needed: 8 * words as u64, given: memory })?;
    listed.words.resize(words, 0);
    let (mut again, mut examples, mut last) = (0_u64, Vec::new(), (u32::MAX, 0));
    each_row(ids, cancel, |row, v, _| {
        if row >= tables.nodes {
            return Ok(());
        }
        if listed.insert(v) {
            last = (v, row);
            return Ok(());
        }
        again += 1;
        // The rows of a node stand in one list.
        let before = if last.0 == v { last.1 } else { row };
        if examples.len() < EXAMPLES {
            examples.push((row.max(before), row.min(before), v));
        }
        Ok(())
    })?;
    examples.sort_unstable();
    match examples.first() {
        Some(&(row, before, v)) => Err(twice(tables, ids, again, (row, before, v))?),
        None => Ok(listed),
    }
}

/// The error for ids with more than one row.
fn twice(
    tables: &Tables,
    ids: &Store,
    again: u64,
    (row, before, v): (u64, u64, VertexId),
) -> Result<Error> {
    let id = ids.ids()?.external(v)?;
    let ((table, line), (other, earlier)) = (tables.place(row), tables.place(before));
    let more = if again > 1 { format!(", as are {} more rows", again - 1) } else { String::new() };
    let what = if table == other {
        format!("the node {id} is in row {earlier} too{more}; keep one row for each id")
    } else {
        format!(
            "the id {id} is in two tables of one id space, {other} (row {earlier}) and {table} (row \
             {line}){more}; give kinds of nodes spaces of their own: id_spaces='labels' (--id-spaces \
             labels) or headers such as :ID(Person), and :START_ID(Person) in tables of edges"
        )
    };
    Ok(Error::Input { file: PathBuf::from(table), line, what })
}

/// Edges with ends that are not listed.
///
/// # Errors
/// Those of reading.
pub(super) fn missing(
    tables: &Tables,
    ids: &Store,
    listed: &Listed,
    cancel: &CancelToken,
) -> Result<Missing> {
    let mut found = Missing { nodes: ids.num_vertices() - listed.count, ..Missing::default() };
    if found.nodes == 0 {
        return Ok(found);
    }
    each_row(ids, cancel, |row, source, target| {
        let end = [source, target].into_iter().find(|v| !listed.contains(*v));
        if let Some(end) = end.filter(|_| row >= tables.nodes) {
            found.edges += 1;
            found.first.push((row, end));
            if found.first.len() > 8 * EXAMPLES {
                found.first.sort_unstable();
                found.first.truncate(EXAMPLES);
            }
        }
        Ok(())
    })?;
    found.first.sort_unstable();
    found.first.truncate(EXAMPLES);
    Ok(found)
}

impl Missing {
    /// Counts, the first examples, and whether ids differ by their space alone.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn describe(&self, tables: &Tables, ids: &Store, listed: &Listed) -> Result<String> {
        let map = ids.ids()?;
        let mut examples = Vec::new();
        let mut remedy = None;
        for &(row, v) in &self.first {
            let id = map.external(v)?.to_string();
            let (table, line) = tables.place(row);
            if remedy.is_none() {
                remedy = alike(tables, &map, listed, &id)?;
            }
            examples.push(format!("{id} (row {line} of {table})"));
        }
        let (edges, nodes) = (counted(self.edges, "edge"), counted(self.nodes, "node"));
        let remedy = remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
        Ok(format!(
            "ends of {edges} are {nodes} that no table of nodes has: {}{remedy}",
            examples.join(", ")
        ))
    }

    /// # Errors
    /// [`Error::Input`] that names the first edges with ends that no table of nodes has.
    pub(super) fn refuse(&self, tables: &Tables, ids: &Store, listed: &Listed) -> Result<()> {
        let Some(&(row, _)) = self.first.first() else { return Ok(()) };
        let (table, line) = tables.place(row);
        let what = self.describe(tables, ids, listed)?;
        let what = format!(
            "{what}; missing_nodes='create' (--missing-nodes create) makes nodes of them, 'skip' \
             leaves these edges out"
        );
        Err(Error::Input { file: PathBuf::from(table), line, what })
    }
}

/// A number of things.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What to do about an id that a table of nodes has in another space, or with blanks.
fn alike(tables: &Tables, map: &IdMap, listed: &Listed, id: &str) -> Result<Option<String>> {
    let there = |text: &str| -> Result<bool> {
        let found = map.internal(&ExternalId::Text(text.to_owned()))?;
        Ok(found.is_some_and(|v| listed.contains(v)))
    };
    for space in &tables.spaces {
        let named = format!("{space}:{id}");
        if there(&named)? {
            return Ok(Some(format!(
                "the tables of nodes have '{named}': name the space of this end in the header, \
                 :START_ID({space}) or :END_ID({space})"
            )));
        }
        if let Some(bare) = id.strip_prefix(space.as_str()).and_then(|rest| rest.strip_prefix(':'))
            && there(bare)?
        {
            return Ok(Some(format!(
                "the tables of nodes have '{bare}' without a space: give it one with the header \
                 :ID({space}) or the label {space}"
            )));
        }
    }
    let trimmed = id.trim();
    if trimmed != id && there(trimmed)? {
        return Ok(Some(format!(
            "the tables of nodes have '{trimmed}', without the blank beside it: remove blanks around ids"
        )));
    }
    Ok(None)
}

/// The rows whose ends are listed, once more as what the import of the topology reads.
pub(super) struct ListedRows<'s> {
    map: IdMap,
    listed: &'s Listed,
    nodes: u64,
    column: &'s AttributeColumn,
    ids: &'s Store,
    chunk: usize,
    schema: SchemaRef,
}

impl<'s> ListedRows<'s> {
    /// # Errors
    /// Those of reading.
    pub(super) fn new(
        ids: &'s Store,
        column: &'s AttributeColumn,
        nodes: u64,
        listed: &'s Listed,
    ) -> Result<Self> {
        let id = |name| Field::new(name, DataType::LargeBinary, false);
        let fields = vec![id("source"), id("target"), Field::new("row", DataType::Int64, false)];
        let (map, schema) = (ids.ids()?, Arc::new(Schema::new(fields)));
        Ok(ListedRows { map, listed, nodes, column, ids, chunk: 0, schema })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let stream = ListStream::new(self.ids, Direction::Out, Some(self.column))?;
        if self.chunk >= stream.chunks() {
            return Ok(None);
        }
        let mut ids = [LargeBinaryBuilder::new(), LargeBinaryBuilder::new()];
        let mut numbers = Int64Builder::new();
        let (map, listed, nodes) = (&self.map, self.listed, self.nodes);
        stream.reader()?.visit(self.chunk, |list| {
            let Some(rows) = &list.values else { return Ok(()) };
            let [source, target] = &mut ids;
            let from = listed.contains(list.vertex);
            let id = if from { map.external(list.vertex)?.into_bytes() } else { Vec::new() };
            for (i, &end) in list.neighbours.iter().enumerate() {
                let row = rows.bits(i);
                if row >= nodes && !(from && listed.contains(end)) {
                    continue;
                }
                source.append_value(&id);
                match end == list.vertex {
                    true => target.append_value(&id),
                    false => target.append_value(map.external(end)?.into_bytes()),
                }
                numbers.append_value(row.cast_signed());
            }
            Ok(())
        })?;
        self.chunk += 1;
        let [mut source, mut target] = ids;
        let columns: [ArrayRef; 3] =
            [Arc::new(source.finish()), Arc::new(target.finish()), Arc::new(numbers.finish())];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.to_vec());
        batch.map(Some).map_err(|error| Error::Invalid(error.to_string()))
    }
}

impl Iterator for ListedRows<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let told = |error: Error| ArrowError::ExternalError(error.to_string().into());
        self.batch().map_err(told).transpose()
    }
}

impl RecordBatchReader for ListedRows<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
