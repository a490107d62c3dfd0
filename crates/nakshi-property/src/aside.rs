//! Freeing what a cancelled call has made, without its caller waiting for it.

use nakshi_store::{Error, Result};

/// Joins what a call has made and what it returned. If the call was cancelled, a thread of its own frees
/// `made`: a million changes are some million allocations, which takes seconds, and who presses Ctrl-C
/// shall not wait for them. The thread takes no lock but the allocator's, which `fork` looks after.
///
/// # Errors
/// That of the call.
pub(crate) fn unless_cancelled<S: Send + 'static, T>(made: S, done: Result<T>) -> Result<(S, T)> {
    match done {
        Ok(done) => Ok((made, done)),
        Err(Error::Cancelled) => {
            let free = std::thread::Builder::new().name("nakshi-free".into());
            // If no thread can be started, it is freed here.
            drop(free.spawn(move || drop(made)));
            Err(Error::Cancelled)
        }
        Err(error) => Err(error),
    }
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
