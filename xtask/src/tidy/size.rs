//! Lengths of files and functions.

use super::lexer::code_only;
use super::{Finding, Tree};

/// Lines of a file before its tests.
const FILE_LINES: usize = 800;
/// Lines of a function, from its signature to its closing brace.
const FUNCTION_LINES: usize = 70;

/// Rust and Python sources; tests inside a Rust file do not count.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let product = before_tests(text);
        file(path, product, &mut findings);
        report(path, rust_functions(&code_only(product)), &mut findings);
    }
    for (path, text) in tree.ending(".py") {
        file(path, before_written(text), &mut findings);
        report(path, python_functions(text), &mut findings);
    }
    findings
}

fn file(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if lines > FILE_LINES {
        let message =
            format!("{lines} lines, more than {FILE_LINES}: which part is a room of its own?");
        findings.push(Finding::new(path, FILE_LINES + 1, message));
    }
}

/// The part of a Python file above what a command of the Makefile has written.
fn before_written(text: &str) -> &str {
    let written = text.find("# Written by `make ");
    written.and_then(|at| text.get(..at)).unwrap_or(text)
}

/// The part of a Rust file above its unit tests.
fn before_tests(text: &str) -> &str {
    let tests = text.find("\n#[cfg(test)]\nmod ");
    tests.and_then(|at| text.get(..at)).unwrap_or(text)
}

fn report(path: &str, functions: Vec<Function>, findings: &mut Vec<Finding>) {
    for Function { name, line, lines } in functions {
        if lines > FUNCTION_LINES {
            let message = format!("function {name} has {lines} lines, more than {FUNCTION_LINES}");
            findings.push(Finding::new(path, line, message));
        }
    }
}

/// A function with its first line and its length.
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Functions of blanked Rust code: from the word `fn` to the brace that closes its body.
fn rust_functions(code: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    // Open functions and the depth of braces outside each; `None` until its body has begun.
    let mut open: Vec<(String, usize, Option<usize>)> = Vec::new();
    let mut depth = 0usize;
    let mut brackets = 0usize;
    let mut word = String::new();
    let mut after_fn = false;
    let mut line = 1;
    for character in code.chars() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        if after_fn && !word.is_empty() {
            open.push((word.clone(), line, None));
        }
        let spaced = character.is_whitespace();
        after_fn = spaced && (word == "fn" || (after_fn && word.is_empty()));
        word.clear();
        match character {
            '\n' => line += 1,
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => {
                if let Some((_, _, body @ None)) = open.last_mut() {
                    *body = Some(depth);
                }
                depth += 1;
            }
            // The `;` inside `[u8; 4]` does not end a declaration.
            ';' if brackets == 0 => {
                if matches!(open.last(), Some((_, _, None))) {
                    open.pop();
                }
            }
            '}' => {
                depth = depth.saturating_sub(1);
                if matches!(open.last(), Some((_, _, Some(outside))) if *outside == depth)
                    && let Some((name, first, _)) = open.pop()
                {
                    functions.push(Function { name, line: first, lines: line - first + 1 });
                }
            }
            _ => {}
        }
    }
    functions
}

/// Functions of a Python file: from `def` to the last line indented deeper, less the docstring,
/// which in Rust would stand above.
fn python_functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut functions = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let head = line.trim_start().trim_start_matches("async ");
        let Some(name) = head.strip_prefix("def ").and_then(|rest| rest.split('(').next()) else {
            continue;
        };
        let mut last = first;
        for (number, inner) in lines.iter().enumerate().skip(first + 1) {
            let text = inner.trim_start();
            let closes_signature = text.starts_with(')');
            if text.is_empty() || closes_signature {
                continue;
            }
            if indent(inner) <= indent(line) {
                break;
            }
            last = number;
        }
        let body = lines.get(first..=last).unwrap_or_default();
        functions.push(Function {
            name: name.to_owned(),
            line: first + 1,
            lines: body.len() - docstring(body),
        });
    }
    functions
}

/// Lines of a function's docstring: from its opening quotes to its closing ones.
fn docstring(function: &[&str]) -> usize {
    let quotes = |line: &&str| line.contains("\"\"\"");
    let Some(open) = function.iter().position(quotes) else { return 0 };
    let closed_at_once = function.get(open).is_some_and(|line| line.matches("\"\"\"").count() > 1);
    if closed_at_once {
        return 1;
    }
    function.iter().skip(open + 1).position(quotes).map_or(0, |close| close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(lines: usize) -> String {
        "    x();\n".repeat(lines)
    }

    #[test]
    fn a_planted_long_function_is_found() {
        let fine = format!("fn f(a: [u8; 4]) {{\n{}}}\n", long(68));
        assert_eq!(check(&Tree::of(&[("a.rs", &fine)])), vec![]);
        let planted =
            format!("struct S;\nimpl S {{\n  fn f() where S: Sized {{\n{}  }}\n}}\n", long(69));
        let found = check(&Tree::of(&[("a.rs", &planted)]));
        assert_eq!((found.len(), found[0].line), (1, 3));
        let python = format!(
            "class A:\n    def f(\n        self,\n    ):\n{}\n\nx = 1\n",
            long(70).replace("    x", "        x")
        );
        let found = check(&Tree::of(&[("a.py", &python)]));
        assert_eq!((found.len(), found[0].line), (1, 2));
        let told = "told\n".repeat(70);
        let documented =
            format!("def f():\n    \"\"\"What it does.\n{told}    \"\"\"\n{}", long(60));
        assert_eq!(check(&Tree::of(&[("a.py", &documented)])), vec![]);
    }

    #[test]
    fn declarations_and_function_types_are_no_functions() {
        let source = format!(
            "trait T {{ fn f(&self, g: fn(u8) -> u8); }}\nconst X: u8 = {{\n{} 1 }};\n",
            long(100)
        );
        assert_eq!(check(&Tree::of(&[("a.rs", &source)])), vec![]);
    }

    #[test]
    fn a_planted_long_file_is_found_but_its_tests_are_free() {
        let tests = format!("\n#[cfg(test)]\nmod tests {{\n{}}}\n", long(900));
        let fine = "use a;\n".repeat(800) + &tests;
        assert_eq!(check(&Tree::of(&[("a.rs", &fine)])), vec![]);
        let planted = "use a;\n".repeat(801) + &tests;
        assert_eq!(check(&Tree::of(&[("a.rs", &planted)])).len(), 1);
    }

    #[test]
    fn a_planted_long_python_file_is_found_but_what_make_writes_is_free() {
        let fine = format!("a\n# Written by `make methods`.\n{}", "a\n".repeat(900));
        assert_eq!(check(&Tree::of(&[("a.py", &fine)])), vec![]);
        assert_eq!(check(&Tree::of(&[("a.py", &"a\n".repeat(801))])).len(), 1);
    }
}
