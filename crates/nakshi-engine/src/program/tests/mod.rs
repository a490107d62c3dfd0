//! The promises of the programming model, each a test, on every kind of graph there is.
//!
//! * [`graphs`]: the same graph in memory and on the SSD;
//! * [`model`]: what `run`, lists, activation and the end of an iteration promise;
//! * [`messages`]: delivery, combining, multicast, thresholds;
//! * [`scheduling`]: orders, partitions, parts, stealing, stops;
//! * [`algorithms`]: the shipped programs against other methods;
//! * [`reading`]: what is read from the SSD;
//! * [`pull`]: programs that pull;
//! * [`faults`]: panics, cancellation, mistakes of callbacks, failing reads.

mod algorithms;
mod faults;
mod graphs;
mod messages;
mod model;
mod pull;
mod reading;
mod scheduling;
