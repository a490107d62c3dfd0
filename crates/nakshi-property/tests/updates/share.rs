//! Stores with shares of a graph, which together answer as the whole does.

use std::collections::BTreeSet;
use std::path::PathBuf;

use nakshi_io::CancelToken;
use nakshi_property::{
    BUCKETS, BucketSet, Change, Condition, LogEntries, PropertyGraph, PropertyStore, Value, backup,
    check,
};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, OpenOptions};
use proptest::prelude::*;
use tempfile::TempDir;

use super::disk::unsynced;
use super::model::{Edge, Step, changes, edge, id, started, steps};
use super::{edges, open, options};

const SHARES: u32 = 3;

/// A whole store, and those with shares of it.
struct Shared {
    home: TempDir,
    path: PathBuf,
    whole: PropertyStore,
    shares: Vec<(PathBuf, BucketSet, PropertyStore)>,
    told: u64,
    /// A share, and what some buckets of another one had a while ago, which it is to take.
    moving: Option<(usize, PropertyStore)>,
    /// Stores that were written for shares.
    written: u32,
}

impl Shared {
    fn new(edges: &[Edge]) -> Self {
        let (home, path, _) = started(edges);
        let share = |number: u32| {
            let copy = home.path().join(format!("{number}.nakshi"));
            backup(&unsynced(), &path, &copy, &Hooks::default()).unwrap();
            let store = open(&copy);
            let own = (0..BUCKETS).filter(|bucket| bucket % SHARES == number);
            let buckets = BucketSet::new(own);
            store.take_share(&buckets, &options(), &Hooks::default()).unwrap();
            (copy, buckets, store)
        };
        let shares = (0..SHARES).map(share).collect();
        let whole = open(&path);
        let told = whole.snapshot().commit();
        Shared { home, path, whole, shares, told, moving: None, written: 0 }
    }

    /// Has the whole store write every fourth of the buckets from some number on, for a share to take.
    fn begin_move(&mut self, number: u32) {
        self.end_move();
        let to = (number % SHARES) as usize;
        let (_, own, _) = &self.shares[to];
        let taken = BucketSet::new((number..BUCKETS).step_by(4)).without(own);
        self.moving = Some((to, self.written(&taken)));
    }

    fn written(&mut self, buckets: &BucketSet) -> PropertyStore {
        self.written += 1;
        let path = self.home.path().join(format!("moved-{}.nakshi", self.written));
        self.whole.write_share(buckets, &path, &options(), &Hooks::default()).unwrap();
        open(&path)
    }

    /// Has the share take them, and the others leave them out.
    fn end_move(&mut self) {
        let Some((to, mut more)) = self.moving.take() else { return };
        let taken = more.buckets().unwrap();
        let kept =
            LogEntries::open(&self.shares[to].0, Some(more.last_commit()), &CancelToken::new());
        if kept.is_err() {
            // The share was compacted meanwhile, and its log begins later.
            more = self.written(&taken);
        }
        for (at, (_, buckets, share)) in self.shares.iter_mut().enumerate() {
            let (next, more) = match at == to {
                true => (buckets.clone().union(&taken), Some(&more)),
                false => (buckets.clone().without(&taken), None),
            };
            share.hold(&next, more, &options(), &Hooks::default()).unwrap();
            assert_eq!(share.buckets(), Some(next.clone()));
            *buckets = next;
        }
    }

    /// Has the shares follow the whole.
    fn follow(&mut self) {
        let cancel = CancelToken::new();
        let mut entries = LogEntries::open(&self.path, Some(self.told), &cancel).unwrap();
        for (commit, changes) in entries.next_encoded(&cancel).unwrap() {
            for (_, _, share) in &self.shares {
                share.follow(commit, &changes, &cancel).unwrap();
            }
            self.told = commit;
        }
        self.shares.iter().for_each(|(_, _, share)| share.flush().unwrap());
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Compact => {
                self.whole.compact(&options(), &Hooks::default()).unwrap();
                let (_, _, share) = &self.shares[(self.told % u64::from(SHARES)) as usize];
                share.compact(&options(), &Hooks::default()).unwrap();
            }
            Step::Freeze => {
                for (_, _, share) in &self.shares {
                    share.freeze(&CancelToken::new()).unwrap();
                }
            }
            Step::Merge => {
                for (_, _, share) in &self.shares {
                    share.merge_fragments(2).unwrap();
                }
            }
            Step::Reopen => {
                for (path, _, share) in &mut self.shares {
                    share.release(&CancelToken::new()).unwrap();
                    *share = open(path);
                }
            }
            step => {
                // Impossible ones are in no log.
                let _ = self.whole.commit(&changes(step));
                self.follow();
            }
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let whole = self.whole.snapshot();
        let of = |graph: &PropertyGraph, wanted: &[(&str, Condition)]| {
            graph.get_node_ids(wanted).unwrap().into_iter().map(|id| id.to_string())
        };
        let aged = ("age", Condition::Is(Value::Int(2)));
        let young = ("age", Condition::Not(Box::new(Condition::Is(Value::Int(1)))));
        for wanted in [vec![], vec![aged], vec![young]] {
            let mut found = BTreeSet::new();
            for (_, buckets, share) in &self.shares {
                prop_assert_eq!(share.snapshot().commit(), whole.commit());
                let own = share.snapshot().within(buckets.clone());
                let before = found.len() as u64;
                found.extend(of(&own, &wanted));
                prop_assert_eq!(found.len() as u64 - before, own.count_nodes(&wanted).unwrap());
            }
            prop_assert_eq!(found, of(&whole, &wanted).collect::<BTreeSet<_>>());
        }
        let own = |(_, buckets, share): &(PathBuf, BucketSet, PropertyStore)| {
            share.snapshot().within(buckets.clone()).count_edges(None, &[]).unwrap()
        };
        prop_assert_eq!(self.shares.iter().map(own).sum::<u64>(), whole.num_edges());
        for v in 0..16 {
            let own = self.shares.iter().filter(|(_, buckets, _)| buckets.has(&id(v)));
            let owners: Vec<_> = own.collect();
            prop_assert_eq!(owners.len(), 1);
            compare_node(&whole, &owners[0].2.snapshot(), v)?;
        }
        for (_, _, share) in &self.shares {
            let graph = share.snapshot();
            prop_assert_eq!(graph.edge_types(), whole.edge_types());
            let names = |graph: &PropertyGraph| {
                let specs = graph.node_properties().into_iter();
                specs.map(|spec| spec.name.clone()).collect::<BTreeSet<_>>()
            };
            prop_assert_eq!(names(&graph), names(&whole));
        }
        Ok(())
    }
}

/// Without the width of ids, which depends on those that a store has.
fn plain(told: String) -> String {
    told.replace("I64(", "U64(")
}

/// All that can be read of a node is in the share that has its bucket.
fn compare_node(whole: &PropertyGraph, own: &PropertyGraph, v: u32) -> Result<(), TestCaseError> {
    let id = id(v);
    let values = |graph: &PropertyGraph| {
        let found = graph.get_node_property(&id, None).ok()?;
        let named = found.into_iter().map(|(name, value)| (name.to_owned(), value));
        Some(named.collect::<std::collections::BTreeMap<_, _>>())
    };
    prop_assert_eq!(values(whole), values(own));
    if !whole.has_node(&id).unwrap() {
        return Ok(());
    }
    let records = |graph: &PropertyGraph| {
        let mut told = Vec::new();
        for record in graph.get_edge_records(&id).unwrap() {
            for place in 0..record.len() {
                let data = graph.get_edge_data(&record, place).unwrap();
                let number = record.edge_id(place).unwrap().number;
                told.push(plain(format!("{} {number} {data:?}", record.edge_type())));
            }
        }
        told
    };
    prop_assert_eq!(records(whole), records(own));
    let incoming = |graph: &PropertyGraph| {
        let found = graph.get_incoming_edges(&id, None).unwrap();
        let mut told: Vec<String> = found.iter().map(|edge| plain(format!("{edge:?}"))).collect();
        told.sort();
        told
    };
    prop_assert_eq!(incoming(whole), incoming(own));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::scaled(32)))]
    /// Seen red with edges that are only with their sources, at the import and in a commit, and with edges of
    /// a deleted node that stay at their other ends. Buckets move between the shares meanwhile: seen red with the
    /// edges between two tables in both of them, and with a copy that lacks the commits since.
    #[test]
    fn shares_answer_as_the_whole_does(
        edges in prop::collection::vec(edge(), 0..40),
        steps in steps(),
        moves in prop::collection::vec(0..32_u32, 0..24),
    ) {
        let mut shared = Shared::new(&edges);
        for (at, step) in steps.iter().enumerate() {
            match moves.get(at) {
                Some(number @ 0..4) => shared.begin_move(*number),
                Some(4..8) => shared.end_move(),
                _ => {}
            }
            shared.step(step);
        }
        shared.end_move();
        shared.compare()?;
        shared.step(&Step::Reopen);
        shared.compare()?;
        for (path, _, _) in &shared.shares {
            let found = check(path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
            prop_assert_eq!(found.problems, Vec::<String>::new());
        }
    }
}

/// Only the shares with the ends of an edge know that it is not there.
///
/// Seen red with a commit that logs changes which change nothing.
#[test]
fn shares_take_no_name_from_a_change_of_nothing() {
    let mut shared = Shared::new(&edges());
    let absent = Step::ChangeType(0, "A".into(), 15, "new".into());
    let there = Step::Append(99, Default::default());
    shared.step(&Step::Batch(vec![absent, there]));
    shared.compare().unwrap();
}

/// A share is no graph that a user could change, and cannot become another share.
#[test]
fn a_share_refuses_changes_of_its_own() {
    let shared = Shared::new(&edges());
    let (_, buckets, share) = &shared.shares[0];
    let change = [Change::AppendNode { id: id(99), properties: Vec::new() }];
    let more = BucketSet::new(0..BUCKETS);
    let refused = [
        share.commit(&change).map(|_| ()),
        share.take_share(buckets, &options(), &Hooks::default()),
        share.hold(&more, None, &options(), &Hooks::default()),
        shared.whole.hold(buckets, None, &options(), &Hooks::default()),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}
