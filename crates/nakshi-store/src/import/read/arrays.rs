//! Arrays in memory: parallel arrays, compressed sparse rows, iterators.

use std::path::Path;

use super::batch::{Batch, Weight};
use super::task::{Feed, ParseTask};
use crate::import::{ImportOptions, Ints, Numbers};
use crate::{Error, Result};

/// Number of edges in a task.
const EDGES: usize = 32 << 10;

impl Ints<'_> {
    fn len(&self) -> usize {
        match self {
            Self::U32(array) => array.len(),
            Self::I32(array) => array.len(),
            Self::U64(array) => array.len(),
            Self::I64(array) => array.len(),
        }
    }

    fn get(&self, at: usize) -> Option<i128> {
        match self {
            Self::U32(array) => array.get(at).map(|&v| v.into()),
            Self::I32(array) => array.get(at).map(|&v| v.into()),
            Self::U64(array) => array.get(at).map(|&v| v.into()),
            Self::I64(array) => array.get(at).map(|&v| v.into()),
        }
    }

    /// Returns the first index whose number is larger than the next one.
    fn descent(&self) -> Option<usize> {
        match self {
            Self::U32(array) => array.windows(2).position(|pair| pair[0] > pair[1]),
            Self::I32(array) => array.windows(2).position(|pair| pair[0] > pair[1]),
            Self::U64(array) => array.windows(2).position(|pair| pair[0] > pair[1]),
            Self::I64(array) => array.windows(2).position(|pair| pair[0] > pair[1]),
        }
    }
}

impl Numbers<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Ints(array) => array.len(),
            Self::F32(array) => array.len(),
            Self::F64(array) => array.len(),
        }
    }

    fn get(&self, at: usize) -> Option<Weight> {
        let float = |float: f64| float.is_finite().then_some(Weight::Float(float));
        match self {
            Self::Ints(array) => i64::try_from(array.get(at)?).ok().map(Weight::Int),
            Self::F32(array) => float(f64::from(*array.get(at)?)),
            Self::F64(array) => float(*array.get(at)?),
        }
    }
}

fn error(entry: usize, what: impl Into<String>) -> Error {
    Error::Input { file: Path::new("<arrays>").into(), line: entry as u64, what: what.into() }
}

fn push(batch: &mut Batch, source: i128, target: i128, weight: Option<Weight>) -> Result<()> {
    if let (Ok(source), Ok(target)) = (u64::try_from(source), u64::try_from(target)) {
        batch.ints.push([source, target]);
        match weight {
            Some(Weight::Int(weight)) => batch.int_weights.push_int(weight),
            Some(Weight::Float(weight)) => batch.int_weights.push_float(weight),
            None => {}
        }
        return Ok(());
    }
    batch.push_edge(source.to_string().as_bytes(), target.to_string().as_bytes(), weight)
}

/// The weights of the edges of arrays, if the import reads weights.
#[derive(Clone, Copy)]
pub(crate) struct EdgeWeights<'a> {
    array: Option<Numbers<'a>>,
    wanted: bool,
}

impl<'a> EdgeWeights<'a> {
    /// # Errors
    /// [`Error::Invalid`] if the import reads weights and there are none.
    pub fn new(array: Option<Numbers<'a>>, options: &ImportOptions) -> Result<Self> {
        if options.weighted && array.is_none() {
            return Err(Error::Invalid(
                "the arrays have no weights; import without weights".into(),
            ));
        }
        Ok(Self { array, wanted: options.weighted })
    }

    /// Returns an error unless every one of `edges` edges has a weight, or there are no weights.
    fn check(self, edges: usize) -> Result<()> {
        match self.array {
            Some(array) if array.len() != edges => Err(Error::Invalid(format!(
                "{} weights for {edges} edges; the arrays must be equally long",
                array.len()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the weight of an edge; `None` if the import reads no weights.
    fn get(self, at: usize) -> Result<Option<Weight>> {
        let Some(array) = self.array.filter(|_| self.wanted) else { return Ok(None) };
        let missing = || error(at, format!("weight number {at} is not a finite number"));
        array.get(at).map(Some).ok_or_else(missing)
    }
}

/// Sets up a reader of parallel arrays.
pub(crate) fn pairs<'a>(
    source: Ints<'a>,
    target: Ints<'a>,
    weights: EdgeWeights<'a>,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    if source.len() != target.len() {
        return Err(Error::Invalid(format!(
            "{} sources and {} targets; the arrays must be equally long",
            source.len(),
            target.len()
        )));
    }
    weights.check(source.len())?;
    let mut next = 0;
    Ok(Box::new(move || {
        let range = next..(next + EDGES).min(source.len());
        next = range.end;
        if range.is_empty() {
            return Ok(None);
        }
        let task: ParseTask<'a> = Box::new(move |batch| {
            for at in range {
                if let (Some(source), Some(target)) = (source.get(at), target.get(at)) {
                    push(batch, source, target, weights.get(at)?)?;
                }
            }
            Ok(())
        });
        Ok(Some(task))
    }))
}

/// Sets up a reader of compressed sparse rows.
pub(crate) fn csr<'a>(
    indptr: Ints<'a>,
    indices: Ints<'a>,
    weights: EdgeWeights<'a>,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    weights.check(indices.len())?;
    let Some(rows) = indptr.len().checked_sub(1) else {
        return Err(Error::Invalid(
            "indptr is empty; it is one longer than the number of rows".into(),
        ));
    };
    if indptr.get(0) != Some(0) || indptr.get(rows) != Some(indices.len() as i128) {
        return Err(Error::Invalid(format!(
            "indptr must begin with 0 and end with the length of indices, {}",
            indices.len()
        )));
    }
    // Checked for all rows at once: the tasks never visit rows behind the last entry.
    if let Some(row) = indptr.descent() {
        let (begin, end) = (indptr.get(row).unwrap_or(0), indptr.get(row + 1).unwrap_or(0));
        return Err(Error::Invalid(format!(
            "indptr descends from {begin} to {end} in row {row}; the matrix is damaged"
        )));
    }
    if rows as u64 > 1 << 32 {
        return Err(Error::Unsupported(format!(
            "{rows} rows; this version holds up to 2^32 vertices"
        )));
    }
    let (mut row, mut entry, mut declared) = (0, 0, false);
    Ok(Box::new(move || {
        if !std::mem::replace(&mut declared, true) {
            let task: ParseTask<'a> = Box::new(move |batch| {
                batch.ranges.push(0..rows as u64);
                Ok(())
            });
            return Ok(Some(task));
        }
        let range = entry..(entry + EDGES).min(indices.len());
        if range.is_empty() {
            return Ok(None);
        }
        let first_row = row;
        entry = range.end;
        // The next task begins in the row that holds its first entry.
        while row < rows && row_end(indptr, row)? <= entry {
            row += 1;
        }
        let task: ParseTask<'a> = Box::new(move |batch| {
            let mut row = first_row;
            for at in range {
                while row_end(indptr, row)? <= at {
                    row += 1;
                }
                let target = indices.get(at).unwrap_or(-1);
                if !(0..rows as i128).contains(&target) {
                    return Err(error(
                        at,
                        format!("index number {at} is {target}, not between 0 and {}", rows - 1),
                    ));
                }
                push(batch, row as i128, target, weights.get(at)?)?;
            }
            Ok(())
        });
        Ok(Some(task))
    }))
}

/// Returns the end of a row's entries; `indptr` must not descend.
fn row_end(indptr: Ints<'_>, row: usize) -> Result<usize> {
    match (indptr.get(row), indptr.get(row + 1)) {
        (Some(start), Some(end)) if start <= end => {
            usize::try_from(end).map_err(|_| error(row, "indptr is negative"))
        }
        _ => Err(error(row, format!("indptr descends after row {row}"))),
    }
}

/// Sets up a reader of edges from an iterator.
pub(crate) fn edges<'a>(
    mut edges: Box<dyn Iterator<Item = (u64, u64)> + Send + 'a>,
) -> Box<dyn Feed<'a> + 'a> {
    Box::new(move || {
        let piece: Vec<[u64; 2]> =
            edges.by_ref().take(EDGES).map(|(source, target)| [source, target]).collect();
        if piece.is_empty() {
            return Ok(None);
        }
        let task: ParseTask<'a> = Box::new(move |batch| {
            batch.ints = piece;
            Ok(())
        });
        Ok(Some(task))
    })
}

/// Sets up a reader of a generated graph.
pub(crate) fn generated<'a>(
    generator: &'a dyn crate::generate::Generator,
) -> Box<dyn Feed<'a> + 'a> {
    let mut pieces = 0..generator.pieces();
    Box::new(move || {
        let task = pieces.next().map(|number| -> ParseTask<'a> {
            Box::new(move |batch| {
                generator.piece(number, &mut batch.ints);
                Ok(())
            })
        });
        Ok(task)
    })
}
