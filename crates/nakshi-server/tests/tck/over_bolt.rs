//! A server, asked over Bolt by a client that shares no code with it but the codec of Bolt.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use boltr::BoltError;
use boltr::client::BoltConnection;
use boltr::types::{BoltDict, BoltNode, BoltPath, BoltValue};
use chrono::{DateTime as UtcTime, Days, NaiveDate, NaiveTime};
use gherkin::Step;
use nakshi_io::CancelToken;
use nakshi_query::{DateTime, Duration, Time, Value, Zone};
use nakshi_server::{ServeOptions, Server};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::door::{Answer, Door, Fault, Parameters, Sort};
use crate::expected::Expected;
use crate::in_process::{empty_store, home, open};
use crate::procedures::Shared;

/// A running server, which ends when it is dropped.
struct Running {
    procedures: Arc<Shared>,
    cancel: CancelToken,
    thread: Option<JoinHandle<nakshi_server::Result<()>>>,
    _home: TempDir,
}

/// A connection to a server, whose graph each scenario begins by emptying.
pub struct OverBolt {
    runtime: Runtime,
    connection: BoltConnection,
    /// `None` for a server that was running before.
    own: Option<Running>,
    has_procedures: bool,
}

impl OverBolt {
    /// A connection to a new server.
    pub fn new() -> Self {
        let home = home();
        let path = home.path().join("g.nakshi");
        empty_store(&path);
        let (procedures, cancel) = (Arc::<Shared>::default(), CancelToken::new());
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = ServeOptions {
            listen,
            bolt: Some(listen),
            procedures: Arc::clone(&procedures) as _,
            ..ServeOptions::default()
        };
        let server = Server::bind(open(&path), options, &cancel).unwrap();
        let (address, ends) = (server.bolt_address().unwrap(), cancel.clone());
        let thread = Some(std::thread::spawn(move || server.run(&ends)));
        let own = Running { procedures, cancel, thread, _home: home };
        OverBolt { own: Some(own), ..OverBolt::to(address) }
    }

    /// A connection to a server that runs.
    pub fn to(address: SocketAddr) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connect = async {
            let mut connection = BoltConnection::connect(address).await?;
            let agent = BoltValue::String("nakshi-tck".into());
            connection.hello(HashMap::from([("user_agent".to_owned(), agent)])).await?;
            connection.logon("none", None, None).await?;
            Ok::<_, BoltError>(connection)
        };
        let connection = runtime.block_on(connect).unwrap();
        OverBolt { runtime, connection, own: None, has_procedures: false }
    }
}

impl OverBolt {
    /// The answer to a statement, and whether it only reads.
    fn ask_once(&mut self, text: &str, parameters: &Parameters) -> Result<(Answer, bool), Fault> {
        let parameters =
            parameters.iter().map(|(name, value)| (name.clone(), sent(value))).collect();
        let connection = &mut self.connection;
        let asked = self.runtime.block_on(async {
            let told = connection.run(text, parameters, HashMap::new()).await?;
            let (rows, summary) = connection.pull_all().await?;
            Ok((told, rows, summary))
        });
        let (told, rows, summary) = match asked {
            Ok(answer) => answer,
            Err(BoltError::Query { code, message }) => {
                self.runtime.block_on(self.connection.reset()).unwrap();
                return Err(Fault { message, sort: Sort::Code(code) });
            }
            Err(error) => panic!("the server broke the protocol: {error}"),
        };
        let Some(BoltValue::List(columns)) = told.get("fields") else { panic!("{told:?}") };
        let columns = columns.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        let rows = rows.into_iter().map(|row| row.into_iter().map(received).collect()).collect();
        let only_reads = summary.get("type").and_then(BoltValue::as_str) == Some("r");
        Ok((Answer { columns, rows }, only_reads))
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

impl Door for OverBolt {
    fn empty(&mut self) {
        if self.has_procedures {
            // A server keeps its procedures, and plans that know them.
            *self = OverBolt::new();
        }
        if let Err(fault) = self.ask("MATCH (n) DETACH DELETE n", &Parameters::new()) {
            panic!("the graph of the server cannot be emptied: {fault}");
        }
    }

    fn add_procedure(&mut self, step: &Step) -> bool {
        self.has_procedures = self.own.is_some();
        self.own.as_ref().inspect(|own| own.procedures.add(step)).is_some()
    }

    fn ask(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Fault> {
        let (answer, only_reads) = self.ask_once(text, parameters)?;
        // The server runs what it knows to be short in another way, which this is to judge.
        match only_reads && self.own.is_some() {
            true => self.ask_once(text, parameters).map(|(answer, _)| answer),
            false => Ok(answer),
        }
    }
}

/// A parameter.
fn sent(value: &Expected) -> BoltValue {
    match value {
        Expected::Null => BoltValue::Null,
        Expected::Bool(value) => BoltValue::Boolean(*value),
        Expected::Int(value) => BoltValue::Integer(*value),
        Expected::Float(value) => BoltValue::Float(value.parse().unwrap()),
        Expected::Text(text) => BoltValue::String(text.clone()),
        Expected::List(items) => BoltValue::List(items.iter().map(sent).collect()),
        Expected::Map(map) => {
            let entries = map.iter().map(|(name, value)| (name.clone(), sent(value)));
            BoltValue::Dict(entries.collect())
        }
        other => panic!("{other:?} is no parameter"),
    }
}

/// A value of a row.
fn received(value: BoltValue) -> Expected {
    match value {
        BoltValue::Null => Expected::Null,
        BoltValue::Boolean(value) => Expected::Bool(value),
        BoltValue::Integer(value) => Expected::Int(value),
        BoltValue::Float(value) => Expected::of(&Value::Float(value)),
        BoltValue::String(text) => Expected::Text(text),
        BoltValue::List(items) => Expected::List(items.into_iter().map(received).collect()),
        BoltValue::Dict(map) => Expected::Map(map_of(map)),
        BoltValue::Node(node) => node_of(node),
        BoltValue::Relationship(edge) => Expected::Edge(edge.rel_type, map_of(edge.properties)),
        BoltValue::Path(path) => path_of(path),
        other => Expected::of(&time_of(other)),
    }
}

fn map_of(map: BoltDict) -> std::collections::BTreeMap<String, Expected> {
    map.into_iter().map(|(name, value)| (name, received(value))).collect()
}

fn node_of(node: BoltNode) -> Expected {
    Expected::Node(node.labels.into_iter().collect(), map_of(node.properties))
}

/// A path: each step has the place of its edge, from 1 on and negative for one passed backwards, and the place of
/// the node behind it.
fn path_of(path: BoltPath) -> Expected {
    let nodes: Vec<Expected> = path.nodes.into_iter().map(node_of).collect();
    let (mut passed, mut edges) = (vec![nodes[0].clone()], Vec::new());
    for step in path.indices.chunks(2) {
        let edge = &path.rels[step[0].unsigned_abs() as usize - 1];
        let forwards = step[0] > 0;
        let edge = Expected::Edge(edge.rel_type.clone(), map_of(edge.properties.clone()));
        edges.push((edge, forwards));
        passed.push(nodes[step[1] as usize].clone());
    }
    Expected::Path(passed, edges)
}

/// A time or a duration.
fn time_of(value: BoltValue) -> Value {
    let of_day = |nanos: i64| {
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        NaiveTime::from_num_seconds_from_midnight_opt(seconds as u32, rest as u32).unwrap()
    };
    let instant =
        |seconds, nanos: i64| UtcTime::from_timestamp(seconds, nanos as u32).unwrap().naive_utc();
    match value {
        BoltValue::Date(date) => {
            let (first, days) = (NaiveDate::default(), Days::new(date.days.unsigned_abs()));
            Value::Date(if date.days < 0 { first - days } else { first + days })
        }
        BoltValue::LocalTime(time) => Value::LocalTime(of_day(time.nanoseconds)),
        BoltValue::Time(time) => Value::Time(Time {
            time: of_day(time.nanoseconds),
            offset: time.tz_offset_seconds as i32,
        }),
        BoltValue::LocalDateTime(at) => Value::LocalDateTime(instant(at.seconds, at.nanoseconds)),
        BoltValue::DateTime(at) => {
            let zone = Zone::Offset(at.tz_offset_seconds as i32);
            Value::DateTime(DateTime::of_utc(instant(at.seconds, at.nanoseconds), zone).unwrap())
        }
        BoltValue::DateTimeZoneId(at) => {
            let zone = Zone::Named(at.tz_id.parse().unwrap());
            Value::DateTime(DateTime::of_utc(instant(at.seconds, at.nanoseconds), zone).unwrap())
        }
        BoltValue::Duration(parts) => Value::Duration(Arc::new(Duration {
            months: parts.months,
            days: parts.days,
            seconds: parts.seconds,
            nanos: parts.nanoseconds as i32,
        })),
        other => panic!("{other:?} is in no scenario"),
    }
}
