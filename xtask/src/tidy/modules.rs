//! Modules of a crate use each other without circles, in the order of docs/ARCHITECTURE.md.
//!
//! ARCHITECTURE has one table with a row for each crate: its modules, each after all that it uses.
//! Within a folder no two files use each other either, directly or by way of others. A `pub use` is a
//! door and no use: whoever takes an item through it uses the file that defines the item.

use super::lexer::code_only;
use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The page with the table.
const PAGE: &str = "docs/ARCHITECTURE.md";
/// The header of the table.
const HEADER: &str = "| Crate | Modules, each after those that it uses |";
/// Most doors that a path may lead through.
const DOORS: usize = 8;

/// A path of module names, and perhaps an item, from the root of a crate.
type Path = Vec<String>;

/// One file of a crate and what it says of others.
#[derive(Default)]
struct Module {
    file: String,
    /// Names that `pub use` hands on, with the path that each stands for; `*` for all of a module.
    doors: Vec<(String, Path)>,
    /// Paths in the code, from the root, with the line of each.
    uses: Vec<(Path, usize)>,
}

/// The modules of one crate by their path.
struct Crate {
    name: String,
    modules: BTreeMap<Path, Module>,
}

/// The file that another one uses, and the line that says so.
type Links = BTreeMap<Path, BTreeMap<Path, usize>>;

/// Checks each crate under `crates/` for circles and against its row of the table.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let orders = orders(tree);
    let mut findings = Vec::new();
    for made in crates(tree) {
        let links = made.links();
        findings.extend(made.circles(&links));
        match orders.get(made.name.as_str()) {
            Some((line, order)) => findings.extend(made.against(&links, order, *line)),
            None => {
                let message = format!("the table of modules has no row for {}", made.name);
                findings.push(Finding::new(PAGE, 1, message));
            }
        }
    }
    findings
}

/// The rows of the table: the line and the modules of each crate.
fn orders(tree: &Tree) -> BTreeMap<&str, (usize, Vec<&str>)> {
    let text = tree.files.get(PAGE).map_or("", String::as_str);
    let rows = (1..).zip(text.lines()).skip_while(|(_, line)| *line != HEADER);
    let rows = rows.skip(2).map_while(|(number, line)| Some((number, line.strip_prefix("| `")?)));
    rows.filter_map(|(number, row)| {
        let (name, rest) = row.split_once('`')?;
        let modules = rest.split('`').skip(1).step_by(2).collect();
        Some((name, (number, modules)))
    })
    .collect()
}

fn crates(tree: &Tree) -> Vec<Crate> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for (file, _) in tree.ending(".rs") {
        let Some((name, path)) = file.strip_prefix("crates/").and_then(|f| f.split_once("/src/"))
        else {
            continue;
        };
        let path = module_path(path);
        if path.iter().any(|name| name == "tests") {
            continue;
        }
        let made = crates
            .entry(name)
            .or_insert_with(|| Crate { name: name.to_owned(), modules: BTreeMap::new() });
        made.modules.insert(path, Module { file: file.to_owned(), ..Module::default() });
    }
    for made in crates.values_mut() {
        made.read(tree);
    }
    crates.into_values().collect()
}

/// The module of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`, `lib.rs` is the root.
fn module_path(file: &str) -> Path {
    let file = file.trim_end_matches(".rs");
    let file = file.strip_suffix("/mod").unwrap_or(file);
    if file == "lib" { Path::new() } else { file.split('/').map(str::to_owned).collect() }
}

impl Crate {
    /// Fills in what each file hands on and uses.
    fn read(&mut self, tree: &Tree) {
        let paths: BTreeSet<Path> = self.modules.keys().cloned().collect();
        for (own, module) in &mut self.modules {
            let text = tree.files.get(&module.file).map_or("", String::as_str);
            let code = code_only(before_tests(text));
            let (statements, rest) = use_statements(&code);
            let inner = inline_modules(&code);
            for Use { line, public, tree } in statements {
                let own = &within(own, &inner, line);
                for (name, path) in use_tree(tree) {
                    let Some(path) = from_root(own, &path, &paths) else { continue };
                    if public {
                        module.doors.push((name, path));
                    } else {
                        module.uses.push((path, line));
                    }
                }
            }
            for (line, path) in paths_in_code(&rest) {
                if let Some(path) = from_root(&within(own, &inner, line), &path, &paths) {
                    module.uses.push((path, line));
                }
            }
        }
    }

    /// The file that defines what a path names.
    fn definer(&self, path: &[String], doors: usize) -> Path {
        let mut depth = path.len();
        while depth > 0 && !self.modules.contains_key(&path[..depth]) {
            depth -= 1;
        }
        let (module, rest) = path.split_at(depth);
        let (Some(first), Some(found)) = (rest.first(), self.modules.get(module)) else {
            return module.to_vec();
        };
        if doors == DOORS {
            return module.to_vec();
        }
        for (name, target) in &found.doors {
            if name == first {
                let next: Path = target.iter().chain(&rest[1..]).cloned().collect();
                return self.definer(&next, doors + 1);
            }
        }
        module.to_vec()
    }

    fn links(&self) -> Links {
        let mut links = Links::new();
        for (own, module) in &self.modules {
            for (path, line) in &module.uses {
                let used = self.definer(path, 0);
                // A module that is only named on the way to itself is not used.
                let named = used == *path && own.starts_with(&used);
                if used != *own && !named {
                    links.entry(own.clone()).or_default().entry(used).or_insert(*line);
                }
            }
        }
        links
    }

    /// One finding for each circle of files, at a use that closes it.
    fn circles(&self, links: &Links) -> Vec<Finding> {
        let mut told: BTreeSet<&Path> = BTreeSet::new();
        let mut findings = Vec::new();
        for (from, module) in &self.modules {
            if told.contains(from) {
                continue;
            }
            let Some(circle) = shortest_circle(links, from) else { continue };
            let line = circle.first().and_then(|next| links[from].get(*next));
            let names: Vec<String> =
                std::iter::once(from).chain(circle.iter().copied()).map(shown).collect();
            told.extend(circle);
            let message = format!("circle of modules: {}", names.join(" uses "));
            findings.push(Finding::new(&module.file, line.copied().unwrap_or(1), message));
        }
        findings
    }

    /// Uses against the order of the table, and modules that one has and the other lacks.
    fn against(&self, links: &Links, order: &[&str], row: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        let place = |path: &Path| {
            order.iter().position(|name| path.first().is_some_and(|first| first == name))
        };
        let heads: BTreeSet<&str> =
            self.modules.keys().filter_map(|path| path.first()).map(String::as_str).collect();
        for name in order.iter().filter(|name| !heads.contains(*name)) {
            let message = format!("{} has no module `{name}`", self.name);
            findings.push(Finding::new(PAGE, row, message));
        }
        for name in heads.iter().filter(|name| !order.contains(name)) {
            let message = format!("module `{name}` of {} has no place in the table", self.name);
            findings.push(Finding::new(PAGE, row, message));
        }
        for (from, used) in links {
            for (to, line) in used {
                if let (Some(own), Some(other)) = (place(from), place(to))
                    && other > own
                {
                    let message = format!(
                        "order of modules: `{}` may not use `{}`, which stands after it in {PAGE}",
                        order[own], order[other]
                    );
                    findings.push(Finding::new(&self.modules[from].file, *line, message));
                }
            }
        }
        findings
    }
}

/// The fewest modules over which a module uses itself, which is the last of them.
fn shortest_circle<'a>(links: &'a Links, from: &Path) -> Option<Vec<&'a Path>> {
    let mut ways: Vec<Vec<&Path>> = vec![vec![]];
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in links.get(way.last().copied().unwrap_or(from))?.keys() {
                let way: Vec<&Path> = way.iter().copied().chain([next]).collect();
                if next == from {
                    return Some(way);
                }
                if links.contains_key(next) && seen.insert(next) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

fn shown(path: &Path) -> String {
    if path.is_empty() { "lib".to_owned() } else { path.join("::") }
}

/// The text up to the module of tests, which is the last item of its file.
fn before_tests(text: &str) -> &str {
    let starts = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    let inline = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    &text[..starts.into_iter().find(inline).unwrap_or(text.len())]
}

/// A module within a file: its name, and the lines from the first to the last.
type Inline = (String, usize, usize);

fn inline_modules(code: &str) -> Vec<Inline> {
    let mut found = Vec::new();
    let mut open: Vec<(Option<String>, usize)> = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let mut words = line.split_whitespace().skip_while(|word| *word != "mod").skip(1);
        let mut name = words.next().filter(|_| words.next() == Some("{")).map(str::to_owned);
        for sign in line.chars() {
            match sign {
                '{' => open.push((name.take(), number)),
                '}' => {
                    if let Some((Some(name), first)) = open.pop() {
                        found.push((name, first, number));
                    }
                }
                _ => {}
            }
        }
    }
    found.sort_by_key(|(_, first, _)| *first);
    found
}

/// The path of the module that a line of the file `own` is in.
fn within(own: &Path, inner: &[Inline], line: usize) -> Path {
    let around = inner.iter().filter(|(_, first, last)| (*first..=*last).contains(&line));
    own.iter().chain(around.map(|(name, ..)| name)).cloned().collect()
}

/// One `use` of a file.
struct Use<'a> {
    line: usize,
    public: bool,
    /// Text between `use` and the semicolon.
    tree: &'a str,
}

/// The `use` statements of a file, and its code without them.
fn use_statements(code: &str) -> (Vec<Use<'_>>, String) {
    let (mut found, mut rest) = (Vec::new(), code.to_owned());
    for (at, _) in code.match_indices("use ") {
        let start = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[start..at].trim();
        let public = before.starts_with("pub");
        if !(before.is_empty() || public) {
            continue;
        }
        if let Some(length) = code[at..].find(';') {
            let line = code[..at].matches('\n').count() + 1;
            let tree = &code[at + "use ".len()..at + length];
            let blank: String =
                code[at..at + length].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
            rest.replace_range(at..at + length, &blank);
            found.push(Use { line, public, tree });
        }
    }
    (found, rest)
}

/// The paths of a use tree, each with the name that it gets.
fn use_tree(tree: &str) -> Vec<(String, Vec<&str>)> {
    let tree = tree.trim();
    let mut found = Vec::new();
    let Some((prefix, rest)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(p, n)| (p, Some(n)));
        let path: Vec<&str> = path.split("::").map(str::trim).collect();
        let name = name.or(path.last().copied()).unwrap_or("").trim().to_owned();
        return vec![(name, path)];
    };
    let prefix: Vec<&str> =
        prefix.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in inner.char_indices().chain([(inner.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if inner[start..at].trim().is_empty() {
                    continue;
                }
                for (name, path) in use_tree(&inner[start..at]) {
                    let path: Vec<&str> = prefix.iter().copied().chain(path).collect();
                    let name = if name == "self" {
                        prefix.last().map_or(name, |last| (*last).to_owned())
                    } else {
                        name
                    };
                    found.push((name, path));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Paths of two parts or more outside `use`, with their lines.
fn paths_in_code(code: &str) -> Vec<(usize, Vec<&str>)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for token in line.split(|c: char| !word(c)).filter(|token| token.contains("::")) {
            let parts: Vec<&str> = token.split("::").filter(|part| !part.is_empty()).collect();
            if parts.len() > 1 && !token.starts_with("::") && !line.contains("pub(in ") {
                found.push((number, parts));
            }
        }
    }
    found
}

/// The path from the root of the crate; none if it leads to another crate or names no module.
fn from_root(own: &[String], path: &[&str], modules: &BTreeSet<Path>) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    let mut base = match *first {
        "crate" => Path::new(),
        "self" => own.to_vec(),
        "super" => own[..own.len().saturating_sub(1)].to_vec(),
        name => {
            let child: Path = own.iter().cloned().chain([name.to_owned()]).collect();
            if !modules.contains(&child) {
                return None;
            }
            child
        }
    };
    for part in rest {
        match *part {
            "super" => {
                base.pop();
            }
            "self" | "*" => {}
            name => base.push(name.to_owned()),
        }
    }
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| Crate | Modules, each after those that it uses |
| --- | --- |
| `nakshi-io` | `low`, `high` |
";

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(PAGE, TABLE)];
        all.extend_from_slice(files);
        check(&Tree::of(&all)).into_iter().map(|found| found.message).collect()
    }

    const LOW: &str = "crates/nakshi-io/src/low.rs";
    const HIGH: &str = "crates/nakshi-io/src/high.rs";
    const ROOT: &str = "crates/nakshi-io/src/lib.rs";

    #[test]
    fn an_upward_use_is_fine() {
        let high = "use crate::{Error, low::{Item as Other}};\nfn f() { crate::low::g() }\n";
        let root =
            "mod low;\nmod high;\npub use low::{\n    Error,\n};\npub use high::{\n    f,\n};\n";
        assert!(findings(&[(ROOT, root), (LOW, "pub struct Error;\n"), (HIGH, high)]).is_empty());
    }

    #[test]
    fn a_planted_circle_is_found_in_every_spelling() {
        let root = "mod low;\nmod high;\npub use high::{f, other as renamed};\n";
        for planted in [
            "use crate::high::f;",
            "use crate::{\n    Error,\n    high::f,\n};",
            "use super::high;",
            "use crate::f;",
            "use crate::renamed;",
            "fn g() { crate::high::f() }",
            "fn g() { super::f() }",
            "#[cfg(test)]\nmod more;\nuse super::high;",
        ] {
            let found = findings(&[(ROOT, root), (LOW, planted), (HIGH, "use super::low::g;\n")]);
            assert_eq!(found.len(), 2, "{planted}: {found:?}");
            assert_eq!(found[0], "circle of modules: high uses low uses high");
            assert!(found[1].starts_with("order of modules: `low` may not use `high`"));
        }
    }

    #[test]
    fn a_file_and_its_folder_make_a_circle() {
        let low = "mod part;\nuse part::Part;\npub struct Whole(Part);\n";
        let part = ("crates/nakshi-io/src/low/part.rs", "use super::Whole;\n");
        let found = findings(&[(ROOT, ""), (LOW, low), part, (HIGH, "")]);
        assert_eq!(found, ["circle of modules: low uses low::part uses low"]);
    }

    #[test]
    fn tests_comments_and_doors_are_no_uses() {
        let low = "// use crate::high::f;\npub(crate) use crate::high::f;\n\
                   #[cfg(test)]\nmod tests {\n    use crate::high::f;\n}\n";
        assert!(findings(&[(ROOT, ""), (LOW, low), (HIGH, "use crate::low::g;\n")]).is_empty());
    }

    #[test]
    fn a_module_within_a_file_has_that_file_above_it() {
        let low = "struct Item;\nmod inner {\n    use super::Item;\n    use super::super::f;\n}\n";
        let root = "pub use high::f;\nstruct Item;\nfn g() { low::h() }\n";
        assert!(findings(&[(ROOT, root), (LOW, low), (HIGH, "")]).len() == 1);
        let low = "mod inner {\n    use super::Item;\n}\n";
        assert!(findings(&[(ROOT, root), (LOW, low), (HIGH, "")]).is_empty());
    }

    #[test]
    fn the_table_and_the_crate_agree() {
        let more = ("crates/nakshi-io/src/more.rs", "");
        let found = findings(&[(ROOT, ""), (LOW, ""), more]);
        assert_eq!(found.len(), 2);
        let unknown = ("crates/nakshi-new/src/lib.rs", "");
        assert_eq!(findings(&[(LOW, ""), (HIGH, ""), unknown]).len(), 1);
    }
}
