//! Calls to other servers that stay open, each for one query at a time: a call of its own costs both servers more
//! than a short query does.

use std::cell::RefCell;
use std::collections::HashMap;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::channel::Bearer;
use crate::error::Result;
use crate::parts;
use crate::v1::graph_client::GraphClient;
use crate::v1::{Answer, PipelineReply, QueryRequest};

/// Calls of a thread to one server that wait for their next query, at most.
const SPARE: usize = 8;

pub(crate) type Stub = GraphClient<InterceptedService<Channel, Bearer>>;

thread_local! {
    /// The calls of this thread that wait, by the host and port of the server.
    static SPARES: RefCell<HashMap<String, Vec<Line>>> = RefCell::default();
}

/// A call that is open.
struct Line {
    queries: mpsc::Sender<QueryRequest>,
    replies: Streaming<PipelineReply>,
}

/// An answer; or an error of the query, after which the line is good for others.
type Answered = Result<Answer>;

fn ended() -> Status {
    Status::unavailable("the server has ended the call")
}

impl Line {
    /// Begins a call with its first query.
    async fn begin(mut stub: Stub, request: QueryRequest) -> Result<(Self, Answered), Status> {
        let (queries, sent) = mpsc::channel(1);
        queries.try_send(request).map_err(|_| ended())?;
        let replies = stub.pipeline(ReceiverStream::new(sent)).await?.into_inner();
        let mut line = Line { queries, replies };
        let answered = parts::next_of_many(&mut line.replies).await?;
        Ok((line, answered))
    }

    async fn ask(&mut self, request: QueryRequest) -> Result<Answered, Status> {
        self.queries.send(request).await.map_err(|_| ended())?;
        parts::next_of_many(&mut self.replies).await
    }
}

/// Asks a server, by a call that waits for a query or by a new one of `stub`.
pub(crate) async fn ask(address: &str, stub: Stub, request: QueryRequest) -> Answered {
    let spare = SPARES.with_borrow_mut(|all| all.get_mut(address).and_then(Vec::pop));
    // One that nobody has used for a while may have ended.
    let asked = match spare {
        Some(mut line) => line.ask(request.clone()).await.ok().map(|answered| (line, answered)),
        None => None,
    };
    let (line, answered) = match asked {
        Some(asked) => asked,
        None => Line::begin(stub, request).await?,
    };
    SPARES.with_borrow_mut(|all| match all.get_mut(address) {
        Some(lines) if lines.len() >= SPARE => {}
        Some(lines) => lines.push(line),
        None => drop(all.insert(address.to_owned(), vec![line])),
    });
    answered
}
