//! The bytes of one request, in the pages where they lie.

use super::window::RequestWindow;
use crate::cache::PageCache;
use crate::resident::SLACK;
use std::ops::Range;

/// The bytes of one request, in the pages of the cache.
#[derive(Debug)]
pub struct PageSlice<'a> {
    pub(super) pages: Pages<'a>,
    /// Offset of the bytes in the first page.
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Location of a request's pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pages<'a> {
    /// On one page, or in memory outside the cache.
    One(&'a [u8]),
    /// In consecutive entries of the window; the number is the first of them.
    Many(&'a RequestWindow, u64, &'a PageCache),
}

/// Contiguous bytes with readable bytes after them.
#[derive(Debug)]
pub struct Slack<'a> {
    /// The bytes of the request at `range`, then at least
    /// [`SLACK`](crate::SLACK) more.
    pub buf: &'a [u8],
    /// Range of the request's bytes in `buf`.
    pub range: Range<usize>,
}

impl<'a> PageSlice<'a> {
    /// Returns the number of bytes of the request.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the request was empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes in order, one slice per page, without a copy.
    pub fn segments(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let (mut skip, mut left, mut number) = (self.start, self.len, 0);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let page = self.page(number)?;
            let bytes = page.get(skip..).unwrap_or_default();
            let bytes = bytes.get(..left).unwrap_or(bytes);
            number += 1;
            skip = 0;
            left -= bytes.len();
            Some(bytes)
        })
    }

    fn page(&self, number: u64) -> Option<&'a [u8]> {
        match self.pages {
            Pages::One(bytes) => (number == 0).then_some(bytes),
            Pages::Many(window, first, cache) => window.bytes(first + number, cache),
        }
    }

    /// Returns the bytes as one slice: in place if they lie on one page, else joined in `scratch`.
    pub fn contiguous<'s>(&'s self, scratch: &'s mut Vec<u8>) -> &'s [u8] {
        if let Pages::One(page) = self.pages {
            return page.get(self.start..self.start + self.len).unwrap_or_default();
        }
        self.join(scratch);
        scratch
    }

    /// Returns the bytes as one slice with at least [`SLACK`](crate::SLACK) readable bytes after
    /// them: in place if the page is long enough, else joined in `scratch`.
    pub fn with_slack<'s>(&'s self, scratch: &'s mut Vec<u8>) -> Slack<'s> {
        if let Pages::One(page) = self.pages {
            let end = self.start + self.len;
            if page.len() >= end + SLACK {
                return Slack { buf: page, range: self.start..end };
            }
        }
        self.join(scratch);
        let len = scratch.len();
        scratch.resize(len + SLACK, 0);
        Slack { buf: scratch, range: 0..len }
    }

    fn join(&self, scratch: &mut Vec<u8>) {
        scratch.clear();
        scratch.reserve(self.len + SLACK);
        self.segments().for_each(|bytes| scratch.extend_from_slice(bytes));
    }
}
