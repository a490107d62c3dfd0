//! Scenarios, each of them once for every row of its examples.

use gherkin::{Feature, GherkinEnv, Scenario, Step};

use crate::archive::Files;

/// A scenario with one row of its examples.
pub struct Case {
    /// Feature, number and name of the scenario, and number of the row.
    pub key: String,
    pub steps: Vec<Step>,
}

/// All cases, in the order of files.
pub fn cases(files: &Files) -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".feature")) {
        let feature = Feature::parse(readable(text), GherkinEnv::default())
            .unwrap_or_else(|error| panic!("{path} does not parse: {error}"));
        let name = path.trim_start_matches("features/").trim_end_matches(".feature");
        let background = feature.background.map(|background| background.steps).unwrap_or_default();
        for scenario in &feature.scenarios {
            expand(name, &background, scenario, &mut cases);
        }
    }
    cases
}

/// The text of a feature with each backslash in its tables doubled that escapes nothing, which the crate
/// `gherkin` does not read.
fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            out.push(character);
            if character == '\\' && line.trim_start().starts_with('|') {
                match characters.next_if(|next| matches!(next, 'n' | '|' | '\\')) {
                    Some(next) => out.push(next),
                    None => out.push('\\'),
                }
            }
        }
        out.push('\n');
    }
    out
}

fn expand(feature: &str, background: &[Step], scenario: &Scenario, cases: &mut Vec<Case>) {
    let steps: Vec<Step> = background.iter().chain(&scenario.steps).cloned().collect();
    let key = format!("{feature} {}", scenario.name);
    let tables = scenario.examples.iter().filter_map(|examples| examples.table.as_ref());
    let mut number = 0;
    for table in tables {
        let (header, rows) = table.rows.split_first().unwrap();
        for row in rows {
            number += 1;
            let steps = steps.iter().map(|step| with_values(step, header, row)).collect();
            cases.push(Case { key: format!("{key} #{number}"), steps });
        }
    }
    if number == 0 {
        cases.push(Case { key, steps });
    }
}

fn with_values(step: &Step, header: &[String], row: &[String]) -> Step {
    let filled = |text: &str| {
        let pairs = header.iter().zip(row);
        pairs.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
    };
    let mut step = step.clone();
    step.value = filled(&step.value);
    step.docstring = step.docstring.map(|text| filled(&text));
    if let Some(table) = &mut step.table {
        for cell in table.rows.iter_mut().flatten() {
            *cell = filled(cell);
        }
    }
    step
}
