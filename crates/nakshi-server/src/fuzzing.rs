//! Targets of the fuzz tests: what a server makes of the bytes of a request, of the text of a statement, and of
//! what a client sends over Bolt. Ordinary tests replay the stored corpora on them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, Table, TableRows, load};
use nakshi_query::{Class, Database, Mode, Options, Parameters};
use nakshi_store::OpenOptions;
use nakshi_store::files::new_uuid;
use nakshi_store::import::Hooks;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::bolt::{Bolt, talk};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::outcomes::id_of;
use crate::parts;
use crate::serve::{ServeOptions, serve_as};
use crate::served::Served;
use crate::session::Session;
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply;
use crate::v1::{Answer, Changes, CommitRequest, QueryRequest, ResolveRequest, Step, WorkRequest};
use crate::work::part_of;

/// Rows of the tables that the served graph is made of.
const NODES: &str = "id:ID,name,age:int,tags:string[]\n1,ann,30,a;b\n2,bob,20,\n3,cem,30,c\n4,,,\n";
const EDGES: &str = ":START_ID,:END_ID,:TYPE,timestamp:long,since:int\n1,2,knows,1,7\n1,3,knows,2,\n2,3,likes,3,8\n";
/// Limits that are reached soon.
const LIMITS: Limits = Limits {
    calls: 4,
    connections: 4,
    request_bytes: 1 << 16,
    rows: 3,
    statement_bytes: 1 << 20,
    time: Duration::from_secs(1),
    idle: Duration::from_secs(1),
};

/// Bytes of memory of a statement.
const MEMORY: u64 = 1 << 22;
/// Bytes that a client of Bolt 5.4 sends until it has logged on: version, HELLO and LOGON, each without a word more.
const LOGGED_ON: &[u8] = b"\x60\x60\xb0\x17\0\0\x04\x05\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\x03\xb1\x01\xa0\0\0\0\x03\xb1\x6a\xa0\0\0";

/// Time after which a client that hears nothing leaves.
pub const QUIET: Duration = Duration::from_millis(2);

/// A server whose graph may be changed.
static SERVED: LazyLock<Arc<Served>> = LazyLock::new(|| served(false));
/// Another one, whose graph may not: what a client sends alone would be committed.
static BOLT: LazyLock<Arc<Bolt>> = LazyLock::new(|| {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7687));
    Arc::new(Bolt::new(served(true), address, None))
});
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap_or_else(|error| panic!("a runtime: {error}"))
});

fn served(read_only: bool) -> Arc<Served> {
    let folder =
        std::env::temp_dir().join(format!("nakshi-fuzz-{}", u128::from_le_bytes(new_uuid())));
    let store = small_graph(&folder);
    let opened = store.and_then(|store| {
        let store = Arc::new(store);
        // A deletion opens what is opened late. Then the opened files are enough, since nothing is committed.
        let mut transaction = Database::new(Arc::clone(&store)).begin(Mode::Write)?;
        transaction.run("MATCH (n) DETACH DELETE n", Parameters::new(), &Options::default())?;
        transaction.roll_back()?;
        std::fs::remove_dir_all(&folder)?;
        Ok(store)
    });
    let store = opened.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let options = ServeOptions { read_only, limits: LIMITS, ..ServeOptions::default() };
    let (kept, journal, cancel) = (Arc::default(), Arc::default(), CancelToken::new());
    Arc::new(serve_as((store, options), kept, journal, (None, None, None), &cancel))
}

fn small_graph(folder: &Path) -> std::result::Result<PropertyStore, Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let table = |name: &str, rows: &str| {
        let path = folder.join(name);
        std::fs::write(&path, rows).map(|()| vec![Table::new(None, TableRows::Path(path))])
    };
    let (nodes, edges) = (table("nodes.csv", NODES)?, table("edges.csv", EDGES)?);
    let store = folder.join("g.nakshi");
    load(&store, nodes, edges, &LoadOptions::default(), &Hooks::default())?;
    Ok(PropertyStore::open(&store, &OpenOptions::default())?)
}

/// Takes the first byte as a choice of a call, and the rest as the bytes that a stranger has sent to it. An error is
/// a good answer, unless it is a fault of the server.
pub fn request(bytes: &[u8]) {
    let Some((call, message)) = bytes.split_first() else { return };
    if message.len() > LIMITS.request_bytes {
        return;
    }
    match call % 5 {
        0 => QueryRequest::decode(message).into_iter().for_each(query),
        1 => CommitRequest::decode(message).into_iter().for_each(commit),
        2 => ResolveRequest::decode(message).into_iter().for_each(|request| {
            judge(&id_of(&request.id));
        }),
        3 => transaction(message),
        _ => WorkRequest::decode(message).into_iter().for_each(|request| part(&request)),
    }
}

/// Runs the text of a statement in a transaction that is rolled back. An error is a good answer, unless it is a
/// fault of the store.
pub fn statement(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let options = Options { memory: Some(MEMORY), ..Options::default() };
    let ran = SERVED.database.begin(Mode::Write).and_then(|mut transaction| {
        let options = options.with_timeout(LIMITS.time);
        let ran = transaction
            .run(&text, Parameters::new(), &options)
            .and_then(|mut cursor| cursor.next(LIMITS.rows).map(|_| ()));
        transaction.roll_back()?;
        ran
    });
    if let Err(error) = ran {
        assert_ne!(error.class(), Class::Store, "{error}");
    }
}

/// Takes an even first byte for a client that has logged on, and the rest as what it sends over Bolt, until it has
/// heard nothing for a while. The connection ends then, and no failure that the client was told of is a fault of
/// the server. Returns what it was told.
pub fn bolt(bytes: &[u8], quiet: Duration) -> Vec<u8> {
    let Some((known, bytes)) = bytes.split_first() else { return Vec::new() };
    if bytes.len() > LIMITS.request_bytes {
        return Vec::new();
    }
    let before = if known % 2 == 0 { LOGGED_ON } else { &[] };
    let told = RUNTIME.block_on(async {
        // There is room for all that is sent, so that sending does not wait.
        let (client, server) = tokio::io::duplex(2 * LIMITS.request_bytes);
        let talking = tokio::spawn(talk(Arc::clone(&BOLT), server, None));
        let (mut reader, mut writer) = tokio::io::split(client);
        // A server that has closed the connection takes no more.
        let _ = writer.write_all(&[before, bytes].concat()).await;
        let (mut told, mut part) = (Vec::new(), vec![0; LIMITS.request_bytes]);
        while let Ok(Ok(more @ 1..)) = timeout(quiet, reader.read(&mut part)).await {
            told.extend_from_slice(part.get(..more).unwrap_or_default());
        }
        drop((reader, writer));
        // An error is the end of a connection that breaks the protocol.
        let _ = talking.await.unwrap_or_else(|error| panic!("a connection: {error}"));
        told
    });
    let fault = b"Neo.DatabaseError";
    let found = told.windows(fault.len()).any(|part| part == fault);
    assert!(!found, "a fault of the server: {}", String::from_utf8_lossy(&told));
    told
}

/// Panics for an error that is a fault of the server.
fn judge<T>(result: &Result<T>) {
    if let Err(error) = result {
        assert_ne!(error.kind, ErrorKind::Internal, "{error}");
        assert!(!error.message.contains('\n'), "an error of several lines: {error}");
    }
}

fn query(request: QueryRequest) {
    let answered = SERVED.answer(request);
    judge(&answered);
    let Ok(answer) = answered else { return };
    let mut parts = parts::cut(answer.clone()).into_iter();
    let mut joined = parts.next().unwrap_or_default();
    parts.for_each(|part| parts::join(&mut joined, part));
    assert_eq!(Answer { more: false, ..joined }.encode_to_vec(), answer.encode_to_vec());
}

/// Writes the part of the graph that a worker would get.
fn part(request: &WorkRequest) {
    let (graph, cancel) = (SERVED.store.snapshot(), &SERVED.cancel);
    let written = part_of(request).and_then(|(buckets, weight)| {
        Ok(graph.write_part(&buckets, weight.as_ref(), std::io::sink(), cancel)?)
    });
    judge(&written);
}

fn commit(request: CommitRequest) {
    judge(&id_of(&request.id));
    steps([Kind::Change(Changes { changes: request.changes })]);
}

/// Runs a transaction of messages that each stand behind their length.
fn transaction(mut bytes: &[u8]) {
    let read = std::iter::from_fn(|| Step::decode_length_delimited(&mut bytes).ok());
    // A commit would change the graph for the next input.
    let kinds = read.filter_map(|step| step.step).filter(|kind| !matches!(kind, Kind::Commit(_)));
    steps(kinds);
}

/// Makes the steps of a transaction, which changes nothing in the end.
fn steps(kinds: impl IntoIterator<Item = Kind>) {
    let cancel = SERVED.cancel.clone();
    let begun = Session::begin(&SERVED.store, None, false, LIMITS, cancel);
    judge(&begun);
    let Ok((mut session, _)) = begun else { return };
    for kind in kinds {
        let replies;
        (session, replies) = session.step(Step { step: Some(kind) });
        for reply in replies {
            if let Some(Reply::Fault(fault)) = reply.reply {
                judge::<()>(&Err(fault.into()));
            }
        }
    }
}
