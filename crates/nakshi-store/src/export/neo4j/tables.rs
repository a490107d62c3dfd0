//! Stores with properties: all of nodes and edges.

use std::collections::HashMap;

use super::csv::{Csv, type_name};
use super::{Folder, LABEL, NODES, RELATIONSHIPS, TIME, TYPE, Written};
use crate::export::Source;
use crate::import::Progress;
use crate::property::{PropertyGraph, PropertySpec, PropertyType, Scalar, Value};
use crate::{Error, ExternalId, Manifest, OpenOptions, Result, Store};

/// The property that labels are kept as.
const LABELS: &str = "labels";
/// Memory of an id that is held, beside its text.
const ID_BYTES: u64 = 32;

/// Bytes of memory that the properties of a store take, and the ids of its nodes in their order.
pub(in crate::export) fn need(manifest: &Manifest) -> u64 {
    let Some(entry) = &manifest.property else { return 0 };
    let ids = &manifest.ids;
    let ids = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
    let files = entry.files().chain(ids.into_iter().flatten()).map(|file| file.len);
    files.sum::<u64>().saturating_add(ID_BYTES * manifest.vertices)
}

/// Writes both files.
pub(super) fn write(source: &Source<'_>, folder: &Folder<'_>) -> Result<Written> {
    let store = Store::open(source.store.path(), &OpenOptions::default())?;
    let graph = PropertyGraph::open(&store, None, &source.hooks.cancel)?;
    let ids = graph.get_node_ids(&[])?;
    let nodes = nodes(source, &graph, &ids, folder)?;
    let (edges, lines) = edges(source, &graph, &ids, folder)?;
    Ok(Written { edges, multiline: nodes || lines })
}

/// The columns of properties, and where in a row each of them is.
struct Columns<'g> {
    specs: Vec<&'g PropertySpec>,
    places: HashMap<&'g str, usize>,
}

impl<'g> Columns<'g> {
    fn of(specs: impl Iterator<Item = &'g PropertySpec>) -> Self {
        let specs: Vec<&PropertySpec> = specs.collect();
        let places = specs.iter().enumerate().map(|(at, spec)| (spec.name.as_str(), at)).collect();
        Columns { specs, places }
    }

    fn header(&self, header: &mut Vec<String>) -> Result<()> {
        for spec in &self.specs {
            let ty = type_name(spec.ty).map_err(|error| {
                Error::Unsupported(format!("the property '{}': {error}", spec.name))
            })?;
            header.push(format!("{}:{ty}", spec.name));
        }
        Ok(())
    }

    /// Fields for the values of a row, which may come in any order.
    fn write(
        &self,
        values: &[(&str, Value)],
        row: &mut Vec<Value>,
        csv: &mut Csv<'_>,
    ) -> Result<()> {
        row.clear();
        row.resize(self.specs.len(), Value::Null);
        for (name, value) in values {
            let at = self.places.get(name).and_then(|&at| row.get_mut(at));
            if let Some(slot) = at {
                slot.clone_from(value);
            }
        }
        self.specs.iter().zip(row).try_for_each(|(spec, value)| csv.value(&spec.name, value))
    }
}

fn nodes(
    source: &Source<'_>,
    graph: &PropertyGraph,
    ids: &[ExternalId],
    folder: &Folder<'_>,
) -> Result<bool> {
    let is_label = |spec: &&PropertySpec| {
        spec.name == LABELS && spec.ty == PropertyType::list_of(Scalar::String)
    };
    let specs = graph.node_properties();
    let labelled = specs.iter().any(|spec| is_label(&spec));
    let columns = Columns::of(specs.iter().filter(|spec| !is_label(spec)));
    // The id would be a property of this name.
    let named = columns.places.contains_key("id");
    let mut header = vec![if named { ":ID" } else { "id:ID" }.to_owned()];
    columns.header(&mut header)?;
    header.push(":LABEL".to_owned());
    let mut csv = Csv::create(folder, NODES, &header, source.hooks)?;
    let mut row = Vec::new();
    let total = Some(ids.len() as u64);
    for (done, id) in (0..).zip(ids) {
        let values = graph.get_node_property(id, None)?;
        csv.id(id)?;
        columns.write(&values, &mut row, &mut csv)?;
        match values.iter().find(|(name, _)| labelled && *name == LABELS) {
            Some((name, labels)) => csv.value(name, labels)?,
            None if labelled => csv.null(),
            None => csv.text(LABEL.as_bytes())?,
        }
        csv.end_row()?;
        attend(source, Progress { phase: "nodes", done, total, edges: 0 })?;
    }
    csv.finish()
}

fn edges(
    source: &Source<'_>,
    graph: &PropertyGraph,
    ids: &[ExternalId],
    folder: &Folder<'_>,
) -> Result<(u64, bool)> {
    let columns = Columns::of(graph.edge_properties().iter());
    if columns.places.contains_key(TIME) {
        return Err(Error::Invalid(format!(
            "an edge property is called '{TIME}', as the time of edges is in Neo4j's CSV; rename it \
             in the tables and load them again"
        )));
    }
    let mut header = [":START_ID", ":END_ID", ":TYPE"].map(str::to_owned).to_vec();
    header.push(format!("{TIME}:long"));
    columns.header(&mut header)?;
    let mut csv = Csv::create(folder, RELATIONSHIPS, &header, source.hooks)?;
    let (mut row, mut done) = (Vec::new(), 0);
    let total = Some(graph.num_edges());
    for id in ids {
        for record in graph.get_edge_records(id)? {
            let ty = Some(record.edge_type()).filter(|ty| !ty.is_empty()).unwrap_or(TYPE);
            for place in 0..record.len() {
                let edge = graph.get_edge_data(&record, place)?;
                csv.id(id)?;
                csv.id(&edge.destination)?;
                csv.text(ty.as_bytes())?;
                csv.value(TIME, &Value::Int(edge.timestamp))?;
                columns.write(&edge.properties, &mut row, &mut csv)?;
                csv.end_row()?;
                done += 1;
                attend(source, Progress { phase: "edges", done, total, edges: done })?;
            }
        }
    }
    Ok((done, csv.finish()?))
}

/// Looks at the cancel token and tells how far it is, every now and then.
fn attend(source: &Source<'_>, progress: Progress) -> Result<()> {
    if progress.done.is_multiple_of(1024) {
        source.hooks.check()?;
        source.hooks.tell(progress);
    }
    Ok(())
}
