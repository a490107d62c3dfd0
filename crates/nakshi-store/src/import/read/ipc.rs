//! Arrow IPC: streams, and files, which are read through their footers.
//!
//! Messages are framed and checked here, because the decoder of the library allocates by length
//! fields and indexes by offset fields. After these checks it gets only messages that are whole,
//! with buffers inside their bodies, and with columns without nesting.

use std::collections::VecDeque;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamDecoder};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::file::reader::Length;

use super::seekable::{Seekable, expansion};

/// First and last bytes of a file.
pub(super) const MAGIC: &[u8] = b"ARROW1";
/// Largest metadata of a message.
const METADATA: u32 = 16 << 20;

fn broken(what: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(what.into())
}

/// Runs code of the library; a panic that the checks do not prevent must not end the process.
fn guarded<T>(run: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(broken("it is damaged")))
}

/// Returns the columns, if all of them have a type.
fn convert_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, ArrowError> {
    let typeless = |field: arrow_ipc::Field<'_>| field.type_type() == arrow_ipc::Type::NONE;
    if schema.fields().is_none_or(|fields| fields.iter().any(typeless)) {
        return Err(broken("its schema is damaged"));
    }
    guarded(|| Ok(arrow_ipc::convert::fb_to_schema(schema).into()))
}

/// Batches of a file, found through its footer.
pub(super) struct FileBatches {
    file: Seekable,
    decoder: FileDecoder,
    checks: Checks,
    blocks: VecDeque<Block>,
}

impl FileBatches {
    /// Reads the footer and the dictionaries of a file.
    pub fn new(file: Seekable) -> Result<Self, ArrowError> {
        let tail = 4 + MAGIC.len() as u64;
        let no_end = || broken("it does not end like an Arrow file; is it complete?");
        let end = file.len().checked_sub(tail).ok_or_else(no_end)?;
        let bytes = file.bytes(end, tail).map_err(broken)?;
        let (size, magic) = bytes.split_first_chunk::<4>().ok_or_else(no_end)?;
        if magic != MAGIC {
            return Err(no_end());
        }
        let size = u32::from_le_bytes(*size);
        let start = end.checked_sub(u64::from(size)).filter(|_| size <= METADATA);
        let start = start.ok_or_else(|| broken("the length of its footer is wrong"))?;
        let bytes = file.bytes(start, u64::from(size)).map_err(broken)?;
        let footer = root_as_footer(&bytes)
            .map_err(|error| broken(format!("its footer is damaged: {error}")))?;
        let schema = footer.schema().ok_or_else(|| broken("its footer has no schema"))?;
        let checks = Checks { limit: file.expanded(), schema: convert_schema(schema)? };
        checks.columns()?;
        let dictionaries: Vec<Block> =
            footer.dictionaries().map(|list| list.iter().copied().collect()).unwrap_or_default();
        let blocks: VecDeque<Block> =
            footer.recordBatches().map(|list| list.iter().copied().collect()).unwrap_or_default();
        check_blocks(dictionaries.iter().chain(&blocks), start)?;
        let decoder = FileDecoder::new(checks.schema.clone(), footer.version());
        let mut batches = Self { file, decoder, checks, blocks };
        for block in dictionaries {
            let message = batches.message(&block)?;
            guarded(|| batches.decoder.read_dictionary(&block, &message))?;
        }
        Ok(batches)
    }

    /// Returns the columns.
    pub fn schema(&self) -> SchemaRef {
        self.checks.schema.clone()
    }

    /// Reads and checks the message of a block.
    fn message(&self, block: &Block) -> Result<Buffer, ArrowError> {
        let (start, metadata, body) = extent(block)?;
        let bytes = self.file.bytes(start, metadata + body).map_err(broken)?;
        let (head, body) = usize::try_from(metadata)
            .ok()
            .and_then(|metadata| bytes.split_at_checked(metadata))
            .ok_or_else(|| broken("a block lies outside the file"))?;
        let prefix = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
        self.checks.message(head.get(prefix..).unwrap_or_default(), body)?;
        Ok(Buffer::from(bytes))
    }
}

impl Iterator for FileBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.blocks.pop_front()?;
        let batch = self
            .message(&block)
            .and_then(|message| guarded(|| self.decoder.read_record_batch(&block, &message)));
        match batch {
            Ok(Some(batch)) => Some(Ok(batch)),
            Ok(None) => Some(Err(broken("a block holds no batch"))),
            Err(error) => {
                self.blocks.clear();
                Some(Err(error))
            }
        }
    }
}

/// Returns the offset of a block, and the bytes of its metadata and its body.
fn extent(block: &Block) -> Result<(u64, u64, u64), ArrowError> {
    let negative = |_| broken("a block has a negative length");
    let metadata = u64::try_from(block.metaDataLength()).map_err(negative)?;
    if !(8..=u64::from(METADATA)).contains(&metadata) {
        return Err(broken(format!("a block claims {metadata} bytes of metadata")));
    }
    Ok((
        u64::try_from(block.offset()).map_err(negative)?,
        metadata,
        u64::try_from(block.bodyLength()).map_err(negative)?,
    ))
}

/// Returns an error unless all blocks lie before `end` and their total length is at most `end`, so
/// that no more is read than the file holds.
fn check_blocks<'b>(blocks: impl Iterator<Item = &'b Block>, end: u64) -> Result<(), ArrowError> {
    let mut total = 0_u64;
    for block in blocks {
        let (start, metadata, body) = extent(block)?;
        let length = metadata.saturating_add(body);
        total = total.saturating_add(length);
        if start.saturating_add(length) > end || total > end {
            return Err(broken("a block lies outside the file, or blocks overlap"));
        }
    }
    Ok(())
}

/// Batches of a stream.
pub(super) struct StreamBatches<R> {
    reader: R,
    decoder: StreamDecoder,
    checks: Checks,
    memory: u64,
    /// Bytes read so far.
    read: u64,
    /// True once the schema has been read.
    begun: bool,
    ready: VecDeque<RecordBatch>,
    ended: bool,
}

impl<R: Read> StreamBatches<R> {
    /// Reads the schema of a stream.
    pub fn new(reader: R, memory: u64) -> Result<Self, ArrowError> {
        let mut batches = Self {
            reader,
            decoder: StreamDecoder::new(),
            checks: Checks { schema: Schema::empty().into(), limit: 0 },
            memory,
            read: 0,
            begun: false,
            ready: VecDeque::new(),
            ended: false,
        };
        batches.message()?;
        if batches.schema().fields().is_empty() {
            return Err(broken("it does not begin with a schema that has columns"));
        }
        batches.begun = true;
        batches.checks.columns()?;
        Ok(batches)
    }

    /// Returns the columns.
    pub fn schema(&self) -> SchemaRef {
        self.checks.schema.clone()
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
        if body > self.memory / 4 {
            return Err(broken(format!(
                "a batch takes {body} bytes; write smaller batches or raise the memory to {}",
                body.saturating_mul(4)
            )));
        }
        let start = message.len();
        self.read_exactly(body, &mut message)?;
        self.read += message.len() as u64;
        self.checks.limit = expansion(self.read, self.memory);
        let (head, body) = message.split_at(start);
        self.checks.message(head.get(4..).unwrap_or_default(), body)?;
        if let Some(schema) = self.first_schema(&message) {
            self.checks.schema = schema;
        }
        let mut buffer = Buffer::from_vec(message);
        // The decoder handles a message without a body only when the next one begins, so one call
        // may yield the batches of two messages.
        while !buffer.is_empty() {
            self.ready.extend(guarded(|| self.decoder.decode(&mut buffer))?);
        }
        Ok(())
    }

    /// Returns the schema in a message, unless it was already read.
    fn first_schema(&self, message: &[u8]) -> Option<SchemaRef> {
        if self.begun {
            return None;
        }
        let header = root_as_message(message.get(4..)?).ok()?.header_as_schema()?;
        convert_schema(header).ok()
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

    /// Appends `size` bytes; allocates memory for the bytes that arrive, not for those that are
    /// claimed.
    fn read_exactly(&mut self, size: u64, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let read = (&mut self.reader).take(size).read_to_end(out)?;
        if (read as u64) < size { Err(broken("it is cut off")) } else { Ok(()) }
    }
}

impl<R: Read> Iterator for StreamBatches<R> {
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

/// The limits and the schema against which messages are checked.
struct Checks {
    schema: SchemaRef,
    /// Most bytes that the compressed buffers of one message may expand to.
    limit: u64,
}

impl Checks {
    /// Returns an error unless the columns are flat.
    fn columns(&self) -> Result<(), ArrowError> {
        let nested = |ty: &DataType| buffers_of(ty).is_none();
        match self.schema.fields().iter().find(|field| nested(field.data_type())) {
            None => Ok(()),
            Some(field) => Err(broken(format!(
                "column {} holds {}; drop it and write again",
                field.name(),
                field.data_type()
            ))),
        }
    }

    /// Checks a message before the library gets it.
    fn message(&self, metadata: &[u8], body: &[u8]) -> Result<(), ArrowError> {
        let message = root_as_message(metadata).map_err(|error| broken(error.to_string()))?;
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| broken("a batch has no header"))?;
                let types = self.schema.fields().iter().map(|field| field.data_type());
                self.batch(batch, types, body)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                let batch = dictionary
                    .and_then(|d| d.data())
                    .ok_or_else(|| broken("a dictionary has no data"))?;
                // Only the decoder knows the column of the dictionary, and so its type.
                self.batch(batch, [].into_iter(), body)
            }
            MessageHeader::Schema => Ok(()),
            _ => Err(broken("a message is neither schema, dictionary nor batch")),
        }
    }

    fn batch<'t>(
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
                // -1 marks a buffer that is not compressed.
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

/// Returns the number of buffers of a column without nesting, apart from those that views add.
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
