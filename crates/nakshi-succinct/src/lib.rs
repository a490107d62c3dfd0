//! Compressed text: random access and substring search without the text itself.
//!
//! The crate follows Succinct (Agarwal, Khandelwal, Stoica, "Succinct: Enabling Queries on
//! Compressed Data", NSDI 2015), on which ZipG stores graphs. The suffixes of the text are sorted,
//! one *row* each. For each row the crate keeps the row of the suffix that is one byte shorter
//! (Psi, the *next pointer*), and for some rows and text positions it keeps which belong together
//! (the *samples*). An extract walks from the row of a sampled position. A search narrows a range
//! of rows byte by byte from the pattern's end (Sadakane, "New text indexing functionalities of the
//! compressed suffix arrays", 2003). To locate a row, it walks to a sampled row. Contents:
//!
//! - [`Succinct`]: a text below 2 GiB, compressed, on its serialised bytes: [`extract`],
//!   [`count`], [`search`], and offsets one by one;
//! - [`ChunkedText`], [`Builder`]: a text of any length in chunks, with the same queries, built in
//!   bounded memory;
//! - [`ParsedHeader`], [`TextView`]: the same queries on bytes that are not in memory ([`TextBytes`]);
//! - [`Options`], [`Psi`]: sampling rates and the code of next pointers, with their costs;
//! - [`Error`].
//!
//! [`extract`]: Succinct::extract
//! [`count`]: Succinct::count
//! [`search`]: Succinct::search
//!
//! ```
//! use nakshi_succinct::{Options, Succinct};
//!
//! let compressed = Succinct::build(b"abracadabra", &Options::default())?;
//! let opened = Succinct::open(compressed.as_bytes())?;
//! assert_eq!(opened.search(b"abra")?, [0, 7]);
//! let mut out = Vec::new();
//! opened.extract(4, 3, &mut out)?;
//! assert_eq!(out, b"cad");
//! # Ok::<(), nakshi_succinct::Error>(())
//! ```
//!
//! # Bytes
//!
//! All numbers are little endian. Packed numbers are adjacent, lowest bit first; their sections end
//! in at least eight zero bytes, up to a multiple of eight. A text of `n` bytes has `n + 1` rows,
//! of which the empty suffix is the first; `w` is the width of `n`.
//!
//! | Section | Bytes | What |
//! | --- | --- | --- |
//! | header | 56 | seven words: `"nkspsi\0"` and the version 1 in the last byte; `n`; options, a byte each: code of pointers, logarithms of `sa_rate`, `isa_rate` and `psi_block`, four zeros; bytes that occur; bits of the body, `b`; width of a block's place, `p`; length of all |
//! | bytes that occur | 8 each | the first row of its suffixes, in 56 bits, and the byte above them |
//! | mark directory | packed | for every 256 rows how many are marked before them, 32 bits, and all |
//! | marks | packed | the low 8 bits of every marked row |
//! | positions | packed | of every marked row its text position over `sa_rate` |
//! | sampled rows | packed | the row of every position divisible by `isa_rate`, `w` bits |
//! | body | packed | blocks of next pointers, one behind another: the first, `w` bits, and the code of the others |
//! | directory | packed | for every 16 blocks the first pointer, `w` bits; the bit of the body where they begin, as many bits as `b` has; and how far behind it each but the first begins, `p` bits |
//!
//! A row is marked if its text position is divisible by `sa_rate`. A [`ChunkedText`] consists of
//! its chunks, each as above; then two words for each chunk, its end in the text and its end in the
//! bytes; then four words: number of chunks; the delimiter, or 256; bytes of the text; `"nkstext"`
//! and the version 1 in the last byte.
//!
//! # Damage
//!
//! [`Succinct::open`] refuses lengths that do not add up and directories that do not ascend. There
//! is no checksum: other damage gives an [`Error::Corrupt`] or a wrong answer after a bounded
//! number of steps, and never a panic.
//!
//! # Measured
//!
//! `cargo run --release -p nakshi-succinct --example psi` on 20 MB like ZipG's NodeFile: records of
//! 40 properties, each one of 856 values of 16 letters and digits behind a delimiter. Both rates
//! are 32, blocks have 64 pointers. Times are relative to those of `Runs`, the best of three.
//! Searches are for a value with its delimiter, which occurs 34 times.
//!
//! | Code | Size/text | Extract 16 bytes | Search | Size/text of English prose |
//! | --- | --- | --- | --- | --- |
//! | [`Psi::EliasGamma`] | 0.60 | 1.1 | 1.0 | 0.65 |
//! | [`Psi::EliasFano`] | 1.26 | 1.7 | 1.5 | 0.82 |
//! | [`Psi::Runs`], the default | **0.55** | 1 | 1 | **0.64** |
//!
//! Next pointers have long runs of gaps of one wherever the following bytes predict a byte;
//! Elias-Fano spends as much on these pointers as on any others. The text of all 85,000 records, in
//! which values occur 99 times, takes 0.50. The samples are 0.22 of the 0.55. Rates and blocks of
//! `Runs`:
//!
//! | Rates | 8 | 16 | 32 | 64 | | Block | 32 | 64 | 128 | 256 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | Size/text | 1.20 | 0.76 | 0.55 | 0.44 | | | 0.63 | 0.55 | 0.50 | 0.48 |
//! | Extract | 0.8 | 0.7 | 1 | 1.8 | | | 1.1 | 1 | 1.5 | 1.9 |
//! | Search | 0.4 | 0.45 | 1 | 2.6 | | | 0.9 | 1 | 1.3 | 1.8 |
//!
//! An extract of 16 bytes at rate 32 takes 32 steps, each a dependent access to memory, and little
//! more time than these accesses alone, which the example measures too: 4 microseconds where one
//! access takes 120 nanoseconds. Longer extracts walk from eight samples at once, and searches walk
//! from eight rows. Walks that stay within a value pass through the same blocks together, which is
//! why searches lose more between 16 and 32 than the number of steps suggests.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod bits;
mod buckets;
mod build;
mod builder;
mod chunked_text;
mod chunks;
mod error;
mod layout;
mod marks;
mod memory;
mod next_pointers;
mod options;
mod source;
mod succinct;
mod view;

pub use builder::Builder;
pub use chunked_text::ChunkedText;
pub use error::{Error, Result};
pub use options::{MAX_LEN, Options, Psi};
pub use source::TextBytes;
pub use succinct::{Succinct, write};
pub use view::{ParsedHeader, Positions, TextView};
