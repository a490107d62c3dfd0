//! Export to text formats.

use std::path::Path;

use super::names::Names;
use super::output::{FinishedOutput, OutputFile};
use super::scan::{for_each_list, is_written};
use super::source::ExportSource;
use crate::decimal::decimal;
use crate::{ColumnSlice, Direction, Error, Result, VertexId};

/// Bytes of text collected before they are written.
const BUFFER: usize = 256 << 10;

/// Writes a weight so that reading it gives the same number of the same kind.
fn put_weight(weights: &ColumnSlice<'_>, at: usize, out: &mut Vec<u8>) {
    let (mut int, mut float) = ([0_i64], [0.0]);
    if weights.decode_i64(at, &mut int) == 1 {
        out.extend_from_slice(int[0].to_string().as_bytes());
    } else if weights.decode_f64(at, &mut float) == 1 {
        out.extend_from_slice(format!("{:?}", float[0]).as_bytes());
    }
}

/// Writes `source separator target [separator weight]` lines.
pub(super) fn edges(
    source: &ExportSource<'_>,
    names: &Names,
    path: &Path,
    separator: u8,
) -> Result<FinishedOutput> {
    let mut output = OutputFile::create(path, &source.hooks.cancel)?;
    let mut text = Vec::new();
    // Without a header, text ids above a line of integers could be read as one.
    if separator == b',' || names.is_text() {
        let columns: &[&str] = if source.weight.is_some() {
            &["source", "target", "weight"]
        } else {
            &["source", "target"]
        };
        text.extend_from_slice(columns.join(&char::from(separator).to_string()).as_bytes());
        text.push(b'\n');
    }
    let written = lines(source, names, separator, &mut output, text)?;
    Ok((output, written))
}

fn lines(
    source: &ExportSource<'_>,
    names: &Names,
    separator: u8,
    output: &mut OutputFile,
    mut text: Vec<u8>,
) -> Result<u64> {
    let directed = source.store.directed();
    let mut written = 0;
    for_each_list(source, |list| {
        for (at, &neighbour) in list.neighbours.iter().enumerate() {
            if !is_written(directed, list.vertex, neighbour) {
                continue;
            }
            written += 1;
            names.write(list.vertex, separator, &mut text)?;
            text.push(separator);
            names.write(neighbour, separator, &mut text)?;
            if let Some(weights) = &list.values {
                text.push(separator);
                put_weight(weights, at, &mut text);
            }
            text.push(b'\n');
        }
        flush(&mut text, output, BUFFER)
    })?;
    flush(&mut text, output, 1)?;
    Ok(written)
}

fn flush(text: &mut Vec<u8>, output: &mut OutputFile, least: usize) -> Result<()> {
    if text.len() >= least {
        output.put(text)?;
        text.clear();
    }
    Ok(())
}

/// Writes all ids, one a line.
pub(super) fn nodes(source: &ExportSource<'_>, names: &Names, path: &Path) -> Result<OutputFile> {
    let mut output = OutputFile::create(path, &source.hooks.cancel)?;
    let mut text = Vec::new();
    if names.is_text() {
        text.extend_from_slice(b"id\n");
    }
    for vertex in (0..=u32::MAX).take(names.len()) {
        // A reader would split a line with one column at blanks.
        names.write(vertex, b' ', &mut text)?;
        text.push(b'\n');
        if text.len() >= BUFFER {
            source.hooks.check()?;
            flush(&mut text, &mut output, 1)?;
        }
    }
    flush(&mut text, &mut output, 1)?;
    Ok(output)
}

/// Writes `NAME.e` and `NAME.v`; the files are returned with `NAME.v` first.
pub(super) fn graphalytics(
    source: &ExportSource<'_>,
    names: &Names,
    path: &Path,
) -> Result<(OutputFile, FinishedOutput)> {
    if names.is_text() {
        return Err(Error::Invalid(
            "Graphalytics has integer ids only, this graph has text; export to TSV".into(),
        ));
    }
    let stem = path.to_str().and_then(|path| path.strip_suffix(".e"));
    let stem = stem.ok_or_else(|| {
        Error::Invalid(format!("{} does not end in .e; name NAME.e", path.display()))
    })?;
    let vertices = nodes(source, names, Path::new(&format!("{stem}.v")))?;
    let mut output = OutputFile::create(path, &source.hooks.cancel)?;
    let written = lines(source, names, b' ', &mut output, Vec::new())?;
    Ok((vertices, (output, written)))
}

/// Writes a Matrix Market file over ranks.
pub(super) fn matrix_market(source: &ExportSource<'_>, path: &Path) -> Result<FinishedOutput> {
    let store = source.store;
    let directed = store.directed();
    let field = match &source.weight {
        None => "pattern",
        Some(column) if column.ty().is_integer() => "integer",
        Some(_) => "real",
    };
    let symmetry = if directed { "general" } else { "symmetric" };
    let ranks = store.ids()?.rank_of()?;
    let (vertices, edges) = (store.num_vertices(), store.num_edges());
    let mut output = OutputFile::create(path, &source.hooks.cancel)?;
    let head = format!(
        "%%MatrixMarket matrix coordinate {field} {symmetry}\n{vertices} {vertices} {edges}\n"
    );
    let mut text = head.into_bytes();
    let (mut written, mut digits) = (0, [0; 20]);
    for_each_list(source, |list| {
        for (at, &neighbour) in list.neighbours.iter().enumerate() {
            if !is_written(directed, list.vertex, neighbour) {
                continue;
            }
            written += 1;
            let (mut row, mut column) = (rank(&ranks, list.vertex), rank(&ranks, neighbour));
            // A symmetric matrix stores its lower triangle.
            if !directed && row < column {
                std::mem::swap(&mut row, &mut column);
            }
            text.extend_from_slice(decimal(row, &mut digits));
            text.push(b' ');
            text.extend_from_slice(decimal(column, &mut digits));
            if let Some(weights) = &list.values {
                text.push(b' ');
                put_weight(weights, at, &mut text);
            }
            text.push(b'\n');
        }
        flush(&mut text, &mut output, BUFFER)
    })?;
    flush(&mut text, &mut output, 1)?;
    Ok((output, written))
}

/// Returns the rank of a vertex, counted from 1.
fn rank(ranks: &[u32], vertex: VertexId) -> u64 {
    ranks.get(vertex as usize).map_or(0, |&rank| u64::from(rank) + 1)
}

/// Writes a METIS file, whose lines are in rank order. Holds the encoded lists in memory.
pub(super) fn metis(source: &ExportSource<'_>, path: &Path) -> Result<FinishedOutput> {
    let store = source.store;
    if store.directed() {
        return Err(Error::Invalid(
            "METIS files hold undirected graphs; import it undirected first".into(),
        ));
    }
    if source.weight.as_ref().is_some_and(|column| !column.ty().is_integer()) {
        return Err(Error::Invalid(
            "METIS files hold integer weights only; export to TSV or Matrix Market".into(),
        ));
    }
    let cancel = &source.hooks.cancel;
    let adjacency = store.adjacency(Direction::Out)?;
    let lists = adjacency.file().load(cancel)?;
    let weights = source
        .weight
        .as_ref()
        .map(|column| Ok::<_, Error>((column, column.file().load(cancel)?)))
        .transpose()?;
    let ids = store.ids()?;
    let (ranks, places) = (ids.rank_of()?, ids.internal_by_rank()?);
    let format = if weights.is_some() { " 001" } else { "" };
    let mut output = OutputFile::create(path, &source.hooks.cancel)?;
    let mut text = format!("{} {}{format}\n", store.num_vertices(), store.num_edges()).into_bytes();
    let (mut neighbours, mut digits) = (Vec::new(), [0; 20]);
    for &vertex in &places {
        let extent = adjacency.extent(vertex);
        neighbours.clear();
        if !extent.is_empty() {
            let list =
                adjacency.list(lists.with_slack(), extent.start as usize..extent.end as usize);
            let list = list.map_err(|error| adjacency.blame(vertex, error))?;
            list.decode_into(&mut neighbours).map_err(|error| adjacency.blame(vertex, error))?;
        }
        for (at, &neighbour) in neighbours.iter().enumerate() {
            if at > 0 {
                text.push(b' ');
            }
            text.extend_from_slice(decimal(rank(&ranks, neighbour), &mut digits));
            if let Some((column, bytes)) = &weights {
                let extent = column.extent(vertex);
                text.push(b' ');
                put_weight(
                    &column.slice(
                        bytes.get(extent.start as usize..extent.end as usize).unwrap_or_default(),
                    ),
                    at,
                    &mut text,
                );
            }
        }
        text.push(b'\n');
        if text.len() >= BUFFER {
            source.hooks.check()?;
            flush(&mut text, &mut output, 1)?;
        }
    }
    flush(&mut text, &mut output, 1)?;
    Ok((output, store.num_edges()))
}
