//! The greeting, by which two processes of a cluster prove a shared secret before they read anything
//! else.
//!
//! Four messages of fixed lengths: the caller's version, who it is and a number that is used once;
//! the other side's version and number; the caller's proof that it knows the secret; and the other
//! side's. Both proofs are over all that was said before, so that neither fits another greeting.

use std::time::Duration;

use crate::Result;
use crate::token::{PROOF, Token, nonce};

/// Time in which a caller has to finish its greeting.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// First bytes on a connection, in [`HELLO`].
const NAME: &[u8] = b"nakshi-cluster ";
/// First bytes on a connection; processes of other versions do not understand each other.
const HELLO: [u8; 32] = hello(env!("CARGO_PKG_VERSION"));
/// Bytes of who a caller is.
const WHO: usize = 21;
/// Bytes of what a caller says first, and of the answer.
pub(crate) const CALL_TIMEOUT: usize = HELLO.len() + WHO + PROOF;
pub(crate) const ANSWER: usize = HELLO.len() + PROOF;
/// Sent in place of a proof to whoever has another secret.
pub(crate) const REFUSED: [u8; PROOF] = [0; PROOF];

const fn hello(version: &str) -> [u8; 32] {
    let (mut hello, version) = ([b' '; 32], version.as_bytes());
    let (mut at, mut of) = (0, 0);
    while at < NAME.len() {
        hello[at] = NAME[at];
        at += 1;
    }
    while of < version.len() && at < 31 {
        hello[at] = version[of];
        (at, of) = (at + 1, of + 1);
    }
    hello[31] = b'\n';
    hello
}

/// Identity of a server in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The server.
    pub server: usize,
    /// The run.
    pub job: u64,
    /// Number of times that the run was taken up again.
    pub epoch: u32,
}

impl Identity {
    /// The identity as bytes of a greeting.
    pub(super) fn bytes(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        let (numbers, epoch) = bytes.split_at_mut(16);
        numbers
            .copy_from_slice([self.server as u64, self.job].map(u64::to_le_bytes).as_flattened());
        epoch.copy_from_slice(&self.epoch.to_le_bytes());
        bytes
    }

    pub(super) fn of(bytes: &[u8; 20]) -> Self {
        let [a, b, c, d, e, f, g, h, job @ ..] = *bytes;
        let [i, j, k, l, m, n, o, p, epoch @ ..] = job;
        let server = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        Identity {
            server: usize::try_from(server).unwrap_or(usize::MAX),
            job: u64::from_le_bytes([i, j, k, l, m, n, o, p]),
            epoch: u32::from_le_bytes(epoch),
        }
    }
}

/// The kind of process that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    FrontEnd,
    Server(Identity),
}

impl Peer {
    /// The key that such a caller knows.
    pub(crate) fn key(self, token: &Token) -> Token {
        match self {
            Peer::FrontEnd => token.clone(),
            Peer::Server(Identity { job, .. }) => token.of_run(job),
        }
    }

    fn bytes(self) -> [u8; WHO] {
        let mut bytes = [0; WHO];
        if let Peer::Server(identity) = self {
            let [kind, rest @ ..] = &mut bytes;
            *kind = 1;
            *rest = identity.bytes();
        }
        bytes
    }

    fn of(bytes: &[u8; WHO]) -> Option<Self> {
        match bytes {
            [0, ..] => Some(Peer::FrontEnd),
            [1, rest @ ..] => Some(Peer::Server(Identity::of(rest))),
            _ => None,
        }
    }
}

/// The part of a greeting that comes before the proofs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transcript {
    pub(crate) call: [u8; CALL_TIMEOUT],
    pub(crate) answer: [u8; ANSWER],
}

impl Transcript {
    /// The first bytes that a caller sends.
    pub(crate) fn call(caller: Peer) -> Result<[u8; CALL_TIMEOUT]> {
        let mut call = [0; CALL_TIMEOUT];
        let parts = [&HELLO[..], &caller.bytes(), &nonce()?].concat();
        call.copy_from_slice(&parts);
        Ok(call)
    }

    fn answer() -> Result<[u8; ANSWER]> {
        let mut answer = [0; ANSWER];
        answer.copy_from_slice(&[&HELLO[..], &nonce()?].concat());
        Ok(answer)
    }

    /// The proof of the one who has called.
    pub(crate) fn callers(&self, key: &Token) -> [u8; PROOF] {
        key.proof(&[b"caller", &self.call, &self.answer])
    }

    fn is_callers(&self, key: &Token, proof: &[u8]) -> bool {
        key.verifies(&[b"caller", &self.call, &self.answer], proof)
    }

    /// The proof of the one who was called, with what it says of itself.
    pub(crate) fn listeners(&self, key: &Token, who: &[u8]) -> [u8; PROOF] {
        key.proof(&[b"called", &self.call, &self.answer, who])
    }

    pub(crate) fn is_listeners(&self, key: &Token, who: &[u8], proof: &[u8]) -> bool {
        key.verifies(&[b"called", &self.call, &self.answer, who], proof)
    }
}

/// The fault in the bytes of an answer that have come so far; `None` if there is none.
pub(crate) fn foreign(answer: &[u8]) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    if answer.iter().zip(NAME).any(|(a, b)| a != b) {
        let theirs = String::from_utf8_lossy(answer);
        return Some(format!("it says {theirs:?} and is no worker of nakshi {ours}"));
    }
    let theirs = answer.get(..HELLO.len())?;
    let version = theirs.strip_prefix(NAME).filter(|_| theirs != HELLO)?.trim_ascii();
    let version = String::from_utf8_lossy(version);
    Some(format!("it is nakshi {version:?} and this is {ours}; install one version everywhere"))
}

/// A greeting as the side that was called goes through it: it takes what comes, in any pieces.
#[derive(Debug)]
pub(crate) struct Greeting {
    bytes: [u8; CALL_TIMEOUT],
    found: usize,
    /// The greeting so far, once only the caller's proof is missing.
    said: Option<(Peer, Transcript)>,
}

/// Result of the bytes that a stranger has sent.
#[derive(Debug)]
pub(crate) enum GreetingStep {
    /// More must come.
    Wait,
    /// The answer must be sent, then more bytes must come.
    Answer([u8; ANSWER]),
    /// The refusal may be sent; then the connection is dropped.
    Refuse(Vec<u8>),
    /// The caller is known.
    Known(Peer, Box<Transcript>),
}

impl Greeting {
    pub(crate) fn new() -> Self {
        Greeting { bytes: [0; CALL_TIMEOUT], found: 0, said: None }
    }

    /// Buffer for the next bytes, no longer than what is still missing.
    pub(crate) fn free(&mut self) -> &mut [u8] {
        let most = if self.said.is_some() { PROOF } else { CALL_TIMEOUT };
        self.bytes.get_mut(self.found..most).unwrap_or_default()
    }

    /// Goes on with so many bytes that have come into [`Greeting::free`].
    ///
    /// # Errors
    /// [`crate::Error::Token`] if there are no random numbers.
    pub(crate) fn take(&mut self, more: usize, token: &Token) -> Result<GreetingStep> {
        self.found = (self.found + more).min(CALL_TIMEOUT);
        let found = self.bytes.get(..self.found).unwrap_or_default();
        let Some((caller, said)) = &self.said else {
            // Whoever babbles is told so by its first wrong byte, but for one of another version.
            let known = found.iter().zip(NAME).all(|(a, b)| a == b);
            if !known {
                return Ok(GreetingStep::Refuse(Vec::new()));
            }
            if self.found < CALL_TIMEOUT {
                return Ok(GreetingStep::Wait);
            }
            let answer = Transcript::answer()?;
            let (hello, rest) = self.bytes.split_at(HELLO.len());
            let caller = rest.first_chunk().and_then(Peer::of);
            let Some(caller) = caller.filter(|_| hello == HELLO) else {
                return Ok(GreetingStep::Refuse(answer.to_vec()));
            };
            self.said = Some((caller, Transcript { call: self.bytes, answer }));
            self.found = 0;
            return Ok(GreetingStep::Answer(answer));
        };
        if self.found < PROOF {
            return Ok(GreetingStep::Wait);
        }
        if !said.is_callers(&caller.key(token), found) {
            return Ok(GreetingStep::Refuse(REFUSED.to_vec()));
        }
        Ok(GreetingStep::Known(*caller, Box::new(*said)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(secret: &str) -> Token {
        Token::new(secret.as_bytes()).unwrap()
    }

    /// Feeds bytes in pieces; the last step.
    fn feed(greeting: &mut Greeting, bytes: &[u8], piece: usize, token: &Token) -> GreetingStep {
        let mut last = GreetingStep::Wait;
        for piece in bytes.chunks(piece) {
            let free = greeting.free();
            free[..piece.len()].copy_from_slice(piece);
            last = greeting.take(piece.len(), token).unwrap();
        }
        last
    }

    fn greet(
        mine: &Token,
        theirs: &Token,
        caller: Peer,
        piece: usize,
    ) -> (GreetingStep, Transcript) {
        let mut greeting = Greeting::new();
        let call = Transcript::call(caller).unwrap();
        let GreetingStep::Answer(answer) = feed(&mut greeting, &call, piece, theirs) else {
            panic!()
        };
        assert_eq!(foreign(&answer), None);
        let said = Transcript { call, answer };
        let proof = said.callers(&caller.key(mine));
        (feed(&mut greeting, &proof, piece, theirs), said)
    }

    #[test]
    fn callers_are_known_by_the_secret() {
        let (one, other) = (token("0123456789abcdef"), token("0123456789abcdeF"));
        let server = Peer::Server(Identity { server: 3, job: 7, epoch: 1 });
        for caller in [Peer::FrontEnd, server] {
            for piece in [1, 32] {
                let (step, said) = greet(&one, &one, caller, piece);
                assert!(matches!(step, GreetingStep::Known(found, _) if found == caller));
                let key = caller.key(&one);
                let proof = said.listeners(&key, b"me");
                assert!(said.is_listeners(&key, b"me", &proof));
                // Neither the caller's own proof nor the refusal is the other side's.
                assert!(!said.is_listeners(&key, b"", &said.callers(&key)));
                assert!(!said.is_listeners(&key, b"me", &REFUSED));
                let (step, _) = greet(&other, &one, caller, piece);
                assert!(matches!(step, GreetingStep::Refuse(bytes) if bytes == REFUSED));
            }
        }
    }

    /// A recorded greeting opens nothing. Seen red with an answer without a number of its own.
    #[test]
    fn a_recorded_greeting_is_refused() {
        let token = token("0123456789abcdef");
        let (_, said) = greet(&token, &token, Peer::FrontEnd, 99);
        let mut again = Greeting::new();
        assert!(matches!(feed(&mut again, &said.call, 99, &token), GreetingStep::Answer(_)));
        let step = feed(&mut again, &said.callers(&token), 99, &token);
        assert!(matches!(step, GreetingStep::Refuse(_)));
    }

    #[test]
    fn other_versions_are_told_ours() {
        let mut call = Transcript::call(Peer::FrontEnd).unwrap();
        call[NAME.len()] = b'9';
        let step = feed(&mut Greeting::new(), &call, 99, &token("0123456789abcdef"));
        let GreetingStep::Refuse(answer) = step else { panic!("{step:?}") };
        assert!(answer.starts_with(&HELLO));
        let theirs = [&call[..32], &[0; 32]].concat();
        let why = foreign(&theirs).unwrap();
        assert!(why.contains("one version"), "{why}");
        let http = foreign(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        assert!(http.unwrap().contains("no worker"));
    }

    proptest! {
        /// Strangers are never known, and are refused by their first wrong byte.
        #[test]
        fn strangers_are_refused(bytes in prop::collection::vec(any::<u8>(), 1..200), right in 0usize..CALL_TIMEOUT) {
            let (mut greeting, token) = (Greeting::new(), token("0123456789abcdef"));
            let mut text = Transcript::call(Peer::FrontEnd).unwrap()[..right].to_vec();
            text.extend(bytes);
            for byte in text {
                let Some(place) = greeting.free().first_mut() else { panic!("no room") };
                *place = byte;
                match greeting.take(1, &token).unwrap() {
                    GreetingStep::Wait | GreetingStep::Answer(_) => {}
                    GreetingStep::Refuse(_) => return Ok(()),
                    GreetingStep::Known(..) => panic!("a stranger is known"),
                }
            }
            prop_assert!(right > 0 || greeting.found <= NAME.len());
        }
    }
}
