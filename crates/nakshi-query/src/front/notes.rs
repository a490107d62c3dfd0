//! Parts of a text that `decypher` drops or refuses. They are taken out, so that places stay what they are, and noted
//! by the byte at which they belong.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::types::type_at;
use super::words::{Kind, Token, tokens};
use crate::ir::Shortest;
use crate::types::Type;

/// Letters that can stand for line breaks in quotes.
const STAND_INS: std::ops::RangeInclusive<char> = '\u{1}'..='\u{8}';
/// Line breaks that `decypher` does not take in quotes.
const BREAKS: [char; 2] = ['\n', '\r'];

/// Symbols and words of patterns outside of brackets.
const PATTERN_PARTS: [&str; 15] = [
    "-",
    "<",
    ">",
    ",",
    "+",
    "*",
    "SHORTEST",
    "ANY",
    "ALL",
    "PATH",
    "PATHS",
    "GROUP",
    "GROUPS",
    "shortestPath",
    "allShortestPaths",
];

/// The variables that a subquery takes along.
#[derive(Clone, Debug)]
pub(super) enum Imports {
    All,
    /// Names, each with its place.
    Some(Vec<(String, usize)>),
}

/// A subquery that names what it takes along.
#[derive(Clone, Debug)]
pub(super) struct Scoped {
    pub(super) imports: Imports,
    /// True if a row stays for which it finds nothing.
    pub(super) optional: bool,
    pub(super) bytes: Range<usize>,
}

/// A part of a pattern that is passed several times.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Least and greatest number of times.
    pub(super) length: (u64, Option<u64>),
    pub(super) condition: Option<Range<usize>>,
}

/// Names of labels or of a type that an expression gives.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    /// The bytes of the expression.
    pub(super) of: Range<usize>,
    /// True if any of the names is enough.
    pub(super) any: bool,
}

/// Parts that were taken out of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// Conditions inside of a node or an edge of a pattern, by the place of its bracket.
    pub(super) conditions: BTreeMap<usize, Range<usize>>,
    /// Subqueries, by the place of `CALL`.
    pub(super) subqueries: HashMap<usize, Scoped>,
    /// The shortest paths that are wanted, by the place of the first bracket of their pattern.
    pub(super) shortest: BTreeMap<usize, Shortest>,
    /// The least numbers of edges of `-[]->+` and `-[]->*`, by the place of the node behind.
    pub(super) repeated: HashMap<usize, u64>,
    /// Parts of patterns that are passed several times, by the place of their first node.
    pub(super) groups: HashMap<usize, Group>,
    /// First nodes of the parts that stand directly behind other parts.
    pub(super) joined: HashSet<usize>,
    /// The first of these that is in `EXISTS { }` or `COUNT { }` without `MATCH`.
    pub(super) without_match: Option<usize>,
    /// Expressions in place of labels and types, by their places.
    pub(super) computed: HashMap<usize, Computed>,
    /// Types that stand behind two colons, by the place of the second of these.
    pub(super) types: HashMap<usize, Type>,
    /// Letters that the text does not have, and the line breaks that they stand for.
    stand_ins: Vec<(char, char)>,
}

impl Notes {
    /// Notes of a text, without anything in them.
    pub(super) fn of(text: &str) -> Self {
        let free = STAND_INS.filter(|one| !text.contains(*one));
        Notes { stand_ins: free.zip(BREAKS).collect(), ..Notes::default() }
    }

    /// Takes out of a text what has to be, and notes it.
    pub(super) fn take(&mut self, text: &str) -> String {
        let tokens = tokens(text);
        let (out, moved, skips) = (Vec::new(), Vec::new(), Vec::new());
        let (commas, labels) = (Vec::new(), Vec::new());
        let mut taking = Taking { text, tokens: &tokens, out, moved, skips, commas, labels };
        taking.all(self);
        let mut mended = text.to_owned();
        for range in taking.out {
            let blank = " ".repeat(range.len());
            mended.replace_range(range, &blank);
        }
        for at in taking.commas {
            mended.replace_range(at..at + 1, ",");
        }
        for at in taking.skips {
            mended.replace_range(at..at + "OFFSET".len(), "SKIP  ");
        }
        for (star, sign) in taking.moved {
            mended.remove(sign);
            mended.insert(star, '*');
        }
        // The outer one of two that are inside of each other is written last.
        for (bytes, name) in taking.labels.iter().rev() {
            // Two quotes take the places of a colon, and of a space or the last letter.
            let name = name.get(..bytes.len() - 2).unwrap_or(name);
            let rest = " ".repeat(bytes.len().saturating_sub(name.len() + 2));
            mended.replace_range(bytes.clone(), &format!("`{name}`{rest}"));
        }
        for token in tokens.iter().filter(|token| token.kind == Kind::Text) {
            let quoted = mended.get(token.bytes.clone()).unwrap_or_default();
            let ours = self.stand_ins.iter().fold(quoted.to_owned(), |text, (stand_in, of)| {
                text.replace(*of, stand_in.encode_utf8(&mut [0; 4]))
            });
            mended.replace_range(token.bytes.clone(), &ours);
        }
        mended
    }

    /// A text of the query with its line breaks.
    pub(super) fn with_breaks(&self, text: &str) -> String {
        self.stand_ins.iter().fold(text.to_owned(), |text, (stand_in, of)| {
            text.replace(*stand_in, of.encode_utf8(&mut [0; 4]))
        })
    }

    /// Returns true inside of a subquery that names what it takes along.
    pub(super) fn is_scoped(&self, at: usize) -> bool {
        self.subqueries.values().any(|one| one.bytes.contains(&at))
    }
}

struct Taking<'t> {
    text: &'t str,
    tokens: &'t [Token],
    /// Bytes that are taken out.
    out: Vec<Range<usize>>,
    /// Where a star is put in, and the sign that is taken out for it.
    moved: Vec<(usize, usize)>,
    /// Where `OFFSET` stands for `SKIP`.
    skips: Vec<usize>,
    /// Types behind two colons, with the second of these, and expressions in place of labels: names in quotes stand
    /// for them.
    labels: Vec<(Range<usize>, String)>,
    /// Where a comma is put in, in place of what is taken out.
    commas: Vec<usize>,
}

impl Taking<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| {
            matches!(token.kind, Kind::Word | Kind::Symbol)
                && token.of(self.text).eq_ignore_ascii_case(word)
        })
    }

    fn is_one(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    fn is_before(&self, at: usize, words: &[&str]) -> bool {
        at.checked_sub(1).is_some_and(|before| self.is_one(before, words))
    }

    fn begin(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.text.len(), |token| token.bytes.start)
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| match token.kind {
            Kind::Escaped => true,
            Kind::Word => !token.of(self.text).starts_with(|first: char| first.is_numeric()),
            _ => false,
        })
    }

    fn name(&self, at: usize) -> String {
        let name = self.tokens.get(at).map_or("", |token| token.of(self.text));
        match name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            Some(escaped) => escaped.replace("``", "`"),
            None => name.to_owned(),
        }
    }

    /// The bracket that closes the one at `open`.
    fn close(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            depth += usize::from(self.is_one(at, &["(", "[", "{"]));
            if self.is_one(at, &[")", "]", "}"]) {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    /// Takes out the tokens from one to before another.
    fn take(&mut self, from: usize, to: usize) {
        let end = to.checked_sub(1).and_then(|last| self.tokens.get(last));
        self.out.extend(end.map(|end| self.begin(from)..end.bytes.end));
    }

    fn all(&mut self, notes: &mut Notes) {
        for at in 0..self.tokens.len() {
            self.computed(at, notes);
            // Names of properties and parameters are no keywords.
            if self.is_before(at, &[".", "$", ":"]) {
                continue;
            }
            self.subquery(at, notes);
            self.condition(at, notes);
            self.groups(at, notes);
            self.shortest(at, notes);
            self.repeated(at, notes);
            self.hint(at);
            self.offset(at);
            self.typed(at, notes);
            if self.is(at, "NODETACH") && self.is(at + 1, "DELETE") {
                self.take(at, at + 1);
            }
        }
    }

    /// `CALL (a, b) { ... }`, `CALL (*) { ... }`, and those with `OPTIONAL`.
    fn subquery(&mut self, at: usize, notes: &mut Notes) {
        if !self.is(at, "CALL") {
            return;
        }
        let optional = self.is_before(at, &["OPTIONAL"]);
        let mut open = at + 1;
        let mut imports = Imports::Some(Vec::new());
        if self.is(open, "(") {
            let Some(end) = self.close(open).filter(|end| self.is(end + 1, "{")) else { return };
            imports = match self.is(open + 1, "*") {
                true => Imports::All,
                false => {
                    let names = (open + 1..end).filter(|one| self.is_name(*one));
                    Imports::Some(names.map(|one| (self.name(one), self.begin(one))).collect())
                }
            };
            self.take(open, end + 1);
            open = end + 1;
        } else if !optional || !self.is(open, "{") {
            return;
        }
        let Some(end) = self.close(open) else { return };
        if optional {
            self.take(at - 1, at);
        }
        let bytes = self.begin(open)..self.begin(end);
        notes.subqueries.insert(self.begin(at), Scoped { imports, optional, bytes });
    }

    /// `(a:Label WHERE ...)` and `-[r:TYPE WHERE ...]-`.
    fn condition(&mut self, at: usize, notes: &mut Notes) {
        if !self.is_one(at, &["(", "["]) {
            return;
        }
        let Some(end) = self.close(at) else { return };
        let first = at + 1 + usize::from(self.is_name(at + 1) && !self.is_one(at + 1, &["WHERE"]));
        if !self.is_one(first, &["WHERE", ":", "IS", "{", "$", "*"]) {
            return;
        }
        if let Some(condition) = self.take_condition(first, end) {
            notes.conditions.insert(self.begin(at), condition);
        }
    }

    /// Takes out a condition that stands before the bracket at `end`.
    fn take_condition(&mut self, first: usize, end: usize) -> Option<Range<usize>> {
        let mut place = first;
        while place < end && !self.is(place, "WHERE") {
            let inner = self.is_one(place, &["(", "[", "{"]);
            place = if inner { self.close(place).unwrap_or(end) } else { place } + 1;
        }
        (place < end).then(|| {
            self.take(place, end);
            self.tokens.get(place).map_or(0, |token| token.bytes.end)..self.begin(end)
        })
    }

    /// The parts of the pattern behind `MATCH`, and of one in `EXISTS { }` and `COUNT { }`: those that are passed several
    /// times, as `((a)-->(b) WHERE ...){1,3}`, and those that stand directly behind others.
    fn groups(&mut self, at: usize, notes: &mut Notes) {
        if !(self.is(at, "MATCH") || self.is(at, "{") && self.is_before(at, &["EXISTS", "COUNT"])) {
            return;
        }
        let (mut next, mut joined, mut room) = (at + 1, false, None);
        loop {
            if self.is(next, "(") {
                let Some(close) = self.close(next) else { return };
                let is_group = self.is(next + 1, "(");
                let node = self.begin(next + usize::from(is_group));
                if joined {
                    notes.joined.insert(node);
                    // `decypher` reads a single path in such brackets.
                    notes.without_match = notes.without_match.or(self.is(at, "{").then_some(node));
                }
                let quantified = self.quantifier(close + 1).filter(|_| is_group);
                let (open, was_joined) = (next, std::mem::replace(&mut joined, true));
                // Where `decypher` reads one path, it takes several behind commas.
                self.commas.extend(match quantified.is_some() {
                    true => was_joined.then(|| self.begin(open)),
                    false => room.take(),
                });
                next = close + 1;
                if let Some((length, end)) = quantified {
                    let condition = self.take_condition(open + 1, close);
                    notes.groups.insert(node, Group { length, condition });
                    room = Some(self.begin(next));
                    self.take(open, open + 1);
                    self.take(close, end);
                    next = end;
                }
                continue;
            }
            (joined, room) = (false, None);
            next = match () {
                () if self.is_one(next, &["[", "{"]) => match self.close(next) {
                    Some(close) => close + 1,
                    None => return,
                },
                () if self.is_name(next) && self.is(next + 1, "=") => next + 2,
                () if self.is_one(next, &PATTERN_PARTS) || self.number(next).is_some() => next + 1,
                () => return,
            };
        }
    }

    fn number(&self, at: usize) -> Option<u64> {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word)?;
        token.of(self.text).parse().ok()
    }

    /// `+`, `*`, `{2}`, `{1,3}`, `{1,}` or `{,3}`: the least and the greatest number, and the token behind.
    fn quantifier(&self, at: usize) -> Option<((u64, Option<u64>), usize)> {
        if self.is_one(at, &["+", "*"]) {
            return Some(((u64::from(self.is(at, "+")), None), at + 1));
        }
        let close = self.close(at).filter(|_| self.is(at, "{"))?;
        let least = self.number(at + 1);
        let comma = at + 1 + usize::from(least.is_some());
        if !self.is(comma, ",") {
            return least.filter(|_| comma == close).map(|n| ((n, Some(n)), close + 1));
        }
        let most = self.number(comma + 1);
        (comma + 1 + usize::from(most.is_some()) == close)
            .then_some(((least.unwrap_or(0), most), close + 1))
    }

    /// `SHORTEST k [PATHS] [GROUPS]`, `ANY [k] SHORTEST [PATHS]`, `ALL SHORTEST [PATHS]`, and `ANY [k] [PATHS]`.
    fn shortest(&mut self, at: usize, notes: &mut Notes) {
        if !self.is_before(at, &["MATCH", ",", "="])
            || !self.is_one(at, &["SHORTEST", "ANY", "ALL"])
        {
            return;
        }
        let mut next = at + 1;
        let count = self.number(next);
        next += usize::from(count.is_some());
        let mut is_shortest = self.is(at, "SHORTEST");
        if self.is(next, "SHORTEST") {
            (is_shortest, next) = (true, next + 1);
        }
        next += usize::from(self.is_one(next, &["PATH", "PATHS"]));
        let in_groups = self.is_one(next, &["GROUP", "GROUPS"]);
        next += usize::from(in_groups);
        // `= any(x IN list WHERE ...)` is none.
        let is_any = self.is(at, "ANY") && count.is_some();
        if !self.is(next, "(") || !(is_shortest || is_any) {
            return;
        }
        let count = count.unwrap_or(1);
        let wanted = match (self.is(at, "ALL"), in_groups) {
            (true, _) => Shortest::All,
            (false, true) => Shortest::Groups(count),
            (false, false) => Shortest::First(count),
        };
        self.take(at, next);
        let node = next + usize::from(self.is(next + 1, "("));
        notes.shortest.insert(self.begin(node), wanted);
    }

    /// `-[r]->+(b)` and `-[r]->*(b)`.
    fn repeated(&mut self, at: usize, notes: &mut Notes) {
        if !self.is_one(at, &["+", "*"]) || !self.is(at + 1, "(") {
            return;
        }
        let back = |by: usize, word: &str| at.checked_sub(by).is_some_and(|one| self.is(one, word));
        let end = if back(1, ">") { 2 } else { 1 };
        if !back(end, "-") {
            return;
        }
        match at.checked_sub(end + 1).filter(|close| self.is(*close, "]")) {
            Some(close) => {
                // An edge, and no item of a list.
                let open = self.open(close).filter(|open| self.is_before(*open, &["-"]));
                let Some(open) = open else { return };
                // As a list of edges, which its variable is: `-[r*]->(b)`.
                let map = (open..close).find(|one| self.is(*one, "{")).unwrap_or(close);
                self.moved.push((self.begin(map), self.begin(at)));
            }
            None if back(end + 1, "-") && (end == 2 || back(end + 2, ")")) => {
                self.take(at, at + 1);
            }
            None => return,
        }
        notes.repeated.insert(self.begin(at + 1), u64::from(self.is(at, "+")));
    }

    /// The bracket that the one at `close` closes.
    fn open(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (0..=close).rev() {
            depth += usize::from(self.is_one(at, &[")", "]", "}"]));
            if self.is_one(at, &["(", "[", "{"]) {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    /// `$(...)`, `$all(...)` and `$any(...)` in place of a label or a type, as a label with the text of the expression.
    fn computed(&mut self, at: usize, notes: &mut Notes) {
        let any = self.is(at + 1, "any");
        let open = at + 1 + usize::from(any || self.is(at + 1, "all"));
        if !self.is(at, "$") || !self.is(open, "(") {
            return;
        }
        let Some(close) = self.close(open) else { return };
        let (begin, end) = (self.begin(at), self.begin(close) + 1);
        let of = self.begin(open) + 1..end - 1;
        let name = self.text.get(begin + 1..end - 1).unwrap_or_default().replace('`', "'");
        notes.computed.insert(begin, Computed { of, any });
        self.labels.push((begin..end, name));
    }

    /// `x :: INTEGER`, which is `x IS :: INTEGER`, as a label with the text of the type.
    fn typed(&mut self, at: usize, notes: &mut Notes) {
        let second = self.begin(at + 1);
        if !(self.is(at, ":") && self.is(at + 1, ":") && second == self.begin(at) + 1)
            || self.is_before(at, &["IS", "NOT"])
        {
            return;
        }
        let Some((found, end)) = type_at(self.text, self.tokens, at + 2) else { return };
        let mut name = String::new();
        for token in self.tokens.get(at + 2..end).unwrap_or_default() {
            let is_behind = name.ends_with(char::is_alphanumeric) && token.kind == Kind::Word;
            name.push_str(if is_behind { " " } else { "" });
            name.push_str(token.of(self.text));
        }
        notes.types.insert(second, found);
        let end = end.checked_sub(1).and_then(|last| self.tokens.get(last));
        self.labels.extend(end.map(|last| (second..last.bytes.end, name)));
    }

    /// `OFFSET 3`, which is `SKIP 3`.
    fn offset(&mut self, at: usize) {
        let value = self.tokens.get(at + 1).map_or("", |token| token.of(self.text));
        let is_value = value.starts_with(|one: char| one.is_numeric() || one == '$');
        let is_column = self.is_before(at, &["RETURN", "WITH", "DISTINCT", "AS", "BY", ",", "("]);
        if self.is(at, "OFFSET") && is_value && !is_column {
            self.skips.push(self.begin(at));
        }
    }

    /// `USING INDEX n:Label(property)`, `USING SCAN n:Label` and `USING JOIN ON n`: advice, which this planner does
    /// not need.
    fn hint(&mut self, at: usize) {
        if !self.is(at, "USING") {
            return;
        }
        let kind = at + 1 + usize::from(self.is_one(at + 1, &["TEXT", "RANGE", "POINT"]));
        let mut end = kind + 1;
        if self.is(kind, "INDEX") {
            end += usize::from(self.is(end, "SEEK"));
            // A name, a colon, a label, and properties in brackets.
            let Some(close) = self.close(end + 3) else { return };
            end = close + 1;
        } else if self.is(kind, "SCAN") {
            end += 3;
        } else if self.is(kind, "JOIN") && self.is(end, "ON") {
            end += 2;
            while self.is(end, ",") {
                end += 2;
            }
        } else {
            return;
        }
        self.take(at, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (String, Notes) {
        let mut notes = Notes::of(text);
        let mended = notes.take(text);
        assert_eq!(mended.len(), text.len());
        (mended.split_whitespace().collect::<Vec<_>>().join(" "), notes)
    }

    #[test]
    fn parts_are_taken_out() {
        for (text, expected) in [
            (
                "MATCH (a:A WHERE a.n > 2)-[r WHERE r.w = 1]->() RETURN a",
                "MATCH (a:A )-[r ]->() RETURN a",
            ),
            ("MATCH (WHERE true) RETURN 1", "MATCH ( ) RETURN 1"),
            ("CALL (a, `b c`) { RETURN 1 } RETURN 2", "CALL { RETURN 1 } RETURN 2"),
            ("OPTIONAL CALL (*) { RETURN 1 } RETURN 2", "CALL { RETURN 1 } RETURN 2"),
            ("MATCH p = SHORTEST 2 PATHS (a)-->(b) RETURN p", "MATCH p = (a)-->(b) RETURN p"),
            ("MATCH (n) USING INDEX SEEK n:A(x, y) USING SCAN m:B RETURN n", "MATCH (n) RETURN n"),
            ("MATCH (n) USING JOIN ON n, m WHERE true RETURN n", "MATCH (n) WHERE true RETURN n"),
            ("MATCH (n) NODETACH DELETE n", "MATCH (n) DELETE n"),
            (
                "RETURN offset AS offset ORDER BY offset OFFSET $offset LIMIT 1",
                "RETURN offset AS offset ORDER BY offset SKIP $offset LIMIT 1",
            ),
            (
                "MATCH (a)-[:R]->+(b)<-[]-*(c)--+(d) RETURN a",
                "MATCH (a)-[:R*]->(b)<-[*]-(c)-- (d) RETURN a",
            ),
            (
                "MATCH p = (a)((x)-->(y) WHERE x.n = 1) {1, 3} (b)((z)--())+, (c) RETURN p",
                "MATCH p = (a),(x)-->(y) , (b),(z)--() , (c) RETURN p",
            ),
            (
                "RETURN EXISTS { ((a)-->(b))*((c)--(d)){2} }",
                "RETURN EXISTS { (a)-->(b) ,(c)--(d) }",
            ),
        ] {
            assert_eq!(taken(text).0, expected);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "RETURN [x IN xs WHERE x > 1] = any(x IN xs WHERE x), [(a)-->(b) WHERE b.x | b]",
            "CALL db.labels() YIELD label RETURN label",
            "MATCH (a) CALL { WITH a RETURN 1 AS x } RETURN a.call, a.using, $shortest",
            "MATCH (a {where: 1}) RETURN all(x IN a.all WHERE x) AS any, any (x IN [1] WHERE x)",
            "RETURN 1 = all(x IN [1] WHERE x = 1)",
            "RETURN x[0]-+(y) * (z), 1 - +(2), -+(1)",
        ] {
            let (mended, notes) = taken(text);
            assert_eq!(mended, text);
            assert!(notes.conditions.is_empty() && notes.subqueries.is_empty());
        }
    }

    #[test]
    fn line_breaks_come_back() {
        let (mended, notes) = taken("RETURN 'a\nb\u{1}'\n");
        assert!(!mended.contains('\n'));
        assert_eq!(notes.with_breaks(&mended), "RETURN 'a\nb\u{1}'");
    }
}
