//! Semi-external graph engine and algorithms of Nakshi.
