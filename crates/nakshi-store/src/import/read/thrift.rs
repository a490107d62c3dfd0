//! A checker of Thrift's compact protocol: no length in a structure may promise more than there is,
//! since the Parquet library reserves memory for lists and texts before it reads them.
//!
//! Source: "Thrift Compact protocol encoding", Apache Thrift specification; field numbers from
//! `parquet.thrift` of the Parquet format.

/// Deepest nesting of structures; Parquet's take 7.
const DEPTH: usize = 16;
/// Least bytes of an element of the schema or of a row group, so that the memory that the library
/// reserves for them stays in proportion.
const ELEMENT: usize = 8;

/// The fault of bytes that are no structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThriftFault {
    /// The bytes end too early.
    Short,
    /// The bytes are malformed, whatever follows them.
    Broken,
}

/// The sizes in the header of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Bytes after decompression.
    pub expanded: u64,
    /// Number of values of a dictionary; 0 for other pages.
    pub dictionary: u64,
}

/// Checks a page header, which other bytes may follow.
pub(super) fn page(bytes: &[u8]) -> Result<Page, ThriftFault> {
    let mut page = Page::default();
    let mut negative = false;
    let mut note = |path: &[i16], value: i64| {
        let size = u64::try_from(value);
        match path {
            [2] => page.expanded = size.unwrap_or(0),
            [7, 1] => page.dictionary = size.unwrap_or(0),
            _ => return,
        }
        negative |= size.is_err();
    };
    StructWalker { bytes, path: Vec::new() }.structure(&mut note)?;
    if negative { Err(ThriftFault::Broken) } else { Ok(page) }
}

/// Checks the metadata of a file.
pub(super) fn check_footer(bytes: &[u8]) -> Result<(), String> {
    let walked = StructWalker { bytes, path: Vec::new() }.structure(&mut |_, _| {});
    walked.map_err(|_| "its footer is damaged".into())
}

struct StructWalker<'b> {
    bytes: &'b [u8],
    /// Field numbers from the outermost structure inwards.
    path: Vec<i16>,
}

impl StructWalker<'_> {
    fn structure(&mut self, note: &mut dyn FnMut(&[i16], i64)) -> Result<(), ThriftFault> {
        if self.path.len() >= DEPTH {
            return Err(ThriftFault::Broken);
        }
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            let (delta, kind) = (head >> 4, head & 15);
            if kind == 0 {
                return Ok(());
            }
            id = match delta {
                0 => i16::try_from(self.zigzag()?).map_err(|_| ThriftFault::Broken)?,
                delta => id.checked_add(i16::from(delta)).ok_or(ThriftFault::Broken)?,
            };
            self.path.push(id);
            // The value of a Boolean is its kind.
            if !matches!(kind, 1 | 2) {
                self.value(kind, note)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, note: &mut dyn FnMut(&[i16], i64)) -> Result<(), ThriftFault> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.zigzag()?;
                note(&self.path, value);
                Ok(())
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(usize::try_from(length).map_err(|_| ThriftFault::Broken)?)
            }
            9 | 10 => self.list(note),
            12 => self.structure(note),
            // Parquet has no maps.
            _ => Err(ThriftFault::Broken),
        }
    }

    fn list(&mut self, note: &mut dyn FnMut(&[i16], i64)) -> Result<(), ThriftFault> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| ThriftFault::Broken)?,
            size => usize::from(size),
        };
        let least = if matches!(self.path.as_slice(), [2 | 4]) { ELEMENT } else { 1 };
        if size > self.bytes.len() / least {
            return Err(ThriftFault::Short);
        }
        if self.path.len() >= DEPTH {
            return Err(ThriftFault::Broken);
        }
        self.path.push(0);
        for _ in 0..size {
            self.value(head & 15, note)?;
        }
        self.path.pop();
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, ThriftFault> {
        let (&first, rest) = self.bytes.split_first().ok_or(ThriftFault::Short)?;
        self.bytes = rest;
        Ok(first)
    }

    fn skip(&mut self, count: usize) -> Result<(), ThriftFault> {
        self.bytes = self.bytes.get(count..).ok_or(ThriftFault::Short)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, ThriftFault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(ThriftFault::Broken)
    }

    fn zigzag(&mut self) -> Result<i64, ThriftFault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dictionary page: kind 2, 300 bytes, 40 compressed, 7 values.
    const DICTIONARY: [u8; 14] =
        [0x15, 4, 0x15, 0xd8, 0x04, 0x15, 80, 0x4c, 0x15, 14, 0x15, 0, 0, 0];

    #[test]
    fn pages_say_their_sizes() {
        assert_eq!(page(&DICTIONARY), Ok(Page { expanded: 300, dictionary: 7 }));
        assert_eq!(page(&[&DICTIONARY[..], &[9; 9]].concat()), page(&DICTIONARY));
        for cut in 0..DICTIONARY.len() {
            assert_eq!(page(&DICTIONARY[..cut]), Err(ThriftFault::Short), "{cut}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        // A text of 2^40 bytes, a list of 2^30 numbers, 2^30 row groups, endless nesting.
        let text = [0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
        let list = [0x19, 0xf5, 0x80, 0x80, 0x80, 0x80, 0x04, 0];
        let groups = [0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x04, 0];
        for bytes in [&text[..], &list[..], &groups[..], &[0x1c; 100][..]] {
            assert!(check_footer(bytes).is_err(), "{bytes:?}");
        }
    }
}
