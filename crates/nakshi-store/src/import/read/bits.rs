//! Bits of a stream, the highest of a byte first, and the codes of integers that WebGraph uses.
//!
//! Source: Boldi, Vigna, "The WebGraph framework II: codes for the World-Wide Web", DCC 2004.

use std::io::{Error, ErrorKind, Read, Result};

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;
/// Most bits that one call takes from the window.
const MOST: u32 = 32;

/// A code of integers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// As many zeros, then a one.
    Unary,
    /// The length of `n + 1` in unary, then its bits.
    Gamma,
    /// The length of `n + 1` in gamma, then its bits.
    Delta,
    /// The number of groups of so many bits in unary, then `n + 1` with few bits to spare.
    Zeta(u32),
    /// Groups of three bits, each after a bit that says whether it is the last.
    Nibble,
}

/// Reads bits.
pub(super) struct Bits<'a> {
    reader: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    at: usize,
    /// The next bits, from the highest on; those behind `have` are 0.
    window: u64,
    have: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(reader: Box<dyn Read + Send + 'a>) -> Self {
        Self { reader, buffer: Vec::new(), at: 0, window: 0, have: 0 }
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] at the end; [`ErrorKind::InvalidData`] beyond 2^62; read errors.
    pub(super) fn read(&mut self, code: Code) -> Result<u64> {
        match code {
            Code::Unary => self.unary(),
            Code::Gamma => {
                let bits = self.unary()?;
                self.behind_one(bits)
            }
            Code::Delta => {
                let bits = self.read(Code::Gamma)?;
                self.behind_one(bits)
            }
            Code::Zeta(k) => self.zeta(u64::from(k)),
            Code::Nibble => self.nibble(),
        }
    }

    fn unary(&mut self) -> Result<u64> {
        let mut zeros = 0_u64;
        loop {
            if self.have == 0 {
                self.fill()?;
            }
            let found = self.window.leading_zeros();
            if found < self.have {
                self.skip(found + 1);
                return Ok(zeros + u64::from(found));
            }
            zeros += u64::from(self.have);
            self.skip(self.have);
        }
    }

    /// Reads so many bits below a one, and subtracts one.
    fn behind_one(&mut self, bits: u64) -> Result<u64> {
        if bits > 62 {
            return Err(too_large());
        }
        Ok((1 << bits | self.take(bits)?) - 1)
    }

    fn zeta(&mut self, k: u64) -> Result<u64> {
        let low = self.unary()?.checked_mul(k).filter(|low| low + k <= 62).ok_or_else(too_large)?;
        let left = 1 << low;
        let value = self.take(low + k - 1)?;
        if value < left {
            return Ok(value + left - 1);
        }
        Ok((value << 1 | self.take(1)?) - 1)
    }

    fn nibble(&mut self) -> Result<u64> {
        let mut value = 0;
        loop {
            let group = self.take(4)?;
            value = value << 3 | group & 7;
            if group & 8 != 0 {
                return Ok(value);
            }
            if value >> 59 != 0 {
                return Err(too_large());
            }
        }
    }

    /// Reads an integer of at most 62 bits.
    fn take(&mut self, bits: u64) -> Result<u64> {
        let mut value = 0;
        let mut left = bits as u32;
        while left > 0 {
            let part = left.min(MOST);
            while self.have < part {
                self.fill()?;
            }
            value = value << part | self.window >> (64 - part);
            self.skip(part);
            left -= part;
        }
        Ok(value)
    }

    fn skip(&mut self, bits: u32) {
        self.window = self.window.checked_shl(bits).unwrap_or(0);
        self.have -= bits;
    }

    /// Adds a byte or more to the window, which has room for one.
    fn fill(&mut self) -> Result<()> {
        if self.at == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            let read = loop {
                match self.reader.read(&mut self.buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            self.buffer.truncate(read);
            self.at = 0;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        if let Some(next) = rest.first_chunk::<8>() {
            let bytes = (64 - self.have) / 8;
            let kept = u64::from_be_bytes(*next) & u64::MAX << (64 - 8 * bytes);
            self.window |= kept >> self.have;
            self.have += 8 * bytes;
            self.at += bytes as usize;
        } else if let Some(&byte) = rest.first() {
            self.window |= u64::from(byte) << (56 - self.have);
            self.have += 8;
            self.at += 1;
        }
        Ok(())
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::InvalidData, "an integer beyond 2^62")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits as text, with blanks between codes.
    fn bits(text: &str) -> Bits<'static> {
        let digits: Vec<u8> =
            text.bytes().filter(|byte| *byte != b' ').map(|byte| byte - b'0').collect();
        let bytes: Vec<u8> = digits
            .chunks(8)
            .map(|byte| (0..8).fold(0, |sum, at| sum << 1 | byte.get(at).copied().unwrap_or(0)))
            .collect();
        Bits::new(Box::new(std::io::Cursor::new(bytes)))
    }

    /// Table 1 of the paper, and the integers behind it by its definitions.
    #[test]
    fn codes_are_those_of_the_paper() {
        let cases = [
            (Code::Unary, "1 01 001 0001", vec![0, 1, 2, 3]),
            (Code::Gamma, "1 010 011 00100 00101", vec![0, 1, 2, 3, 4]),
            (Code::Delta, "1 0100 0101 01100 01101", vec![0, 1, 2, 3, 4]),
            (Code::Zeta(1), "1 010 011 00100", vec![0, 1, 2, 3]),
            (
                Code::Zeta(2),
                "10 110 111 01000 01001 01010 01011 011000",
                vec![0, 1, 2, 3, 4, 5, 6, 7],
            ),
            (
                Code::Zeta(3),
                "100 1010 1011 1100 1101 1110 1111 0100000",
                vec![0, 1, 2, 3, 4, 5, 6, 7],
            ),
            (Code::Nibble, "1000 1001 1111 0001 1000", vec![0, 1, 7, 8]),
        ];
        for (code, text, values) in cases {
            let mut bits = bits(text);
            for value in values {
                assert_eq!(bits.read(code).unwrap(), value, "{code:?}");
            }
        }
    }

    /// Codes that cross the words of the window and the buffers of the reader.
    #[test]
    fn long_streams() {
        let text: String = (0..300_000).map(|k| format!("{}1", "0".repeat(k % 71))).collect();
        let mut bits = bits(&text);
        for k in 0..300_000 {
            assert_eq!(bits.read(Code::Unary).unwrap(), k % 71);
        }
    }

    #[test]
    fn what_is_no_integer() {
        assert_eq!(bits("0000").read(Code::Gamma).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let long = format!("{}1{}", "0".repeat(63), "0".repeat(80));
        for code in [Code::Gamma, Code::Zeta(3)] {
            assert_eq!(bits(&long).read(code).unwrap_err().kind(), ErrorKind::InvalidData);
        }
        let endless = "0111".repeat(40);
        assert_eq!(bits(&endless).read(Code::Nibble).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
