//! Queries in Cypher of which the crate of the front end drops or refuses a part.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::path::Path;

use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Options, Parameters, QueryError};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

fn empty(home: &Path) -> Database {
    let path = home.join("g.nakshi");
    let options = LoadOptions { allow_empty: true, ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    Database::new(PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared())
}

/// a -> b -> c over R, a -> d -> c over R, and a -> c over S; b has the weight 1 and 2 at its edges.
fn small(home: &Path) -> Database {
    let database = empty(home);
    let text = "CREATE (a:A {n: 1})-[:R {w: 1}]->(b:B {n: 2})-[:R {w: 2}]->(c:C {n: 3}), \
                (a)-[:S]->(c), (a)-[:R]->(d:D {n: 4})-[:R]->(c)";
    ask(&database, text).unwrap();
    database
}

fn ask(database: &Database, text: &str) -> Result<Vec<String>, QueryError> {
    let mut cursor = database.run(text, Parameters::new(), &Options::default())?;
    let rows = cursor.next(usize::MAX)?;
    let row = |row: &Vec<nakshi_query::Value>| {
        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    Ok(rows.iter().map(row).collect())
}

#[test]
fn conditions_inside_of_patterns_count() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, expected) in [
        ("MATCH (a WHERE a.n > 2) RETURN count(a)", "2"),
        ("MATCH (a:A|B WHERE a.n > 1) RETURN a.n", "2"),
        ("MATCH (a)-[r:R WHERE r.w > 1]->(b) RETURN a.n, b.n", "2 3"),
        ("MATCH (a)-[WHERE true]->(b {n: 2} WHERE b.n = 2) RETURN a.n", "1"),
        ("MATCH (a WHERE EXISTS { (a)-[r WHERE r.w = 2]->(x WHERE x.n = 3) }) RETURN a.n", "2"),
        ("MATCH (a:A) RETURN size([(a)-->(b WHERE b.n <> 3) | b.n])", "2"),
        ("MATCH (a:A), (b WHERE b.n = a.n + 1) RETURN b.n", "2"),
        ("MATCH (a:A) RETURN COUNT { (a)-->(b WHERE b.n\n= 3 OR b.n = 4) }", "2"),
    ] {
        assert_eq!(ask(&database, text).unwrap(), [expected], "{text}");
    }
    for text in [
        "CREATE (a WHERE a.n = 1)",
        "MERGE (a:A WHERE a.n = 1)",
        "MATCH (a)-[r:R*2 WHERE r.w = 1]->(b) RETURN a",
        "MATCH (a WHERE b.n = 1) RETURN a",
        "MATCH (a WHERE a.n =) RETURN a",
    ] {
        assert_eq!(ask(&database, text).unwrap_err().class(), Class::Syntax, "{text}");
    }
    let error = ask(&database, "MATCH (a)\nMATCH (b WHERE c.n = 1) RETURN a").unwrap_err();
    assert_eq!(error.position().map(|place| (place.line, place.column)), Some((2, 16)));
}

#[test]
fn subqueries_see_what_they_name() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, expected) in [
        ("MATCH (a:A) CALL { MATCH (a)-->(b) RETURN count(b) AS k } RETURN k", "5"),
        ("MATCH (a:A) CALL { WITH a MATCH (a)-->(b) RETURN count(b) AS k } RETURN k", "3"),
        ("MATCH (a:A) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS k } RETURN k", "3"),
        ("MATCH (a:A) CALL (*) { MATCH (a)-->(b) RETURN count(b) AS k } RETURN k", "3"),
        ("MATCH (a:A) CALL () { MATCH (a) RETURN count(a) AS k } RETURN k", "4"),
        ("MATCH (a:A) WITH a, 7 AS x CALL (a, x) { RETURN a.n + x AS y } RETURN y", "8"),
        ("MATCH (a:A) CALL (a) { RETURN a.n AS y UNION RETURN a.n + 1 AS y } RETURN sum(y)", "3"),
        ("MATCH (a:A) OPTIONAL CALL (a) { MATCH (a)-[:X]->(b) RETURN b } RETURN a.n, b", "1 null"),
        (
            "MATCH (a:A) CALL (a) { CALL (a) { MATCH (a)-->(b) RETURN b } RETURN count(b) AS k } \
             RETURN k",
            "3",
        ),
    ] {
        assert_eq!(ask(&database, text).unwrap(), [expected], "{text}");
    }
    for text in [
        "MATCH (a:A) CALL (a) { SET a.z = 5 }",
        "MATCH (a:A) CALL (a) { WITH a.n AS n CREATE (a)-[:T {n: n}]->(:E) }",
        "MATCH (e:E) CALL (e) { DETACH DELETE e }",
    ] {
        ask(&database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let text = "MATCH (a:A) RETURN a.z, COUNT { (a)-[:T]->() }";
    assert_eq!(ask(&database, text).unwrap(), ["5 0"]);
    for text in [
        "MATCH (a:A) CALL (b) { RETURN 1 AS x } RETURN x",
        "MATCH (a:A) CALL () { RETURN a.n AS x } RETURN x",
        "MATCH (a:A) CALL { RETURN a.n AS x } RETURN x",
    ] {
        assert_eq!(ask(&database, text).unwrap_err().detail(), "UndefinedVariable", "{text}");
    }
}

#[test]
fn shortest_paths_are_selected() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    ask(&database, "MATCH (b:B), (d:D) CREATE (b)-[:R]->(d)").unwrap();
    for (which, expected) in [
        ("SHORTEST 1", "2"),
        ("ANY SHORTEST", "2"),
        ("ALL SHORTEST PATHS", "2 2"),
        ("SHORTEST 2 PATHS", "2 2"),
        ("SHORTEST 5", "2 2 3"),
        ("SHORTEST 1 GROUPS", "2 2"),
        ("SHORTEST 2 PATH GROUPS", "2 2 3"),
        ("ANY 3", "2 2 3"),
    ] {
        let text = format!("MATCH p = {which} (a:A)-[:R]->+(c:C) RETURN length(p)");
        assert_eq!(ask(&database, &text).unwrap().join(" "), expected, "{which}");
        let text = format!("MATCH p = {which} (c:C)<-[:R]-+(a:A) RETURN length(p)");
        assert_eq!(ask(&database, &text).unwrap().join(" "), expected, "{which}, backwards");
    }
    let text = "MATCH p = SHORTEST 2 (a:A)-[:R]->{3,}(c:C) RETURN length(p)";
    assert_eq!(ask(&database, text).unwrap(), ["3"]);
    for (text, expected) in [
        ("MATCH p = SHORTEST 1 (a:A)-[:R]->{3,}(c:C) RETURN length(p)", "3"),
        ("MATCH p = ALL SHORTEST (a:A)-[:R]->{3,}(c:C) RETURN length(p)", "3"),
        // Not over one edge and back.
        ("MATCH p = SHORTEST 1 (a:A)-[:R]-+(b:A) RETURN length(p)", "3"),
        ("MATCH (a:A) MATCH p = shortestPath((a)-[:R*]-(a)) RETURN length(p)", "3"),
        ("MATCH (a:A) MATCH p = shortestPath((a)-[:R*0..]-(a)) RETURN length(p)", "0"),
    ] {
        assert_eq!(ask(&database, text).unwrap(), [expected], "{text}");
    }
    let text = "MATCH SHORTEST 2 (a:A)-[r:R|S]-+(b:A) RETURN size(r)";
    assert_eq!(ask(&database, text).unwrap(), ["3", "3"]);
    let text = "MATCH p = SHORTEST 2 (a)-[:R]->(b)-[:R]->+(c) RETURN p";
    assert_eq!(ask(&database, text).unwrap_err().class(), Class::Syntax);
}

#[test]
fn patterns_are_repeated() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, expected) in [
        ("MATCH (a:A)((x)-[:R]->(y)-[:R]->(z)){1}(b) RETURN x[0].n, sum(y[0].n), b.n", "1 6 3"),
        (
            "MATCH p = (a:A)((x)-[:R]->(y)-[:S]->(z)){0,3}(b) RETURN length(p), size(x), b.n",
            "0 0 1",
        ),
        ("MATCH ((x:A)-[r {w: 1}]->(y)) {1,1} RETURN size(x), r[0].w", "1 1"),
        ("MATCH (:A)((x)-[r:R]->(y) WHERE r.w > 0)+(b:C) RETURN [e IN r | e.w]", "[1, 2]"),
        ("MATCH (:A)-[r:R WHERE r.w > 0]->+(b:C) RETURN [e IN r | e.w]", "[1, 2]"),
        ("MATCH (:A)-[r:R WHERE r.w > 0]->{2}(b) RETURN [e IN r | e.w]", "[1, 2]"),
        ("MATCH (:A)-[:R]->{,1}(b) RETURN collect(b.n)", "[1, 2, 4]"),
        ("MATCH (m:B) MATCH (:A)((x)-[r:R]->(y) WHERE y = m){1,}(b) RETURN size(y), b.n", "1 2"),
        ("MATCH (a:A) RETURN COUNT { MATCH (a)((x)-[:R]->(y)){2}(:C) }", "2"),
        ("MATCH (a) WHERE EXISTS { MATCH (a)((x)-[:R]->(y)-[:R]->(z))+ } RETURN a.n", "1"),
        (
            "MATCH (a:A) WHERE EXISTS { MATCH (a)((x)-->(y) WHERE y.n > a.n)+(c:C) WHERE size(x) = 2 } RETURN a.n",
            "1",
        ),
        ("OPTIONAL MATCH (a:A)((x)-[:S]->(y)){2}(b) RETURN x, y, b", "null null null"),
        (
            "MATCH (a:A)(()-[r:R]->()){1,2}(c:C), (a)-[s:R]->(d:D) RETURN [e IN r | e.w], d.n",
            "[1, 2] 4",
        ),
        ("MATCH (a:A)-[s:S]->(b)<-[q:R]-()((x)<-[r]-(y))+(e) RETURN count(*)", "2"),
        (
            "MATCH ((x:A)-[:R]->(y)){1}((z)-[:R]->(w:C)){1} RETURN collect([y[0].n, z[0].n])",
            "[[2, 2], [4, 4]]",
        ),
        ("MATCH (n:A) WITH n LIMIT 1 MATCH ((x)-[:R {w: n.n}]->(y)){1,2} RETURN y[0].n", "2"),
        ("RETURN COUNT { ((x)-[:R]->(y)-[:R]->(z)){1} }", "2"),
        ("RETURN ((1)-(2))*(3) AS x", "-3"),
    ] {
        let rows = ask(&database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rows, [expected], "{text}");
    }
    for (text, detail) in [
        ("MATCH (x)((x)-->(y))+ RETURN x", "VariableAlreadyBound"),
        ("MATCH ((x)-->(y))+(x) RETURN x", "VariableTypeConflict"),
        ("MATCH ((x)-->(y))+ MATCH (x) RETURN x", "VariableTypeConflict"),
        ("MATCH (x) MATCH ((x)-->(y))+ RETURN x", "VariableAlreadyBound"),
        ("MATCH (a)((x)-->(y) WHERE a.n = 1)+ RETURN x", "UndefinedVariable"),
        ("MATCH (a)((x)-->(y)){0} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->(y)){,0} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->(y)){3,2} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->(y)){2 RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->(y)){} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)){2} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-[*]->(y)){2} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->+(y)){2} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)(((x)-->(y)){2}){2} RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)(b) RETURN a", "UnexpectedSyntax"),
        ("MATCH (a)((x)-->(y))(b) RETURN a", "UnexpectedSyntax"),
        ("MATCH SHORTEST 1 (a)((x)-->(y))+(b) RETURN a", "UnexpectedSyntax"),
        ("MATCH SHORTEST 1 ((x)-->(y))+(b) RETURN x", "UnexpectedSyntax"),
        ("MATCH (a)-[r*2 WHERE r.w = 1]->(b) RETURN a", "UnexpectedSyntax"),
        ("MATCH (a) RETURN COUNT { (a)((x)-->(y)){2}(:C) }", "UnexpectedSyntax"),
        ("CREATE ((x)-[:R]->(y)){2}", "UnexpectedSyntax"),
        ("MERGE ((x)-[:R]->(y)){2}", "UnexpectedSyntax"),
    ] {
        assert_eq!(ask(&database, text).unwrap_err().detail(), detail, "{text}");
    }
}

#[test]
fn long_ways_and_many_ways_are_found() {
    let home = tempfile::tempdir().unwrap();
    let database = empty(home.path());
    // Deeper than any stack, if a call went on for each edge.
    let chain = "CREATE (:N {i: 0}) WITH 1 AS one UNWIND range(1, 20000) AS i CREATE (:N {i: i})";
    ask(&database, chain).unwrap();
    let edges = "MATCH (n:N) WITH n ORDER BY n.i WITH collect(n) AS all \
                 UNWIND range(1, size(all) - 1) AS i WITH all[i - 1] AS a, all[i] AS b \
                 CREATE (a)-[:R]->(b)";
    ask(&database, edges).unwrap();
    for which in ["SHORTEST 1", "ALL SHORTEST"] {
        let text =
            format!("MATCH p = {which} (a:N {{i: 0}})-[:R]->+(b:N {{i: 20000}}) RETURN length(p)");
        assert_eq!(ask(&database, &text).unwrap(), ["20000"]);
    }
    // A ladder of 40 squares has 2^40 shortest ways.
    ask(
        &database,
        "UNWIND range(0, 40) AS i CREATE (:L {i: i}), (:M {i: i, k: 0}), (:M {i: i, k: 1})",
    )
    .unwrap();
    let ladder = "MATCH (a:L), (m:M {i: a.i}), (b:L {i: a.i + 1}) CREATE (a)-[:S]->(m)-[:S]->(b)";
    ask(&database, ladder).unwrap();
    let text = "MATCH p = shortestPath((a:L {i: 0})-[:S*]->(b:L {i: 40})) RETURN length(p)";
    assert_eq!(ask(&database, text).unwrap(), ["80"]);
    let text = "MATCH p = SHORTEST 3 (a:L {i: 0})-[:S]->+(b:L {i: 40}) RETURN length(p)";
    assert_eq!(ask(&database, text).unwrap(), ["80", "80", "80"]);
}

#[test]
fn texts_negations_and_hints() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, expected) in [
        ("RETURN 'a\nb' = 'a' + '\\n' + 'b'", "true"),
        ("RETURN size('a\r\nb')", "4"),
        ("MATCH (n) RETURN sum(CASE WHEN not((n)-->()) THEN n.n ELSE 0 END)", "3"),
        ("MATCH (n:C) RETURN not((n)-->()) AND NOT ((n)-->(:A))", "true"),
        ("MATCH (n:A) USING INDEX n:A(n) WHERE n.n = 1 RETURN n.n", "1"),
        ("MATCH (n:A) USING SCAN n:A RETURN n.n", "1"),
        ("UNWIND [1, 2, 3] AS offset RETURN offset OFFSET 1 LIMIT 1", "2"),
    ] {
        assert_eq!(ask(&database, text).unwrap(), [expected], "{text}");
    }
    let mut cursor = database.run("RETURN 'a\nb'", Parameters::new(), &Options::default()).unwrap();
    assert_eq!(&*cursor.columns()[0], "'a\nb'");
    assert_eq!(cursor.next(1).unwrap()[0][0].to_string(), "'a\nb'");
    assert_eq!(
        ask(&database, "MATCH (n:D) NODETACH DELETE n").unwrap_err().class(),
        Class::ConstraintVerificationFailed
    );
    assert_eq!(ask(&database, "MATCH (n) RETURN (n)-->()").unwrap_err().class(), Class::Syntax);
    let error = ask(&database, "hello").unwrap_err();
    assert!(error.to_string().contains("begins with a clause"), "{error}");
}

#[test]
fn types_are_told() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    let all = "true, 1, 1.5, 'a', date('2024-01-01'), localtime('12:00'), time('12:00Z'), \
               localdatetime('2024-01-01T00:00'), datetime('2024-01-01T00:00Z'), duration('P1D'), \
               point({x: 1, y: 2}), n, r, p, {a: 1}, [1, 2]";
    let kinds = [
        "BOOLEAN",
        "INTEGER",
        "FLOAT",
        "STRING",
        "DATE",
        "LOCAL TIME",
        "ZONED TIME",
        "LOCAL DATETIME",
        "ZONED DATETIME",
        "DURATION",
        "POINT",
        "NODE",
        "RELATIONSHIP",
        "PATH",
        "MAP",
        "LIST<INTEGER>",
    ];
    for (place, kind) in kinds.iter().enumerate() {
        for check in ["IS ::", "is typed", "::", "IS NOT ::", "IS NOT TYPED"] {
            let text = format!(
                "MATCH p = (n:A)-[r:S]->() WITH [{all}] AS all \
                 RETURN [i IN range(0, size(all) - 1) WHERE all[i] {check} {kind}] AS found"
            );
            let negated = check.contains("NOT");
            let places = (0..kinds.len()).filter(|other| (*other == place) != negated);
            let places = places.map(|place| place.to_string()).collect::<Vec<_>>().join(", ");
            assert_eq!(ask(&database, &text).unwrap(), [format!("[{places}]")], "{text}");
            let null = format!("RETURN null {check} {kind}, null {check} {kind} NOT NULL");
            let expected = format!("{} {negated}", !negated);
            assert_eq!(ask(&database, &null).unwrap(), [expected], "{null}");
        }
    }
}

#[test]
fn types_have_parts() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (condition, expected) in [
        ("null IS :: NULL AND NOT 1 IS :: NULL", true),
        ("null IS :: NOTHING OR 1 IS :: NOTHING OR null IS :: ANY NOT NULL", false),
        ("1 IS :: ANY AND [null] IS :: ANY VALUE NOT NULL", true),
        ("[] IS :: LIST<NOTHING> AND [] IS :: LIST<INTEGER NOT NULL>", true),
        ("[1, null] IS :: LIST<INTEGER> AND NOT [1, null] IS :: LIST<INTEGER NOT NULL>", true),
        ("[1, null] IS :: LIST<INT!>", false),
        (
            "[1, 'a'] IS :: LIST<INTEGER | STRING> AND NOT [1, 'a'] IS :: LIST<INT> | LIST<STRING>",
            true,
        ),
        ("[[1]] IS :: LIST<LIST<INTEGER>> AND [[1]] IS :: INTEGER LIST LIST", true),
        ("[[1]] IS :: ARRAY<ARRAY<INTEGER>> NOT NULL", true),
        (
            "1 IS :: INTEGER | FLOAT AND 1.5 IS :: INTEGER! | FLOAT! AND 'a' IS NOT :: INTEGER | FLOAT",
            true,
        ),
        ("1 IS :: ANY<INTEGER | FLOAT> AND null IS :: ANY VALUE<INTEGER | FLOAT>", true),
        ("null IS :: INTEGER NOT NULL | FLOAT NOT NULL", false),
        (
            "1 IS :: PROPERTY VALUE AND [1, 2] IS :: PROPERTY VALUE AND [] IS :: ANY PROPERTY VALUE",
            true,
        ),
        (
            "[1, 'a'] IS :: PROPERTY VALUE OR [1, null] :: PROPERTY VALUE OR {a: 1} :: PROPERTY VALUE",
            false,
        ),
        ("1 + 2 IS :: INTEGER AND -1 IS :: INTEGER AND NOT 2 ^ 2 IS :: INTEGER", true),
        ("1 + null IS NULL AND - null IS NULL AND 2 * 3 + null IS NULL", true),
        ("localtime() IS :: TIME WITHOUT TIME ZONE AND time() :: TIME WITH TIMEZONE", true),
        (
            "datetime() IS :: TIMESTAMP WITH TIME ZONE AND localdatetime() :: TIMESTAMP WITHOUT TIME ZONE",
            true,
        ),
        ("true IS :: BOOL AND 'a' IS :: VARCHAR AND 1 IS :: SIGNED INTEGER", true),
        ("EXISTS { (n:A)-[e]->() WHERE n IS :: ANY VERTEX AND e IS :: EDGE }", true),
        ("EXISTS { (n WHERE n.n IS :: STRING) }", false),
        ("1::INTEGER AND NOT 1::STRING AND date()::LOCAL DATETIME = false", true),
        ("CASE WHEN 'a' IS :: STRING THEN true ELSE false END", true),
        ("all(x IN [1, 2] WHERE x IS :: INT)", true),
    ] {
        let text = format!("RETURN {condition} AS x");
        let rows = ask(&database, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rows, [expected.to_string()], "{text}");
    }
    let text = "UNWIND [1, 'a'] AS x RETURN x, x :: INTEGER, x :: STRING ORDER BY x :: STRING";
    assert_eq!(ask(&database, text).unwrap(), ["1 true false", "'a' false true"]);
    for wrong in [
        "RETURN 1 IS :: LIST",
        "RETURN 1 IS :: LIST<FOO>",
        "RETURN 1 IS :: FOO",
        "RETURN 1 IS ::",
        "RETURN 1 IS :: INTEGER | FLOAT NOT NULL",
        "RETURN 1 IS :: ANY<INTEGER | FLOAT> NOT NULL",
        "RETURN 1 IS :: LIST<INTEGER",
        "RETURN 1 IS :: INT8",
        "RETURN 1 :: FOO",
    ] {
        assert_eq!(ask(&database, wrong).unwrap_err().class(), Class::Syntax, "{wrong}");
    }
}

#[test]
fn labels_and_types_are_computed() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, expected) in [
        ("MATCH (n:$('A')) RETURN n.n", "1"),
        ("WITH 'B' AS label MATCH (n:$(label)) RETURN n.n", "2"),
        ("WITH ['A', 'B'] AS l MATCH (n:$any(l)) RETURN collect(n.n)", "[1, 2]"),
        ("WITH ['A', 'B'] AS l MATCH (n:$(l)) RETURN count(n)", "0"),
        ("MATCH (n:$all(['A'])) RETURN n.n", "1"),
        ("MATCH (n:!$('A')&!B) RETURN collect(n.n)", "[3, 4]"),
        ("MATCH (n:$([])) RETURN count(n)", "4"),
        ("MATCH (n) WHERE n:$('C') OR n:D RETURN collect(n.n)", "[3, 4]"),
        ("MATCH (a:A)-[r:$('S')]->(b) RETURN b.n", "3"),
        ("MATCH (a:A)-[r:R|$('S')]->(b) RETURN count(r)", "3"),
        ("MATCH (a:A)-[r:$any(['S', 'T'])]->(b) RETURN b.n", "3"),
        ("MATCH (a:A)-[r:$(['S', 'R'])]->(b) RETURN count(r)", "0"),
        ("MATCH (a:A)-[r:!R]->(b) RETURN type(r)", "'S'"),
        ("MATCH (a:A)-[:$('R')*1..2]->(b:C) RETURN count(*)", "2"),
        ("MATCH (a:A)-[r:$('R') {w: 1}]->{1,2}(b) RETURN size(r)", "1"),
        ("MATCH (a:A)((x)-[:$('R')]->(y:!$('D')))+(b:$('C')) RETURN size(x)", "2"),
        ("MATCH (a:A)-[r]->(b) WHERE r:$('S') RETURN b.n", "3"),
        ("CREATE (n:$('New'):Other&$(['X', 'Y'])) RETURN labels(n)", "['New', 'Other', 'X', 'Y']"),
        (
            "MATCH (n:New) SET n:$('Z'):W REMOVE n:$(['X', 'Y']) RETURN labels(n)",
            "['New', 'Other', 'W', 'Z']",
        ),
        (
            "UNWIND ['K', 'L'] AS l MATCH (a:A) CREATE (a)-[r:$(l)]->(:$(l)) RETURN type(r)",
            "'K' 'L'",
        ),
        ("MERGE (n:$('M') {k: 1}) MERGE (m:$('M') {k: 1}) RETURN n = m, labels(n)", "true ['M']"),
        (
            "MATCH (a:A) MERGE (a)-[r:$('MR')]->(b:$('MB')) MERGE (a)-[s:$('MR')]->(b) RETURN r = s",
            "true",
        ),
        ("OPTIONAL MATCH (n:Missing) SET n:$(n.label) RETURN n", "null"),
        ("FOREACH (l IN ['F', 'G'] | CREATE (:$(l + l)))", ""),
        ("MATCH (n:FF|GG) RETURN count(n)", "2"),
        ("CREATE (n:$('Ü' + \"'\" +\n '`ö'):T) RETURN [l IN labels(n) | size(l)]", "[4, 1]"),
        (
            "MATCH (n:$(COLLECT { MATCH (m:$('A')) WHERE m.n :: INTEGER RETURN 'D' })) RETURN n.n",
            "4",
        ),
        ("MATCH (n:$(/* ) ` */ 'A')) WHERE 'ü' <> '' AND n.n IS :: INTEGER RETURN n.n", "1"),
    ] {
        let rows = ask(&database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rows.join(" "), expected, "{text}");
    }
    let parameters = Parameters::from([("label".into(), nakshi_query::Value::text("A"))]);
    let text = "MATCH (n:$($label)) RETURN n:$($label), n.n";
    let mut cursor = database.run(text, parameters, &Options::default()).unwrap();
    assert_eq!(&*cursor.columns()[0], "n:$($label)");
    assert_eq!(cursor.next(2).unwrap().len(), 1);
}

#[test]
fn labels_that_cannot_be_computed_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let database = small(home.path());
    for (text, class) in [
        ("MATCH (n:$(null)) RETURN n", Class::Type),
        ("MATCH (n:$(1)) RETURN n", Class::Type),
        ("MATCH (a:A)-[r:R]->(`b`) RETURN count(CASE WHEN b:$(`b`.label) THEN 1 END)", Class::Type),
        ("MATCH (n:$(['A', null])) RETURN n", Class::Type),
        ("CREATE (n:$(''))", Class::Type),
        ("MATCH (a:A) CREATE (a)-[:$(['X', 'Y'])]->(a)", Class::Type),
        ("MATCH (a:A) CREATE (a)-[:$([])]->(a)", Class::Type),
        ("CREATE (n:$any(['X']))", Class::Syntax),
        ("MATCH (n) SET n:$any(['X'])", Class::Syntax),
        ("MATCH (n) REMOVE n:$any(['X'])", Class::Syntax),
        ("MATCH (n:$(x)) RETURN n", Class::Syntax),
        ("MATCH (n:$()) RETURN n", Class::Syntax),
        ("MATCH (n:$('A') RETURN n", Class::Syntax),
        ("MATCH SHORTEST 1 (a:A)-[:$('R')]->+(b:C) RETURN b", Class::Syntax),
    ] {
        assert_eq!(ask(&database, text).unwrap_err().class(), class, "{text}");
    }
}
