//! The version of the protocol that both sides speak.

use boltr::BoltError;
use boltr::version::{BOLT_MAGIC, NO_VERSION, encode_version};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u8,
    minor: u8,
}

/// The versions that are spoken, the newest first.
const SPOKEN: [Version; 6] = [
    Version { major: 5, minor: 4 },
    Version { major: 5, minor: 3 },
    Version { major: 5, minor: 2 },
    Version { major: 5, minor: 1 },
    Version { major: 5, minor: 0 },
    Version { major: 4, minor: 4 },
];

impl Version {
    /// True if LOGON tells who the client is, rather than HELLO.
    pub(super) fn has_logon(self) -> bool {
        self >= Version { major: 5, minor: 1 }
    }

    /// True if nodes and edges have element ids, and points in time are counted in UTC.
    pub(super) fn has_element_ids(self) -> bool {
        self.major >= 5
    }

    /// True if one of four proposals of a client is this version.
    fn is_in(self, [_, range, minor, major]: [u8; 4]) -> bool {
        major == self.major && (minor.saturating_sub(range)..=minor).contains(&self.minor)
    }
}

/// Reads the proposals of a client, and tells it which one was chosen.
///
/// # Errors
/// A client that does not speak Bolt, or none of the versions; a line that breaks.
pub(super) async fn agree<S>(stream: &mut S) -> Result<Version, BoltError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut greeting = [0; 20];
    stream.read_exact(&mut greeting).await?;
    let proposals = greeting
        .strip_prefix(&BOLT_MAGIC)
        .ok_or_else(|| BoltError::Protocol("the client does not speak Bolt".to_owned()))?;
    let (proposals, _) = proposals.as_chunks::<4>();
    let spoken = |proposal: &[u8; 4]| SPOKEN.into_iter().find(|version| version.is_in(*proposal));
    let chosen = proposals.iter().find_map(spoken);
    let answer = chosen.map_or(NO_VERSION, |version| encode_version(version.major, version.minor));
    stream.write_all(&answer).await?;
    stream.flush().await?;
    chosen.ok_or_else(|| {
        BoltError::Protocol("the client speaks no version of Bolt that we do".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn agreed(proposals: [[u8; 4]; 4]) -> (Option<Version>, [u8; 4]) {
        let (mut client, mut server) = tokio::io::duplex(64);
        let greeting = [BOLT_MAGIC.as_slice(), proposals.as_flattened()].concat();
        client.write_all(&greeting).await.unwrap();
        let version = agree(&mut server).await.ok();
        let mut answer = [0; 4];
        client.read_exact(&mut answer).await.unwrap();
        (version, answer)
    }

    #[tokio::test]
    async fn the_first_proposal_that_is_spoken_is_chosen() {
        let none = [0; 4];
        let five = |minor| Some(Version { major: 5, minor });
        let of_drivers = [[0, 4, 4, 5], [0, 2, 4, 4], [0, 0, 1, 4], [0, 0, 0, 3]];
        assert_eq!(agreed(of_drivers).await, (five(4), [0, 0, 4, 5]));
        let newer = [[0, 0, 1, 0xff], [0, 8, 8, 5], [0, 2, 4, 4], none];
        assert_eq!(agreed(newer).await, (five(4), [0, 0, 4, 5]));
        let older = [[0, 2, 4, 4], [0, 0, 1, 4], none, none];
        assert_eq!(agreed(older).await, (Some(Version { major: 4, minor: 4 }), [0, 0, 4, 4]));
        let oldest = [[0, 0, 0, 5], none, none, none];
        assert_eq!(agreed(oldest).await, (five(0), [0, 0, 0, 5]));
        assert_eq!(agreed([[0, 0, 3, 4], none, none, none]).await, (None, NO_VERSION));
    }

    #[tokio::test]
    async fn others_get_no_answer() {
        let (mut client, mut server) = tokio::io::duplex(64);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(agree(&mut server).await.is_err());
        drop(server);
        assert_eq!(client.read(&mut [0; 4]).await.unwrap(), 0);
    }
}
