//! Where drivers find the servers of a graph.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::channel::Peers;
use crate::replication::Group;
use crate::v1::StatusRequest;
use crate::v1::graph_client::GraphClient;

/// Time for another server to say where drivers find it.
const WORD: Duration = Duration::from_millis(500);
/// Time for which its word counts.
const KNOWN: Duration = Duration::from_secs(5);

/// The word of a server: where drivers find it, if it answers and they do; and when it was asked.
type Word = (Option<String>, Instant);

/// Where drivers find the other servers, by the addresses of these for each other.
pub(crate) struct Routes {
    peers: Peers,
    words: Mutex<HashMap<String, Word>>,
}

impl Routes {
    pub(crate) fn new(peers: Peers) -> Self {
        Routes { peers, words: Mutex::default() }
    }

    /// Where drivers find the servers that answer, in the order of the list, by the addresses of these; `bolt` is
    /// where they find this one.
    pub(super) async fn find(&self, group: &Group, bolt: &str) -> Vec<(String, String)> {
        let servers = group.servers();
        let others = servers.iter().filter(|server| **server != group.address());
        let mut words = self.words.lock().await;
        let mut asked = JoinSet::new();
        for other in others {
            if words.get(other).is_none_or(|(_, when)| when.elapsed() > KNOWN) {
                let (peers, other) = (self.peers.clone(), other.clone());
                asked.spawn(async move {
                    let said = tokio::time::timeout(WORD, ask(&peers, &other)).await;
                    (other, said.ok().flatten())
                });
            }
        }
        while let Some(told) = asked.join_next().await {
            // A task that panicked has told nothing.
            let Ok((other, said)) = told else { continue };
            words.insert(other, (said, Instant::now()));
        }
        let place = |server: String| {
            let found = match server == group.address() {
                true => Some(bolt.to_owned()),
                false => words.get(&server).and_then(|(said, _)| said.clone()),
            };
            found.map(|found| (server, found))
        };
        servers.into_iter().filter_map(place).collect()
    }
}

/// Where drivers find a server; `None` if it does not answer, or they do not.
async fn ask(peers: &Peers, address: &str) -> Option<String> {
    let (channel, token) = peers.channel(address, WORD, None).ok()?;
    let mut stub = GraphClient::with_interceptor(channel, token);
    let said = stub.status(StatusRequest {}).await.ok()?.into_inner();
    (!said.bolt.is_empty()).then_some(said.bolt)
}
