//! Servers, their lines, disks and clocks in one thread, with faults that a seed draws.
//!
//! The servers are those that really run, on a store that has nothing but commits, on a disk that loses what
//! was not made durable, on lines that are cut, slow or lossy, and on clocks that stop and jump. Clients make
//! commits and read. Whatever happens, a commit that a client was told of is in all stores, once, at the
//! number it was told; all stores have the same commits; a read has all that was acknowledged before it began;
//! and when the faults end, commits go on. In some seeds the servers have shares of the graph, whose buckets
//! clients move: a read of a bucket has just its commits, wherever it is, and in the end each is where it shall be.
//!
//! Seen red with votes that are not written down, with entries confirmed before they are durable, with a read that
//! asks no majority, and with the defects that it found itself (docs/decisions.md).
//!
//! A seed draws all faults. With `RUSTFLAGS="--cfg tokio_unstable"` it also draws which of two tasks goes
//! first, and the run is the same each time.

mod disk;
mod draw;
mod moves;
mod share;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use draw::Draw;
use share::{BUCKETS, Change};
use world::{Cast, FRONT, Host, Place, TICK, World, runtime};

use nakshi_property::BucketSet;

use super::replicated::Replicated;

/// Time for a call of a client.
const PATIENCE: Duration = Duration::from_secs(3);
/// Clients.
const CLIENTS: u64 = 3;
/// Servers, those that vote, and how many have each share, if not all have the whole graph.
const CASTS: [(u64, u64, Option<usize>); 6] =
    [(3, 3, None), (3, 3, None), (4, 3, None), (5, 5, None), (5, 3, Some(1)), (7, 3, Some(2))];

/// A commit or read that a client was told of.
#[derive(Clone, Debug)]
struct Told {
    /// Before and after which other events it happened.
    began: u64,
    ended: u64,
    /// The changes, if it is a commit, and the number of their first commit; the number of the last commit
    /// that a read saw.
    changes: Vec<Vec<u8>>,
    number: u64,
    /// What a read of a bucket has found.
    bucket: Option<Bucket>,
}

/// All that the clients were told.
#[derive(Default)]
struct History {
    events: AtomicU64,
    told: Mutex<Vec<Told>>,
    ends: AtomicBool,
    /// Moves of buckets that a client was told of.
    moves: AtomicU64,
}

impl History {
    fn event(&self) -> u64 {
        self.events.fetch_add(1, SeqCst)
    }

    fn ends(&self) -> bool {
        self.ends.load(SeqCst)
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes commits at a host that leads.
async fn commit(host: Arc<Host>, changes: Vec<Vec<u8>>) -> Option<u64> {
    host.member.leading()?;
    host.store.commit(&changes).await
}

/// A bucket after a commit, with the numbers of the commits in it.
#[derive(Clone, Debug)]
struct Bucket {
    bucket: u32,
    commit: u64,
    rows: Vec<u64>,
}

/// Number of the last commit, of a state that has all that was acknowledged before; and a bucket in that state or in
/// one some commits earlier, as a transaction reads it, if servers have shares.
async fn read(host: Arc<Host>, bucket: u32, earlier: u64) -> Option<(u64, Option<Bucket>)> {
    let newest = host.member.newest().await.ok()?;
    if !moves::catch_up(&host.store, newest).await {
        return None;
    }
    let seen = host.store.last_commit();
    if host.listed.is_none() {
        return Some((seen, None));
    }
    let commit = seen.saturating_sub(earlier);
    let rows = moves::read(&host, bucket, commit).await?;
    Some((seen, Some(Bucket { bucket, commit, rows })))
}

/// A client, which asks another server when one fails.
async fn client(
    world: Arc<World>,
    history: Arc<History>,
    number: u64,
    Cast { servers, voters, .. }: Cast,
    draw: Draw,
) {
    let (mut server, mut count) = (draw.from(1, servers), 0u64);
    while !history.ends() {
        let commits = draw.chance(60);
        let size = if commits { draw.from(1, 3) } else { 0 };
        let change = |nth| Change::node(*draw.one(&BUCKETS), number, nth);
        let changes: Vec<_> = (count..count + size).map(change).collect();
        count += size;
        let (bucket, began) = (*draw.one(&BUCKETS), history.event());
        let earlier = if draw.chance(30) { draw.from(1, 20) } else { 0 };
        let (asked, sent) = (server, changes.clone());
        let call = async {
            if commits {
                let made = world.ask(FRONT, asked, |host| commit(host, sent)).await;
                return made.map(|made| made.map(|number| (number, None)));
            }
            world.ask(FRONT, asked, move |host| read(host, bucket, earlier)).await
        };
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(Ok(Some((number, bucket)))) => {
                let ended = history.event();
                let told = Told { began, ended, changes, number, bucket };
                history.told.lock().unwrap_or_else(PoisonError::into_inner).push(told);
            }
            _ => server = draw.from(1, if commits { voters } else { servers }),
        }
        tokio::time::sleep(draw.millis(0, 150)).await;
    }
}

/// A client that moves buckets.
async fn mover(world: Arc<World>, history: Arc<History>, voters: u64, shares: usize, draw: Draw) {
    while !history.ends() {
        let taken = BucketSet::new(BUCKETS.into_iter().filter(|_| draw.chance(40)));
        let (to, leader) = (draw.from(0, shares as u64 - 1) as usize, draw.from(1, voters));
        // No two commits are the same.
        let id = draw.from(0, u64::MAX - 1);
        if !taken.is_empty() {
            let moving =
                world.ask(FRONT, leader, move |host| moves::move_buckets(host, taken, to, id));
            if let Ok(Ok(Some(_))) = tokio::time::timeout(PATIENCE * 3, moving).await {
                history.moves.fetch_add(1, SeqCst);
            }
        }
        tokio::time::sleep(draw.millis(0, 300)).await;
    }
}

/// All hosts.
struct Simulation {
    world: Arc<World>,
    draw: Draw,
    cast: Cast,
    places: BTreeMap<u64, Place>,
    /// Ticks after which hosts start, lines heal, and clocks go as others.
    starts: BTreeMap<u64, u64>,
    heals: u64,
    steady: u64,
    now: u64,
    front: tokio::runtime::Runtime,
    history: Arc<History>,
}

/// Starts a server, which takes the buckets that it lacks.
fn start(place: &mut Place, world: &Arc<World>, cast: &Cast) {
    place.start(world, cast);
    place.spawn(moves::tend);
}

fn ticks(time: Duration) -> u64 {
    (time.as_millis() / TICK.as_millis()) as u64
}

impl Simulation {
    fn new(draw: Draw) -> Self {
        let world = World::new(draw.fork());
        world.lines().slow = 2;
        let cast = Cast::new(*draw.one(&CASTS));
        let place = |number| (number, Place::new(number, &cast, &draw));
        let places = (1..=cast.servers).map(place).collect();
        let history = Arc::new(History::default());
        let front = runtime(&draw);
        for number in 0..CLIENTS {
            let (world, history) = (Arc::clone(&world), Arc::clone(&history));
            front.spawn(client(world, history, number, cast.clone(), draw.fork()));
        }
        if let Some(listed) = &cast.listed {
            let (world, history) = (Arc::clone(&world), Arc::clone(&history));
            front.spawn(mover(world, history, cast.voters, listed.shares(), draw.fork()));
        }
        let mut made = Simulation {
            world,
            draw,
            cast,
            places,
            starts: BTreeMap::new(),
            heals: 0,
            steady: 0,
            now: 0,
            front,
            history,
        };
        made.start_all();
        made
    }

    fn start_all(&mut self) {
        self.starts.clear();
        for place in self.places.values_mut().filter(|place| !place.runs()) {
            start(place, &self.world, &self.cast);
        }
    }

    /// Time goes on.
    fn tick(&mut self) {
        self.now += 1;
        if self.now == self.heals {
            self.heal();
        }
        if self.now == self.steady {
            self.places.values_mut().for_each(|place| place.speed = 1000);
        }
        for (number, place) in &mut self.places {
            let due = self.starts.get(number).is_some_and(|tick| *tick <= self.now);
            if due && !place.runs() {
                self.starts.remove(number);
                start(place, &self.world, &self.cast);
            }
            let ran = place.runs();
            place.run(&self.world);
            if !place.runs() && (ran || !self.starts.contains_key(number)) {
                // Its power failed, or it left the others; somebody starts it again.
                self.starts.insert(*number, self.now + ticks(self.draw.millis(0, 2000)));
            }
        }
        self.front.block_on(async { tokio::time::sleep(TICK).await });
    }

    fn run(&mut self, time: Duration) {
        for _ in 0..ticks(time) {
            self.tick();
        }
    }

    fn heal(&mut self) {
        let mut lines = self.world.lines();
        lines.cut.clear();
        (lines.loss, lines.slow) = (0, 2);
    }

    fn any(&self) -> u64 {
        self.draw.from(1, self.cast.servers)
    }

    fn kill(&mut self, number: u64) {
        if let Some(place) = self.places.get_mut(&number) {
            place.kill(&self.world, self.draw.chance(70));
            self.starts.insert(number, self.now + ticks(self.draw.millis(0, 3000)));
        }
    }

    /// Number of the server that leads, or any.
    fn leader(&self) -> u64 {
        let leads = |place: &Place| place.host.as_ref()?.member.leading().map(|_| ());
        let found = self.places.iter().find(|(_, place)| leads(place).is_some());
        found.map_or_else(|| self.any(), |(number, _)| *number)
    }

    /// Cuts the lines of a host in the directions that are drawn.
    fn cut_off(&mut self, host: u64, with_clients: bool) {
        let (into, out) = *self.draw.one(&[(true, true), (true, false), (false, true)]);
        let others = if with_clients { FRONT } else { 1 }..=self.cast.servers;
        let mut lines = self.world.lines();
        for other in others.filter(|other| *other != host) {
            lines.cut.extend(into.then_some((other, host)));
            lines.cut.extend(out.then_some((host, other)));
        }
    }

    /// A server loses its disk and starts with a copy of the store of another one, if all others have theirs.
    fn lose_disk(&mut self) {
        let lost = self.any();
        let whole = |place: &Place| {
            let log = place.host.as_ref().map(|host| &host.member.own.log);
            log.is_some_and(|log| log.lost_before().is_none() && log.last_commit().is_some())
        };
        if !self.places.values().all(whole) {
            return;
        }
        // Servers with a share have no copy of the whole.
        let whole = self.cast.listed.as_ref().map_or(self.cast.servers, |_| self.cast.voters);
        let from = self.draw.from(1, whole);
        let from = if from == lost { from % whole + 1 } else { from };
        let copy = self.places.get(&from).map(|place| place.disk.files().commits.clone());
        if let (Some(place), Some(copy)) = (self.places.get_mut(&lost), copy) {
            place.kill(&self.world, false);
            let share = self.cast.share(lost, &copy);
            place.disk.replace(copy, share);
        }
    }

    /// Does something that servers must survive.
    fn fault(&mut self) {
        let host = if self.draw.chance(50) { self.leader() } else { self.any() };
        self.heals = self.now + ticks(self.draw.millis(100, 4000));
        match self.draw.from(0, 10) {
            0 | 1 => self.kill(host),
            2 => (1..=self.cast.servers).for_each(|number| self.kill(number)),
            3 => {
                if let Some(place) = self.places.get(&host) {
                    place.disk.files().left = Some(self.draw.from(0, 20));
                }
            }
            4 | 5 => self.cut_off(host, self.draw.chance(50)),
            6 => (1..=self.cast.servers).for_each(|number| self.cut_off(number, false)),
            7 => {
                let (loss, slow) = (self.draw.from(0, 30), self.draw.from(2, 300));
                let mut lines = self.world.lines();
                (lines.loss, lines.slow) = (loss, slow);
            }
            8 => {
                let stopped = ticks(self.draw.millis(100, 4000));
                self.places.get_mut(&host).into_iter().for_each(|place| place.stopped = stopped);
            }
            9 => {
                let (speed, jump) = (self.draw.from(300, 2000), self.draw.millis(0, 5000));
                self.steady = self.heals;
                if let Some(place) = self.places.get_mut(&host) {
                    place.speed = speed;
                    place.jump(jump);
                }
            }
            _ => self.lose_disk(),
        }
    }

    /// The commits of a server's store.
    fn commits(&self, number: u64) -> Vec<Vec<u8>> {
        self.places.get(&number).map_or_else(Vec::new, |place| place.disk.files().commits.clone())
    }

    /// Ends all faults, and waits until the clients make commits again and then until all stores are equal.
    fn settle(&mut self) {
        self.heal();
        for place in self.places.values_mut() {
            (place.stopped, place.speed) = (0, 1000);
            place.disk.files().left = None;
        }
        let before = self.history.event();
        let goes_on = |history: &History| {
            history.told().iter().any(|told| told.began > before && !told.changes.is_empty())
        };
        for _ in 0..60 {
            self.run(Duration::from_millis(500));
            if goes_on(&self.history) {
                break;
            }
        }
        assert!(goes_on(&self.history), "nothing is committed after all faults; {}", self.roles());
        self.history.ends.store(true, SeqCst);
        let equal =
            |all: &Self| (2..=all.cast.servers).all(|one| all.commits(one) == all.commits(1));
        self.run(PATIENCE * 2);
        for _ in 0..60 {
            if equal(self) && self.is_complete() {
                return;
            }
            self.run(Duration::from_millis(500));
        }
        panic!(
            "the stores differ, or lack buckets, after all faults{}{}",
            self.difference(),
            self.roles()
        );
    }

    /// The buckets that the last commit gives each server with a share.
    fn given(&self) -> impl Iterator<Item = (u64, BucketSet)> {
        let listed = self.cast.listed.as_ref();
        let placement = listed.map(|listed| share::placed(listed, &self.commits(1)));
        placement.into_iter().flat_map(|placement| {
            let of = |share| placement.servers(share).iter().map(move |server| (*server, share));
            let all = (0..placement.shares()).flat_map(of);
            let given = all.map(|(server, share)| (server as u64 + 1, placement.buckets(share)));
            given.collect::<Vec<_>>()
        })
    }

    /// Returns true if each server with a share has the buckets that the last commit gives it.
    fn is_complete(&self) -> bool {
        self.given().all(|(server, buckets)| {
            let share = self.places[&server].disk.files().share.clone();
            share.is_some_and(|share| share.buckets.has_all(&buckets))
        })
    }

    /// Checks that each server with a share has all commits in its buckets.
    fn check_shares(&self) {
        let (commits, last) = (self.commits(1), self.commits(1).len() as u64);
        for (server, buckets) in self.given() {
            let share = self.places[&server].disk.files().share.clone().unwrap();
            for bucket in buckets.iter() {
                let rows = share.read(&commits, bucket, last);
                let all = share::rows(&commits, bucket, 0, last);
                assert_eq!(rows, Some(all), "server {server} and bucket {bucket}");
            }
        }
    }

    /// The first commit that is not the same everywhere.
    fn difference(&self) -> String {
        let all: Vec<_> = (1..=self.cast.servers).map(|number| self.commits(number)).collect();
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        let at = |place: usize| all.iter().map(|one| one.get(place)).collect::<Vec<_>>();
        let differs = |place: &usize| at(*place).windows(2).any(|two| two[0] != two[1]);
        let first = (0..longest).find(differs);
        first.map_or_else(String::new, |place| format!(", from {} on: {:?}", place + 1, at(place)))
    }

    fn roles(&self) -> String {
        let role = |(number, place): (&u64, &Place)| {
            let metrics =
                place.host.as_ref().map(|host| host.member.raft.metrics().borrow().clone());
            let commits = self.commits(*number).len();
            format!("\n{number}: {commits} commits, left: {:?}, {metrics:?}", place.left)
        };
        self.places.iter().map(role).collect()
    }
}

/// Checks what the clients were told against the commits that all stores have.
fn check(told: &[Told], commits: &[Vec<u8>]) {
    let mut known = BTreeMap::new();
    for (number, changes) in (1u64..).zip(commits) {
        let before = known.insert(changes.clone(), number);
        assert!(before.is_none(), "commits {before:?} and {number} are the same");
    }
    for one in told {
        for (number, changes) in (one.number..).zip(&one.changes) {
            let found = known.get(changes);
            assert_eq!(found, Some(&number), "a client was told that {changes:?} is {number}");
        }
        if let Some(Bucket { bucket, commit, rows }) = &one.bucket {
            let all = share::rows(commits, *bucket, 0, *commit);
            assert_eq!(*rows, all, "a client was told of other commits in {bucket} at {commit}");
        }
        let last = one.number + (one.changes.len() as u64).saturating_sub(1);
        let later = told.iter().filter(|later| later.began > one.ended);
        for later in later {
            let sees = later.number;
            let enough = if later.changes.is_empty() { sees >= last } else { sees > last };
            assert!(enough, "{later:?} began after {one:?} had ended");
        }
    }
}

/// Runs one seed; returns how many commits, reads and moves clients were told of.
fn simulate(seed: u64) -> [u64; 3] {
    let mut all = Simulation::new(Draw::of(seed));
    let draw = all.draw.clone();
    all.run(draw.millis(500, 3000));
    for _ in 0..draw.from(3, 12) {
        all.fault();
        all.run(draw.millis(50, 3000));
    }
    all.settle();
    let told = all.history.told();
    check(&told, &all.commits(1));
    all.check_shares();
    let commits = told.iter().filter(|told| !told.changes.is_empty()).count();
    let moves = all.history.moves.load(SeqCst);
    [commits as u64, (told.len() - commits) as u64, moves]
}

#[test]
fn nothing_that_clients_were_told_is_lost_whatever_fails() {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok());
    let seeds = match std::env::var("NAKSHI_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..1000 * scale.unwrap_or(1u64),
    };
    let next = AtomicU64::new(seeds.start);
    let told = [const { AtomicU64::new(0) }; 3];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let seed = next.fetch_add(1, SeqCst);
            if seed >= seeds.end {
                return;
            }
            let these = std::panic::catch_unwind(|| simulate(seed));
            let these = these.unwrap_or_else(|_| panic!("seed {seed} has failed"));
            for (all, these) in told.iter().zip(these) {
                all.fetch_add(these, SeqCst);
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let seeds = seeds.end - seeds.start;
    eprintln!("{told:?} commits, reads and moves of buckets in {seeds} seeds");
}
