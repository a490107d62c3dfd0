//! The logical plan of a statement: a tree of operators, the last one at its root.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::free::free_slots;
use super::ir::{
    Aggregation, Batches, EdgePattern, Expr, Name, PathPattern, ProcedureCall, SchemaChange,
    SetItem, Shortest, Slot,
};
use super::pace::Pace;

/// An operator, which takes rows from its input and hands on others.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The row that the plan is given.
    Argument,
    /// For each row, nodes.
    Nodes {
        input: Arc<Plan>,
        slot: Slot,
        source: NodeSource,
    },
    /// For each row, the walks along single edges.
    Walk {
        input: Arc<Plan>,
        steps: Vec<Step>,
    },
    /// For each row with an edge, its ends.
    Ends(Expand),
    /// For each row, the paths of several edges from a node.
    ExpandMany {
        expand: Expand,
        repeat: Repeat,
    },
    /// For each row, shortest paths between two nodes.
    Shortest {
        expand: Expand,
        which: Shortest,
    },
    Filter {
        input: Arc<Plan>,
        predicate: Expr,
    },
    /// The path of nodes and edges.
    Path {
        input: Arc<Plan>,
        slot: Slot,
        nodes: Vec<Slot>,
        edges: Vec<Slot>,
    },
    /// The rows of a plan for each row, or one in which `slots` are null.
    Optional {
        input: Arc<Plan>,
        inner: Arc<Plan>,
        slots: Vec<Slot>,
    },
    /// The rows of another query for each row; the row itself if the query has no columns.
    Apply {
        input: Arc<Plan>,
        inner: Arc<Plan>,
        returns: bool,
        writes: bool,
        /// How it commits while it runs, if it does.
        batches: Option<Batches>,
    },
    LoadCsv {
        input: Arc<Plan>,
        source: Expr,
        headers: bool,
        separator: u8,
        slot: Slot,
    },
    Unwind {
        input: Arc<Plan>,
        list: Expr,
        slot: Slot,
    },
    Project {
        input: Arc<Plan>,
        items: Vec<(Slot, Expr)>,
    },
    Aggregate {
        input: Arc<Plan>,
        keys: Vec<Expr>,
        aggregations: Vec<Aggregation>,
    },
    Distinct {
        input: Arc<Plan>,
        slots: Vec<Slot>,
    },
    /// Sorted rows; only the first if there is a limit.
    Sort {
        input: Arc<Plan>,
        keys: Vec<(Expr, bool)>,
        first: Option<Expr>,
    },
    Skip {
        input: Arc<Plan>,
        count: Expr,
    },
    Limit {
        input: Arc<Plan>,
        count: Expr,
        writes: bool,
    },
    Union {
        branches: Vec<(Arc<Plan>, Vec<Slot>)>,
        columns: Vec<Slot>,
        all: bool,
    },
    Call {
        input: Arc<Plan>,
        call: ProcedureCall,
    },
    Create {
        input: Arc<Plan>,
        paths: Vec<PathPattern>,
    },
    Merge {
        input: Arc<Plan>,
        inner: Arc<Plan>,
        path: PathPattern,
        on_create: Vec<SetItem>,
        on_match: Vec<SetItem>,
    },
    Set {
        input: Arc<Plan>,
        items: Vec<SetItem>,
    },
    Delete {
        input: Arc<Plan>,
        detach: bool,
        targets: Vec<Expr>,
    },
    Foreach {
        input: Arc<Plan>,
        slot: Slot,
        list: Expr,
        body: Arc<Plan>,
    },
    Schema {
        input: Arc<Plan>,
        change: SchemaChange,
    },
}

/// Nodes that a pattern begins with.
#[derive(Clone, Debug)]
pub(crate) enum NodeSource {
    All,
    Label(Name),
    /// Those with a value of a property, and perhaps a label.
    Property {
        label: Option<Name>,
        name: Name,
        value: Expr,
    },
}

/// A step of a walk, along one edge.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) from: Slot,
    /// The edge, with its direction as seen from `from`.
    pub(crate) edge: EdgePattern,
    pub(crate) to: Slot,
    /// True if `to` has a value already.
    pub(crate) to_bound: bool,
    /// The steps of the walk whose edges are not passed again.
    pub(crate) earlier: Vec<usize>,
    /// Other edges, and lists of edges, of the same clause, which are not passed again.
    pub(crate) others: Vec<Slot>,
    /// Conditions on the node that it leads to, which need nothing else that may change.
    pub(crate) of_node: Vec<Expr>,
    /// Conditions that need more of the row.
    pub(crate) of_row: Vec<Expr>,
}

/// A step along edges.
#[derive(Clone, Debug)]
pub(crate) struct Expand {
    pub(crate) input: Arc<Plan>,
    pub(crate) from: Slot,
    /// The edge, with its direction as seen from `from`.
    pub(crate) edge: EdgePattern,
    pub(crate) to: Slot,
    /// True if `to` has a value already.
    pub(crate) to_bound: bool,
    /// True if `from` has a value already; only edges that are known can do without.
    pub(crate) from_bound: bool,
    /// Edges, and lists of edges, of the same clause, which are not passed again.
    pub(crate) others: Vec<Slot>,
    /// True if the pattern is passed from its right to its left.
    pub(crate) backwards: bool,
}

/// The steps that the paths of an [`Plan::ExpandMany`] take again and again: one, or those of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    /// The slot of the node that each repetition begins with.
    pub(crate) start: Slot,
    /// Conditions on that node.
    pub(crate) of_start: Vec<Expr>,
    pub(crate) steps: Vec<RepeatStep>,
    /// Lists of what all repetitions have in the same place.
    pub(crate) lists: Vec<(Part, Slot)>,
    /// True if the slots of a repetition are needed while it is passed.
    pub(crate) binds: bool,
}

/// A step of a repetition, along one edge.
#[derive(Clone, Debug)]
pub(crate) struct RepeatStep {
    /// The edge, with its direction as seen from the node before. Its properties are the same in all repetitions.
    pub(crate) edge: EdgePattern,
    pub(crate) to: Slot,
    /// True if an earlier node of the repetition is in the same slot.
    pub(crate) to_bound: bool,
    /// Conditions that can be checked after this step.
    pub(crate) conditions: Vec<Expr>,
}

/// A place in a repetition, in the order in which it is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Node(usize),
    Edge(usize),
}

/// A plan with what belongs to it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) root: Arc<Plan>,
    pub(crate) subplans: Vec<Subplan>,
    pub(crate) columns: Vec<Name>,
    /// Slots of the columns.
    pub(crate) slots: Vec<Slot>,
    /// Number of slots of a row.
    pub(crate) width: usize,
    pub(crate) names: Vec<Name>,
    pub(crate) parameters: Vec<Name>,
    pub(crate) writes: bool,
    /// True if it commits while it runs.
    pub(crate) commits: bool,
    /// True if it calls procedures.
    pub(crate) calls: bool,
    pub(crate) explain: bool,
    /// True if the rows and the time of each operator are counted.
    pub(crate) profile: bool,
    /// True if expressions are so long, or clauses so many, that a usual stack may be too small.
    pub(crate) deep: bool,
    /// Slots of edges that nothing reads.
    pub(crate) unread: HashSet<Slot>,
    pub(crate) pace: Pace,
}

impl Prepared {
    /// Returns true for a query that may be run twice: it neither changes the graph nor calls procedures.
    pub(crate) fn only_reads(&self) -> bool {
        !self.writes && !self.calls
    }
}

/// The plan of a query inside of an expression.
#[derive(Debug)]
pub(crate) struct Subplan {
    pub(crate) root: Arc<Plan>,
    /// Slots of its columns.
    pub(crate) columns: Vec<Slot>,
}

impl Plan {
    /// Name of the operator, and what it reads.
    fn line(&self, names: &[Name]) -> String {
        let name = |slot: &Slot| names.get(*slot).map_or("", |name| name.trim()).to_owned();
        let step = |expand: &Expand| format!("({})--({})", name(&expand.from), name(&expand.to));
        match self {
            Plan::Argument => "Argument".into(),
            Plan::Nodes { slot, source, .. } => match source {
                NodeSource::All => format!("AllNodes({})", name(slot)),
                NodeSource::Label(label) => format!("LabelScan({}:{label})", name(slot)),
                NodeSource::Property { label, name: property, .. } => {
                    let label = label.as_ref().map_or(String::new(), |label| format!(":{label}"));
                    format!("PropertySeek({}{label} {property})", name(slot))
                }
            },
            Plan::Walk { steps, .. } => {
                let line = |step: &Step| {
                    let into = if step.to_bound { "Into" } else { "" };
                    format!("Expand{into}({})--({})", name(&step.from), name(&step.to))
                };
                steps.iter().rev().map(line).collect::<Vec<_>>().join(", ")
            }
            Plan::Ends(expand) => format!("Ends{}", step(expand)),
            Plan::ExpandMany { expand, .. } => {
                let repeats = if expand.edge.repeat.is_some() { "Repeat" } else { "ExpandMany" };
                format!("{repeats}{}", step(expand))
            }
            Plan::Shortest { expand, .. } => format!("ShortestPath{}", step(expand)),
            Plan::Filter { .. } => "Filter".into(),
            Plan::Path { slot, .. } => format!("Path({})", name(slot)),
            Plan::Optional { .. } => "Optional".into(),
            Plan::Apply { batches: Some(_), .. } => "ApplyInTransactions".into(),
            Plan::Apply { .. } => "Apply".into(),
            Plan::LoadCsv { slot, .. } => format!("LoadCsv({})", name(slot)),
            Plan::Unwind { slot, .. } => format!("Unwind({})", name(slot)),
            Plan::Project { items, .. } => {
                let slots: Vec<_> = items.iter().map(|(slot, _)| name(slot)).collect();
                format!("Project({})", slots.join(", "))
            }
            Plan::Aggregate { .. } => "Aggregate".into(),
            Plan::Distinct { .. } => "Distinct".into(),
            Plan::Sort { first: Some(_), .. } => "Top".into(),
            Plan::Sort { .. } => "Sort".into(),
            Plan::Skip { .. } => "Skip".into(),
            Plan::Limit { .. } => "Limit".into(),
            Plan::Union { .. } => "Union".into(),
            Plan::Call { call, .. } => format!("ProcedureCall({})", call.name),
            Plan::Create { .. } => "Create".into(),
            Plan::Merge { .. } => "Merge".into(),
            Plan::Set { .. } => "Set".into(),
            Plan::Delete { .. } => "Delete".into(),
            Plan::Foreach { .. } => "Foreach".into(),
            Plan::Schema { change: SchemaChange::Declare { rule, .. }, .. } => {
                format!("Declare({})", rule.name)
            }
            Plan::Schema { change: SchemaChange::Drop { name, .. }, .. } => {
                format!("Drop({name})")
            }
        }
    }

    /// The operator that the rows come from.
    pub(crate) fn input(&self) -> Option<&Arc<Plan>> {
        match self {
            Plan::Argument | Plan::Union { .. } => None,
            Plan::Ends(expand)
            | Plan::ExpandMany { expand, .. }
            | Plan::Shortest { expand, .. } => Some(&expand.input),
            Plan::Nodes { input, .. }
            | Plan::Walk { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Path { input, .. }
            | Plan::Optional { input, .. }
            | Plan::Apply { input, .. }
            | Plan::Unwind { input, .. }
            | Plan::LoadCsv { input, .. }
            | Plan::Project { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Skip { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Call { input, .. }
            | Plan::Create { input, .. }
            | Plan::Merge { input, .. }
            | Plan::Set { input, .. }
            | Plan::Delete { input, .. }
            | Plan::Foreach { input, .. }
            | Plan::Schema { input, .. } => Some(input),
        }
    }

    /// Returns true if rows may come from the graph.
    pub(crate) fn reads_graph(&self) -> bool {
        match self {
            Plan::Argument => false,
            Plan::Unwind { .. } | Plan::LoadCsv { .. } | Plan::Project { .. } => {
                self.input().is_some_and(|input| input.reads_graph())
            }
            _ => true,
        }
    }

    /// Plans that run once for each row.
    fn inner(&self) -> Vec<&Arc<Plan>> {
        match self {
            Plan::Optional { inner, .. }
            | Plan::Apply { inner, .. }
            | Plan::Merge { inner, .. } => {
                vec![inner]
            }
            Plan::Foreach { body, .. } => vec![body],
            Plan::Union { branches, .. } => branches.iter().map(|(plan, _)| plan).collect(),
            _ => Vec::new(),
        }
    }

    /// Adds the edges without names that the plan reads: those of paths, and those that are not passed again.
    fn add_read(&self, read: &mut HashSet<Slot>) {
        match self {
            Plan::Path { edges, .. } => read.extend(edges),
            Plan::Walk { steps, .. } => {
                for step in steps {
                    read.extend(&step.others);
                    read.extend(step.of_row.iter().filter_map(free_slots).flatten());
                }
            }
            Plan::Filter { predicate, .. } => {
                read.extend(free_slots(predicate).into_iter().flatten())
            }
            Plan::Ends(expand)
            | Plan::ExpandMany { expand, .. }
            | Plan::Shortest { expand, .. } => read.extend(&expand.others),
            _ => {}
        }
        for plan in self.inner().into_iter().chain(self.input()) {
            plan.add_read(read);
        }
    }

    /// The edges of walks without names that none of some plans reads.
    pub(crate) fn unread(plans: &[&Arc<Plan>], names: &[Name]) -> HashSet<Slot> {
        let mut read = HashSet::new();
        plans.iter().for_each(|plan| plan.add_read(&mut read));
        let unnamed = |slot: &Slot| names.get(*slot).is_some_and(|name| name.trim().is_empty());
        (0..names.len()).filter(|slot| unnamed(slot) && !read.contains(slot)).collect()
    }

    /// The plan as lines of text, the last operator first; what runs for each row is indented. `more` is added to
    /// the line of an operator.
    pub(crate) fn text(&self, names: &[Name], more: &dyn Fn(&Plan) -> String) -> String {
        let mut text = String::new();
        self.write(names, 0, more, &mut text);
        text
    }

    fn write(
        &self,
        names: &[Name],
        depth: usize,
        more: &dyn Fn(&Plan) -> String,
        out: &mut String,
    ) {
        let (line, more_of) = (self.line(names), more(self));
        let _ = writeln!(out, "{:depth$}{line}{more_of}", "", depth = depth * 2);
        for inner in self.inner() {
            inner.write(names, depth + 1, more, out);
        }
        if let Some(input) = self.input() {
            input.write(names, depth, more, out);
        }
    }
}
