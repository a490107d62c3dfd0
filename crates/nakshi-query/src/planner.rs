//! From the resolved query to a plan: clause by clause, and inside of a `MATCH` from the node that fewest
//! rows are expected of, along its edges.

use std::collections::HashSet;
use std::sync::Arc;

use super::free::{conjunctions, free_slots, is_fixed, wanted_value};
use super::ir::{
    Clause, Compare, EdgePattern, Expr, Mode, Name, NodePattern, PathPattern, Project, Query, Slot,
    Statement,
};
use super::pace::Pace;
use super::plan::{Expand, NodeSource, Part, Plan, Prepared, Repeat, RepeatStep, Step, Subplan};

/// The plan of a statement.
pub(crate) fn prepare(statement: Statement) -> Prepared {
    let joins = !matches!(statement.mode, Mode::Explain | Mode::Profile);
    let mut planner = Planner { width: statement.width, joins };
    let root = planner.query(&statement.query, Arc::new(Plan::Argument));
    let subplans: Vec<_> = statement
        .subqueries
        .iter()
        .map(|query| Subplan {
            root: planner.query(query, Arc::new(Plan::Argument)),
            columns: query.columns.clone(),
        })
        .collect();
    let plans: Vec<_> = subplans.iter().map(|plan| &plan.root).chain([&root]).collect();
    Prepared {
        unread: Plan::unread(&plans, &statement.names),
        root,
        subplans,
        slots: statement.query.columns.clone(),
        width: planner.width,
        writes: statement.query.writes(),
        commits: statement.query.commits(),
        calls: statement.calls,
        explain: statement.mode == Mode::Explain,
        profile: statement.mode == Mode::Profile,
        columns: statement.columns,
        names: statement.names,
        parameters: statement.parameters,
        deep: false,
        pace: Pace::default(),
    }
}

struct Planner {
    width: usize,
    /// True to join steps along edges, and the conditions on them, to walks. What shows the work of each
    /// operator does without.
    joins: bool,
}

impl Planner {
    /// A plan of a query, whose rows begin as those of `input`.
    fn query(&mut self, query: &Query, input: Arc<Plan>) -> Arc<Plan> {
        match query.branches.as_slice() {
            [one] => self.clauses(&one.clauses, input),
            branches => {
                let branches = branches.iter().map(|branch| {
                    (self.clauses(&branch.clauses, Arc::clone(&input)), branch.columns.clone())
                });
                let branches = branches.collect();
                Arc::new(Plan::Union { branches, columns: query.columns.clone(), all: query.all })
            }
        }
    }

    fn clauses(&mut self, clauses: &[Clause], input: Arc<Plan>) -> Arc<Plan> {
        let mut writes = false;
        clauses.iter().fold(input, |input, clause| {
            writes |= clause.writes();
            self.clause(clause, input, writes)
        })
    }

    fn clause(&mut self, clause: &Clause, input: Arc<Plan>, writes: bool) -> Arc<Plan> {
        Arc::new(match clause {
            Clause::Match { optional: false, paths, filter } => {
                return self.matching(paths, filter.as_ref(), input);
            }
            Clause::Match { optional: true, paths, filter } => {
                let inner = self.matching(paths, filter.as_ref(), Arc::new(Plan::Argument));
                Plan::Optional { input, inner, slots: new_slots(paths) }
            }
            Clause::Unwind { list, slot } => {
                Plan::Unwind { input, list: list.clone(), slot: *slot }
            }
            Clause::Project(project) => return self.project(project, input, writes),
            Clause::Create(paths) => Plan::Create { input, paths: paths.clone() },
            Clause::Merge { path, on_create, on_match } => {
                let inner =
                    self.matching(std::slice::from_ref(path), None, Arc::new(Plan::Argument));
                let (on_create, on_match) = (on_create.clone(), on_match.clone());
                Plan::Merge { input, inner, path: path.clone(), on_create, on_match }
            }
            Clause::Set(items) => Plan::Set { input, items: items.clone() },
            Clause::Delete { detach, targets } => {
                Plan::Delete { input, detach: *detach, targets: targets.clone() }
            }
            Clause::Foreach { slot, list, body } => {
                let body = self.clauses(body, Arc::new(Plan::Argument));
                Plan::Foreach { input, slot: *slot, list: list.clone(), body }
            }
            Clause::Call(call) => {
                let called = Plan::Call { input, call: call.clone() };
                match &call.filter {
                    Some(predicate) => {
                        Plan::Filter { input: Arc::new(called), predicate: predicate.clone() }
                    }
                    None => called,
                }
            }
            Clause::Schema(change) => Plan::Schema { input, change: change.clone() },
            Clause::LoadCsv { source, headers, separator, slot } => {
                let (source, headers) = (source.clone(), *headers);
                Plan::LoadCsv { input, source, headers, separator: *separator, slot: *slot }
            }
            Clause::Subquery { query, optional, batches } => {
                let inner = self.query(query, Arc::new(Plan::Argument));
                let (returns, writes) = (query.returns(), query.writes());
                let batches = batches.clone().filter(|_| writes);
                match *optional && returns {
                    true => Plan::Optional { input, inner, slots: query.columns.clone() },
                    false => Plan::Apply { input, inner, returns, writes, batches },
                }
            }
        })
    }

    fn project(&mut self, project: &Project, input: Arc<Plan>, writes: bool) -> Arc<Plan> {
        let mut plan = input;
        if !project.aggregations.is_empty() {
            let (keys, aggregations) = (project.keys.clone(), project.aggregations.clone());
            plan = Arc::new(Plan::Aggregate { input: plan, keys, aggregations });
        }
        let is_new =
            |(slot, value): &&(Slot, Expr)| !matches!(value, Expr::Slot(own) if own == slot);
        let items = project.items.iter().filter(is_new).cloned();
        let order = order_of(project);
        let (items, late): (Vec<_>, Vec<_>) =
            items.partition(|(slot, _)| !can_wait(project, &order, *slot));
        plan = projected(plan, items);
        if project.distinct {
            let slots = project.items.iter().map(|(slot, _)| *slot).collect();
            plan = Arc::new(Plan::Distinct { input: plan, slots });
        }
        if !order.is_empty() {
            let first = match (&project.skip, &project.limit, &project.filter) {
                (None, Some(limit), _) => Some(limit.clone()),
                _ => None,
            };
            plan = Arc::new(Plan::Sort { input: plan, keys: order, first });
        }
        if let Some(skip) = &project.skip {
            plan = Arc::new(Plan::Skip { input: plan, count: skip.clone() });
        }
        if let Some(limit) = &project.limit {
            plan = Arc::new(Plan::Limit { input: plan, count: limit.clone(), writes });
        }
        filtered(projected(plan, late), project.filter.clone())
    }

    fn matching(
        &mut self,
        paths: &[PathPattern],
        filter: Option<&Expr>,
        input: Arc<Plan>,
    ) -> Arc<Plan> {
        let mut search = Search::new(paths, filter, input, self.joins);
        while search.step(&mut self.width) {}
        search.finish(paths)
    }
}

/// The order of a projection. Columns behind the first that only read are replaced by their expressions, which few
/// rows need.
fn order_of(project: &Project) -> Vec<(Expr, bool)> {
    let mut order = project.order.clone();
    for (key, _) in order.iter_mut().skip(1) {
        let Expr::Slot(slot) = key else { continue };
        let column = project.items.iter().find(|(own, _)| own == slot);
        if let Some((_, value)) = column.filter(|(_, value)| is_fixed(value)) {
            *key = value.clone();
        }
    }
    order
}

/// Returns true for a column of a projection that is made after its `LIMIT`: of few rows. The order must not
/// need it.
fn can_wait(project: &Project, order: &[(Expr, bool)], slot: Slot) -> bool {
    let needs = |(key, _): &(Expr, bool)| free_slots(key).is_none_or(|slots| slots.contains(&slot));
    let sorted = !order.is_empty() && project.limit.is_some();
    sorted && !project.distinct && !order.iter().any(needs)
}

fn projected(input: Arc<Plan>, items: Vec<(Slot, Expr)>) -> Arc<Plan> {
    match items.is_empty() {
        true => input,
        false => Arc::new(Plan::Project { input, items }),
    }
}

fn filtered(input: Arc<Plan>, predicate: Option<Expr>) -> Arc<Plan> {
    match predicate {
        Some(predicate) => Arc::new(Plan::Filter { input, predicate }),
        None => input,
    }
}

/// The variables that patterns bind.
fn new_slots(paths: &[PathPattern]) -> Vec<Slot> {
    let mut slots = Vec::new();
    for path in paths {
        slots.extend(path.path);
        slots.extend(path.nodes.iter().filter(|node| !node.bound).map(|node| node.slot));
        slots.extend(path.edges.iter().filter(|edge| !edge.bound).map(|edge| edge.slot));
        slots.extend(path.edges.iter().flat_map(lists_of));
    }
    slots
}

/// The slots of the lists that a repeated pattern makes.
fn lists_of(edge: &EdgePattern) -> impl Iterator<Item = Slot> + '_ {
    edge.repeat.iter().flat_map(|repeat| repeat.lists.iter().map(|(_, list)| *list))
}

/// An edge of the patterns of a clause, with the nodes at its ends.
struct Link<'p> {
    left: Slot,
    edge: &'p EdgePattern,
    right: Slot,
    path: &'p PathPattern,
}

/// The search for the order in which a clause is matched.
struct Search<'p> {
    plan: Arc<Plan>,
    nodes: Vec<&'p NodePattern>,
    links: Vec<Link<'p>>,
    /// Conditions that no operator has checked yet, each with the slots that it needs.
    conditions: Vec<(Expr, Option<HashSet<Slot>>)>,
    bound: HashSet<Slot>,
    /// Slots that come from the rows before.
    pattern: HashSet<Slot>,
    passed: Vec<Slot>,
    joins: bool,
}

impl<'p> Search<'p> {
    fn new(paths: &'p [PathPattern], filter: Option<&Expr>, plan: Arc<Plan>, joins: bool) -> Self {
        let mut search = Search {
            plan,
            nodes: Vec::new(),
            links: Vec::new(),
            conditions: Vec::new(),
            bound: HashSet::new(),
            pattern: new_slots(paths).into_iter().collect(),
            passed: Vec::new(),
            joins,
        };
        for path in paths {
            search.nodes.extend(&path.nodes);
            let ends = path.nodes.windows(2).zip(&path.edges);
            search.links.extend(ends.filter_map(|(ends, edge)| match ends {
                [left, right] => Some(Link { left: left.slot, edge, right: right.slot, path }),
                _ => None,
            }));
        }
        let bound = search.nodes.iter().filter(|node| node.bound).map(|node| node.slot);
        search.bound = bound.collect();
        let mut conditions = Vec::new();
        for node in &search.nodes {
            conditions.extend(node_conditions(node));
        }
        let edges = search.links.iter().filter(|link| link.edge.length.is_none());
        for link in edges {
            conditions.extend(type_condition(link.edge));
            conditions.extend(entries(link.edge.slot, link.edge.properties.as_ref()));
            conditions.extend(link.edge.condition.iter().flat_map(conjunctions));
        }
        conditions.extend(filter.into_iter().flat_map(conjunctions));
        for condition in conditions {
            let needs = free_slots(&condition);
            search.conditions.push((condition, needs));
        }
        search.check_conditions();
        search
    }

    /// Adds filters for the conditions of which all variables are known.
    fn check_conditions(&mut self) {
        let (bound, pattern) = (&self.bound, &self.pattern);
        let (ready, later) =
            std::mem::take(&mut self.conditions).into_iter().partition(|(_, needs)| {
                needs.as_ref().is_some_and(|needs| {
                    needs.iter().all(|slot| !pattern.contains(slot) || bound.contains(slot))
                })
            });
        self.conditions = later;
        let ready: Vec<(Expr, Option<HashSet<Slot>>)> = ready;
        for (predicate, needs) in ready {
            self.check(predicate, &needs.unwrap_or_default());
        }
    }

    /// The steps of the walk that the plan ends in, if there is one that nothing else has.
    fn walk(&mut self) -> Option<&mut Vec<Step>> {
        match Arc::get_mut(&mut self.plan)? {
            Plan::Walk { steps, .. } if self.joins => Some(steps),
            _ => None,
        }
    }

    /// Adds a condition, which needs the values of some slots.
    fn check(&mut self, predicate: Expr, needs: &HashSet<Slot>) {
        match self.walk().and_then(|steps| steps.last_mut()) {
            Some(step) if is_fixed(&predicate) && needs.iter().all(|slot| *slot == step.to) => {
                step.of_node.push(predicate);
            }
            Some(step) => step.of_row.push(predicate),
            None => {
                self.plan = Arc::new(Plan::Filter { input: Arc::clone(&self.plan), predicate });
            }
        }
    }

    /// Adds a step along a single edge.
    fn add_step(&mut self, (from, edge, to): (Slot, EdgePattern, Slot), to_bound: bool) {
        let passed = self.passed.clone();
        let mut step = Step {
            from,
            edge,
            to,
            to_bound,
            earlier: Vec::new(),
            others: passed,
            of_node: Vec::new(),
            of_row: Vec::new(),
        };
        if let Some(steps) = self.walk() {
            let place = |slot: &Slot| steps.iter().position(|step| step.edge.slot == *slot);
            step.earlier = step.others.iter().filter_map(place).collect();
            step.others.retain(|slot| place(slot).is_none());
            steps.push(step);
            return;
        }
        self.plan = Arc::new(Plan::Walk { input: Arc::clone(&self.plan), steps: vec![step] });
    }

    /// Adds one operator; false if there is nothing left.
    fn step(&mut self, width: &mut usize) -> bool {
        if let Some(i) = self.next_link() {
            let link = self.links.remove(i);
            self.pass(&link, width);
            self.check_conditions();
            return true;
        }
        let Some((slot, source)) = self.best_node() else { return false };
        self.plan = Arc::new(Plan::Nodes { input: Arc::clone(&self.plan), slot, source });
        self.bound.insert(slot);
        self.check_conditions();
        true
    }

    /// The edge to pass next: one between known nodes before one that leads on, and single edges before
    /// paths.
    fn next_link(&self) -> Option<usize> {
        let rank = |link: &Link<'_>| {
            let ends = [link.left, link.right].map(|slot| self.bound.contains(&slot));
            let known = link.edge.bound && link.edge.length.is_none();
            let both = ends == [true, true];
            let shortest = link.path.shortest.is_some();
            match () {
                () if known => Some(0),
                () if shortest && !both => None,
                () if both => Some(1 + u8::from(link.edge.length.is_some())),
                () if ends != [false, false] => Some(3 + u8::from(link.edge.length.is_some())),
                () => None,
            }
        };
        let ranked = self.links.iter().enumerate().filter_map(|(i, link)| Some((rank(link)?, i)));
        ranked.min().map(|(_, i)| i)
    }

    fn pass(&mut self, link: &Link<'_>, width: &mut usize) {
        let backwards = !self.bound.contains(&link.left) && self.bound.contains(&link.right);
        let (from, to) = if backwards { (link.right, link.left) } else { (link.left, link.right) };
        let mut edge = link.edge.clone();
        if backwards {
            edge.direction = edge.direction.reversed();
        }
        let (known_list, slot) = (edge.bound && edge.length.is_some(), edge.slot);
        if known_list {
            edge.slot = *width;
            *width += 1;
        }
        let (from_bound, to_bound) =
            (self.bound.contains(&from), self.bound.contains(&to) || from == to);
        if link.path.shortest.is_none() && edge.length.is_none() && !edge.bound {
            self.bound.extend([from, to, slot]);
            self.add_step((from, edge, to), to_bound);
            self.passed.push(slot);
            return;
        }
        let expand = Expand {
            input: Arc::clone(&self.plan),
            from,
            to,
            to_bound,
            from_bound,
            others: self.passed.clone(),
            backwards,
            edge,
        };
        self.bound.extend([from, to, slot]);
        self.bound.extend(lists_of(link.edge));
        self.passed.push(slot);
        let found = expand.edge.slot;
        self.plan = Arc::new(match (link.path.shortest, link.edge.length) {
            (Some(which), _) => Plan::Shortest { expand, which },
            (None, Some(_)) => {
                let repeat = repeat_of(&expand);
                Plan::ExpandMany { expand, repeat }
            }
            (None, None) => Plan::Ends(expand),
        });
        if known_list {
            let same = [found, slot].map(|slot| Box::new(Expr::Slot(slot)));
            let [a, b] = same;
            let predicate = Expr::Compare(Compare::Equal, a, b);
            self.plan = Arc::new(Plan::Filter { input: Arc::clone(&self.plan), predicate });
        }
    }

    /// The node to begin with, and how it is found.
    fn best_node(&self) -> Option<(Slot, NodeSource)> {
        let unknown = self.nodes.iter().filter(|node| !self.bound.contains(&node.slot));
        let ranked = unknown.map(|node| {
            let source = self.source_of(node.slot);
            let rank = match &source {
                NodeSource::Property { label: Some(_), .. } => 0,
                NodeSource::Property { label: None, .. } => 1,
                NodeSource::Label(_) => 2,
                NodeSource::All => 3,
            };
            (rank, node.slot, source)
        });
        ranked.min_by_key(|(rank, ..)| *rank).map(|(_, slot, source)| (slot, source))
    }

    fn source_of(&self, slot: Slot) -> NodeSource {
        let of_slot = self.nodes.iter().filter(|node| node.slot == slot);
        let labels = of_slot.filter_map(|node| node.labels.as_ref());
        let mut label: Option<Name> = labels.filter_map(|labels| labels.required()).next().cloned();
        let mut property = None;
        for (condition, _) in &self.conditions {
            match condition {
                Expr::HasLabels(of, labels) if matches!(**of, Expr::Slot(own) if own == slot) => {
                    label = label.or_else(|| labels.required().cloned());
                }
                other => property = property.or_else(|| self.wanted(slot, other)),
            }
        }
        match (property, label) {
            (Some((name, value)), label) => NodeSource::Property { label, name, value },
            (None, Some(label)) => NodeSource::Label(label),
            (None, None) => NodeSource::All,
        }
    }

    /// The property of a node and the value that a condition wants of it, if the value is known.
    fn wanted(&self, slot: Slot, condition: &Expr) -> Option<(Name, Expr)> {
        let (name, value) = wanted_value(condition, slot)?;
        let needs = free_slots(value)?;
        let known = |slot: &Slot| !self.pattern.contains(slot) || self.bound.contains(slot);
        needs.iter().all(known).then(|| (Arc::clone(name), value.clone()))
    }

    /// The plan with the paths that have names, and the conditions that are left.
    fn finish(mut self, paths: &[PathPattern]) -> Arc<Plan> {
        for path in paths {
            let Some(slot) = path.path else { continue };
            let nodes = path.nodes.iter().map(|node| node.slot).collect();
            let edges = path.edges.iter().map(|edge| edge.slot).collect();
            self.plan = Arc::new(Plan::Path { input: Arc::clone(&self.plan), slot, nodes, edges });
        }
        let rest = std::mem::take(&mut self.conditions);
        rest.into_iter()
            .fold(self.plan, |input, (predicate, _)| Arc::new(Plan::Filter { input, predicate }))
    }
}

/// The steps of paths of several edges: along one edge, or through a pattern.
fn repeat_of(expand: &Expand) -> Repeat {
    let Some(pattern) = &expand.edge.repeat else {
        let (edge, to) = (expand.edge.clone(), expand.to);
        let steps = vec![RepeatStep { edge, to, to_bound: false, conditions: Vec::new() }];
        let (of_start, lists) = (Vec::new(), Vec::new());
        return Repeat { start: expand.from, of_start, steps, lists, binds: false };
    };
    let mut pattern = pattern.clone();
    if expand.backwards {
        pattern.nodes.reverse();
        pattern.edges.reverse();
        for edge in &mut pattern.edges {
            edge.direction = edge.direction.reversed();
        }
    }
    let nodes: Vec<Slot> = pattern.nodes.iter().map(|node| node.slot).collect();
    let own: HashSet<Slot> =
        nodes.iter().copied().chain(pattern.edges.iter().map(|edge| edge.slot)).collect();
    let mut open = pattern.nodes.iter().flat_map(node_conditions).collect::<Vec<_>>();
    open.extend(pattern.condition.iter().flat_map(conjunctions));
    for edge in &mut pattern.edges {
        open.extend(type_condition(edge));
        open.extend(edge.condition.take().iter().flat_map(conjunctions));
        let is_same = edge.properties.as_ref().and_then(free_slots);
        if is_same.is_none_or(|needs| !needs.is_disjoint(&own)) {
            open.extend(entries(edge.slot, edge.properties.take().as_ref()));
        }
    }
    let place = |slot: Slot| match nodes.iter().position(|own| *own == slot) {
        Some(at) => Some(Part::Node(at)),
        None => pattern.edges.iter().position(|edge| edge.slot == slot).map(Part::Edge),
    };
    let lists = pattern.lists.iter().filter_map(|(of, list)| Some((place(*of)?, *list))).collect();
    let start = nodes.first().copied().unwrap_or(expand.from);
    let mut known = HashSet::from([start]);
    let of_start = take_ready(&mut open, &own, &known);
    let mut steps = Vec::with_capacity(pattern.edges.len());
    for (edge, to) in pattern.edges.into_iter().zip(nodes.into_iter().skip(1)) {
        known.insert(edge.slot);
        let to_bound = !known.insert(to);
        let conditions = take_ready(&mut open, &own, &known);
        steps.push(RepeatStep { edge, to, to_bound, conditions });
    }
    if let Some(last) = steps.last_mut() {
        last.conditions.append(&mut open);
    }
    let checks = |step: &RepeatStep| step.to_bound || !step.conditions.is_empty();
    let binds = !of_start.is_empty() || steps.iter().any(checks);
    Repeat { start, of_start, steps, lists, binds }
}

/// Takes the conditions out that need none of a pattern's own slots but those that are known.
fn take_ready(open: &mut Vec<Expr>, own: &HashSet<Slot>, known: &HashSet<Slot>) -> Vec<Expr> {
    let ready = |condition: &mut Expr| {
        let is_known = |slot: &Slot| known.contains(slot) || !own.contains(slot);
        free_slots(condition).is_some_and(|needs| needs.iter().all(is_known))
    };
    open.extract_if(.., ready).collect()
}

/// The conditions that a node of a pattern has in itself.
fn node_conditions(node: &NodePattern) -> Vec<Expr> {
    let mut found = Vec::new();
    if let Some(labels) = &node.labels {
        found.push(Expr::HasLabels(Box::new(Expr::Slot(node.slot)), labels.clone()));
    }
    found.extend(entries(node.slot, node.properties.as_ref()));
    found.extend(node.condition.iter().flat_map(conjunctions));
    found
}

/// The condition on the type of an edge, if it is no choice of names.
fn type_condition(edge: &EdgePattern) -> Option<Expr> {
    let labels = edge.labels.clone()?;
    Some(Expr::HasLabels(Box::new(Expr::Slot(edge.slot)), labels))
}

/// The conditions of a map of properties in a pattern.
fn entries(slot: Slot, properties: Option<&Expr>) -> Vec<Expr> {
    let Some(Expr::Map(entries)) = properties else { return Vec::new() };
    let condition = |(name, value): &(Name, Expr)| {
        let own = Expr::Property(Box::new(Expr::Slot(slot)), Arc::clone(name));
        Expr::Compare(Compare::Equal, Box::new(own), Box::new(value.clone()))
    };
    entries.iter().map(condition).collect()
}
