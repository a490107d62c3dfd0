//! Graphs larger than memory: store, analyse, serve.
