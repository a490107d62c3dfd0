//! A server that no longer leads looks its commits up in the log of the one that does.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::PropertyStore;
use nakshi_query::{Class, Outcomes, QueryError};

use crate::replication::Group;
use crate::served::AGAIN;

/// Time within which there is another leader, and this server has all that the other one has.
const TIME: Duration = Duration::from_secs(10);

/// A server among others, of which another one may make the commits.
pub(crate) struct Deposed {
    pub(crate) store: Arc<PropertyStore>,
    pub(crate) group: Arc<Group>,
    pub(crate) cancel: CancelToken,
}

fn unknown(why: &dyn Display) -> QueryError {
    let what = format!(
        "another server makes the commits now, and it is not known whether this one was made: {why}"
    );
    QueryError::run(Class::Store, "Outcome", what)
}

impl Outcomes for Deposed {
    /// Once another server leads and a majority has confirmed it, the commit is in the log, or never will be.
    fn find(&self, id: u128, since: u64) -> Result<Option<u64>, QueryError> {
        let began = Instant::now();
        let newest = self.group.newest_within(TIME).map_err(|error| unknown(&error.message))?;
        while self.store.last_commit() < newest {
            if began.elapsed() > TIME || self.cancel.is_cancelled() {
                return Err(unknown(&"this server lags behind"));
            }
            std::thread::sleep(AGAIN);
        }
        let found = self.store.find_commit(id, since, &self.cancel);
        Ok(found.map_err(|error| unknown(&error))?.map(|found| found.commit))
    }
}
