//! Headers of frames.

/// A round of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) job: u64,
    /// Counts how often the run was taken up again.
    pub(super) epoch: u32,
    pub(super) number: u64,
}

/// Header in front of the body of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) round: Round,
    /// The servers that the frame goes from and to.
    pub(super) ends: (u32, u32),
    /// Number of the frame among those of the round between these servers.
    pub(super) number: u32,
    pub(super) kind: FrameKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// A frame with a body.
    Body,
    /// The last frame of the round: its number is how many there were before it.
    End {
        /// True if its server has frames for the next round.
        more: bool,
    },
}

/// First bytes of a frame.
const MAGIC: &[u8; 4] = b"NKx1";
/// Magic, checksum, job, round, epoch, from, to, number, kind, three bytes of nothing.
pub(super) const HEADER: usize = 4 + 4 + 8 + 8 + 4 * 4 + 4;

fn sum(checked: &[u8]) -> u32 {
    // A CRC-32 fits 32 bits.
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, checked) as u32
}

impl FrameHeader {
    /// Writes the header into the first [`HEADER`] bytes of a frame, whose body is behind them.
    pub(super) fn seal(&self, frame: &mut [u8]) {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.round.job.to_le_bytes());
        bytes.extend_from_slice(&self.round.number.to_le_bytes());
        for number in [self.round.epoch, self.ends.0, self.ends.1, self.number] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let kind = match self.kind {
            FrameKind::Body => 0,
            FrameKind::End { more: false } => 1,
            FrameKind::End { more: true } => 2,
        };
        bytes.extend_from_slice(&[kind, 0, 0, 0]);
        if let Some(place) = frame.get_mut(..HEADER) {
            place.copy_from_slice(&bytes);
        }
        let sum = sum(frame.get(8..).unwrap_or_default());
        if let Some(place) = frame.get_mut(4..8) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Header and body of a frame; none if it is damaged.
    pub(super) fn open(frame: &[u8]) -> Option<(Self, &[u8])> {
        let rest = frame.strip_prefix(MAGIC)?;
        let (stated, checked) = rest.split_first_chunk()?;
        if sum(checked) != u32::from_le_bytes(*stated) {
            return None;
        }
        let (job, rest) = checked.split_first_chunk()?;
        let (round, rest) = rest.split_first_chunk()?;
        let (numbers, rest) = rest.split_first_chunk::<16>()?;
        let (kind, body) = rest.split_first_chunk::<4>()?;
        let [epoch, from, to, number] = *numbers.as_chunks::<4>().0 else { return None };
        let kind = match kind {
            [0, 0, 0, 0] => FrameKind::Body,
            [kind @ 1..=2, 0, 0, 0] => FrameKind::End { more: *kind == 2 },
            _ => return None,
        };
        let header = FrameHeader {
            round: Round {
                job: u64::from_le_bytes(*job),
                epoch: u32::from_le_bytes(epoch),
                number: u64::from_le_bytes(*round),
            },
            ends: (u32::from_le_bytes(from), u32::from_le_bytes(to)),
            number: u32::from_le_bytes(number),
            kind,
        };
        Some((header, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_frame_counts() {
        let header = FrameHeader {
            round: Round { job: 7, epoch: 2, number: 9 },
            ends: (3, 1),
            number: 4,
            kind: FrameKind::Body,
        };
        let mut frame = vec![0; HEADER];
        frame.extend_from_slice(b"values");
        header.seal(&mut frame);
        assert_eq!(FrameHeader::open(&frame), Some((header, &b"values"[..])));
        for bit in 0..frame.len() * 8 {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::open(&damaged), None);
        }
        for end in 0..frame.len() {
            assert_eq!(FrameHeader::open(&frame[..end]), None);
        }
    }
}
