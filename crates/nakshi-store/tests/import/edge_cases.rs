//! Edge cases of input, one after the other.

use nakshi_store::import::{Duplicates, ImportLayout, ImportOptions, SelfLoops};

use crate::model::{Model, error, text};

fn options() -> ImportOptions {
    ImportOptions { threads: 2, allow_empty: true, ..ImportOptions::default() }
}

fn undirected() -> ImportOptions {
    ImportOptions { directed: false, ..options() }
}

/// Seen red with the header taken for an edge, and with the byte order mark left in the text.
#[test]
fn shapes_of_files() {
    let none = Model::new(true, &[], &[]);
    for empty in ["", "\n\n", "# only\n% comments\n", "source\ttarget\n", "\u{feff}"] {
        let (model, report) = text("e.tsv", empty, &options()).unwrap();
        assert_eq!(
            (model, report.edges_read),
            (Model { directed: true, ..none.clone_empty() }, 0),
            "{empty:?}"
        );
        let refused = error("e.tsv", empty, &ImportOptions { allow_empty: false, ..options() });
        assert!(refused.contains("no edge was read from"), "{refused}");
    }
    let expected = Model::new(true, &[("1", "2"), ("2", "3")], &[]);
    for same in [
        "1\t2\n2\t3\n",
        "1\t2\r\n2\t3\r\n",
        "1\t2\n2\t3",
        "1 2\n2   3  \n\n",
        "1,2\n2,3\n",
        " 1, 2\n 2, 3\n",
        "1;2;x\n2;3;y\n",
        "1|2\n2|3\n",
        "\u{feff}1\t2\n2\t3\n",
        "# SNAP\n1\t2\n# more\n2\t3\n",
        "% KONECT\n% 2 3 3\n1 2 1 1082040961\n2 3 1 1082040961\n",
        "source,target\n1,2\n2,3\n",
        "foo bar\n1 2\n2 3\n",
        "target\tsource\n2\t1\n3\t2\n",
        ":START_ID(P),:END_ID(P),:TYPE\n1,2,KNOWS\n2,3,LIKES\n",
        "weight,:END_ID,:START_ID\n7,2,1\n8,3,2\n",
        "\"1\",\"2\"\n\"2\",\"3\"\n",
    ] {
        assert_eq!(text("e.txt", same, &options()).unwrap().0, expected, "{same:?}");
    }
    assert_eq!(text("e", "5\t5\n", &options()).unwrap().0, Model::new(true, &[("5", "5")], &[]));
}

impl Model {
    fn clone_empty(&self) -> Self {
        Self::default()
    }
}

/// Seen red with ids above 2^32 cut to 32 bits, with integers compared as text, and with "007"
/// read as 7.
#[test]
fn ids_of_all_kinds() {
    let check = |edges: &[(&str, &str)]| {
        let lines: String = edges.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
        for layout in
            [ImportLayout::Original, ImportLayout::Degree, ImportLayout::Random { seed: 5 }]
        {
            let options = ImportOptions { layout, ..options() };
            assert_eq!(
                text("e.tsv", &lines, &options).unwrap().0,
                Model::new(true, edges, &[]),
                "{edges:?}"
            );
        }
    };
    check(&[("0", "2147483647"), ("4294967295", "4294967296"), ("0", "18446744073709551615")]);
    check(&[("-1", "0"), ("-9223372036854775808", "9223372036854775807")]);
    check(&[
        ("-1", "18446744073709551615"),
        ("99999999999999999999999999", "-99999999999999999999999999"),
    ]);
    check(&[("007", "7"), ("7", "8"), ("-0", "0")]);
    check(&[("Zürich", "東京"), ("1", "a b"), ("10", "9")]);
    check(&[("3", "4"), ("4", "5"), ("5", "3")]);
    let (bytes, _) = text("e.tsv", b"a\xff\tb\n\x80\t1\n", &options()).unwrap();
    assert_eq!(bytes, Model::new(true, &[("a\\xff", "b"), ("\\x80", "1")], &[]));
}

/// Integers of the small-id table and text in one graph: the order is that of the bytes. Seen red
/// with the counted integers not written as runs.
#[test]
fn integers_turn_to_text_late() {
    let mut lines: String = (0..200_000).map(|i| format!("{i}\t{}\n", (i * 7) % 200_000)).collect();
    lines.push_str("x\t0\n");
    let (model, report) =
        text("e.tsv", &lines, &ImportOptions { layout: ImportLayout::Original, ..options() })
            .unwrap();
    assert_eq!((model.vertices.len(), report.edges), (200_001, 200_001));
    assert!(model.edges.contains_key(&("x".into(), "0".into())));
    assert!(model.edges.contains_key(&("199999".into(), "199993".into())));
}

/// Seen red with the smallest weight replaced by the last, and with self-loops counted twice in
/// undirected graphs.
#[test]
fn policies() {
    let lines = "1 2 5\n2 1 3\n1 2 4\n3 3 1\n3 3 2\n4 4 9\n1 3 1\n";
    let edges = [
        ("1", "2", 5.0),
        ("2", "1", 3.0),
        ("1", "2", 4.0),
        ("3", "3", 1.0),
        ("3", "3", 2.0),
        ("4", "4", 9.0),
        ("1", "3", 1.0),
    ];
    for directed in [true, false] {
        for duplicates in [Duplicates::Drop, Duplicates::Keep, Duplicates::Sum] {
            for self_loops in [SelfLoops::Keep, SelfLoops::Drop] {
                let options =
                    ImportOptions { directed, duplicates, self_loops, weighted: true, ..options() };
                let mut expected = Model { directed, ..Model::default() };
                for (a, b, weight) in edges {
                    if a == b && self_loops == SelfLoops::Drop {
                        expected.vertices.insert(a.into());
                    } else {
                        expected.add(a, b, weight);
                    }
                }
                let before = expected.count();
                expected.settle(|weights| match duplicates {
                    Duplicates::Drop => weights.truncate(1),
                    Duplicates::Keep => {}
                    Duplicates::Sum => *weights = vec![weights.iter().sum()],
                });
                let (model, report) = text("e", lines, &options).unwrap();
                assert_eq!(model, expected, "{options:?}");
                assert_eq!(report.duplicates, before - expected.count(), "{options:?}");
                assert_eq!((report.edges_read, report.self_loops), (7, 3));
            }
        }
    }
    let counted = ImportOptions { duplicates: Duplicates::Sum, ..undirected() };
    let (model, _) = text("e", "1 2\n2 1\n1 3\n", &counted).unwrap();
    assert_eq!(model.edges[&("2".into(), "1".into())], [2.0]);
    assert_eq!(model.edges[&("1".into(), "3".into())], [1.0]);
}

/// Seen red with 256 put into a column of bytes.
#[test]
fn weights_of_all_widths() {
    let options = ImportOptions { weighted: true, ..options() };
    for weights in [
        ["0", "255"],
        ["0", "256"],
        ["1", "65536"],
        ["-1", "4294967296"],
        ["0.5", "3"],
        ["0.1", "-7"],
        ["1e-300", "1e300"],
        ["-9223372036854775808", "9223372036854775807"],
    ] {
        let lines = format!("1 2 {}\n2 3 {}\n", weights[0], weights[1]);
        let (model, _) = text("e", &lines, &options).unwrap();
        let found: Vec<f64> = model.edges.values().flatten().copied().collect();
        let expected: Vec<f64> = weights.iter().map(|w| w.parse().unwrap()).collect();
        assert_eq!(found, expected);
    }
}

/// Degrees around the borders of a byte and of a block of a list. Seen red with the degree of a
/// packed list cut to a byte.
#[test]
fn degrees_at_borders() {
    let mut edges = Vec::new();
    for (hub, degree) in [
        (1000, 1),
        (1001, 127),
        (1002, 128),
        (1003, 129),
        (1004, 254),
        (1005, 255),
        (1006, 256),
        (1007, 257),
    ] {
        edges.extend((0..degree).map(|i| (hub.to_string(), (i * 3).to_string())));
    }
    let edges: Vec<(&str, &str)> = edges.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let lines: String = edges.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
    assert_eq!(text("e", &lines, &options()).unwrap().0, Model::new(true, &edges, &[]));
    assert_eq!(text("e", &lines, &undirected()).unwrap().0, Model::new(false, &edges, &[]));
}

/// Seen red with `LISTED` not set for vertices without an edge.
#[test]
fn isolated_vertices_come_from_a_list() {
    let dir = tempfile::tempdir().unwrap();
    for (nodes, expected) in [
        ("7\n8\n1\n", vec!["7", "8"]),
        ("id\tname\n9\tx\n", vec!["9"]),
        (":ID(P),age\nn1,5\n", vec!["n1"]),
    ] {
        let path = dir.path().join("nodes");
        std::fs::write(&path, nodes).unwrap();
        let (model, report) =
            text("e", "1 2\n", &ImportOptions { nodes: Some(path), ..options() }).unwrap();
        assert_eq!(model, Model::new(true, &[("1", "2")], &expected));
        assert_eq!(report.isolated, expected.len() as u64);
    }
}

/// Seen red with the block's first line left out of the sum, and with weights that are not finite
/// let through.
#[test]
fn errors_name_file_and_line() {
    let weighted = ImportOptions { weighted: true, ..options() };
    let cases: [(&str, &ImportOptions, &str); 8] = [
        (
            "1 2\n3\n",
            &options(),
            "e.txt:2: expected a source in column 1 and a target in column 2, found 1 column between blanks",
        ),
        ("1 2 NaN\n", &weighted, "e.txt:1: the weight 'NaN' is not a finite number"),
        ("1 2 3\n1 2 inf\n", &weighted, "e.txt:2: the weight 'inf' is not a finite number"),
        ("# c\n\n1 2 3\n1 2\n", &weighted, "e.txt:4: no weight in column 3"),
        ("1,2\n,3\n", &options(), "e.txt:2: the source is empty"),
        ("a,\"b\n", &options(), "e.txt:1: a quoted column does not end on its line"),
        ("\u{feff}1 2\n1\n", &options(), "e.txt:2: expected"),
        ("1 2\r\n1\r\n", &options(), "e.txt:2: expected"),
    ];
    for (lines, options, expected) in cases {
        let message = error("e.txt", lines, options);
        assert!(message.starts_with(expected), "{message}");
    }
    let mut many: String = (0..300_000).map(|i| format!("{i} {i}\n")).collect();
    many.push_str("oops\n");
    assert!(error("e.txt", &many, &options()).starts_with("e.txt:300001: expected"));
    let columns = ImportOptions { columns: Some(vec!["a".into(), "z".into()]), ..options() };
    assert!(error("e.csv", "a,b\n1,2\n", &columns).contains("no column 'z'; there are: a, b"));
    assert!(
        error("e.txt", "1 2\n", &ImportOptions { memory: 1, ..options() })
            .contains("were given; try memory=")
    );
    assert!(error("e.bz2", "BZh91AY", &options()).contains("bzip2, xz and zip are not read"));
}

#[test]
fn columns_by_name_and_number() {
    let expected = Model::new(true, &[("1", "2")], &[]);
    let with = |columns: &[&str]| ImportOptions {
        columns: Some(columns.iter().map(ToString::to_string).collect()),
        ..options()
    };
    assert_eq!(text("e.csv", "w,b,a\n9,2,1\n", &with(&["a", "b"])).unwrap().0, expected);
    assert_eq!(text("e.csv", "9,2,1\n", &with(&["3", "2"])).unwrap().0, expected);
    let (weighted, _) = text("e.csv", "w,b,a\n9,2,1\n", &with(&["a", "b", "w"])).unwrap();
    assert_eq!(weighted.edges[&("1".into(), "2".into())], [9.0]);
}

/// Seen red with a sum that became infinite, and with one of integers that stayed at the largest.
#[test]
fn sums_that_overflow_are_refused() {
    let base =
        ImportOptions { weighted: true, duplicates: Duplicates::Sum, ..ImportOptions::default() };
    let most = i64::MAX;
    let cases = [
        (
            "7 -3 1e308\n1 2 5.5\n7 -3 1e308\n".to_owned(),
            "from 7 to -3 add up to more than a double",
        ),
        ("b a -1e308\nb a -1e308\nx y 1\n".to_owned(), "from b to a add up to more than a double"),
        (format!("1 2 {most}\n1 2 1\n"), "from 1 to 2 add up to more than 64 bits"),
        (format!("5 9 -{most}\n5 9 -2\n5 6 1\n"), "from 5 to 9 add up to more than 64 bits"),
    ];
    for (lines, expected) in cases {
        for layout in
            [ImportLayout::Original, ImportLayout::Degree, ImportLayout::Random { seed: 3 }]
        {
            let message = error("e.txt", &lines, &ImportOptions { layout, ..base.clone() });
            assert!(message.contains(expected), "{message}");
        }
    }
    // More than 64 bits in all, but not for one edge; and one of a second block of ids.
    let mut lines: String = (0..100).map(|i| format!("a{i} b{i} {}\n", most / 2)).collect();
    assert!(text("e.txt", &lines, &base).is_ok());
    lines.push_str(&format!("a77 b77 {}\n", most / 2 + 2));
    let message = error("e.txt", &lines, &base);
    assert!(message.contains("from a77 to b77 add up"), "{message}");
}

/// Seen red with lines that only LF ends: two ids of three numbers each.
#[test]
fn carriage_returns_end_lines() {
    let expected = Model::new(true, &[("1", "2"), ("3", "4")], &[]);
    let plain = ["1 2\r3 4\r", "1,2\r3,4", "\r\r1\t2\r3\t4\r\r", "1 2\r\n3 4\r", "# c\r1 2\r3 4\n"];
    for lines in plain {
        assert_eq!(text("e.txt", lines, &options()).unwrap().0, expected, "{lines:?}");
    }
    let named = ":START_ID,:END_ID\r1,2\r3,4\r";
    assert_eq!(text("e.csv", named, &options()).unwrap().0, expected);
    assert_eq!(text("g.adj", "1 2\r2\r3 4\r", &options()).unwrap().0, expected);
    let metis = "3 2\r2\r1 3\r2\r";
    let path = Model::new(false, &[("1", "2"), ("2", "3")], &[]);
    assert_eq!(text("g.metis", metis, &undirected()).unwrap().0, path);
    let matrix = "%%MatrixMarket matrix coordinate pattern general\r% c\r4 4 2\r1 2\r3 4\r";
    assert_eq!(text("m.mtx", matrix, &options()).unwrap().0, expected);
    let message = error("e.txt", "1 2\r3 4\r\r5\r", &options());
    assert!(message.starts_with("e.txt:4: expected"), "{message}");
    let dir = tempfile::tempdir().unwrap();
    let nodes = dir.path().join("nodes");
    std::fs::write(&nodes, "1\r9\r8\r").unwrap();
    let given = ImportOptions { nodes: Some(nodes), ..options() };
    let found = text("e.txt", "1 2\r", &given).unwrap().0;
    assert_eq!(found, Model::new(true, &[("1", "2")], &["8", "9"]));
}

/// Seen red with quotes between blanks, and around the only column, taken for a part of the id.
#[test]
fn quotes_are_undone_whatever_the_separator() {
    let given = ImportOptions { header: Some(false), ..options() };
    let expected = Model::new(true, &[("a\"b", "c d")], &[]);
    for separator in [",", ";", "|", "\t", " ", "  \t "] {
        let line = format!("\"a\"\"b\"{separator}\"c d\"\n");
        assert_eq!(text("e.txt", &line, &given).unwrap().0, expected, "{line:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let nodes = dir.path().join("nodes");
    std::fs::write(&nodes, "id\n\"a\"\"b\"\n\"c d\"\n").unwrap();
    let found = text("e.txt", "", &ImportOptions { nodes: Some(nodes), ..given }).unwrap().0;
    assert_eq!(found.vertices, expected.vertices);
}
