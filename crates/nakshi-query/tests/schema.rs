//! Procedures that tell what a graph has.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Database, Options, Parameters, QueryError, Value};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

fn database(home: &tempfile::TempDir, changes: &[&str]) -> Database {
    let path = home.path().join("g.nakshi");
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    let database = Database::new(store);
    for change in changes {
        run(&database, change).unwrap();
    }
    database
}

fn run(database: &Database, text: &str) -> Result<Vec<String>, QueryError> {
    let mut cursor = database.run(text, Parameters::new(), &Options::default())?;
    let rows = cursor.next(usize::MAX)?;
    let text = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    Ok(rows.iter().map(text).collect())
}

const PEOPLE: [&str; 3] = [
    "CREATE (:Person {name: 'Ann', born: date('1990-01-02'), tags: ['a']})
       -[:ACTED_IN {roles: ['x'], year: 1999}]->(:Movie {title: 'M', rating: 7.5})",
    "CREATE (:Person:Admin {name: 'Bob', at: point({x: 1.0, y: 2.0})})",
    "MATCH (a:Person {name: 'Ann'}), (b:Admin) CREATE (a)-[:KNOWS]->(b), (:Nothing), ()",
];

#[test]
fn properties_by_labels_and_types() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home, &PEOPLE);
    let nodes = run(
        &database,
        "CALL db.schema.nodeTypeProperties() YIELD nodeType, nodeLabels, propertyName, propertyTypes, mandatory
         RETURN * ORDER BY nodeType, propertyName",
    );
    // The columns come in the order of the alphabet.
    assert_eq!(
        nodes.unwrap(),
        [
            "false, [], '', null, null",
            "true, ['Admin', 'Person'], ':`Admin`:`Person`', 'at', ['Point']",
            "true, ['Admin', 'Person'], ':`Admin`:`Person`', 'name', ['String']",
            "true, ['Movie'], ':`Movie`', 'rating', ['Double']",
            "true, ['Movie'], ':`Movie`', 'title', ['String']",
            "false, ['Nothing'], ':`Nothing`', null, null",
            "true, ['Person'], ':`Person`', 'born', ['Date']",
            "true, ['Person'], ':`Person`', 'name', ['String']",
            "true, ['Person'], ':`Person`', 'tags', ['StringArray']",
        ]
    );
    run(&database, "MATCH (m:Movie) CREATE (:Movie {title: 5})").unwrap();
    let mixed = run(
        &database,
        "CALL db.schema.nodeTypeProperties() YIELD propertyName AS name, propertyTypes AS types, mandatory,
         nodeLabels WHERE nodeLabels = ['Movie'] RETURN name, types, mandatory ORDER BY name",
    );
    assert_eq!(
        mixed.unwrap(),
        ["'rating', ['Double'], false", "'title', ['Long', 'String'], true"]
    );
    let edges = run(&database, "CALL db.schema.relTypeProperties()").unwrap();
    assert_eq!(edges.len(), 3);
    for row in [
        "':`ACTED_IN`', 'roles', ['StringArray'], true",
        "':`ACTED_IN`', 'year', ['Long'], true",
        "':`KNOWS`', null, null, false",
    ] {
        assert!(edges.contains(&row.to_owned()), "{row} {edges:?}");
    }
}

#[test]
fn a_rare_label_is_met() {
    let home = tempfile::tempdir().unwrap();
    let database = database(
        &home,
        &["UNWIND range(1, 25000) AS i CREATE (:Often {i: i})", "CREATE (:Rare {x: true})"],
    );
    let rare = "CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyTypes WHERE nodeType = ':`Rare`'
                RETURN propertyTypes";
    assert_eq!(run(&database, rare).unwrap(), ["['Boolean']"]);
}

#[test]
fn a_picture_of_the_schema() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home, &PEOPLE);
    let names = run(
        &database,
        "CALL db.schema.visualization() YIELD nodes UNWIND nodes AS n
         RETURN n.name, labels(n), id(n) < 0, n.indexes, keys(n), n:Movie ORDER BY n.name",
    );
    let row = |name: &str, is: bool| {
        format!("'{name}', ['{name}'], true, [], ['constraints', 'indexes', 'name'], {is}")
    };
    let rows = [("Admin", false), ("Movie", true), ("Nothing", false), ("Person", false)]
        .map(|(n, is)| row(n, is));
    assert_eq!(names.unwrap(), rows);
    let mut cursor = database
        .run("CALL db.schema.visualization()", Parameters::new(), &Options::default())
        .unwrap();
    let rows = cursor.next(2).unwrap();
    let [Value::List(nodes), Value::List(edges)] = rows[0].as_slice() else { panic!("{rows:?}") };
    let name_of = |id: i64| {
        let is = |value: &&Value| matches!(value, Value::Node(node) if node.id() == id);
        match nodes.iter().find(is) {
            Some(Value::Node(node)) => node.labels()[0].to_string(),
            _ => panic!("{id} is no node of {nodes:?}"),
        }
    };
    let ends = edges.iter().map(|edge| match edge {
        Value::Relationship(edge) => {
            format!("{}-{}-{}", name_of(edge.start().0), edge.edge_type(), name_of(edge.end().0))
        }
        other => panic!("{other}"),
    });
    let mut ends = ends.collect::<Vec<_>>();
    ends.sort();
    assert_eq!(ends, ["Person-ACTED_IN-Movie", "Person-KNOWS-Admin", "Person-KNOWS-Person"]);
    let types = "CALL db.schema.visualization() YIELD relationships UNWIND relationships AS r
                 WITH DISTINCT r RETURN type(r), r.name, properties(r)";
    assert_eq!(run(&database, types).unwrap().len(), 3);
}

#[test]
fn what_is_in_the_picture_alone_is_no_part_of_the_graph() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home, &PEOPLE);
    let ask = |clause: &str| {
        run(
            &database,
            &format!("CALL db.schema.visualization() YIELD nodes UNWIND nodes AS n {clause}"),
        )
    };
    for clause in [
        "MATCH (n)-->(m) RETURN m",
        "MATCH (m)-->(n) RETURN m",
        "MATCH p = shortestPath((n)-[*]->(m:Movie)) RETURN p",
        "REMOVE n.name",
    ] {
        assert_eq!(ask(clause).unwrap(), Vec::<String>::new(), "{clause}");
    }
    for clause in ["SET n.x = 1", "SET n:New", "DETACH DELETE n", "CREATE (n)-[:NEW]->()"] {
        assert!(ask(clause).is_err(), "{clause}");
    }
    let left = run(&database, "MATCH (n) RETURN count(n), count(n.x)").unwrap();
    assert_eq!(left, ["5, 0"]);
}

/// The statements of neo4j-graphrag 1.22, which langchain-neo4j uses.
#[test]
fn what_libraries_for_language_models_ask() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home, &PEOPLE);
    let given = |name: &str, value| (Arc::from(name), value);
    let ask = |text: &str| {
        let excluded = Value::list(vec![Value::text("Nothing")]);
        let given = [given("SAMPLE", Value::Int(1000)), given("EXCLUDED_LABELS", excluded)];
        let mut cursor = database.run(text, given.into(), &Options::default()).unwrap();
        let rows = cursor.next(usize::MAX).unwrap();
        let mut rows = rows.iter().map(|row| row[0].to_string()).collect::<Vec<_>>();
        rows.sort();
        rows
    };
    let nodes = ask(
        "CALL apoc.meta.data({sample: $SAMPLE}) YIELD label, other, elementType, type, property \
         WHERE NOT type = 'RELATIONSHIP' AND elementType = 'node' AND NOT label IN $EXCLUDED_LABELS \
         WITH label AS nodeLabel, collect({property:property, type:type}) AS properties \
         RETURN {label: nodeLabel, properties: properties} AS output",
    );
    assert_eq!(nodes.len(), 3);
    assert_eq!(
        nodes[2],
        "{label: 'Person', properties: [{property: 'at', type: 'POINT'}, {property: 'born', type: 'DATE'}, \
         {property: 'name', type: 'STRING'}, {property: 'tags', type: 'LIST'}]}"
    );
    let types = ask(
        "CALL apoc.meta.data({sample: $SAMPLE}) YIELD label, other, elementType, type, property \
         WHERE NOT type = 'RELATIONSHIP' AND elementType = 'relationship' AND NOT label in $EXCLUDED_LABELS \
         WITH label AS relType, collect({property:property, type:type}) AS properties \
         RETURN {type: relType, properties: properties} AS output",
    );
    assert_eq!(
        types,
        [
            "{properties: [{property: 'roles', type: 'LIST'}, {property: 'year', type: 'INTEGER'}], type: 'ACTED_IN'}"
        ]
    );
    let pairs = ask(
        "CALL apoc.meta.data({sample: $SAMPLE}) YIELD label, other, elementType, type, property \
         WHERE type = 'RELATIONSHIP' AND elementType = 'node' UNWIND other AS other_node \
         WITH * WHERE NOT label IN $EXCLUDED_LABELS AND NOT other_node IN $EXCLUDED_LABELS \
         RETURN {start: label, type: property, end: toString(other_node)} AS output",
    );
    assert_eq!(
        pairs,
        [
            "{end: 'Admin', start: 'Person', type: 'KNOWS'}",
            "{end: 'Movie', start: 'Person', type: 'ACTED_IN'}",
            "{end: 'Person', start: 'Person', type: 'KNOWS'}",
        ]
    );
    let indexes = "CALL apoc.schema.nodes() YIELD label, properties, type, size, valuesSelectivity \
                   WHERE type = 'RANGE' RETURN *, size * valuesSelectivity as distinctValues";
    assert_eq!(run(&database, indexes).unwrap(), Vec::<String>::new());
    assert!(run(&database, "CALL apoc.meta.data({includeLabels: ['A']})").is_err());
    assert!(run(&database, "CALL apoc.meta.data()").is_ok());
}

#[test]
fn commands_show_what_there_is() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home, &[]);
    let found =
        run(&database, "SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'db.schema'").unwrap();
    assert_eq!(
        found,
        [
            "'db.schema.nodeTypeProperties'",
            "'db.schema.relTypeProperties'",
            "'db.schema.visualization'"
        ]
    );
    for (text, rows) in [
        ("SHOW DATABASES", 1),
        ("SHOW HOME DATABASE", 1),
        ("SHOW DATABASE neo4j YIELD name", 1),
        ("SHOW DATABASE other YIELD name", 0),
        ("SHOW USER DEFINED FUNCTIONS", 0),
        ("SHOW PROCEDURES EXECUTABLE YIELD name ORDER BY name SKIP 2 LIMIT 3", 3),
    ] {
        assert_eq!(run(&database, text).unwrap().len(), rows, "{text}");
    }
    assert!(run(&database, "SHOW BUILT IN FUNCTIONS").unwrap().len() > 50);
}
