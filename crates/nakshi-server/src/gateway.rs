//! Queries on a graph whose nodes are dealt to servers.
//!
//! A query goes to where its data are (ZipG, section 4.1, "function shipping"): what is asked of one node to a
//! server that has the node, a search to one server of each share, and a step over edges, with its conditions,
//! to the servers that have the nodes of the step. They return what is left, and this server merges it. All
//! servers that take part in an answer read the state after the same commit.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_property::{BucketSet, LABELS, PropertyGraph, QueryOrder, Value, bucket_of};
use nakshi_store::{ExternalId, mix};
use prost::Message;
use tokio::task::JoinSet;

use crate::answer::is_short;
use crate::channel::Peers;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::lines::{self, Stub};
use crate::metrics::Shipped;
use crate::parts;
use crate::placement::{Placement, Placements};
use crate::v1::graph_client::GraphClient;
use crate::v1::query_request::Query;
use crate::v1::{self, Answer, QueryRequest};
use crate::wire;

/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(1);
/// Interval at which a server that has not answered yet is asked whether it lives, and the time for its word.
const WATCH: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(1000));
/// Time after which a short query is asked of a second server, too.
const HEDGE: Duration = Duration::from_millis(50);
/// Name under which edges are sorted by their time, if they have no such property.
const TIME: &str = "timestamp";
/// Queries of this server that each server of a share has under way, from which on those with the whole graph help.
const BUSY: usize = 8;
/// Time for which a server that did not answer is asked last.
const AWAY: Duration = Duration::from_secs(2);

thread_local! {
    /// The connections of this thread, by host and port.
    static STUBS: RefCell<HashMap<String, Stub>> = RefCell::default();
}

/// Another server.
#[derive(Debug)]
struct Other {
    address: String,
    /// Queries that it has not answered yet.
    running: AtomicUsize,
    /// Until when it is asked last, in milliseconds since the gateway began.
    away: AtomicU64,
}

/// The servers, as one of them asks the others.
pub(crate) struct Gateway {
    /// The placement by the list of servers.
    listed: Placement,
    placements: Placements,
    /// Place of this server.
    own: usize,
    servers: Vec<Other>,
    peers: Peers,
    time: Duration,
    began: Instant,
    /// Grows with each choice between two servers.
    choices: AtomicU64,
}

/// This server, as its gateway asks it.
#[tonic::async_trait]
pub(crate) trait Here: Send + Sync {
    /// Answers from what this server has.
    async fn answer(&self, request: QueryRequest) -> Result<Answer>;

    /// The state after the last commit.
    fn newest(&self) -> PropertyGraph;

    fn limits(&self) -> &Limits;

    /// Counts what is sent to others.
    fn shipped(&self) -> &Shipped;
}

/// The commit, the age and the server's place in its calls that all parts of an answer share.
#[derive(Clone)]
struct Asked {
    here: Arc<dyn Here>,
    placement: Arc<Placement>,
    /// As in [`QueryRequest`].
    commit: Option<u64>,
    keep: bool,
    at_least: u64,
}

impl Asked {
    /// A request for a part of the answer.
    fn part(&self, query: Query) -> QueryRequest {
        QueryRequest {
            commit: self.commit,
            keep: self.keep,
            at_least: self.at_least,
            alone: true,
            query: Some(query),
            ..QueryRequest::default()
        }
    }

    /// Positions of ids, and the ids themselves, by the share that has them.
    fn by_share(&self, ids: &[ExternalId]) -> Vec<(usize, Vec<usize>, Vec<v1::Id>)> {
        let mut all: Vec<_> =
            (0..self.placement.shares()).map(|share| (share, Vec::new(), Vec::new())).collect();
        for (place, id) in ids.iter().enumerate() {
            if let Some((_, places, own)) = all.get_mut(self.placement.share_with(id)) {
                places.push(place);
                own.push(wire::id(id));
            }
        }
        all.retain(|(_, places, _)| !places.is_empty());
        all
    }

    /// The same, of one state for all parts.
    fn of_one_state(mut self) -> Self {
        let commit = self.commit.unwrap_or_else(|| self.here.newest().commit());
        (self.commit, self.at_least) = (Some(commit), commit);
        self
    }
}

/// The node of which a query asks, if it is one.
fn node_of(query: &Query) -> Option<&v1::Id> {
    match query {
        Query::NodeProperties(query) if query.ids.len() == 1 => query.ids.first(),
        Query::NodePart(query) => query.id.as_ref(),
        Query::Records(query) => query.id.as_ref(),
        Query::RecordRange(query) => query.id.as_ref(),
        Query::RecordEdges(query) => query.id.as_ref(),
        Query::Incoming(query) => query.id.as_ref(),
        Query::Edge(query) => query.source.as_ref(),
        Query::Object(query) => query.id.as_ref(),
        Query::AssocCount(query) => query.id.as_ref(),
        Query::AssocRange(query) => query.id.as_ref(),
        Query::AssocGet(query) => query.id.as_ref(),
        Query::AssocTimeRange(query) => query.id.as_ref(),
        _ => None,
    }
}

/// The nodes of which a server with a share is asked.
fn nodes_of(query: &Query) -> &[v1::Id] {
    match query {
        Query::NodeProperties(query) => &query.ids,
        Query::Frontier(query) => &query.ids,
        Query::Neighbors(query) => query.id.as_slice(),
        query => node_of(query).map_or(&[], std::slice::from_ref),
    }
}

/// Refuses a query of nodes that are not in the buckets of a share: they were moved away, or will come.
pub(crate) fn refuse_other_buckets(
    own: &BucketSet,
    query: &Query,
    wanted: Option<&BucketSet>,
) -> Result<()> {
    let mut nodes = nodes_of(query).iter().map(|id| wire::of_id(Some(id.clone())));
    let has = nodes.try_fold(true, |has, id| Ok::<_, Error>(has && own.has(&id?)))?;
    if has && wanted.is_none_or(|wanted| own.has_all(wanted)) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Gone, "this server does not have these buckets of the graph"))
}

/// Returns true for a search whose answer is made from those of each share.
fn is_search(query: &Query) -> bool {
    matches!(query, Query::Nodes(_) | Query::Edges(_) | Query::CountNodes(_) | Query::CountEdges(_))
}

/// The order of a search, if it has one.
fn order_of(query: &Query) -> Option<&v1::Order> {
    match query {
        Query::Nodes(query) => query.order.as_ref(),
        Query::Edges(query) => query.order.as_ref(),
        Query::Neighbors(query) => query.order.as_ref(),
        _ => None,
    }
}

/// The property by whose values the rows of a query are sorted, and how, if they are.
fn sort_of(query: &Query) -> Option<(&String, QueryOrder<'_>)> {
    let v1::Order { by, descending, .. } = order_of(query)?;
    let by = by.as_ref()?;
    Some((by, QueryOrder { by: Some(by), descending: *descending, limit: None }))
}

/// Most rows of a search.
fn limit_of(query: &Query) -> usize {
    let limit = order_of(query).and_then(|order| order.limit);
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The value of a property by which an edge is sorted.
fn value_of(edge: &v1::Edge, by: &str, as_time: bool) -> Option<Value> {
    if as_time {
        return Some(Value::Int(edge.timestamp));
    }
    let found = edge.properties.iter().find(|property| property.name == by)?;
    wire::of_value(found.value.clone()).ok()
}

/// Returns true if nodes with a label are wanted. Only a server with the whole graph knows whether there is such
/// a label.
fn has_labels(wanted: &[v1::Filter]) -> bool {
    wanted.iter().any(|filter| filter.property == LABELS)
}

/// Errors after which another server, such as one with the whole graph, can still answer.
pub(crate) fn is_elsewhere(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Gone)
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Gateway {
    /// The gateway of a server by its place; `None` if all servers have the whole graph.
    pub(crate) fn new(
        listed: Placement,
        servers: &[String],
        own: usize,
        peers: Peers,
        time: Duration,
    ) -> Option<Arc<Self>> {
        if listed.shares() == 0 {
            return None;
        }
        let other = |address: &String| Other {
            address: address.clone(),
            running: AtomicUsize::new(0),
            away: AtomicU64::new(0),
        };
        let servers = servers.iter().map(other).collect();
        let (began, choices) = (Instant::now(), AtomicU64::new(0));
        let placements = Placements::default();
        Some(Arc::new(Gateway { listed, placements, own, servers, peers, time, began, choices }))
    }

    /// Returns true if this server has the whole graph.
    pub(crate) fn has_all(&self) -> bool {
        self.listed.share_of(self.own).is_none()
    }

    /// The share of this server, if it has one.
    pub(crate) fn share(&self) -> Option<v1::Share> {
        self.listed.share_of(self.own).map(|share| self.named(share))
    }

    /// The servers of all buckets after a commit, or after the last one; `newest` is the state after that.
    pub(crate) fn placement(&self, newest: &PropertyGraph, commit: Option<u64>) -> Arc<Placement> {
        let commit = commit.unwrap_or(u64::MAX).min(newest.commit());
        self.placements.after(commit, &self.listed, newest.moved_buckets())
    }

    /// The shares after the last commit, for clients.
    pub(crate) fn told(&self, newest: &PropertyGraph) -> Vec<v1::ShareStatus> {
        let placement = self.placement(newest, None);
        let told = |share| {
            let servers = placement.servers(share).iter();
            let servers = servers.map(|server| self.address(*server).to_owned()).collect();
            v1::ShareStatus { servers, buckets: placement.buckets(share).to_bytes() }
        };
        (0..placement.shares()).map(told).collect()
    }

    /// Host and port of a server by its place.
    pub(crate) fn address(&self, server: usize) -> &str {
        self.servers.get(server).map_or("", |server| &server.address)
    }

    /// The token and the certificates with which this server calls the others.
    pub(crate) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Place of this server.
    pub(crate) fn own(&self) -> usize {
        self.own
    }

    /// The servers of a share, in the order in which they are asked for something that takes long.
    pub(crate) fn servers_of(&self, share: usize) -> Vec<usize> {
        self.chosen(self.listed.servers(share), None)
    }

    /// The connection of this thread to a server by its place.
    pub(crate) fn stub_of(&self, server: usize) -> Result<Stub> {
        self.stub(&self.servers.get(server).ok_or_else(no_server)?.address)
    }

    /// The name of a share.
    pub(crate) fn named(&self, share: usize) -> v1::Share {
        v1::Share { number: share as u32, of: self.listed.shares() as u32 }
    }

    /// Answers a query from the servers that have its data. The state of this server must be as new as the
    /// query wants.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        here: Arc<dyn Here>,
        request: QueryRequest,
    ) -> Result<Answer> {
        let query = wire::needed(request.query, "query that is known")?;
        let QueryRequest { commit, keep, at_least, .. } = request;
        let placement = self.placement(&here.newest(), commit);
        let asked = Asked { here, placement, commit, keep, at_least };
        if let Some(id) = node_of(&query) {
            let node = wire::of_id(Some(id.clone()))?;
            let share = asked.placement.share_with(&node);
            // A state that is kept for a client is at one server.
            let fixed = (asked.keep || asked.commit.is_some()).then(|| bucket_of(&node).into());
            let answered = self.ask(&asked, share, fixed, asked.part(query.clone())).await;
            return match answered {
                Err(error) if is_elsewhere(&error) => self.ask_whole(&asked, query, error).await,
                answered => answered,
            };
        }
        let again = query.clone();
        let one = asked.clone().of_one_state();
        let merged = match query {
            query if is_search(&query) => self.search(&one, query).await,
            Query::NodeProperties(query) => self.node_properties(&one, query).await,
            Query::Neighbors(query) => self.neighbors(&one, query).await,
            Query::Expand(query) => self.expand(&one, query).await,
            _ => Err(Error::new(ErrorKind::Gone, "only servers with the whole graph answer this")),
        };
        match merged {
            Err(error) if is_elsewhere(&error) => self.ask_whole(&asked, again, error).await,
            merged => merged,
        }
    }

    /// Asks a server with the whole graph; fails with `error` if none answers.
    async fn ask_whole(
        self: &Arc<Self>,
        asked: &Asked,
        query: Query,
        error: Error,
    ) -> Result<Answer> {
        let request = asked.part(query);
        if self.has_all() {
            return asked.here.answer(request).await;
        }
        let all: Vec<usize> = (0..self.listed.whole()).collect();
        self.ask_in_turn(asked, &self.chosen(&all, None), request, error).await
    }

    /// Asks servers one after the other until one answers; fails with the last error, or with `error`.
    async fn ask_in_turn(
        &self,
        asked: &Asked,
        servers: &[usize],
        request: QueryRequest,
        mut error: Error,
    ) -> Result<Answer> {
        for server in servers {
            match self.call(asked, *server, request.clone()).await {
                Err(failed) if failed.kind == ErrorKind::Unavailable => error = failed,
                answered => return answered,
            }
        }
        Err(error)
    }

    /// Asks a server that has a share; always the same one if `fixed` is there, which differs between nodes.
    async fn ask(
        &self,
        asked: &Asked,
        share: usize,
        fixed: Option<u64>,
        request: QueryRequest,
    ) -> Result<Answer> {
        if self.listed.share_of(self.own) == Some(share) {
            return asked.here.answer(request).await;
        }
        let servers = self.chosen(self.listed.servers(share), fixed);
        // Only servers with shares keep earlier states for others.
        if request.commit.is_none()
            && let Some(helper) = self.helper(&servers)
        {
            match self.ask_helper(asked, helper, request.clone()).await {
                Err(error) if error.kind == ErrorKind::Unavailable => {}
                answered => return answered,
            }
        }
        // A server that was started with another list has another share.
        let request = QueryRequest { share: Some(self.named(share)), ..request };
        let (mut rest, mut error) = (&servers[..], no_server());
        if servers.iter().all(|server| self.is_away(*server)) {
            return Err(error);
        }
        if request.query.as_ref().is_some_and(is_short)
            && let [first, second, others @ ..] = rest
        {
            let calls = [first, second].map(|server| self.call(asked, *server, request.clone()));
            match hedged(calls).await {
                Err(failed) if failed.kind == ErrorKind::Unavailable => error = failed,
                answered => return answered,
            }
            rest = others;
        }
        self.ask_in_turn(asked, rest, request, error).await
    }

    /// A server with the whole graph that helps the servers of a share, if all of these are busy, and it has far
    /// less to do: nodes that many ask for have more servers then.
    fn helper(&self, servers: &[usize]) -> Option<usize> {
        let least = servers.iter().map(|server| self.running(*server)).min()?;
        if least < BUSY {
            return None;
        }
        let all = 0..self.listed.whole();
        let awake = all.filter(|server| !self.is_away(*server));
        // This server needs no request.
        let helper = awake.min_by_key(|server| (self.running(*server), *server != self.own))?;
        (2 * self.running(helper) < least).then_some(helper)
    }

    async fn ask_helper(
        &self,
        asked: &Asked,
        helper: usize,
        request: QueryRequest,
    ) -> Result<Answer> {
        if helper != self.own {
            return self.call(asked, helper, request).await;
        }
        let own = self.servers.get(helper).ok_or_else(no_server)?;
        let _running = Running::begin(&own.running);
        asked.here.answer(request).await
    }

    /// Queries that a server has not answered yet.
    fn running(&self, server: usize) -> usize {
        self.servers.get(server).map_or(0, |server| server.running.load(Relaxed))
    }

    /// Servers in the order in which they are asked: those first that have answered lately, and of two chosen at
    /// random the one with fewer queries (Mitzenmacher, "The Power of Two Choices", 2001).
    fn chosen(&self, servers: &[usize], fixed: Option<u64>) -> Vec<usize> {
        let random = || mix(self.choices.fetch_add(1, Relaxed));
        let mut chosen = servers.to_vec();
        let count = chosen.len().max(1) as u64;
        chosen.rotate_left((fixed.unwrap_or_else(random) % count) as usize);
        if fixed.is_none() && count > 1 {
            let second = 1 + (random() % (count - 1)) as usize;
            let running = |at: usize| chosen.get(at).map_or(0, |server| self.running(*server));
            if running(second) < running(0) {
                chosen.swap(0, second);
            }
        }
        // Stable.
        chosen.sort_by_key(|server| self.is_away(*server));
        chosen
    }

    /// Returns true for a server that did not answer a moment ago.
    fn is_away(&self, server: usize) -> bool {
        let until = self.servers.get(server).map_or(0, |server| server.away.load(Relaxed));
        until > self.now()
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// The connection of this thread to another server.
    fn stub(&self, address: &str) -> Result<Stub> {
        if let Some(stub) = STUBS.with_borrow(|stubs| stubs.get(address).cloned()) {
            return Ok(stub);
        }
        let (channel, token) = self.peers.channel(address, CONNECT, Some(WATCH))?;
        let stub = GraphClient::with_interceptor(channel, token)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        STUBS.with_borrow_mut(|stubs| stubs.insert(address.to_owned(), stub.clone()));
        Ok(stub)
    }

    /// Asks another server, once.
    async fn call(&self, asked: &Asked, server: usize, request: QueryRequest) -> Result<Answer> {
        let other = self.servers.get(server).ok_or_else(no_server)?;
        let stub = self.stub(&other.address)?;
        let _running = Running::begin(&other.running);
        let shipped = asked.here.shipped();
        shipped.sent(request.encoded_len());
        let call = lines::ask(&other.address, stub, request);
        let late = |_| Error::new(ErrorKind::Deadline, format!("{} took too long", other.address));
        let answered = tokio::time::timeout(self.time, call).await.map_err(late).flatten();
        match &answered {
            Ok(answer) => shipped.received(answer.encoded_len()),
            Err(error) if error.kind == ErrorKind::Unavailable => {
                other.away.store(self.now() + AWAY.as_millis() as u64, Relaxed);
            }
            Err(_) => {}
        }
        answered
    }

    /// The answers of several shares, which are asked at the same time, in the order of `parts`.
    async fn ask_each(
        self: &Arc<Self>,
        asked: &Asked,
        parts: Vec<(usize, QueryRequest)>,
    ) -> Result<Vec<Answer>> {
        let mut running = JoinSet::new();
        let mut answers: Vec<Answer> = parts.iter().map(|_| Answer::default()).collect();
        for (place, (share, request)) in parts.into_iter().enumerate() {
            let (gateway, asked) = (Arc::clone(self), asked.clone());
            running.spawn(async move { (place, gateway.ask(&asked, share, None, request).await) });
        }
        while let Some(joined) = running.join_next().await {
            let panicked = |_| Error::new(ErrorKind::Internal, "internal error: a call panicked");
            let (place, answered) = joined.map_err(panicked)?;
            if let Some(answer) = answers.get_mut(place) {
                *answer = answered?;
            }
        }
        Ok(answers)
    }

    /// A search of all shares.
    async fn search(self: &Arc<Self>, asked: &Asked, query: Query) -> Result<Answer> {
        let part = |share| {
            let buckets = asked.placement.buckets(share).to_bytes();
            (share, QueryRequest { buckets, ..asked.part(query.clone()) })
        };
        let parts = (0..self.listed.shares()).map(part).collect();
        let mut merged = Answer { commit: asked.commit.unwrap_or_default(), ..Answer::default() };
        for answer in self.ask_each(asked, parts).await? {
            let count = answer.count.map(|count| count + merged.count.unwrap_or(0));
            parts::join(&mut merged, Answer { count, ..answer });
        }
        merged.ids = self.sorted(asked, merged.ids, &query).await?;
        merged.edges = sorted_edges(merged.edges, &query)?;
        merged.counts = added_up(merged.counts)?;
        let rows = merged.ids.len().max(merged.edges.len()).max(merged.counts.len());
        asked.here.limits().refuse_rows(rows as u64)?;
        let wanted = match &query {
            Query::Nodes(query) => &query.r#where[..],
            Query::CountNodes(query) => &query.r#where[..],
            _ => &[],
        };
        let found = rows > 0 || merged.count.is_some_and(|count| count > 0);
        if has_labels(wanted) && !found {
            return Err(unsure());
        }
        Ok(merged)
    }

    /// Nodes in the order of a query, and no more than it wants.
    async fn sorted(
        self: &Arc<Self>,
        asked: &Asked,
        mut ids: Vec<v1::Id>,
        query: &Query,
    ) -> Result<Vec<v1::Id>> {
        if let Some((by, order)) = sort_of(query) {
            let names = Some(v1::Names { names: vec![by.clone()] });
            let keys = v1::NodeProperties { ids: ids.clone(), names };
            let keys = self.node_properties(asked, keys).await?.properties;
            let value = |(_, found): &(v1::Id, v1::Properties)| {
                let property = found.properties.first()?;
                wire::of_value(property.value.clone()).ok()
            };
            let keyed = ids.into_iter().zip(keys).collect();
            let sorted = order.sort_by_value(keyed, value)?;
            ids = sorted.into_iter().map(|(id, _)| id).collect();
        }
        ids.truncate(limit_of(query));
        Ok(ids)
    }

    async fn node_properties(
        self: &Arc<Self>,
        asked: &Asked,
        query: v1::NodeProperties,
    ) -> Result<Answer> {
        let ids = wire::of_ids(query.ids)?;
        asked.here.limits().refuse_rows(ids.len() as u64)?;
        let (mut parts, mut all) = (Vec::new(), Vec::new());
        for (share, places, ids) in asked.by_share(&ids) {
            let names = query.names.clone();
            let query = Query::NodeProperties(v1::NodeProperties { ids, names });
            parts.push((share, asked.part(query)));
            all.push(places);
        }
        let mut properties = vec![v1::Properties::default(); ids.len()];
        for (places, answer) in all.into_iter().zip(self.ask_each(asked, parts).await?) {
            for (place, found) in places.into_iter().zip(answer.properties) {
                if let Some(properties) = properties.get_mut(place) {
                    *properties = found;
                }
            }
        }
        Ok(Answer { commit: asked.commit.unwrap_or_default(), properties, ..Answer::default() })
    }

    /// The destinations are where the node is, and their properties where they are.
    async fn neighbors(self: &Arc<Self>, asked: &Asked, query: v1::Neighbors) -> Result<Answer> {
        let share = asked.placement.share_with(&wire::of_id(query.id.clone())?);
        let (wanted, again) = (query.r#where.clone(), Query::Neighbors(query.clone()));
        let sorts = query.order.as_ref().is_some_and(|order| order.by.is_some());
        let order = query.order.filter(|_| wanted.is_empty() && !sorts);
        let all = v1::Neighbors { r#where: Vec::new(), order, ..query };
        let mut found = self.ask(asked, share, None, asked.part(Query::Neighbors(all))).await?;
        let nobody = found.ids.is_empty();
        if !wanted.is_empty() {
            let ids = wire::of_ids(std::mem::take(&mut found.ids))?;
            let step = v1::Frontier { r#where: wanted, select: true, ..v1::Frontier::default() };
            let (chosen, _) = self.step(asked, &ids, &step).await?;
            found.ids = in_order(&ids, &chosen).iter().map(wire::id).collect();
            if found.ids.is_empty() && (has_labels(&step.r#where) || nobody) {
                return Err(unsure());
            }
        }
        if sorts && found.ids.is_empty() {
            return Err(unsure());
        }
        found.ids = self.sorted(asked, found.ids, &again).await?;
        Ok(found)
    }

    /// A step from some nodes: those that meet the conditions, as the store writes their ids, and the nodes that
    /// edges lead to.
    async fn step(
        self: &Arc<Self>,
        asked: &Asked,
        ids: &[ExternalId],
        step: &v1::Frontier,
    ) -> Result<(HashSet<ExternalId>, Vec<ExternalId>)> {
        let part = |(share, _, ids)| {
            (share, asked.part(Query::Frontier(v1::Frontier { ids, ..step.clone() })))
        };
        let parts = asked.by_share(ids).into_iter().map(part).collect();
        let (mut chosen, mut reached) = (HashSet::new(), Vec::new());
        for answer in self.ask_each(asked, parts).await? {
            chosen.extend(wire::of_ids(answer.ids)?);
            reached.extend(wire::of_ids(answer.reached)?);
        }
        Ok((chosen, reached))
    }

    async fn expand(self: &Arc<Self>, asked: &Asked, query: v1::Expand) -> Result<Answer> {
        let limits = asked.here.limits();
        let most = query.limit.unwrap_or(u64::MAX).min(limits.rows as u64 + 1) as usize;
        let v1::Expand { edge_type, r#where, hops, .. } = query;
        let plain = v1::Frontier { edge_type, ..v1::Frontier::default() };
        let first = v1::Frontier { select: true, reach: hops > 0, ..plain.clone() };
        let (mut seen, mut reached) = self.step(asked, &wire::of_ids(query.ids)?, &first).await?;
        let mut found = Answer { commit: asked.commit.unwrap_or_default(), ..Answer::default() };
        for distance in 1..=hops {
            reached.retain(|id| seen.insert(id.clone()));
            limits.refuse_rows(seen.len() as u64)?;
            if reached.is_empty() || found.ids.len() >= most {
                break;
            }
            let (r#where, reach) = (r#where.clone(), distance < hops);
            let step = v1::Frontier { r#where, select: true, reach, ..plain.clone() };
            let (chosen, next) = self.step(asked, &reached, &step).await?;
            let chosen = in_order(&reached, &chosen);
            found.distances.extend(chosen.iter().map(|_| distance));
            found.ids.extend(chosen.iter().map(wire::id));
            reached = next;
        }
        found.ids.truncate(most);
        found.distances.truncate(most);
        limits.refuse_rows(found.ids.len() as u64)?;
        match found.ids.is_empty() && !r#where.is_empty() {
            // It may be that nothing was looked at, and so no name was checked.
            true => Err(unsure()),
            false => Ok(found),
        }
    }
}

/// Edges in the order of a search, and no more than it wants. Without a property `timestamp`, that is their time.
fn sorted_edges(mut edges: Vec<v1::Edge>, query: &Query) -> Result<Vec<v1::Edge>> {
    if let Some((by, order)) = sort_of(query) {
        let has = |edge: &v1::Edge| edge.properties.iter().any(|property| property.name == *by);
        let as_time = by == TIME && !edges.iter().any(has);
        edges = order.sort_by_value(edges, |edge| value_of(edge, by, as_time))?;
    }
    edges.truncate(limit_of(query));
    Ok(edges)
}

/// Counts of several shares, by value.
fn added_up(counts: Vec<v1::Count>) -> Result<Vec<v1::Count>> {
    let counts = counts.into_iter().map(|one| Ok((wire::of_value(one.value)?, one.count)));
    let added = nakshi_property::added_up(counts.collect::<Result<Vec<_>>>()?)?;
    let one = |(value, count)| v1::Count { value: Some(wire::value(&value)), count };
    Ok(added.into_iter().map(one).collect())
}

/// Those of some ids that were chosen.
fn in_order(ids: &[ExternalId], chosen: &HashSet<ExternalId>) -> Vec<ExternalId> {
    ids.iter().filter(|id| chosen.contains(id)).cloned().collect()
}

/// Nothing was found, and only a server with the whole graph knows whether that is an error.
fn unsure() -> Error {
    Error::new(ErrorKind::Gone, "nothing was found")
}

fn no_server() -> Error {
    Error::new(ErrorKind::Unavailable, "no server has these nodes")
}

/// Counts a call until it ends.
struct Running<'r>(&'r AtomicUsize);

impl<'r> Running<'r> {
    fn begin(count: &'r AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Running(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The answer of the first of two calls, or of the second, which begins if the first takes long or fails.
async fn hedged([first, second]: [impl Future<Output = Result<Answer>>; 2]) -> Result<Answer> {
    tokio::pin!(first, second);
    let failed = |answered: &Result<Answer>| {
        answered.as_ref().is_err_and(|error| error.kind == ErrorKind::Unavailable)
    };
    match tokio::time::timeout(HEDGE, &mut first).await {
        Ok(answered) if failed(&answered) => return second.await,
        Ok(answered) => return answered,
        Err(_) => {}
    }
    tokio::select! {
        answered = &mut first => if failed(&answered) { second.await } else { answered },
        answered = &mut second => if failed(&answered) { first.await } else { answered },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three servers with the whole graph, of which this is the second, and two shares on two servers each.
    fn gateway() -> Arc<Gateway> {
        let servers: Vec<String> = (0..7).map(|port| format!("127.0.0.1:{port}")).collect();
        let placement = Placement::new(7, Some(2));
        let time = Duration::from_secs(1);
        Gateway::new(placement, &servers, 1, Peers::default(), time).unwrap()
    }

    fn set(gateway: &Gateway, running: [usize; 7]) {
        for (server, running) in gateway.servers.iter().zip(running) {
            server.running.store(running, Relaxed);
        }
    }

    /// Seen red without the look at the nodes, and at the set.
    #[test]
    fn a_server_refuses_buckets_that_it_does_not_have() {
        let id = |id: u64| wire::id(&ExternalId::U64(id));
        let own = BucketSet::new([bucket_of(&ExternalId::U64(7))]);
        let frontier = |ids: &[u64]| {
            let ids = ids.iter().map(|one| id(*one)).collect();
            Query::Frontier(v1::Frontier { ids, ..v1::Frontier::default() })
        };
        let part = Query::NodePart(v1::NodePart { id: Some(id(8)), ..v1::NodePart::default() });
        let all = Query::CountNodes(v1::CountNodes::default());
        let more = own.clone().union(&BucketSet::new([bucket_of(&ExternalId::U64(8))]));
        for (query, wanted, has) in [
            (frontier(&[7, 7]), None, true),
            (frontier(&[7, 8]), None, false),
            (part, None, false),
            (all.clone(), Some(&own), true),
            (all, Some(&more), false),
        ] {
            let refused = refuse_other_buckets(&own, &query, wanted);
            assert_eq!(refused.is_ok(), has, "{query:?}");
            assert!(refused.is_ok() || is_elsewhere(&refused.unwrap_err()));
        }
    }

    /// Seen red with a helper that has as much to do.
    #[test]
    fn busy_servers_of_a_share_are_helped() {
        let gateway = gateway();
        let share = gateway.listed.servers(0).to_vec();
        assert_eq!(share, [3, 5]);
        for (running, helper) in [
            ([0, 0, 0, 0, 0, 0, 0], None),
            // One of them has time.
            ([0, 0, 0, 90, 0, 7, 0], None),
            ([0, 0, 0, 8, 0, 8, 0], Some(1)),
            // The other share does not matter.
            ([0, 0, 0, 7, 50, 7, 50], None),
            ([0, 2, 1, 8, 0, 9, 0], Some(0)),
            ([3, 2, 2, 8, 0, 9, 0], Some(1)),
            ([4, 4, 4, 8, 0, 9, 0], None),
            ([4, 5, 6, 10, 0, 11, 0], Some(0)),
        ] {
            set(&gateway, running);
            assert_eq!(gateway.helper(&share), helper, "{running:?}");
        }
        set(&gateway, [0, 0, 0, 8, 0, 8, 0]);
        gateway.servers[1].away.store(u64::MAX, Relaxed);
        assert_eq!(gateway.helper(&share), Some(0));
    }
}
