//! Frees the memory of a cancelled call on a thread of its own, so that the caller returns at once.

use nakshi_store::{Error, Result};

/// Joins what a call has made and what the call returned. If the call was cancelled, a new thread
/// frees `made`: freeing a million changes takes seconds, and a user who presses Ctrl-C should not
/// wait for that. The new thread takes no lock but the allocator's, which `fork` handles.
///
/// # Errors
/// The error of the call.
pub(crate) fn unless_cancelled<S: Send + 'static, T>(made: S, done: Result<T>) -> Result<(S, T)> {
    match done {
        Ok(done) => Ok((made, done)),
        Err(Error::Cancelled) => {
            free(made);
            Err(Error::Cancelled)
        }
        Err(error) => Err(error),
    }
}

/// Frees a value on a thread of its own; here, if no thread can be started.
pub(crate) fn free(value: impl Send + 'static) {
    let thread = std::thread::Builder::new().name("nakshi-free".into());
    drop(thread.spawn(move || drop(value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    struct Slow;

    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_secs(2));
        }
    }

    /// Seen red with everything freed by the caller.
    #[test]
    fn nobody_waits_for_what_is_freed() {
        let began = Instant::now();
        let cancelled = unless_cancelled(Slow, Err::<(), _>(Error::Cancelled));
        assert!(matches!(cancelled, Err(Error::Cancelled)));
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}
