//! Formats other than edge lists, and export followed by import.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use nakshi_store::export::{ExportOptions, export_edges};
use nakshi_store::generate::{Kronecker, edges, write};
use nakshi_store::import::{
    Format, Hooks, ImportOptions, Input, Ints, Numbers, import, read_bytes,
};
use nakshi_store::{OpenOptions, Store};

use crate::model::{Model, error, round, text};

fn options(format: Format) -> ImportOptions {
    ImportOptions { format, threads: 2, allow_empty: true, ..ImportOptions::default() }
}

#[test]
fn adjacency_lists() {
    let lines = "# graph\n1 2 3\n2: 3\n3\n4\t1, 2\n";
    let expected =
        Model::new(true, &[("1", "2"), ("1", "3"), ("2", "3"), ("4", "1"), ("4", "2")], &["3"]);
    assert_eq!(text("g.adj", lines, &options(Format::Auto)).unwrap().0, expected);
    let turned =
        Model::new(true, &[("2", "1"), ("3", "1"), ("3", "2"), ("1", "4"), ("2", "4")], &["3"]);
    assert_eq!(text("g", lines, &options(Format::InAdjacency)).unwrap().0, turned);
}

/// Seen red with the carried vertex forgotten at the second cut.
#[test]
fn adjacency_lines_longer_than_blocks() {
    let mut line = String::from("0");
    (1..400_000).for_each(|i| line.push_str(&format!(" {i}")));
    line.push_str("\n1 0\n");
    let (model, report) = text("g.adj", &line, &options(Format::Auto)).unwrap();
    assert_eq!((report.vertices, report.edges), (400_000, 400_000));
    assert!(
        model.edges.contains_key(&("0".into(), "399999".into()))
            && model.edges.contains_key(&("1".into(), "0".into()))
    );
}

#[test]
fn matrix_market() {
    let weighted = ImportOptions { weighted: true, ..options(Format::Auto) };
    let general = "%%MatrixMarket matrix coordinate real general\n% c\n4 4 2\n1 2 0.5\n3 1 2\n";
    let mut expected = Model::new(true, &[], &["1", "2", "3", "4"]);
    expected.add("1", "2", 0.5);
    expected.add("3", "1", 2.0);
    assert_eq!(text("m.mtx", general, &weighted).unwrap().0, expected);
    let symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n";
    let both = Model::new(true, &[("2", "1"), ("1", "2"), ("3", "3")], &[]);
    assert_eq!(text("m", symmetric, &options(Format::Auto)).unwrap().0, both);
    let undirected = ImportOptions { directed: false, ..options(Format::Auto) };
    assert_eq!(
        text("m", symmetric, &undirected).unwrap().0,
        Model::new(false, &[("2", "1"), ("3", "3")], &[])
    );
    for (lines, expected) in [
        ("%%MatrixMarket matrix array real general\n", "m.mtx:1: 'array' matrices are not read"),
        (
            "%%MatrixMarket matrix coordinate complex general\n",
            "m.mtx:1: 'complex' entries are not read",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n%\n3 4 1\n",
            "m.mtx:3: the matrix has 3 rows and 4 columns",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n-3 -3 1\n",
            "m.mtx:2: expected the numbers",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4 1\n",
            "m.mtx:3: the index '4' is not between 1 and 3",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n",
            "m.mtx:4: the header promises 2 entries, the file has 1",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n99999999999 99999999999 0\n",
            "m.mtx:2: 99999999999 rows",
        ),
    ] {
        let message = error("m.mtx", lines, &options(Format::Auto));
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn metis() {
    let undirected = ImportOptions { directed: false, ..options(Format::Auto) };
    let plain = "% c\n4 3\n2 3\n1\n% c\n1 4\n3\n";
    let expected = Model::new(false, &[("1", "2"), ("1", "3"), ("3", "4")], &[]);
    assert_eq!(text("g.graph", plain, &undirected).unwrap().0, expected);
    let weighted = ImportOptions { weighted: true, ..undirected.clone() };
    let full = "3 2 111 2\n9 8 7 2 5\n9 8 7 1 5 3 6\n1 1 1 2 6\n";
    let mut model = Model::new(false, &[], &[]);
    model.add("1", "2", 5.0);
    model.add("2", "3", 6.0);
    assert_eq!(text("g.metis", full, &weighted).unwrap().0, model);
    assert_eq!(
        text("g.metis", "2 0\n\n\n", &undirected).unwrap().0,
        Model::new(false, &[], &["1", "2"])
    );
    for (lines, expected) in [
        ("2 1\n2\n", "g.graph:3: the header promises 2 vertices, the file ends after 1"),
        ("2 1\n2\n\n", "g.graph:4: 1 entries lead to larger vertices and 0 to smaller ones"),
        ("2 5\n2\n1\n", "g.graph:4: the header promises 5 edges, the file has 1"),
        ("2 1\n3\n1\n", "g.graph:2: the neighbour '3' is not between 1 and 2"),
        ("x\n", "g.graph:1: expected the numbers of vertices and edges"),
        ("1 0\n\n1\n", "g.graph:3: there are more lines than the 1 vertices"),
    ] {
        let message = error("g.graph", lines, &undirected);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn graphalytics() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("g.v"), "1\n2\n3\n").unwrap();
    std::fs::write(dir.path().join("g.e"), "1 2 0.5\n").unwrap();
    let (model, _) = round(
        vec![dir.path().join("g.e").as_path().into()],
        &dir.path().join("s"),
        &options(Format::Auto),
    )
    .unwrap();
    assert_eq!(model, Model::new(true, &[("1", "2")], &["3"]));
    assert!(
        error("h.e", "1 2\n", &options(Format::Graphalytics)).contains("has no .v file beside it")
    );
}

/// Many gzip members and zstd frames in one file, as parallel compressors write them.
#[test]
fn compressed() {
    let plain: Vec<u8> =
        (0..100_000).flat_map(|i| format!("{i}\t{}\n", i / 2).into_bytes()).collect();
    let expected = text("e", &plain, &options(Format::Auto)).unwrap();
    let (mut gzip, mut frames) = (Vec::new(), Vec::new());
    for part in plain.chunks(70_000) {
        let mut encoder = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
        frames.extend(zstd::encode_all(part, 1).unwrap());
    }
    for (name, bytes) in [("e.gz", &gzip), ("e.zst", &frames), ("named-wrongly.txt", &gzip)] {
        let found = text(name, bytes, &options(Format::Auto)).unwrap();
        assert_eq!(found.1.content_hash, expected.1.content_hash, "{name}");
    }
    let message = error("e.gz", &gzip[..gzip.len() / 2], &options(Format::Auto));
    assert!(message.starts_with("cannot read e.gz: "), "{message}");
    let message = error("e.zst", &frames[..frames.len() - 3], &options(Format::Auto));
    assert!(message.starts_with("cannot read e.zst: "), "{message}");
}

#[test]
fn arrays_and_batches() {
    let dir = tempfile::tempdir().unwrap();
    let weighted = ImportOptions { weighted: true, ..options(Format::Auto) };
    let mut expected = Model::new(true, &[], &[]);
    expected.add("-1", "5", 0.5);
    expected.add("2", "5", 1.0);
    let arrays = Input::Arrays {
        source: Ints::I64(&[-1, 2]),
        target: Ints::U32(&[5, 5]),
        weight: Some(Numbers::F64(&[0.5, 1.0])),
    };
    assert_eq!(round(vec![arrays], &dir.path().join("a"), &weighted).unwrap().0, expected);
    let csr = Input::Csr {
        indptr: Ints::I32(&[0, 2, 2, 3, 3]),
        indices: Ints::I32(&[1, 2, 0]),
        weight: None,
    };
    let expected = Model::new(true, &[("0", "1"), ("0", "2"), ("2", "0")], &["3"]);
    assert_eq!(
        round(vec![csr], &dir.path().join("b"), &options(Format::Auto)).unwrap().0,
        expected
    );
    for (indptr, indices) in [
        (&[0, 2, 1, 3][..], &[0, 1, 2][..]),
        (&[0, 1], &[5]),
        (&[0, 1], &[-1]),
        (&[], &[]),
        (&[1, 1], &[0]),
        // Behind the last entry, and beyond the entries: seen red with rows looked at one by one
        // until all entries had one.
        (&[0, 3, 4, 2, 3], &[0, 1, 2]),
        (&[0, 1, 9, 3], &[0, 1, 2]),
    ] {
        let bad =
            Input::Csr { indptr: Ints::I64(indptr), indices: Ints::I64(indices), weight: None };
        assert!(
            import(vec![bad], &dir.path().join("x"), &options(Format::Auto), &Hooks::default())
                .is_err()
        );
    }
    let column = |values: &[Option<&str>]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let table =
        |a: ArrayRef, b: ArrayRef| RecordBatch::try_from_iter([("b", b), ("source", a)]).unwrap();
    let batch = table(column(&[Some("x"), Some("y")]), Arc::new(Int64Array::from(vec![1, -2])));
    let schema = batch.schema();
    let named =
        ImportOptions { columns: Some(vec!["source".into(), "b".into()]), ..options(Format::Auto) };
    let reader = Input::Batches(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    let expected = Model::new(true, &[("x", "1"), ("y", "-2")], &[]);
    assert_eq!(round(vec![reader], &dir.path().join("c"), &named).unwrap().0, expected);
    // A dictionary whose second value is null: seen red with an empty id told instead, and with 0 taken
    // for a number.
    let keys = Int8Array::from(vec![0, 1]);
    let dictionary = |values: ArrayRef| {
        Arc::new(DictionaryArray::try_new(keys.clone(), values).unwrap()) as ArrayRef
    };
    let numbers = Arc::new(Int64Array::from(vec![Some(3), None]));
    for nulls in
        [column(&[Some("x"), None]), dictionary(column(&[Some("x"), None])), dictionary(numbers)]
    {
        let nulls = table(nulls, Arc::new(Int64Array::from(vec![1, 2])));
        let schema = nulls.schema();
        let reader = Input::Batches(Box::new(RecordBatchIterator::new([Ok(nulls)], schema)));
        let message = import(vec![reader], &dir.path().join("d"), &named, &Hooks::default())
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("<arrow>:2: column 2 is null"), "{message}");
    }
}

/// An exported graph is imported again as the same store, bit by bit where the format keeps ids.
#[test]
fn export_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..3000_u64)
        .map(|i| format!("{} {} {}\n", i % 97 + 1, (i * i) % 89 + 1, i % 300))
        .collect();
    let words = lines.replace(' ', "\t").replace("7\t", "#s,\"x\" \t");
    for (case, (lines, directed)) in
        [(&lines, true), (&lines, false), (&words, true), (&words, false)].into_iter().enumerate()
    {
        let path = dir.path().join("in.tsv");
        std::fs::write(&path, lines.replace('#', "s#")).unwrap();
        let options = ImportOptions { directed, weighted: true, ..options(Format::Auto) };
        let first = import(
            vec![Input::Path(path)],
            &dir.path().join(format!("s{case}")),
            &options,
            &Hooks::default(),
        )
        .unwrap();
        let store =
            Store::open(dir.path().join(format!("s{case}")), &OpenOptions::default()).unwrap();
        let integers = case < 2;
        let mut names = vec!["o.tsv", "o.csv", "o.tsv.gz", "o.csv.zst", "o.parquet", "o.arrow"];
        if integers {
            names.extend(["o.e", "o.mtx"]);
        }
        if integers && !directed {
            names.push("o.graph");
        }
        for name in names {
            let out = dir.path().join(name);
            let written =
                export_edges(&store, &out, &ExportOptions::default(), &Hooks::default()).unwrap();
            assert_eq!(written.edges, first.edges, "{name}");
            let back = dir.path().join(format!("{case}-{name}"));
            let again = import(vec![Input::Path(out)], &back, &options, &Hooks::default()).unwrap();
            assert_eq!((again.vertices, again.edges), (first.vertices, first.edges), "{name}");
            assert_same(&store, &Store::open(&back, &OpenOptions::default()).unwrap(), name);
        }
    }
}

fn assert_same(a: &Store, b: &Store, what: &str) {
    let read = |store: &Store| crate::model::read(store, nakshi_store::Direction::Out).unwrap();
    assert!(read(a) == read(b), "{what}");
    assert_eq!(a.manifest().columns[0].ty, b.manifest().columns[0].ty, "{what}");
}

#[test]
fn generated_graphs_are_the_same_by_file_and_directly() {
    let dir = tempfile::tempdir().unwrap();
    let graph = Kronecker::new(12);
    let hash = |input: Input<'_>, name: &str| {
        import(vec![input], &dir.path().join(name), &options(Format::Auto), &Hooks::default())
            .unwrap()
            .content_hash
    };
    let direct = hash(Input::Generated(&graph), "a");
    let iterator = hash(Input::Edges(Box::new(edges(&graph).map(|[s, t]| (s, t)))), "b");
    for (name, threads) in [("g.tsv", 1), ("h.tsv", 3), ("g.zst", 2)] {
        let path = dir.path().join(name);
        assert_eq!(write(&graph, &path, threads, &Hooks::default()).unwrap(), 16 << 12);
        assert_eq!(hash(Input::Path(path), &format!("s{name}")), direct);
    }
    assert_eq!(
        std::fs::read(dir.path().join("g.tsv")).unwrap(),
        std::fs::read(dir.path().join("h.tsv")).unwrap()
    );
    assert_eq!(direct, iterator);
    assert!(!Path::new(&dir.path().join(".g.tsv.partial")).exists());
}

fn named_pipe(dir: &std::path::Path) -> std::path::PathBuf {
    let pipe = dir.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

/// Seen red with a wait of twenty seconds for the pipe instead of twenty milliseconds.
#[test]
fn a_pipe_without_a_writer_can_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = named_pipe(dir.path());
    let hooks = Hooks::default();
    let ended = std::thread::scope(|scope| {
        let import = scope.spawn(|| {
            let store = dir.path().join("s");
            let done = import(vec![Input::Path(pipe)], &store, &Default::default(), &hooks);
            assert!(matches!(done, Err(nakshi_store::Error::Cancelled)), "{done:?}");
            std::time::Instant::now()
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        let cancelled = std::time::Instant::now();
        hooks.cancel.cancel();
        import.join().unwrap().duration_since(cancelled)
    });
    // 0.2 s are promised; the rest is a margin for a busy machine.
    assert!(ended < std::time::Duration::from_millis(700), "{ended:?}");
}

#[test]
fn a_pipe_with_a_late_and_slow_writer() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = named_pipe(dir.path());
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let pause = || std::thread::sleep(std::time::Duration::from_millis(60));
            pause();
            let mut file = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
            for line in ["1 2\n", "2 3\n3", " 4\n"] {
                pause();
                file.write_all(line.as_bytes()).unwrap();
            }
        });
        let store = dir.path().join("s");
        let input = vec![Input::Path(pipe.clone())];
        import(input, &store, &Default::default(), &Hooks::default()).unwrap()
    });
    assert_eq!((report.vertices, report.edges), (4, 3));
}

/// Other programs wrote the seeds of the fuzz targets, which are undamaged. Seen red with the last
/// bytes of a Parquet file taken for the header of a page.
#[test]
fn files_of_other_programs() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for format in [Format::Parquet, Format::Arrow] {
        let folder = corpus.join(if format == Format::Arrow { "arrow" } else { "parquet" });
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let read = read_bytes(&std::fs::read(&path).unwrap(), &options(format));
            assert!(read.as_ref().is_ok_and(|edges| *edges > 0), "{}: {read:?}", path.display());
        }
    }
}
