//! Stores that share a log of commits: one leads, the others follow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nakshi_io::CancelToken;
use nakshi_property::{Change, CommitLog, PropertyStore, Value};
use nakshi_store::Error;

use super::model::{id, started};
use super::{edges, open};

/// A log in memory. While it is shut, its leader is told that another one leads.
#[derive(Debug, Default)]
struct Shared {
    commits: Mutex<Vec<(u64, Vec<u8>)>>,
    shut: AtomicBool,
}

impl CommitLog for Shared {
    fn append(&self, commits: &[(u64, Vec<u8>)]) -> nakshi_store::Result<()> {
        if self.shut.load(Ordering::Relaxed) {
            return Err(Error::Deposed("g.nakshi".into()));
        }
        self.commits.lock().unwrap().extend_from_slice(commits);
        Ok(())
    }
}

fn append(v: u32, name: &str) -> Change {
    let properties = vec![("name".to_owned(), Value::String(name.to_owned()))];
    Change::AppendNode { id: id(v), properties }
}

fn follow_all(store: &PropertyStore, log: &Shared) {
    let known = store.snapshot().commit();
    for (commit, changes) in log.commits.lock().unwrap().iter() {
        if *commit > known {
            store.follow(*commit, changes, &CancelToken::new()).unwrap();
        }
    }
    store.flush().unwrap();
}

/// The names of the nodes from 20 on.
fn names(store: &PropertyStore) -> Vec<(u32, String)> {
    let graph = store.snapshot();
    let name = |v| {
        let found = graph.get_node_property(&id(v), None).ok()?;
        Some((v, format!("{found:?}")))
    };
    (20..40).filter_map(name).collect()
}

/// Seen red with waiters that take a commit of the new leader for their own, with a log that is
/// written before the shared one, and with a store that makes commits while it does not lead.
#[test]
fn a_leader_that_was_deposed_forgets_what_the_others_do_not_have() {
    let cancel = CancelToken::new();
    let (_homes, stores): (Vec<_>, Vec<Arc<PropertyStore>>) = (0..2)
        .map(|_| {
            let (home, path, _) = started(&edges());
            (home, open(&path).shared())
        })
        .unzip();
    let [one, two] = &stores[..] else { panic!("two stores") };
    let log = Arc::new(Shared::default());
    one.lead(Arc::clone(&log) as Arc<dyn CommitLog>, &cancel).unwrap();
    one.commit(&[append(20, "a")]).unwrap();
    let transaction = one.transact(|t| t.apply(append(21, "b"))).unwrap();
    assert!(transaction);
    follow_all(two, &log);
    assert_eq!(names(one), names(two));
    assert_eq!(names(two).len(), 2);

    // Two commits are under way when the other store takes over, and one transaction.
    log.shut.store(true, Ordering::Relaxed);
    let lost = one.submit(&[append(22, "lost")]).unwrap();
    let begun = one.transaction().unwrap();
    let failed = one.commit(&[append(23, "lost")]);
    assert!(matches!(failed, Err(Error::Deposed(_))), "{failed:?}");
    one.step_down(&cancel).unwrap();
    let alone = one.commit(&[append(23, "lost")]);
    assert!(matches!(alone, Err(Error::Deposed(_))), "{alone:?}");
    log.shut.store(false, Ordering::Relaxed);
    two.lead(Arc::clone(&log) as Arc<dyn CommitLog>, &cancel).unwrap();
    for (v, name) in [(22, "c"), (23, "d"), (24, "e")] {
        two.commit(&[append(v, name)]).unwrap();
    }
    follow_all(one, &log);
    assert_eq!(one.snapshot().commit(), two.snapshot().commit());
    assert_eq!(names(one), names(two));
    // Their numbers are those of other commits now.
    assert!(matches!(lost.wait(), Err(Error::Deposed(_))));
    let ended = begun.commit();
    assert!(ended.is_err(), "{ended:?}");
    // A commit out of its turn, or one that does not fit, is refused.
    let commits = log.commits.lock().unwrap().clone();
    for (commit, changes) in [commits.first(), commits.last()].into_iter().flatten() {
        assert!(matches!(one.follow(*commit, changes, &cancel), Err(Error::Invalid(_))));
    }
    let again = one.snapshot().commit() + 1;
    assert!(one.follow(again, &commits[0].1[..3], &cancel).is_err());
    assert_eq!(one.snapshot().commit() + 1, again);

    // It leads again, and both stores have all of it when they are opened anew.
    two.step_down(&cancel).unwrap();
    one.lead(Arc::clone(&log) as Arc<dyn CommitLog>, &cancel).unwrap();
    one.commit(&[append(25, "f")]).unwrap();
    follow_all(two, &log);
    let known = names(one);
    assert_eq!(known.len(), 6);
    for store in stores {
        let path = store.path().to_path_buf();
        store.release(&cancel).unwrap();
        drop(store);
        assert_eq!(names(&open(&path)), known);
    }
}
