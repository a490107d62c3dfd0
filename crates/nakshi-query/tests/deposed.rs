//! Commits of a store that no longer makes them, because another one does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nakshi_io::CancelToken;
use nakshi_property::{CommitLog, LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Mode, Options, Outcomes, Parameters};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, OpenOptions};

/// A log that takes some commits, and then tells its leader that another one leads.
#[derive(Debug)]
struct Shared(AtomicU64);

impl CommitLog for Shared {
    fn append(&self, commits: &[(u64, Vec<u8>)]) -> nakshi_store::Result<()> {
        let left = self.0.load(Relaxed).checked_sub(commits.len() as u64);
        self.0.store(left.ok_or_else(|| Error::Deposed("g.nakshi".into()))?, Relaxed);
        Ok(())
    }
}

/// Gives every commit the same outcome.
struct Told(Option<u64>);

impl Outcomes for Told {
    fn find(&self, _id: u128, _since: u64) -> nakshi_query::Result<Option<u64>> {
        Ok(self.0)
    }
}

/// A database whose store leads for so many commits.
fn leading(commits: u64) -> (tempfile::TempDir, Database) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    let options = LoadOptions { allow_empty: true, ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    store.lead(Arc::new(Shared(commits.into())), &CancelToken::new()).unwrap();
    (home, Database::new(store))
}

/// Seen red with errors of the store, after which drivers do not go to the leader.
#[test]
fn a_commit_whose_store_no_longer_leads_was_made_or_not() {
    let ran = |database: &Database, text: &str| {
        let ran = database.run(text, Parameters::new(), &Options::default());
        ran.map(|_| ()).map_err(|error| error.class())
    };
    for (told, wanted) in [(Some(1), Ok(())), (None, Err(Class::Moved))] {
        let (_home, database) = leading(0);
        let database = database.with_outcomes(Arc::new(Told(told)));
        assert_eq!(ran(&database, "CREATE ()"), wanted);
        let (_home, database) = leading(0);
        let database = database.with_outcomes(Arc::new(Told(told)));
        let mut transaction = database.begin(Mode::Write).unwrap();
        transaction.run("CREATE ()", Parameters::new(), &Options::default()).unwrap();
        let ended = transaction.commit().map_err(|error| error.class());
        assert_eq!(ended, wanted.map(|()| 1));
    }
    // Nobody knows.
    let (_home, database) = leading(0);
    assert_eq!(ran(&database, "CREATE ()"), Err(Class::Store));
    // Two of its transactions were made.
    let text = "UNWIND range(1, 5) AS x CALL (x) { CREATE () } IN TRANSACTIONS OF 1 ROWS ON ERROR CONTINUE";
    let (_home, database) = leading(2);
    let database = database.with_outcomes(Arc::new(Told(None)));
    assert_eq!(ran(&database, text), Err(Class::Store));
    assert_eq!(database.snapshot().num_nodes(), 2);
}
