//! Stores with properties: nodes and edges with all of their properties.

use super::csv::{Csv, type_name};
use super::folder::{LABEL, NODES, OutputFolder, RELATIONSHIPS, TIME, TYPE, Written};
use crate::export::graph::{PropertyColumns, Steps, snapshot};
use crate::{PropertyGraph, PropertySpec, PropertyType, Scalar, Value, unless_cancelled};
use nakshi_store::export::ExportSource;
use nakshi_store::{Error, Result};

/// Name of the property that holds the labels.
const LABELS: &str = "labels";

/// Writes both files.
pub(super) fn write(source: &ExportSource<'_>, folder: &OutputFolder<'_>) -> Result<Written> {
    let graph = snapshot(source, None)?;
    let done = nodes(source, &graph, folder)
        .and_then(|nodes| Ok((nodes, edges(source, &graph, folder)?)))
        .map_err(|error| source.hooks.check().err().unwrap_or(error));
    let (_, (nodes, edges)) = unless_cancelled(graph, done)?;
    Ok(Written { multiline: nodes || edges.multiline, ..edges })
}

fn named(columns: &PropertyColumns<'_>, header: &mut Vec<String>) -> Result<()> {
    for spec in columns.specs() {
        let ty = type_name(spec.ty).map_err(|error| {
            Error::Unsupported(format!("the property '{}': {error}", spec.name))
        })?;
        header.push(format!("{}:{ty}", spec.name));
    }
    Ok(())
}

fn nodes(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    folder: &OutputFolder<'_>,
) -> Result<bool> {
    let is_label = |spec: &PropertySpec| {
        spec.name == LABELS && spec.ty == PropertyType::list_of(Scalar::String)
    };
    let specs = graph.node_properties();
    let labelled = specs.iter().any(|spec| is_label(spec));
    let mut columns = PropertyColumns::of(specs.iter().copied().filter(|spec| !is_label(spec)));
    // `id:ID` would be a second property of this name.
    let has_id = specs.iter().any(|spec| spec.name == "id");
    let mut header = vec![if has_id { ":ID" } else { "id:ID" }.to_owned()];
    named(&columns, &mut header)?;
    header.push(":LABEL".to_owned());
    let mut csv = Csv::create(folder, NODES, &header, source.hooks)?;
    let mut steps = Steps::new(source.hooks, "nodes", graph.num_nodes());
    graph.for_each_node(|id, mut values| {
        let labels = values.iter().position(|(name, _)| labelled && *name == LABELS);
        let labels = labels.map(|at| values.swap_remove(at));
        csv.id(id)?;
        columns.row(values).try_for_each(|(spec, value)| csv.value(&spec.name, value))?;
        match labels {
            Some((name, labels)) => csv.value(name, &labels)?,
            None if labelled => csv.null(),
            None => csv.text(LABEL.as_bytes())?,
        }
        csv.end_row()?;
        steps.next()
    })?;
    csv.finish()
}

fn edges(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    folder: &OutputFolder<'_>,
) -> Result<Written> {
    let specs = graph.edge_properties();
    if specs.iter().any(|spec| spec.name == TIME) {
        return Err(Error::Invalid(format!(
            "an edge property is called '{TIME}', as the time of edges is in Neo4j's CSV; rename it \
             in the tables and load them again"
        )));
    }
    let mut columns = PropertyColumns::of(specs.into_iter());
    let mut header = [":START_ID", ":END_ID", ":TYPE"].map(str::to_owned).to_vec();
    header.push(format!("{TIME}:long"));
    named(&columns, &mut header)?;
    let mut csv = Csv::create(folder, RELATIONSHIPS, &header, source.hooks)?;
    let mut steps = Steps::new(source.hooks, "edges", graph.num_edges());
    graph.for_each_edge(|id, ty, edge| {
        csv.id(id)?;
        csv.id(&edge.destination)?;
        csv.text(if ty.is_empty() { TYPE } else { ty }.as_bytes())?;
        csv.value(TIME, &Value::Int(edge.timestamp))?;
        columns.row(edge.properties).try_for_each(|(spec, value)| csv.value(&spec.name, value))?;
        csv.end_row()?;
        steps.next()
    })?;
    Ok(Written { edges: steps.done(), multiline: csv.finish()? })
}
