//! Word from the task that reads messages to the one that answers them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use boltr::message::ClientMessage;
use nakshi_io::CancelToken;
use tokio::sync::OwnedSemaphorePermit;

use crate::failure::Failure;

/// A message, or why it is none, and its part of the memory for waiting messages.
pub(super) struct Arrived {
    pub(super) message: Result<ClientMessage, Failure>,
    pub(super) _room: OwnedSemaphorePermit,
}

/// Word from the task that reads to the one that answers, past the messages between them.
pub(super) struct Interrupts {
    running: Mutex<CancelToken>,
    /// RESET messages that were read, and not answered yet.
    resets: AtomicUsize,
    gone: AtomicBool,
}

impl Interrupts {
    pub(super) fn new(server: &CancelToken) -> Self {
        let running = Mutex::new(server.child());
        Interrupts { running, resets: 0.into(), gone: false.into() }
    }

    /// A token for the next statement, of the transaction that has `parent`.
    pub(super) fn token(&self, parent: &CancelToken) -> CancelToken {
        let token = parent.child();
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        if self.pending() {
            token.cancel();
        }
        token
    }

    /// True if what runs is to be left: a RESET has come, or the client has gone.
    pub(super) fn pending(&self) -> bool {
        self.resets.load(SeqCst) > 0 || self.gone.load(SeqCst)
    }

    fn stop(&self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    pub(super) fn reset(&self) {
        self.resets.fetch_add(1, SeqCst);
        self.stop();
    }

    /// A RESET was answered.
    pub(super) fn was_reset(&self) {
        self.resets.fetch_sub(1, SeqCst);
    }

    pub(super) fn leave(&self) {
        self.gone.store(true, SeqCst);
        self.stop();
    }
}
