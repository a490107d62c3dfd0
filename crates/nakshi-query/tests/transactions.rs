//! Transactions that are shown and ended, of a list that stands for a server's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{
    Database, Ended, Map, NoProcedures, Options, Parameters, QueryError, Result, RunningStatement,
    RunningTransaction, Transactions, User, Value,
};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

/// Transactions of ann and bob.
#[derive(Default)]
struct Two(Mutex<Vec<String>>);

impl Transactions for Two {
    fn running(&self) -> Vec<RunningTransaction> {
        let one = |(number, user): (u64, &str)| RunningTransaction {
            id: format!("neo4j-transaction-{number}"),
            user: user.into(),
            connection: "bolt-1".into(),
            client: "127.0.0.1:5".into(),
            protocol: "bolt",
            began: SystemTime::now(),
            is_terminated: false,
            metadata: Map::new(),
            statement: (number == 1).then(|| RunningStatement {
                id: "query-1".into(),
                text: "RETURN 1".into(),
                parameters: Map::new(),
                began: SystemTime::now(),
            }),
        };
        [(1, "ann"), (2, "bob")].map(one).into()
    }

    fn terminate(&self, id: &str, user: &User) -> Result<Ended> {
        let found = self.running().into_iter().find(|one| one.id == id);
        match found.filter(|one| user.is_admin || one.user == user.name) {
            Some(one) => {
                self.0.lock().unwrap().push(one.id);
                Ok(Ended::Terminated(one.user))
            }
            None => Ok(Ended::NotFound),
        }
    }
}

fn ask(database: &Database, text: &str, user: &str) -> Result<(String, Vec<String>), QueryError> {
    let user = User { name: user.into(), is_admin: user.is_empty(), ..User::default() };
    let given = [(Arc::from("id"), Value::text("neo4j-transaction-2"))].into();
    let mut cursor = database.run(text, given, &Options { user, ..Options::default() })?;
    let names = cursor.columns().join(", ");
    let text = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    Ok((names, cursor.next(usize::MAX)?.iter().map(text).collect()))
}

#[test]
fn transactions_are_shown_and_ended() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    let two = Arc::new(Two::default());
    let ended = || std::mem::take(&mut *two.0.lock().unwrap());
    let database = Database::new(store);
    let none = ask(&database, "SHOW TRANSACTIONS", "").unwrap();
    assert_eq!(none.1, Vec::<String>::new());
    let database = database.with_transactions(Arc::new(NoProcedures), Arc::clone(&two) as _);
    let (names, rows) = ask(&database, "SHOW TRANSACTIONS", "").unwrap();
    assert_eq!(
        names,
        "database, transactionId, currentQueryId, connectionId, clientAddress, username, currentQuery, startTime, \
         status, elapsedTime"
    );
    assert_eq!(rows.len(), 2);
    let row = |text: &str, user: &str| ask(&database, text, user).unwrap().1;
    let short = "YIELD transactionId, username, currentQuery, protocol";
    let anns = "'neo4j-transaction-1', 'ann', 'RETURN 1', 'bolt'";
    assert_eq!(row(&format!("SHOW TRANSACTIONS {short}"), "ann"), [anns]);
    assert_eq!(row(&format!("show transaction 'neo4j-transaction-1' {short}"), ""), [anns]);
    assert_eq!(row("SHOW TRANSACTIONS $id YIELD username AS u RETURN u + '!'", ""), ["'bob!'"]);
    assert_eq!(
        row("SHOW TRANSACTIONS YIELD * WHERE username = 'bob' RETURN status", ""),
        ["'Running'"]
    );
    assert_eq!(row("SHOW TRANSACTIONS WHERE username = 'bob'", "").len(), 1);
    assert_eq!(row("SHOW TRANSACTIONS", "eve"), Vec::<String>::new());
    assert_eq!(
        row("TERMINATE TRANSACTION 'neo4j-transaction-1', 'other'", "ann"),
        [
            "'neo4j-transaction-1', 'ann', 'Transaction terminated.'",
            "'other', null, 'Transaction not found.'"
        ]
    );
    assert_eq!(ended(), ["neo4j-transaction-1"]);
    let others = row("TERMINATE TRANSACTIONS $id YIELD message RETURN message", "ann");
    assert_eq!(others, ["'Transaction not found.'"]);
    assert_eq!(ended(), Vec::<String>::new());
    let both = "SHOW TRANSACTIONS YIELD transactionId AS id, username WHERE username = 'bob' \
                TERMINATE TRANSACTIONS id YIELD message";
    assert_eq!(row(both, ""), ["'neo4j-transaction-2', 'Transaction terminated.', 'bob'"]);
    assert_eq!(ended(), ["neo4j-transaction-2"]);
    for wrong in
        ["TERMINATE TRANSACTIONS", "SHOW TRANSACTIONS YIELD nothing", "TERMINATE TRANSACTION 5"]
    {
        assert!(ask(&database, wrong, "").is_err(), "{wrong}");
    }
    let error = database.run(
        "SHOW TRANSACTIONS YIELD username WHERE x = 1",
        Parameters::new(),
        &Options::default(),
    );
    assert_eq!(error.unwrap_err().position().unwrap().column, 40);
}
