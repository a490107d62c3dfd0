//! The workers of a run on the servers that have the shares of a graph.

use std::sync::Arc;

use nakshi_property::{BucketSet, PropertyGraph};
use nakshi_store::ExternalId;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;
use tonic::Streaming;

use crate::error::{Error, ErrorKind, Result};
use crate::gateway::{Gateway, is_elsewhere};
use crate::v1::{WorkReply, WorkRequest};

/// The needs of the workers of a run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wanted {
    /// An edge property that is the weight of edges.
    weight: Option<String>,
    /// True if there is a usual one that may serve.
    weighs: bool,
    /// The weight of edges that lack it.
    missing: Option<f64>,
    /// The secret by which the workers know each other.
    token: String,
    /// The nodes that the run names.
    nodes: Vec<serde_json::Value>,
}

/// A worker, which ends when this is dropped.
struct Working {
    told: WorkReply,
    _call: Streaming<WorkReply>,
}

/// The workers of a run, which end when this is dropped; and what the run is told of them.
pub(crate) struct Recruited {
    _workers: Vec<Working>,
    pub(crate) told: serde_json::Value,
}

/// Has a worker begin on one server of each share, with the state `graph`, which this server keeps.
pub(crate) async fn recruit(
    gateway: &Arc<Gateway>,
    graph: &PropertyGraph,
    wanted: Wanted,
) -> Result<Recruited> {
    for node in &wanted.nodes {
        let id = ExternalId::of_json(node);
        if !id.map_or(Ok(false), |id| graph.has_node(&id))? {
            let what = format!("there is no node {node} in the graph");
            return Err(Error::new(ErrorKind::UnknownNode, what));
        }
    }
    let usual = || graph.usual_weight().filter(|_| wanted.weighs).map(str::to_owned);
    let weight = wanted.weight.or_else(usual);
    let request = WorkRequest {
        commit: graph.commit(),
        weight: weight.clone(),
        missing_weight: wanted.missing,
        token: wanted.token,
        ..WorkRequest::default()
    };
    let placement = gateway.placement(graph, None);
    let mut begun = JoinSet::new();
    for share in 0..placement.shares() {
        let buckets = placement.buckets(share).to_bytes();
        let request = WorkRequest { buckets, share: Some(gateway.named(share)), ..request.clone() };
        let gateway = Arc::clone(gateway);
        begun.spawn(async move { (share, begin_share(&gateway, share, request).await) });
    }
    let (mut workers, mut missing) = (Vec::new(), Vec::new());
    while let Some(joined) = begun.join_next().await {
        let panicked = |_| Error::new(ErrorKind::Internal, "internal error: a call panicked");
        match joined.map_err(panicked)? {
            (share, Ok(worker)) => workers.push((share, worker)),
            (share, Err(error)) if is_elsewhere(&error) => missing.push(share),
            (_, Err(error)) => return Err(error),
        }
    }
    workers.sort_by_key(|(share, _)| *share);
    let mut workers: Vec<Working> = workers.into_iter().map(|(_, worker)| worker).collect();
    if !missing.is_empty() {
        // This server has all of the graph.
        let all = missing.iter().map(|share| placement.buckets(*share));
        let buckets = all.fold(BucketSet::default(), |all, one| all.union(&one)).to_bytes();
        let request = WorkRequest { buckets, share: None, ..request };
        workers.push(begin(gateway, gateway.own(), request).await?);
    }
    let unused: &[&str] = if weight.is_none() { &graph.weights() } else { &[] };
    let told = json!({
        "workers": workers.iter().map(|worker| &worker.told.address).collect::<Vec<_>>(),
        "commit": graph.commit(),
        "weight": weight,
        "unweighted": workers.iter().map(|worker| worker.told.unweighted).sum::<u64>(),
        "unused": unused,
    });
    Ok(Recruited { _workers: workers, told })
}

/// Has a worker begin on a server of a share.
async fn begin_share(gateway: &Gateway, share: usize, request: WorkRequest) -> Result<Working> {
    let mut failed = Error::new(ErrorKind::Unavailable, "no server has this share");
    for server in gateway.servers_of(share) {
        match begin(gateway, server, request.clone()).await {
            Err(error) if is_elsewhere(&error) => failed = error,
            begun => return begun,
        }
    }
    Err(failed)
}

async fn begin(gateway: &Gateway, server: usize, request: WorkRequest) -> Result<Working> {
    let mut call = gateway.stub_of(server)?.work(request).await?.into_inner();
    let told = call.message().await?;
    let told = told.ok_or_else(|| Error::new(ErrorKind::Unavailable, "the server has ended"))?;
    Ok(Working { told, _call: call })
}
