//! The on-disk graph store of Nakshi: format, import, ids, topology.
