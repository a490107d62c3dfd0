//! Arrow IPC, streams and files alike: a file is a stream between a magic and a footer.
//!
//! The messages are framed and checked here, because the decoder of the library allocates what a
//! length field says and indexes by what an offset field says. After these checks it sees only
//! messages that are whole, with buffers inside their bodies, and of columns without nesting.

use std::collections::VecDeque;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

/// Largest metadata of a message.
const METADATA: u32 = 16 << 20;

/// Batches of a stream.
pub(super) struct Batches<R> {
    reader: R,
    decoder: StreamDecoder,
    /// Bytes that the compressed buffers of one message may hold.
    limit: u64,
    schema: SchemaRef,
    /// Whether the schema has been read.
    begun: bool,
    ready: VecDeque<RecordBatch>,
    ended: bool,
}

fn broken(what: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(what.into())
}

impl<R: Read> Batches<R> {
    /// Reads the schema.
    pub fn new(reader: R, limit: u64) -> Result<Self, ArrowError> {
        let mut batches = Self {
            reader,
            decoder: StreamDecoder::new(),
            limit,
            schema: Schema::empty().into(),
            begun: false,
            ready: VecDeque::new(),
            ended: false,
        };
        // Behind the magic of a file there may be zeros up to an alignment of 64 bytes.
        for _ in 0..16 {
            batches.message()?;
            if !batches.schema.fields().is_empty() {
                break;
            }
            batches.ended = false;
        }
        if batches.schema.fields().is_empty() {
            return Err(broken("it does not begin with a schema that has columns"));
        }
        batches.begun = true;
        for field in batches.schema.fields() {
            if buffers_of(field.data_type()).is_none() {
                return Err(broken(format!(
                    "column {} holds {}; drop it and write again",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        Ok(batches)
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Reads and decodes one message.
    fn message(&mut self) -> Result<(), ArrowError> {
        let mut prefix = [0; 4];
        if !self.read_prefix(&mut prefix)? {
            self.ended = true;
            return Ok(());
        }
        if prefix == [0xff; 4] && !self.read_prefix(&mut prefix)? {
            return Err(broken("it is cut off"));
        }
        let size = u32::from_le_bytes(prefix);
        if size == 0 {
            self.ended = true;
            return Ok(());
        }
        if size > METADATA {
            return Err(broken(format!("a message claims {size} bytes of metadata")));
        }
        let mut message = prefix.to_vec();
        self.read_exactly(u64::from(size), &mut message)?;
        let metadata = message.get(4..).unwrap_or_default();
        let header = root_as_message(metadata)
            .map_err(|error| broken(format!("its metadata is damaged: {error}")))?;
        let body = u64::try_from(header.bodyLength())
            .map_err(|_| broken("a message has a negative length"))?;
        let start = message.len();
        self.read_exactly(body, &mut message)?;
        let (head, body) = message.split_at(start);
        self.check(head.get(4..).unwrap_or_default(), body)?;
        if let Some(schema) = self.first_schema(&message) {
            self.schema = schema;
        }
        let mut buffer = Buffer::from_vec(message);
        // The decoder acts on a message without a body only when the next one begins, so one
        // call may yield the batches of two messages.
        while !buffer.is_empty() {
            // What the checks do not foresee must not take the process down.
            match catch_unwind(AssertUnwindSafe(|| self.decoder.decode(&mut buffer))) {
                Ok(decoded) => self.ready.extend(decoded?),
                Err(_) => return Err(broken("it is damaged")),
            }
        }
        Ok(())
    }

    /// The schema in a message, while there is none.
    fn first_schema(&self, message: &[u8]) -> Option<SchemaRef> {
        if self.begun {
            return None;
        }
        let header = root_as_message(message.get(4..)?).ok()?.header_as_schema()?;
        catch_unwind(|| arrow_ipc::convert::fb_to_schema(header).into()).ok()
    }

    /// Reads four bytes; `false` at the end of the input.
    fn read_prefix(&mut self, prefix: &mut [u8; 4]) -> Result<bool, ArrowError> {
        let mut bytes = Vec::with_capacity(4);
        (&mut self.reader).take(4).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        *prefix = bytes.try_into().map_err(|_| broken("it is cut off"))?;
        Ok(true)
    }

    /// Appends `size` bytes, with memory for what is there rather than for what is claimed.
    fn read_exactly(&mut self, size: u64, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let read = (&mut self.reader).take(size).read_to_end(out)?;
        if (read as u64) < size { Err(broken("it is cut off")) } else { Ok(()) }
    }

    fn check(&self, metadata: &[u8], body: &[u8]) -> Result<(), ArrowError> {
        let message = root_as_message(metadata).map_err(|error| broken(error.to_string()))?;
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| broken("a batch has no header"))?;
                let types = self.schema.fields().iter().map(|field| field.data_type());
                self.check_batch(batch, types, body)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                let batch = dictionary
                    .and_then(|d| d.data())
                    .ok_or_else(|| broken("a dictionary has no data"))?;
                // Whose dictionary it is, and so its type, is known to the decoder only.
                self.check_batch(batch, [].into_iter(), body)
            }
            MessageHeader::Schema => Ok(()),
            _ => Err(broken("a message is neither schema, dictionary nor batch")),
        }
    }

    fn check_batch<'t>(
        &self,
        batch: arrow_ipc::RecordBatch<'_>,
        types: impl Iterator<Item = &'t DataType>,
        body: &[u8],
    ) -> Result<(), ArrowError> {
        let buffers = batch.buffers().ok_or_else(|| broken("a batch has no buffers"))?;
        let nodes = batch.nodes().ok_or_else(|| broken("a batch has no columns"))?;
        let mut expanded = 0_u64;
        for buffer in buffers {
            let range =
                usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let bytes =
                range.and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?));
            let bytes = bytes.ok_or_else(|| broken("a buffer lies outside its message"))?;
            if let (Some(_), Some((size, _))) =
                (batch.compression(), bytes.split_first_chunk::<8>())
            {
                // -1 stands for a buffer that is not compressed after all.
                expanded =
                    expanded.saturating_add(u64::try_from(i64::from_le_bytes(*size)).unwrap_or(0));
            }
        }
        if expanded > self.limit {
            return Err(broken(format!(
                "a batch expands to {expanded} bytes; write smaller batches or raise the memory"
            )));
        }
        let mut needed = (0, 0, 0);
        for ty in types {
            needed.0 += buffers_of(ty).unwrap_or(0);
            needed.1 += 1;
            needed.2 += usize::from(matches!(ty, DataType::Utf8View | DataType::BinaryView));
        }
        let variadic: Vec<i64> =
            batch.variadicBufferCounts().map(|counts| counts.iter().collect()).unwrap_or_default();
        let more: i64 = variadic.iter().fold(0, |sum, &count| sum.saturating_add(count));
        let enough = nodes.len() >= needed.1
            && variadic.len() >= needed.2
            && variadic.iter().all(|&count| count >= 0)
            && usize::try_from(more)
                .is_ok_and(|more| buffers.len() >= more.saturating_add(needed.0));
        let sane = nodes
            .iter()
            .all(|node| node.length() >= 0 && (0..=node.length()).contains(&node.null_count()));
        if enough && sane && batch.length() >= 0 {
            Ok(())
        } else {
            Err(broken("a batch does not fit its schema"))
        }
    }
}

impl<R: Read> Iterator for Batches<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.message() {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }
}

/// Buffers of a column without nesting, apart from those that views add.
fn buffers_of(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Null => Some(0),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => Some(3),
        DataType::Dictionary(_, value) if buffers_of(value).is_some() => Some(2),
        ty if ty.is_primitive() || ty.is_temporal() => Some(2),
        DataType::Boolean
        | DataType::FixedSizeBinary(_)
        | DataType::Utf8View
        | DataType::BinaryView => Some(2),
        _ => None,
    }
}
