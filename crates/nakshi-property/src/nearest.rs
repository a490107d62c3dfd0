//! The known name that is nearest to a mistyped one.

use nakshi_store::Error;

/// Known names that a message lists at most.
const LISTED: usize = 20;

/// The error for a name that nothing has: `what` is said of it, and then the nearest of `known`, or all.
pub(super) fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> Error {
    let known: Vec<&str> = known.collect();
    let near =
        nearest(name, &known).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let listed = known.get(..LISTED.min(known.len())).unwrap_or_default().join(", ");
    let listed = if listed.is_empty() { "none".to_owned() } else { listed };
    let more = known.len().saturating_sub(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Error::Invalid(format!("there {what} '{name}'{near} (there are: {listed}{more})"))
}

/// The known name with the fewest letters to change, if these are few for its length.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let wanted: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let far = (wanted.len() / 3).max(1);
    let near = known.iter().map(|known| {
        let letters: Vec<char> = known.chars().flat_map(char::to_lowercase).collect();
        // Longer differences are not counted out.
        let apart = letters.len().abs_diff(wanted.len());
        (if apart > far { apart } else { distance(&wanted, &letters) }, *known)
    });
    near.filter(|(apart, _)| *apart <= far).min_by_key(|(apart, _)| *apart).map(|(_, known)| known)
}

/// Letters to insert, to delete, to replace or to swap with the next one (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let same = at(&last, j) + usize::from(x != y);
            let mut least = same.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_near_and_other_words_are_not() {
        let known = ["knows", "likes", "lives_in", "name", "Person"];
        for (typed, meant) in [
            ("knwos", Some("knows")),
            ("know", Some("knows")),
            ("KNOWS", Some("knows")),
            ("likess", Some("likes")),
            ("livesin", Some("lives_in")),
            ("nmae", Some("name")),
            ("persn", Some("Person")),
            ("follows", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn the_message_is_one_line_and_bounded() {
        let many: Vec<String> = (0..100).map(|i| format!("p{i}")).collect();
        let error = unknown("is no property", "q", many.iter().map(String::as_str)).to_string();
        assert!(error.contains("and 80 more") && !error.contains('\n'), "{error}");
    }
}
