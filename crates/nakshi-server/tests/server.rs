//! A server and its client over loopback: limits, hostile messages, transactions whose client goes away.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{
    Change, LoadOptions, PropertyStore, QueryOrder, Table, TableRows, Value, load,
};
use nakshi_server::v1::query_request::Query;
use nakshi_server::v1::{self, Answer};
use nakshi_server::{
    Client, ConnectOptions, ErrorKind, Limits, Queries, RemoteCommit, ServeOptions, Server,
    requests,
};
use nakshi_store::import::Hooks;
use nakshi_store::{ExternalId, OpenOptions};
use tempfile::TempDir;

/// A running server of a small graph, which ends when it is dropped.
struct Running {
    address: String,
    store: Arc<PropertyStore>,
    cancel: CancelToken,
    thread: Option<JoinHandle<nakshi_server::Result<()>>>,
    _folder: TempDir,
}

impl Running {
    fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (nodes, edges) = (folder.path().join("nodes.csv"), folder.path().join("edges.csv"));
        std::fs::write(&nodes, "id:ID,name,age:int\n1,ann,30\n2,bob,20\n3,cem,30\n").unwrap();
        std::fs::write(&edges, ":START_ID,:END_ID,:TYPE\n1,2,knows\n1,3,knows\n2,3,likes\n")
            .unwrap();
        let path = folder.path().join("g.nakshi");
        let table = |file| vec![Table::new(None, TableRows::Path(file))];
        let options = LoadOptions::default();
        load(&path, table(nodes), table(edges), &options, &Hooks::default()).unwrap();
        let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
        let options =
            ServeOptions { listen: ([127, 0, 0, 1], 0).into(), limits, ..ServeOptions::default() };
        let cancel = CancelToken::new();
        let server = Server::bind(Arc::clone(&store), options, &cancel).unwrap();
        let (address, ends) = (server.address().to_string(), cancel.clone());
        let thread = Some(std::thread::spawn(move || server.run(&ends)));
        Running { address, store, cancel, thread, _folder: folder }
    }

    fn client(&self) -> Arc<Client> {
        Arc::new(Client::connect(&self.address, ConnectOptions::default()).unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn id(number: i64) -> ExternalId {
    ExternalId::I64(number)
}

fn set_age(node: i64, age: i64) -> Change {
    Change::UpdateNode {
        id: id(node),
        properties: vec![("age".into(), Value::Int(age))],
        merge: true,
    }
}

fn kind<T: std::fmt::Debug>(result: Result<T, nakshi_server::Error>) -> ErrorKind {
    result.unwrap_err().kind
}

#[test]
fn a_client_reads_and_writes() {
    let server = Running::start(Limits::default());
    let client = server.client();
    assert_eq!(client.commit(&[set_age(1, 31)]), Ok(Some(1)));
    let found = client.get_node_property(&id(1), Some(&["age", "name"])).unwrap();
    let wanted = [("age".into(), Value::Int(31)), ("name".into(), Value::String("ann".into()))];
    assert_eq!(found, wanted);
    assert_eq!(server.store.snapshot().commit(), client.status().unwrap().commit);
    assert_eq!(kind(client.get_node_property(&id(9), None)), ErrorKind::UnknownNode);
    assert_eq!(kind(client.get_node_property(&id(1), Some(&["nam"]))), ErrorKind::Parameter);
}

#[test]
fn a_record_is_read_from_its_state_until_it_expires() {
    let server = Running::start(Limits::default());
    let client = server.client();
    let record = client.get_edge_records(&id(1), Some("knows")).unwrap().pop().unwrap();
    client
        .commit(&[Change::DeleteEdge {
            source: id(1),
            edge_type: "knows".into(),
            destination: id(2),
        }])
        .unwrap();
    let edges = client.get_edges(&record, 0..10).unwrap();
    assert_eq!(
        edges.iter().map(|edge| edge.destination.clone()).collect::<Vec<_>>(),
        [id(2), id(3)]
    );
    assert_eq!(client.assoc_count(&id(1), "knows"), Ok(1));
    let query = |commit| {
        let query = v1::AssocCount {
            id: Some(v1::Id { id: Some(v1::id::Id::Number(1)) }),
            edge_type: "knows".into(),
        };
        let commit = Some(commit);
        client.ask(v1::QueryRequest {
            commit,
            query: Some(Query::AssocCount(query)),
            ..Default::default()
        })
    };
    let commit = server.store.snapshot().commit();
    assert_eq!(query(commit).unwrap().count, Some(1));
    assert_eq!(query(commit - 1).unwrap().count, Some(2));
    assert_eq!(kind(query(commit + 1)), ErrorKind::Gone);
}

#[test]
fn what_goes_beyond_the_limits_is_refused() {
    let limits = Limits { rows: 2, request_bytes: 10_000, calls: 2, ..Limits::default() };
    let server = Running::start(limits);
    let client = server.client();
    let all = QueryOrder::default();
    assert_eq!(kind(client.find_nodes(&[], &all)), ErrorKind::Overloaded);
    let two = QueryOrder { limit: Some(2), ..all };
    assert_eq!(client.find_nodes(&[], &two).unwrap().len(), 2);
    let long = Change::AppendNode {
        id: id(4),
        properties: vec![("name".into(), Value::String("x".repeat(20_000)))],
    };
    assert_eq!(kind(client.commit(&[long])), ErrorKind::Overloaded);
    // Two transactions are two calls.
    let running = [client.transaction(false).unwrap(), client.transaction(false).unwrap()];
    assert_eq!(kind(client.count_nodes(&[])), ErrorKind::Overloaded);
    drop(running);
    while client.count_nodes(&[]).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_transaction_commits_only_what_nobody_else_has_changed() {
    let server = Running::start(Limits::default());
    let client = server.client();
    let transaction = client.transaction(false).unwrap();
    let age = |queries: &dyn Queries| {
        queries.get_node_property(&id(1), Some(&["age"])).unwrap()[0].1.clone()
    };
    assert_eq!(age(&transaction), Value::Int(30));
    assert_eq!(transaction.apply(&[set_age(1, 50)]), Ok(1));
    assert_eq!((age(&transaction), age(&*client)), (Value::Int(50), Value::Int(30)));
    client.commit(&[set_age(1, 40)]).unwrap();
    assert_eq!(kind(transaction.commit()), ErrorKind::Conflict);
    assert_eq!(kind(transaction.commit()), ErrorKind::Parameter);
    let again = client.transaction(true).unwrap();
    assert_eq!(kind(again.apply(&[set_age(9, 1)])), ErrorKind::UnknownNode);
    again.apply(&[set_age(1, 51)]).unwrap();
    again.commit().unwrap();
    assert_eq!(age(&*client), Value::Int(51));
}

#[test]
fn a_client_that_goes_or_sleeps_leaves_no_transaction() {
    let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
    let server = Running::start(limits);
    let client = server.client();
    let sleeping = client.transaction(true).unwrap();
    sleeping.apply(&[set_age(1, 99)]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(kind(sleeping.commit()), ErrorKind::Deadline);
    {
        let gone = server.client();
        gone.transaction(true).unwrap().apply(&[set_age(1, 98)]).unwrap();
    }
    client.commit(&[set_age(2, 1)]).unwrap();
    let running = || client.status().unwrap().running_calls;
    while running() > 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.count_nodes(&[("age", Value::Int(30).into())]), Ok(2));
}

#[test]
fn long_answers_come_in_parts() {
    let server = Running::start(Limits::default());
    let client = server.client();
    let text = "x".repeat(1000);
    let node = |number| Change::AppendNode {
        id: id(number),
        properties: vec![("name".into(), Value::String(text.clone()))],
    };
    client.commit(&(10..3010).map(node).collect::<Vec<_>>()).unwrap();
    let ids: Vec<_> = (10..3010).map(id).collect();
    let found = client.get_node_properties(&ids, None).unwrap();
    assert_eq!(found.len(), 3000);
    assert!(found.iter().all(|one| one[0].1 == Value::String(text.clone())));
    let transaction = client.transaction(false).unwrap();
    assert_eq!(transaction.get_node_properties(&ids, None), Ok(found));
    assert_eq!(transaction.find_nodes(&[], &QueryOrder::default()).unwrap().len(), 3003);
}

#[test]
fn many_queries_are_asked_without_waiting() {
    let server = Running::start(Limits { rows: 1000, ..Limits::default() });
    let client = server.client();
    let text = "x".repeat(100_000);
    let name = vec![("name".into(), Value::String(text))];
    client.commit(&[Change::AppendNode { id: id(4), properties: name }]).unwrap();
    let long: Vec<_> = (0..5).map(|_| id(4)).collect();
    let mut queries = Vec::new();
    for _ in 0..500 {
        queries.push(requests::assoc_count(&id(1), "knows"));
        queries.push(requests::node_properties(&[id(9)], None));
        queries.push(requests::count_nodes(&[], None).unwrap());
    }
    queries.push(requests::node_properties(&long, None));
    let answers = client.ask_each(queries).unwrap();
    assert_eq!(answers.len(), 1501);
    for three in answers[..1500].chunks(3) {
        assert_eq!(three[0].as_ref().unwrap().count, Some(2));
        assert_eq!(three[1].as_ref().unwrap_err().kind, ErrorKind::UnknownNode);
        assert_eq!(three[2].as_ref().unwrap().count, Some(4));
    }
    // Half a megabyte, in several parts.
    assert_eq!(answers[1500].as_ref().unwrap().properties.len(), 5);
    assert_eq!(client.ask_each(Vec::new()), Ok(Vec::new()));
}

/// Seen red with a pipeline that keeps its place while it waits.
#[test]
fn a_pipeline_without_a_query_is_no_running_call() {
    let limits = Limits { calls: 2, idle: Duration::from_millis(600), ..Limits::default() };
    let server = Running::start(limits);
    let request =
        v1::QueryRequest { query: Some(requests::object(&id(1))), ..v1::QueryRequest::default() };
    let asked = async {
        let address = format!("http://{}", server.address);
        let channel = tonic::transport::Endpoint::from_shared(address).unwrap().connect_lazy();
        let mut client = v1::graph_client::GraphClient::new(channel);
        let mut pipelines = Vec::new();
        for _ in 0..2 {
            let (queries, sent) = tokio::sync::mpsc::channel(1);
            queries.send(request.clone()).await.unwrap();
            let sent = tokio_stream::wrappers::ReceiverStream::new(sent);
            let mut replies = client.pipeline(sent).await.unwrap().into_inner();
            assert!(replies.message().await.unwrap().is_some());
            pipelines.push((queries, replies));
        }
        // Calls of others have places, but there are as many pipelines as there may be.
        for _ in 0..3 {
            client.query(request.clone()).await.unwrap();
        }
        let refused = client.pipeline(tokio_stream::empty()).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        let (queries, replies) = &mut pipelines[0];
        queries.send(request.clone()).await.unwrap();
        assert!(replies.message().await.unwrap().is_some());
        // Nobody asks for a while.
        assert!(replies.message().await.unwrap().is_none());
    };
    tokio::runtime::Runtime::new().unwrap().block_on(asked);
}

#[test]
fn many_threads_share_a_client() {
    let server = Running::start(Limits::default());
    let (client, made) = (server.client(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (client, made) = (&client, &made);
            scope.spawn(move || {
                for i in 0..20 {
                    let node = 1000 * (thread + 1) + i;
                    let new = Change::AppendNode { id: id(node), properties: Vec::new() };
                    made.fetch_add(client.commit(&[new]).unwrap().unwrap(), Relaxed);
                    assert_eq!(client.get_node_property(&id(node), None), Ok(Vec::new()));
                }
            });
        }
    });
    assert_eq!(made.load(Relaxed), 160);
    assert_eq!(client.count_nodes(&[]), Ok(163));
}

#[test]
fn commits_in_flight_are_made_in_their_order() {
    // All commits are one call; a transaction is another, which may end after its client has the answer.
    let server = Running::start(Limits { calls: 3, ..Limits::default() });
    let client = server.client();
    let append = |node: i64| Change::AppendNode { id: id(node), properties: Vec::new() };
    let edge = |node: i64| Change::AppendEdge {
        source: id(node),
        edge_type: "knows".into(),
        destination: id(node - 1),
        timestamp: 0,
        properties: Vec::new(),
    };
    // More than a call has in flight, and each needs the one before.
    let commits: Vec<RemoteCommit> =
        (4..604).map(|node| client.commit_async(&[append(node), edge(node)]).unwrap()).collect();
    let numbers: Vec<u64> = commits.iter().map(RemoteCommit::number).collect();
    assert_eq!(numbers, (1..601).collect::<Vec<_>>());
    assert_eq!(kind(client.commit_async(&[append(5)])), ErrorKind::Parameter);
    let transaction = client.transaction(false).unwrap();
    transaction.apply(&[set_age(1, 99)]).unwrap();
    let last = transaction.commit_async().unwrap();
    assert_eq!((last.number(), last.changed(), last.wait()), (601, Some(1), Ok(())));
    assert!(commits.iter().all(|commit| commit.wait().is_ok() && commit.is_durable()));
    assert_eq!(client.count_nodes(&[]), Ok(603));
}

/// Sends bytes as they are, and reads the answer as a message.
#[derive(Clone, Default)]
struct Raw;

impl tonic::codec::Encoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;

    fn encode(
        &mut self,
        item: Vec<u8>,
        to: &mut tonic::codec::EncodeBuf<'_>,
    ) -> Result<(), tonic::Status> {
        use prost::bytes::BufMut;
        to.put_slice(&item);
        Ok(())
    }
}

impl tonic::codec::Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Answer;
    type Encoder = Raw;
    type Decoder = <tonic_prost::ProstCodec<Answer, Answer> as tonic::codec::Codec>::Decoder;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Self::Decoder {
        tonic_prost::ProstCodec::<Answer, Answer>::default().decoder()
    }
}

/// Four requests, encoded.
fn requests() -> Vec<Vec<u8>> {
    use prost::Message;
    let is = v1::condition::Condition::Is(v1::Value { value: Some(v1::value::Value::Int(30)) });
    let condition = Some(v1::Condition { condition: Some(is) });
    let filter = v1::Filter { property: "age".into(), condition };
    let node = Some(v1::Id { id: Some(v1::id::Id::Number(1)) });
    let knows = String::from("knows");
    let queries = [
        Query::Nodes(v1::Nodes { r#where: vec![filter.clone()], order: None }),
        Query::CountEdges(v1::CountEdges { r#where: vec![filter], ..v1::CountEdges::default() }),
        Query::RecordEdges(v1::RecordEdges {
            id: node.clone(),
            edge_type: knows,
            begin: 0,
            end: 9,
        }),
        Query::NodePart(v1::NodePart { id: node, name: "name".into(), offset: 0, length: 9 }),
    ];
    let encoded =
        |query| v1::QueryRequest { query: Some(query), ..Default::default() }.encode_to_vec();
    queries.into_iter().map(encoded).collect()
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Changes some bytes of a message, cuts it off, or makes another one at random.
    fn spoil(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self.below(3) {
            0 => {
                for _ in 0..=self.below(4) {
                    let place = self.below(bytes.len());
                    bytes[place] = self.below(256) as u8;
                }
            }
            1 => bytes.truncate(self.below(bytes.len())),
            _ => bytes = (0..self.below(200)).map(|_| self.below(256) as u8).collect(),
        }
        bytes
    }
}

#[test]
fn malformed_messages_get_errors_and_nothing_else() {
    let server = Running::start(Limits { rows: 1000, ..Limits::default() });
    let before = server.store.snapshot().commit();
    let (valid, mut random) = (requests(), Random(0x9e37_79b9_7f4a_7c15));
    let (mut answered, mut refused) = (0, 0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let endpoint =
            tonic::transport::Endpoint::from_shared(format!("http://{}", server.address));
        let mut grpc = tonic::client::Grpc::new(endpoint.unwrap().connect().await.unwrap());
        for round in 0..10_000 {
            let bytes = random.spoil(valid[round % valid.len()].clone());
            let path = match random.below(4) {
                0 => "/nakshi.v1.Graph/Commit",
                _ => "/nakshi.v1.Graph/Query",
            };
            grpc.ready().await.unwrap();
            let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
            let sent = grpc.server_streaming(tonic::Request::new(bytes), path, Raw).await;
            let told = match sent {
                Ok(mut answers) => answers.get_mut().message().await,
                Err(status) => Err(status),
            };
            let Err(status) = told else {
                answered += 1;
                continue;
            };
            let lost = [tonic::Code::Unavailable, tonic::Code::Unknown];
            assert!(!lost.contains(&status.code()), "{status:?}");
            assert!(!status.message().contains("internal error"), "{status:?}");
            refused += 1;
        }
    });
    assert!(answered > 100 && refused > 1000, "{answered} answered, {refused} refused");
    let client = server.client();
    let found = client.get_node_property(&id(1), Some(&["age"])).unwrap();
    assert_eq!(found[0].1, Value::Int(30));
    // Bytes at random are no changes, except for the empty list of them.
    assert_eq!(server.store.snapshot().commit(), before);
}

#[test]
fn an_address_that_is_taken_is_refused() {
    let server = Running::start(Limits::default());
    let listen = server.address.parse().unwrap();
    let options = ServeOptions { listen, read_only: true, ..ServeOptions::default() };
    let store = Arc::clone(&server.store);
    let refused = Server::bind(store, options, &CancelToken::new());
    assert_eq!(kind(refused), ErrorKind::Unavailable);
    let nobody = Client::connect("127.0.0.1:1", ConnectOptions::default());
    assert_eq!(kind(nobody), ErrorKind::Unavailable);
}
