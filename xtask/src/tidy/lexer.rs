//! Blanks out comments and literals.

/// Rust source with comments, strings and character literals replaced by spaces; line breaks stay,
/// so that line numbers and columns agree with the source.
pub fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        if end > at {
            code.extend(bytes[at..end].iter().map(|&b| if b == b'\n' { b } else { b' ' }));
            at = end;
        } else {
            code.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// The end of the comment or literal that starts at `at`; `at` itself if none starts there.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let in_word = at > 0 && is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => at + position(rest, b"\n").unwrap_or(rest.len()),
        [b'/', b'*', ..] => at + block_comment(rest),
        [b'"', ..] => at + quoted(rest),
        [b'b', b'"', ..] if !in_word => at + 1 + quoted(&rest[1..]),
        [b'r', b'"' | b'#', ..] if !in_word => at + raw_string(rest).unwrap_or(0),
        [b'b', b'r', b'"' | b'#', ..] if !in_word => {
            at + raw_string(&rest[1..]).map_or(0, |n| n + 1)
        }
        [b'\'', ..] => at + character(rest).unwrap_or(0),
        _ => at,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn position(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Length of a block comment; they nest.
fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Length of a string in double quotes with escapes.
fn quoted(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Length of `r"…"` or `r#"…"#`; none for a raw identifier such as `r#type`.
fn raw_string(bytes: &[u8]) -> Option<usize> {
    let hashes = bytes[1..].iter().take_while(|&&b| b == b'#').count();
    let open = 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let length = position(&bytes[open + 1..], &close).map(|at| open + 1 + at + close.len());
    Some(length.unwrap_or(bytes.len()))
}

/// Length of a character literal; none for a lifetime.
fn character(bytes: &[u8]) -> Option<usize> {
    if bytes.get(1) == Some(&b'\\') {
        let close = bytes.get(3..)?.iter().position(|&b| b == b'\'')?;
        return Some(3 + close + 1);
    }
    let text = &bytes[1..bytes.len().min(6)];
    let first = match std::str::from_utf8(text) {
        Ok(text) => text.chars().next(),
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).ok()?.chars().next(),
    }?;
    let close = 1 + first.len_utf8();
    (bytes.get(close) == Some(&b'\'')).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_comments_and_literals_only() {
        let source = "let a = \"{ // \\\" }\"; // unsafe {\nlet b = r#\"}\"\"#; let c = '{'; fn f<'a>(x: &'a str) {}\n/* { /* } */ */ let d = b\"{\"; let e = '\\'';";
        let code = code_only(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(code.lines().count(), 3);
        assert!(code.contains("fn f<'a>(x: &'a str) {}"));
        assert_eq!(code.matches(['{', '}']).count(), 2);
        assert!(!code.contains("unsafe"));
    }

    #[test]
    fn a_multi_byte_character_is_a_literal() {
        assert_eq!(code_only("'é' 'x"), "     'x");
    }
}
