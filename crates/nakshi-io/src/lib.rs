//! Storage backends, page cache and checksummed page files for Nakshi.
