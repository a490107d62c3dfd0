//! Operators of a plan.

use std::collections::HashSet;
use std::sync::Arc;

use super::batches::InTransactions;
use super::context::{Input, Made, Open, Profiled, Source};
use super::{csv_rows, expand, group, many, nested, rows, shortest, sort, walk, write};
use crate::plan::Plan;
use crate::value::Row;

/// The operators of a plan, whose rows begin as `argument`.
pub(crate) fn open(plan: &Arc<Plan>, argument: &Row) -> Box<dyn Source> {
    opened(plan, argument, open)
}

/// As [`open`], of operators whose work is counted.
pub(crate) fn open_profiled(plan: &Arc<Plan>, argument: &Row) -> Box<dyn Source> {
    let source = opened(plan, argument, open_profiled);
    Box::new(Profiled { plan: Arc::clone(plan), source })
}

/// The last operator of a plan, on those that `open` makes.
fn opened(plan: &Arc<Plan>, argument: &Row, open: Open) -> Box<dyn Source> {
    let input = match (&**plan, plan.input()) {
        (Plan::Union { .. }, _) => {
            return Box::new(nested::Union {
                plan: Arc::clone(plan),
                argument: argument.clone(),
                at: 0,
                branch: None,
                seen: HashSet::new(),
                held: None,
            });
        }
        (_, None) => return Box::new(rows::Argument(Some(argument.clone()))),
        (_, Some(input)) => open(input, argument),
    };
    let plan = Arc::clone(plan);
    match &*plan {
        Plan::Argument | Plan::Union { .. } => input,
        Plan::Nodes { .. } => expand::nodes(plan, input),
        Plan::Walk { .. } => Box::new(walk::Walk::new(plan, input)),
        Plan::Ends(_) => expand::ends(plan, input),
        Plan::ExpandMany { .. } => Box::new(many::Many::new(plan, input)),
        Plan::Shortest { .. } => shortest::shortest(plan, input),
        Plan::Filter { .. } => Box::new(rows::Filter { plan, input }),
        Plan::Path { .. } => Box::new(rows::Paths { plan, input }),
        Plan::Optional { .. } => nested::optional(plan, input),
        Plan::Apply { batches: Some(_), .. } => Box::new(InTransactions::new(plan, input)),
        Plan::Apply { .. } => nested::apply(plan, input),
        Plan::LoadCsv { .. } => csv_rows::load_csv(plan, input),
        Plan::Unwind { .. } => rows::unwind(plan, input),
        Plan::Project { .. } => Box::new(rows::Project { plan, input: Input::new(input) }),
        Plan::Aggregate { .. } => Box::new(group::Group { plan, input, groups: Made::default() }),
        Plan::Distinct { .. } => {
            Box::new(rows::Distinct { plan, input, seen: HashSet::new(), held: None })
        }
        Plan::Sort { .. } => Box::new(sort::Sort::new(plan, input)),
        Plan::Skip { .. } => Box::new(rows::Skip { plan, input, left: None }),
        Plan::Limit { .. } => Box::new(rows::Limit { plan, input, left: None }),
        Plan::Call { .. } => nested::call(plan, input),
        Plan::Create { .. }
        | Plan::Merge { .. }
        | Plan::Set { .. }
        | Plan::Delete { .. }
        | Plan::Foreach { .. }
        | Plan::Schema { .. } => Box::new(write::Write { plan, input, done: Made::default() }),
    }
}
