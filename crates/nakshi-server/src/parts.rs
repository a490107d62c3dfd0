//! Long answers: cut into parts for the way, and joined again.

use prost::Message;
use tonic::{Status, Streaming};

use crate::error::{Error, Result as Outcome};
use crate::v1::pipeline_reply::Reply;
use crate::v1::{Answer, PipelineReply};

/// Bytes of a part, unless a single row has more.
const PART: usize = 256 << 10;

/// Cuts an answer into parts of about [`PART`] bytes; one part at least.
pub(crate) fn cut(mut answer: Answer) -> Vec<Answer> {
    if answer.encoded_len() <= PART {
        return vec![answer];
    }
    let mut parts = Parts { commit: answer.commit, parts: Vec::new(), bytes: PART };
    for row in std::mem::take(&mut answer.properties) {
        parts.of(row.encoded_len()).properties.push(row);
    }
    for row in std::mem::take(&mut answer.ids) {
        parts.of(row.encoded_len()).ids.push(row);
    }
    for row in std::mem::take(&mut answer.reached) {
        parts.of(row.encoded_len()).reached.push(row);
    }
    for row in std::mem::take(&mut answer.edges) {
        parts.of(row.encoded_len()).edges.push(row);
    }
    for row in std::mem::take(&mut answer.records) {
        parts.of(row.encoded_len()).records.push(row);
    }
    for row in std::mem::take(&mut answer.counts) {
        parts.of(row.encoded_len()).counts.push(row);
    }
    parts.parts.iter_mut().for_each(|part| part.more = true);
    // What is no row comes last.
    parts.parts.push(answer);
    parts.parts
}

struct Parts {
    commit: u64,
    parts: Vec<Answer>,
    /// Bytes of the last part.
    bytes: usize,
}

impl Parts {
    /// The part that a row of some bytes belongs to.
    fn of(&mut self, bytes: usize) -> &mut Answer {
        self.bytes += bytes;
        if self.bytes > PART || self.parts.is_empty() {
            self.bytes = bytes;
            self.parts.push(Answer { commit: self.commit, ..Answer::default() });
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }
}

/// Appends a part to the parts before it.
pub(crate) fn join(answer: &mut Answer, mut part: Answer) {
    answer.properties.append(&mut part.properties);
    answer.ids.append(&mut part.ids);
    answer.distances.append(&mut part.distances);
    answer.reached.append(&mut part.reached);
    answer.edges.append(&mut part.edges);
    answer.records.append(&mut part.records);
    answer.counts.append(&mut part.counts);
    answer.count = part.count.or(answer.count);
    answer.part = part.part.or(answer.part.take());
    answer.range = part.range.or(answer.range.take());
    answer.schema.push_str(&part.schema);
    answer.more = part.more;
}

/// Reads all parts of an answer, and joins them.
pub(crate) async fn joined(mut parts: Streaming<Answer>) -> Result<Answer, Status> {
    let none = || Status::internal("an answer without parts");
    let mut answer = parts.message().await?.ok_or_else(none)?;
    while let Some(part) = parts.message().await? {
        join(&mut answer, part);
    }
    Ok(answer)
}

/// The error of an answer without its last part.
pub(crate) fn cut_off() -> Status {
    Status::internal("an answer ended in its middle")
}

/// Reads the next answer of a pipeline, or the error of its query. A status is of the whole call.
pub(crate) async fn next_of_many(
    replies: &mut Streaming<PipelineReply>,
) -> Result<Outcome<Answer>, Status> {
    let mut whole = None::<Answer>;
    loop {
        let ended = || Status::unavailable("the server has ended the call");
        let reply = replies.message().await?.and_then(|reply| reply.reply);
        match (reply.ok_or_else(ended)?, &mut whole) {
            (Reply::Answer(part), Some(whole)) => join(whole, part),
            (Reply::Answer(first), None) => whole = Some(first),
            (Reply::Fault(fault), None) => return Ok(Err(Error::from(fault))),
            (Reply::Fault(_), Some(_)) => return Err(cut_off()),
        }
        if let Some(whole) = whole.take_if(|whole| !whole.more) {
            return Ok(Ok(whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{Edge, Id, id};

    #[test]
    fn parts_joined_are_the_answer() {
        let of = |n: usize| Id { id: Some(id::Id::Text("x".repeat(n))) };
        let edge = |n| Edge { destination: Some(of(n)), ..Edge::default() };
        for answer in [
            Answer { commit: 7, ..Answer::default() },
            Answer { commit: 7, ids: vec![of(3)], ..Answer::default() },
            Answer { commit: 7, ids: (0..900).map(of).collect(), ..Answer::default() },
            Answer { reached: (0..900).map(of).collect(), distances: vec![2], ..Answer::default() },
            Answer { edges: vec![edge(PART), edge(1), edge(2 * PART)], ..Answer::default() },
            Answer { commit: 1, part: Some(vec![1; 2 * PART]), ..Answer::default() },
            Answer { count: Some(3), ids: (0..900).map(of).collect(), ..Answer::default() },
        ] {
            let mut parts = cut(answer.clone()).into_iter();
            let mut joined = parts.next().unwrap();
            parts.for_each(|part| join(&mut joined, part));
            assert_eq!(joined, answer);
        }
    }
}
