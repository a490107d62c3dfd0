//! Stores without properties: ids and edges, with the weight as a property.

use super::csv::Csv;
use super::folder::{LABEL, NODES, OutputFolder, RELATIONSHIPS, TYPE, Written};
use crate::Value;
use nakshi_store::Result;
use nakshi_store::export::ExportSource;
use nakshi_store::export::Names;
use nakshi_store::export::{for_each_list, is_written};

/// Writes both files.
pub(super) fn write(
    source: &ExportSource<'_>,
    names: &Names,
    folder: &OutputFolder<'_>,
) -> Result<Written> {
    let nodes = nodes(source, names, folder)?;
    let edges = edges(source, names, folder)?;
    Ok(Written { multiline: nodes || edges.multiline, ..edges })
}

fn nodes(source: &ExportSource<'_>, names: &Names, folder: &OutputFolder<'_>) -> Result<bool> {
    let header = ["id:ID", ":LABEL"].map(str::to_owned);
    let mut csv = Csv::create(folder, NODES, &header, source.hooks)?;
    let mut id = Vec::new();
    for vertex in (0..=u32::MAX).take(names.len()) {
        id.clear();
        names.put(vertex, &mut id);
        csv.text(&id)?;
        csv.text(LABEL.as_bytes())?;
        csv.end_row()?;
    }
    csv.finish()
}

fn edges(source: &ExportSource<'_>, names: &Names, folder: &OutputFolder<'_>) -> Result<Written> {
    let mut header = [":START_ID", ":END_ID", ":TYPE"].map(str::to_owned).to_vec();
    if let Some(column) = &source.weight {
        let ty = if column.ty().is_integer() { "long" } else { "double" };
        header.push(format!("{}:{ty}", column.name()));
    }
    let directed = source.store.directed();
    let mut csv = Csv::create(folder, RELATIONSHIPS, &header, source.hooks)?;
    let (mut edges, mut id) = (0, Vec::new());
    for_each_list(source, |list| {
        for (at, &neighbour) in list.neighbours.iter().enumerate() {
            if !is_written(directed, list.vertex, neighbour) {
                continue;
            }
            edges += 1;
            for end in [list.vertex, neighbour] {
                id.clear();
                names.put(end, &mut id);
                csv.text(&id)?;
            }
            csv.text(TYPE.as_bytes())?;
            if let Some(weights) = &list.values {
                let (mut int, mut float) = ([0], [0.0]);
                let value = match weights.decode_i64(at, &mut int) {
                    1 => Value::Int(int[0]),
                    _ if weights.decode_f64(at, &mut float) == 1 => Value::Float(float[0]),
                    _ => Value::Null,
                };
                csv.value("weight", &value)?;
            }
            csv.end_row()?;
        }
        Ok(())
    })?;
    Ok(Written { edges, multiline: csv.finish()? })
}
