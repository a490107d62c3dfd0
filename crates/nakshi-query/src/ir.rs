//! The resolved query: clauses and expressions in which each variable is a *slot*, a place in the rows of
//! the query. A slot has one variable only, so that a row still has what a `WITH` has hidden.

use std::sync::Arc;

use nakshi_property::Rule;

use super::types::Type;
use super::value::Value;

/// Place of a variable in a row.
pub(crate) type Slot = usize;

/// A name in a query.
pub(crate) type Name = Arc<str>;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Value),
    Slot(Slot),
    Parameter(Name),
    Property(Box<Expr>, Name),
    /// True if a node has labels, or an edge a type.
    HasLabels(Box<Expr>, Labels),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Plus(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    In(Box<Expr>, Box<Expr>),
    IsNull(Box<Expr>),
    IsTyped(Box<Expr>, Type),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    List(Vec<Expr>),
    Map(Vec<(Name, Expr)>),
    Call(Function, Vec<Expr>),
    Case {
        scrutinee: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// The items of a list that pass a filter, mapped.
    Comprehension {
        slot: Slot,
        list: Box<Expr>,
        filter: Option<Box<Expr>>,
        map: Option<Box<Expr>>,
    },
    Quantified {
        quantifier: Quantifier,
        slot: Slot,
        list: Box<Expr>,
        filter: Box<Expr>,
    },
    Reduce {
        accumulator: Slot,
        initial: Box<Expr>,
        slot: Slot,
        list: Box<Expr>,
        step: Box<Expr>,
    },
    /// A query inside of an expression, by its number.
    Subquery(SubqueryKind, usize),
    /// A map of some properties of a node, an edge or a map.
    Projection(Box<Expr>, Vec<Projected>),
}

/// An item of a map projection.
#[derive(Clone, Debug)]
pub(crate) enum Projected {
    All,
    Property(Name),
    Entry(Name, Expr),
}

/// The use of the rows of a query inside of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubqueryKind {
    /// True if there are any.
    Exists,
    /// Their number.
    Count,
    /// The list of the values of their only column.
    Collect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    All,
    Any,
    None,
    Single,
}

/// A condition on the labels of a node, or on the type of an edge.
#[derive(Clone, Debug)]
pub(crate) enum Labels {
    Any,
    Has(Name),
    Not(Box<Labels>),
    All(Vec<Labels>),
    Some(Vec<Labels>),
    /// The names that an expression gives, a text or a list of texts: `$(...)`. It is known for each row.
    Computed {
        names: Box<Expr>,
        /// True for `$any(...)`: one of the names is enough.
        any: bool,
    },
}

impl Labels {
    /// Returns true if `has` of the names fulfils the condition; `any` says that there is one.
    pub(crate) fn holds(&self, has: &dyn Fn(&str) -> bool, any: bool) -> bool {
        match self {
            Labels::Any => any,
            Labels::Has(name) => has(name),
            Labels::Not(one) => !one.holds(has, any),
            Labels::All(all) => all.iter().all(|one| one.holds(has, any)),
            Labels::Some(some) => some.iter().any(|one| one.holds(has, any)),
            Labels::Computed { .. } => false,
        }
    }

    /// The expressions inside, whose values are names.
    pub(crate) fn computed(&self) -> Vec<&Expr> {
        match self {
            Labels::Any | Labels::Has(_) => Vec::new(),
            Labels::Not(one) => one.computed(),
            Labels::All(all) | Labels::Some(all) => all.iter().flat_map(Labels::computed).collect(),
            Labels::Computed { names, .. } => vec![names],
        }
    }

    /// Returns true for names that a node can get: all of them, and no choice.
    pub(crate) fn can_be_given(&self) -> bool {
        match self {
            Labels::Has(_) | Labels::Computed { any: false, .. } => true,
            Labels::All(all) => all.iter().all(Labels::can_be_given),
            _ => false,
        }
    }

    /// The label, if the condition is that there is this one.
    pub(crate) fn only(&self) -> Option<&Name> {
        match self {
            Labels::Has(name) => Some(name),
            Labels::All(some) | Labels::Some(some) => match some.as_slice() {
                [one] => one.only(),
                _ => None,
            },
            Labels::Any | Labels::Not(_) | Labels::Computed { .. } => None,
        }
    }

    /// A label that every node has that meets the condition.
    pub(crate) fn required(&self) -> Option<&Name> {
        match self {
            Labels::Has(name) => Some(name),
            Labels::All(all) => all.iter().find_map(Labels::required),
            Labels::Some(some) => match some.as_slice() {
                [one] => one.required(),
                _ => None,
            },
            Labels::Any | Labels::Not(_) | Labels::Computed { .. } => None,
        }
    }
}

/// A function, by its place in the table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function(pub(crate) usize);

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Collect,
    StDev,
    StDevP,
    PercentileCont,
    PercentileDisc,
}

/// A call of an aggregate function.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    /// The slot that gets the result.
    pub(crate) slot: Slot,
    pub(crate) function: Aggregate,
    pub(crate) distinct: bool,
    pub(crate) arguments: Vec<Expr>,
}

/// Direction of an edge in a pattern, seen from the node at the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Out,
    In,
    Both,
}

impl Direction {
    /// The direction from the other end.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both => Direction::Both,
        }
    }
}

/// A node of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct NodePattern {
    pub(crate) slot: Slot,
    /// True if a clause before has bound the variable, or a part of this pattern at its left.
    pub(crate) bound: bool,
    pub(crate) labels: Option<Labels>,
    pub(crate) properties: Option<Expr>,
    /// The condition inside of the node: `(a WHERE ...)`.
    pub(crate) condition: Option<Expr>,
}

/// An edge of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct EdgePattern {
    pub(crate) slot: Slot,
    pub(crate) bound: bool,
    /// Types, any of which fits; empty for all.
    pub(crate) types: Vec<Name>,
    /// A condition on the type that is no choice of names.
    pub(crate) labels: Option<Labels>,
    pub(crate) direction: Direction,
    /// Least and greatest number of edges; `None` for exactly one, which is no list.
    pub(crate) length: Option<(u64, Option<u64>)>,
    pub(crate) properties: Option<Expr>,
    /// The condition inside of the edge: `-[r WHERE ...]-`.
    pub(crate) condition: Option<Expr>,
    /// The pattern that is repeated in place of an edge. `length` counts its repetitions, and the slot gets all edges.
    pub(crate) repeat: Option<Box<Repeat>>,
}

/// A pattern that is passed several times: `((x)-[r]->(y) WHERE ...){1,3}`.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) nodes: Vec<NodePattern>,
    pub(crate) edges: Vec<EdgePattern>,
    pub(crate) condition: Option<Expr>,
    /// Variables of one repetition, each with the slot of the list of its values in all of them.
    pub(crate) lists: Vec<(Slot, Slot)>,
}

/// Which shortest paths are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortest {
    /// So many, the shortest first.
    First(u64),
    /// All of the least length.
    All,
    /// All of so many lengths, the least first.
    Groups(u64),
}

/// A path of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    /// The variable of the path.
    pub(crate) path: Option<Slot>,
    pub(crate) nodes: Vec<NodePattern>,
    pub(crate) edges: Vec<EdgePattern>,
    pub(crate) shortest: Option<Shortest>,
}

/// A change that `SET` makes.
#[derive(Clone, Debug)]
pub(crate) enum SetItem {
    Property {
        of: Expr,
        name: Name,
        value: Expr,
    },
    /// A property whose name is a value.
    DynamicProperty {
        of: Expr,
        name: Expr,
        value: Expr,
    },
    /// All properties, or those of a map.
    All {
        slot: Slot,
        value: Expr,
        merge: bool,
    },
    AddLabels {
        slot: Slot,
        labels: Labels,
    },
    RemoveLabels {
        slot: Slot,
        labels: Labels,
    },
    RemoveProperty {
        of: Expr,
        name: Name,
    },
}

/// `WITH` or `RETURN`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Project {
    /// Target of each column, and its expression.
    pub(crate) items: Vec<(Slot, Expr)>,
    pub(crate) aggregations: Vec<Aggregation>,
    /// The expressions by which rows are grouped, if there are aggregations.
    pub(crate) keys: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<(Expr, bool)>,
    pub(crate) skip: Option<Expr>,
    pub(crate) limit: Option<Expr>,
    pub(crate) filter: Option<Expr>,
}

/// `CALL` of a procedure.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureCall {
    pub(crate) name: Name,
    pub(crate) arguments: Vec<Expr>,
    /// Column of the procedure, and the slot that gets it.
    pub(crate) yields: Vec<(Name, Slot)>,
    pub(crate) filter: Option<Expr>,
    /// True if the procedure has no columns, and rows pass as they are.
    pub(crate) passes: bool,
}

/// A change of the constraints and indexes of a graph.
#[derive(Clone, Debug)]
pub(crate) enum SchemaChange {
    Declare {
        rule: Rule,
        /// True to change nothing if there is one of this name, or one that demands the same.
        if_new: bool,
    },
    Drop {
        name: String,
        /// True for a constraint, else for an index.
        constraint: bool,
        /// True to change nothing if there is none.
        if_there: bool,
    },
}

/// How a subquery commits while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    /// Rows of a transaction.
    pub(crate) rows: Option<Expr>,
    pub(crate) on_error: OnError,
}

/// The effect of an error in one of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// It ends the query.
    Fail,
    /// It ends the transactions, and the query goes on.
    Break,
    /// Its rows are left out.
    Continue,
}

/// A clause.
#[derive(Clone, Debug)]
pub(crate) enum Clause {
    Match {
        optional: bool,
        paths: Vec<PathPattern>,
        filter: Option<Expr>,
    },
    Unwind {
        list: Expr,
        slot: Slot,
    },
    Project(Project),
    Create(Vec<PathPattern>),
    Merge {
        path: PathPattern,
        on_create: Vec<SetItem>,
        on_match: Vec<SetItem>,
    },
    Set(Vec<SetItem>),
    Delete {
        detach: bool,
        targets: Vec<Expr>,
    },
    Foreach {
        slot: Slot,
        list: Expr,
        body: Vec<Clause>,
    },
    Call(ProcedureCall),
    /// The rows of a file for each row.
    LoadCsv {
        source: Expr,
        /// True if its first line has names of columns.
        headers: bool,
        separator: u8,
        slot: Slot,
    },
    /// `CALL { ... }`: rows of another query for each row, perhaps in transactions of their own.
    Subquery {
        query: Box<Query>,
        /// True if a row stays for which it finds nothing.
        optional: bool,
        batches: Option<Batches>,
    },
    Schema(SchemaChange),
}

impl Clause {
    /// Returns true for a clause that changes the graph.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Clause::Create(_)
            | Clause::Merge { .. }
            | Clause::Set(_)
            | Clause::Delete { .. }
            | Clause::Foreach { .. }
            | Clause::Schema(_) => true,
            Clause::Subquery { query, .. } => query.writes(),
            _ => false,
        }
    }
}

/// Clauses in their order, and the slots of the columns that they return.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    pub(crate) clauses: Vec<Clause>,
    /// Empty without `RETURN`.
    pub(crate) columns: Vec<Slot>,
}

/// Branches, which `UNION` puts together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(crate) branches: Vec<Branch>,
    /// True to keep rows that are twice.
    pub(crate) all: bool,
    /// Slots that get the columns, if there are several branches.
    pub(crate) columns: Vec<Slot>,
}

impl Query {
    pub(crate) fn writes(&self) -> bool {
        self.branches.iter().flat_map(|branch| &branch.clauses).any(Clause::writes)
    }

    /// Returns true if it commits while it runs.
    pub(crate) fn commits(&self) -> bool {
        let commits = |clause: &Clause| match clause {
            Clause::Subquery { query, batches: Some(_), .. } => query.writes(),
            _ => false,
        };
        self.branches.iter().flat_map(|branch| &branch.clauses).any(commits)
    }

    /// Returns true if the query has columns.
    pub(crate) fn returns(&self) -> bool {
        self.branches.iter().any(|branch| !branch.columns.is_empty())
    }
}

/// Mode of a statement: run it, or explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Run,
    /// The plan, and no run.
    Explain,
    /// The plan with counts of rows.
    Profile,
}

/// A statement: a query, the queries inside of its expressions, and names of its columns.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) query: Query,
    pub(crate) subqueries: Vec<Query>,
    pub(crate) columns: Vec<Name>,
    /// Number of slots.
    pub(crate) width: usize,
    /// Names of slots, for plans.
    pub(crate) names: Vec<Name>,
    pub(crate) parameters: Vec<Name>,
    /// True if it calls procedures.
    pub(crate) calls: bool,
    pub(crate) mode: Mode,
}
