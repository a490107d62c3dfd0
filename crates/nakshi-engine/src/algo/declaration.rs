//! The declaration of an algorithm: the one place that names its parameters, defaults, help and outputs.
//!
//! [`algorithm!`] writes the config struct, its [`Default`] and its [`Declaration`] from one list of
//! fields; [`choices!`] writes an enum and the words for its variants. Python, the command line,
//! estimates and clusters read the declaration, by [`super::declarations`] as JSON.

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A word for a variant, and what it stands for.
pub type Choice = (&'static str, &'static [&'static str]);

/// The kind of value that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A vertex, by the users' id.
    Vertex,
    /// A list of vertices.
    Vertices,
    /// A whole number, not negative.
    Integer,
    /// A floating-point number.
    Number,
    /// A list of floating-point numbers.
    Numbers,
    /// True or false.
    Flag,
    /// The name of an edge column with weights.
    Column,
    /// One of several words.
    Choice(&'static [Choice]),
}

/// One parameter of an algorithm. Its default is that of the config struct.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name in Rust, Python and, with dashes, on the command line.
    pub name: &'static str,
    /// Lines of the description; its first sentence is the command line's help.
    pub help: &'static [&'static str],
    /// Kind of value.
    pub kind: Kind,
    /// The least value that works.
    pub least: Option<f64>,
    /// True if `least` itself works.
    pub least_works: bool,
    /// The greatest value that works.
    pub greatest: Option<f64>,
    /// True if `greatest` itself works.
    pub greatest_works: bool,
    /// Unit of the value.
    pub unit: Option<&'static str>,
    /// True if a call without it fails.
    pub required: bool,
    /// True if the pull program knows it, on one machine and on a cluster.
    pub pulls: bool,
    /// The command line's flag for `false`, of a parameter that is true by default.
    pub flag: Option<&'static str>,
    /// Another parameter and the value that it takes if this one is given and the other is not.
    pub implies: Option<(&'static str, f64)>,
    /// True if only the command line has it.
    pub command_line: bool,
}

impl Parameter {
    const fn new(kind: Kind) -> Self {
        Parameter {
            name: "",
            help: &[],
            kind,
            least: None,
            least_works: true,
            greatest: None,
            greatest_works: true,
            unit: None,
            required: false,
            pulls: false,
            flag: None,
            implies: None,
            command_line: false,
        }
    }

    /// A vertex.
    pub const VERTEX: Self = Self::new(Kind::Vertex);
    /// A list of vertices.
    pub const VERTICES: Self = Self::new(Kind::Vertices);
    /// A whole number.
    pub const INTEGER: Self = Self::new(Kind::Integer).at_least(0.0);
    /// A floating-point number.
    pub const NUMBER: Self = Self::new(Kind::Number);
    /// A list of floating-point numbers.
    pub const NUMBERS: Self = Self::new(Kind::Numbers);
    /// True or false.
    pub const FLAG: Self = Self::new(Kind::Flag);
    /// An edge column.
    pub const COLUMN: Self = Self::new(Kind::Column);
    /// The flag by which a run leaves weights out; a front-end has it beside the column.
    pub const UNIT: Self =
        Self::FLAG.named("unit", &["Count every edge as 1, whatever its weight."]);

    /// One of several words.
    pub const fn choice(choices: &'static [Choice]) -> Self {
        Self::new(Kind::Choice(choices))
    }

    /// The parameter under a name, with a description.
    pub const fn named(mut self, name: &'static str, help: &'static [&'static str]) -> Self {
        (self.name, self.help) = (name, help);
        self
    }

    /// Refuses less than `least`.
    pub const fn at_least(self, least: f64) -> Self {
        Parameter { least: Some(least), least_works: true, ..self }
    }

    /// Refuses `bound` and less.
    pub const fn above(self, bound: f64) -> Self {
        Parameter { least: Some(bound), least_works: false, ..self }
    }

    /// Refuses more than `greatest`.
    pub const fn at_most(self, greatest: f64) -> Self {
        Parameter { greatest: Some(greatest), greatest_works: true, ..self }
    }

    /// Refuses `bound` and more.
    pub const fn below(self, bound: f64) -> Self {
        Parameter { greatest: Some(bound), greatest_works: false, ..self }
    }

    /// Sets the unit.
    pub const fn in_units_of(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Makes a call without the parameter fail.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Marks the parameter as known to the pull program.
    pub const fn pulls(mut self) -> Self {
        self.pulls = true;
        self
    }

    /// Names the command line's flag that makes the parameter false.
    pub const fn off_by(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    /// Gives another parameter a value wherever this one is given and the other is not.
    pub const fn implies(mut self, other: &'static str, value: f64) -> Self {
        self.implies = Some((other, value));
        self
    }

    /// Leaves the parameter to the command line.
    pub const fn command_line(mut self) -> Self {
        self.command_line = true;
        self
    }

    /// The range in words; empty if every value of the kind works.
    fn range(&self) -> String {
        let least = self.least.map(|at| match self.least_works {
            true => format!("at least {at}"),
            false => format!("above {at}"),
        });
        let greatest = self.greatest.map(|at| match self.greatest_works {
            true => format!("at most {at}"),
            false => format!("below {at}"),
        });
        least.into_iter().chain(greatest).collect::<Vec<_>>().join(" and ")
    }

    fn accepts(&self, value: f64) -> bool {
        let enough = self.least.is_none_or(|at| value > at || self.least_works && value == at);
        enough && self.greatest.is_none_or(|at| value < at || self.greatest_works && value == at)
    }

    fn json(&self, default: Option<&Value>) -> Value {
        let (kind, choices) = match self.kind {
            Kind::Vertex => ("vertex", None),
            Kind::Vertices => ("vertices", None),
            Kind::Integer => ("integer", None),
            Kind::Number => ("number", None),
            Kind::Numbers => ("numbers", None),
            Kind::Flag => ("flag", None),
            Kind::Column => ("column", None),
            Kind::Choice(choices) => ("choice", Some(choices)),
        };
        let choices = choices.map(|all| {
            all.iter()
                .map(|(word, help)| json!({ "name": word, "help": text(help) }))
                .collect::<Vec<_>>()
        });
        json!({
            "name": self.name,
            "help": text(self.help),
            "kind": kind,
            "choices": choices,
            "range": self.range(),
            "least": self.least,
            "greatest": self.greatest,
            "unit": self.unit,
            "required": self.required,
            "default": if self.required { None } else { default },
            "pulls": self.pulls,
            "flag": self.flag,
            "implies": self.implies,
            "command_line": self.command_line,
        })
    }
}

/// A column or a field of the summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// Name; `*` stands for a number.
    pub name: &'static str,
    /// `uint32`, `uint64`, `float64`, `bool`, `text`, `vertex`, or `list`.
    pub kind: &'static str,
    /// The meaning.
    pub help: &'static str,
    /// The condition under which it is there; empty if always.
    pub when: &'static str,
    /// True if results of several servers lack it.
    pub alone: bool,
}

impl Output {
    /// An output that is always there.
    pub const fn new(name: &'static str, kind: &'static str, help: &'static str) -> Self {
        Output { name, kind, help, when: "", alone: false }
    }

    /// Names the condition under which it is there.
    pub const fn when(mut self, when: &'static str) -> Self {
        self.when = when;
        self
    }

    /// Marks an output that several servers do not find.
    pub const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    fn json(&self) -> Value {
        let Output { name, kind, help, when, alone } = self;
        json!({ "name": name, "kind": kind, "help": help, "when": when, "alone": alone })
    }
}

/// Everything that users are told about an algorithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declaration {
    /// Name on the command line and for `run`.
    pub name: &'static str,
    /// Name of the Python method, and another name on the command line.
    pub method: &'static str,
    /// Lines of the description, the first of which is a sentence of its own.
    pub about: &'static [&'static str],
    /// Citation of the publication.
    pub citation: &'static str,
    /// Fields of the config struct.
    pub parameters: &'static [Parameter],
    /// Further parameters, which Python or the command line turn into others.
    pub outside: &'static [Parameter],
    /// One value a vertex each.
    pub columns: &'static [Output],
    /// Results for the graph as a whole.
    pub summary: &'static [Output],
    /// Bad input that this algorithm alone refuses; empty if there is none.
    pub raises: &'static str,
}

impl Declaration {
    /// A declaration without citation, outside parameters and outputs.
    pub const fn new(
        name: &'static str,
        about: &'static [&'static str],
        parameters: &'static [Parameter],
    ) -> Self {
        let (columns, summary) = (&[], &[]);
        let (outside, citation, raises) = (&[], "", "");
        let method = name;
        Declaration { name, method, about, citation, parameters, outside, columns, summary, raises }
    }

    /// The first line of the description.
    pub const fn headline(&self) -> &'static str {
        match self.about {
            [first, ..] => first.trim_ascii(),
            [] => "",
        }
    }

    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Names of the parameters that the pull program knows.
    pub fn pulled_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().filter(|parameter| parameter.pulls).map(|parameter| parameter.name)
    }

    /// Fails if a number is outside its range; values equal to the default always work.
    pub(super) fn check(&self, given: &Map<String, Value>, defaults: &Value) -> Result<()> {
        for parameter in self.parameters {
            let numeric = matches!(parameter.kind, Kind::Integer | Kind::Number);
            let Some(value) = given.get(parameter.name) else { continue };
            if !numeric || defaults.get(parameter.name) == Some(value) {
                continue;
            }
            // JSON has no NaN: a number that is none arrives as null. Other types fail when read.
            let works = match value {
                Value::Null => false,
                value => value.as_f64().is_none_or(|number| parameter.accepts(number)),
            };
            if !works {
                let range = format!("must be {}", parameter.range());
                return Err(Error::parameter(parameter.name, range));
            }
        }
        Ok(())
    }

    pub(super) fn json(&self, defaults: &Value) -> Map<String, Value> {
        let parameter = |parameter: &Parameter| parameter.json(defaults.get(parameter.name));
        let outside = |parameter: &Parameter| parameter.json(Some(&Value::Bool(false)));
        let outputs = |all: &[Output]| all.iter().map(Output::json).collect::<Vec<_>>();
        let about = self.about.get(1..).unwrap_or_default();
        let all = json!({
            "name": self.name,
            "method": self.method,
            "about": self.headline(),
            "details": text(about),
            "citation": self.citation,
            "parameters": self.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "outside": self.outside.iter().map(outside).collect::<Vec<_>>(),
            "columns": outputs(self.columns),
            "summary": outputs(self.summary),
            "raises": self.raises,
        });
        match all {
            Value::Object(all) => all,
            _ => Map::new(),
        }
    }
}

/// Lines of a doc comment as one paragraph.
fn text(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A config struct that [`algorithm!`] has written.
pub trait Declared: Default + Serialize + DeserializeOwned {
    /// Parameters, help and outputs.
    const DECLARATION: Declaration;

    /// Fails if a parameter is outside its range.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    fn check(&self) -> Result<()> {
        let as_json = |config: &Self| serde_json::to_value(config).unwrap_or_default();
        match as_json(self) {
            Value::Object(given) => Self::DECLARATION.check(&given, &as_json(&Self::default())),
            _ => Ok(()),
        }
    }
}

/// Writes the config struct of an algorithm, its defaults and its [`Declaration`].
///
/// After the name that users write come the fields, each with its default and its [`Parameter`]; then
/// further fields of the declaration.
macro_rules! algorithm {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($more:ident),+)])?
        pub struct $Config:ident = $name:literal {
            $(
                $(#[doc = $help:literal])+
                pub $field:ident: $type:ty = $default:expr => $parameter:expr;
            )*
        }
        $($key:ident: $value:expr;)*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, $($($more,)+)? serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Config {
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        #[allow(clippy::derivable_impls)] // Defaults are written beside their fields.
        impl Default for $Config {
            fn default() -> Self {
                $Config { $($field: $default,)* }
            }
        }

        impl $crate::algo::declaration::Declared for $Config {
            const DECLARATION: $crate::algo::declaration::Declaration =
                $crate::algo::declaration::Declaration {
                    $($key: $value,)*
                    ..$crate::algo::declaration::Declaration::new(
                        $name,
                        &[$($about),+],
                        &[$($parameter.named(stringify!($field), &[$($help),+]),)*],
                    )
                };
        }
    };
}

/// Writes an enum whose variants users choose by a word; the first is the default.
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        pub enum $Choice:ident {
            $(#[doc = $help:literal])+
            $First:ident = $word:literal,
            $(
                $(#[doc = $more_help:literal])+
                $More:ident = $more_word:literal,
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize,
        )]
        pub enum $Choice {
            $(#[doc = $help])+
            #[default]
            #[serde(rename = $word)]
            $First,
            $(
                $(#[doc = $more_help])+
                #[serde(rename = $more_word)]
                $More,
            )*
        }

        impl $Choice {
            /// The words and what they stand for.
            pub const CHOICES: &'static [$crate::algo::declaration::Choice] =
                &[($word, &[$($help),+]), $(($more_word, &[$($more_help),+])),*];
        }
    };
}

pub(crate) use {algorithm, choices};
