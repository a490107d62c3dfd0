//! Graphs of WebGraph's.
//!
//! The files in `webgraph` are one graph, compressed by `it.unimi.dsi.webgraph.BVGraph` 3.6.10:
//!
//! | File | Options |
//! | --- | --- |
//! | `usual` | |
//! | `far` | `-m -1 -w 20 -i 2 -k 5` |
//! | `residuals` | `-w 0 -i 0` |
//! | `delta` | codes of all parts delta, of references gamma |
//! | `gamma`, `nibble` | code of the residuals |

use std::path::{Path, PathBuf};

use nakshi_store::Result;
use nakshi_store::import::{Format, ImportOptions, Report};
use proptest::prelude::*;

use crate::model::{Model, round};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/webgraph")
}

fn options() -> ImportOptions {
    ImportOptions { threads: 2, allow_empty: true, ..ImportOptions::default() }
}

/// Imports a graph and its properties from bytes.
fn imported(graph: &[u8], properties: &str, options: &ImportOptions) -> Result<(Model, Report)> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("g.graph");
    std::fs::write(&file, graph).unwrap();
    std::fs::write(place.path().join("g.properties"), properties).unwrap();
    round(vec![file.as_path().into()], &place.path().join("s"), options)
}

fn fixture(name: &str) -> (Vec<u8>, String) {
    let file = |end: &str| folder().join(format!("{name}.{end}"));
    (std::fs::read(file("graph")).unwrap(), std::fs::read_to_string(file("properties")).unwrap())
}

/// The graph as text has it; 400 vertices, some without an edge.
fn expected() -> Model {
    let text = std::fs::read_to_string(folder().join("edges.tsv")).unwrap();
    let edges: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    let vertices: Vec<String> = (0..400).map(|v: u32| v.to_string()).collect();
    Model::new(true, &edges, &vertices.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn graphs_that_webgraph_wrote() {
    let expected = expected();
    for name in ["usual", "far", "residuals", "delta", "gamma", "nibble"] {
        let (graph, properties) = fixture(name);
        let (model, report) = imported(&graph, &properties, &options()).unwrap();
        assert!(model == expected, "{name}");
        assert_eq!((report.vertices, report.edges), (400, 3495), "{name}");
    }
}

/// Compressed once more, in a place of its own, and with edges both ways.
#[test]
fn compressed_and_undirected() {
    let (graph, properties) = fixture("usual");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("g.graph.zst");
    std::fs::write(&file, zstd::encode_all(graph.as_slice(), 1).unwrap()).unwrap();
    std::fs::write(place.path().join("g.properties"), &properties).unwrap();
    let (model, _) =
        round(vec![file.as_path().into()], &place.path().join("s"), &options()).unwrap();
    assert!(model == expected());
    let undirected = ImportOptions { directed: false, ..options() };
    let (model, _) = imported(&graph, &properties, &undirected).unwrap();
    assert!(model.edges.keys().all(|(a, b)| model.edges.contains_key(&(b.clone(), a.clone()))));
    assert!(model.vertices == expected().vertices);
}

#[test]
fn what_is_refused() {
    let (graph, properties) = fixture("usual");
    let cut = graph.get(..graph.len() / 2).unwrap();
    let weighted = ImportOptions { weighted: true, ..options() };
    let other = properties.replace("arcs=3495", "arcs=3494");
    let elias = properties.replace("BVGraph\n", "EFGraph\n");
    for (graph, properties, options, told) in [
        (&graph[..], &properties, &weighted, "no weights; import without weights"),
        (cut, &properties, &options(), "is not complete; is the file damaged or cut off?"),
        (&graph, &other, &options(), "the properties promise 3494 arcs, the lists have 3495"),
        (&graph, &elias, &options(), "g.properties: the class of the graph is"),
    ] {
        let error = imported(graph, properties, options).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("g.graph");
    std::fs::write(&file, &graph).unwrap();
    let named = ImportOptions { format: Format::WebGraph, ..options() };
    let alone = round(vec![file.as_path().into()], &place.path().join("s"), &named).unwrap_err();
    assert!(alone.to_string().contains("reads NAME.properties"), "{alone}");
}

/// A list of four billion entries in a few bytes: vertex 0 has an interval of all vertices.
#[test]
fn a_list_beyond_the_memory() {
    let properties = "graphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=4294967295\narcs=4294967295\n\
                      windowsize=0\nminintervallength=4\n";
    let mut bits = String::new();
    for value in [4_294_967_295_u64, 1, 0, 4_294_967_295 - 4] {
        let digits = format!("{:b}", value + 1);
        bits.push_str(&"0".repeat(digits.len() - 1));
        bits.push_str(&digits);
    }
    bits.push_str(&"0".repeat(8 - bits.len() % 8));
    let bytes: Vec<u8> = bits
        .as_bytes()
        .chunks(8)
        .map(|byte| byte.iter().fold(0, |sum, b| sum * 2 + (b - b'0')))
        .collect();
    // Seen red, about once in 200 times, with a reader that another thread asks again after its error.
    for _ in 0..100 {
        let error = imported(&bytes, properties, &options()).unwrap_err().to_string();
        assert!(error.contains("which a quarter of the memory does not hold"), "{error}");
    }
}

/// A flipped bit gives an error or some other graph of as many arcs.
#[test]
fn flipped_bits_are_survived() {
    let (graph, properties) = fixture("far");
    for at in (0..graph.len()).step_by(29) {
        let mut other = graph.clone();
        other[at] ^= 1 << (at % 8);
        if let Ok((model, report)) = imported(&other, &properties, &options()) {
            assert_eq!((report.edges_read, model.vertices.len()), (3495, 400), "{at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes(
        graph in prop::collection::vec(any::<u8>(), 0..200),
        nodes in 0..200_u64,
        window in 0..9_u64,
        least in 0..5_u64,
    ) {
        let properties = format!(
            "graphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={nodes}\narcs={nodes}\n\
             windowsize={window}\nminintervallength={least}\n",
        );
        // Any result is fine.
        let _ = imported(&graph, &properties, &options());
    }
}
