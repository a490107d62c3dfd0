//! Clauses, and the queries that they make up.

use std::sync::Arc;

use decypher::ast::clause::{
    Create, Delete, Foreach, ForeachUpdate, LoadCsv, Match, Merge, Remove, RemoveItem,
};
use decypher::ast::clause::{Set, SetItem as AstSet, SetOperator};
use decypher::ast::expr::{ExistsInner, Expression};
use decypher::ast::procedure::{
    InQueryCall, ProcedureInvocation, StandaloneCall, YieldItem, YieldSpec,
};
use decypher::ast::query::{
    CallSubquery, InTransactions, OnErrorBehavior, QueryBody, ReadingClause, RegularQuery,
    SinglePartBody, SinglePartQuery, SingleQuery, SingleQueryKind, UpdatingClause,
};

use super::expressions::{Chain, Subqueries};
use super::notes::{Imports, Scoped};
use super::projections::{Body, Columns};
use super::scope::{Resolver, Scope};
use crate::error::{Class, QueryError, Result};
use crate::ir::{
    Batches, Branch, Clause, Expr, Labels, Mode, Name, OnError, PathPattern, ProcedureCall, Query,
    SchemaChange, SetItem, Slot, Statement,
};
use crate::procedure::Signature;
use crate::value::Value;

/// Resolves the only statement of a text.
pub(super) fn statement(
    resolver: &mut Resolver<'_>,
    query: &decypher::Query,
) -> Result<(Query, Vec<Name>)> {
    let [one] = query.statements.as_slice() else {
        let message = format!("a query is one statement, and there are {}", query.statements.len());
        return Err(resolver.refuse("UnexpectedSyntax", message, 0));
    };
    let (query, columns) = match one {
        QueryBody::SingleQuery(single) => {
            let (branch, columns) = resolver.single(single)?;
            (one_branch(branch), columns)
        }
        QueryBody::Regular(regular) => resolver.regular(regular)?,
        QueryBody::Standalone(call) => resolver.standalone(call)?,
        QueryBody::SchemaCommand(_) | QueryBody::Show(_) | QueryBody::Use(_) => {
            let message = "commands on databases are not supported";
            return Err(QueryError::compile(Class::Unsupported, "UnexpectedSyntax", message, None));
        }
    };
    Ok((query, columns.into_iter().map(|(name, _)| name).collect()))
}

/// Returns true for a query whose last clause before `FINISH` is a subquery.
pub(super) fn ends_with_subquery(query: &decypher::Query) -> bool {
    let [QueryBody::SingleQuery(single)] = query.statements.as_slice() else { return false };
    let last = match &single.kind {
        SingleQueryKind::SinglePart(part) => part,
        SingleQueryKind::MultiPart(parts) => &parts.final_part,
    };
    matches!(last.body, SinglePartBody::Finish(_))
        && matches!(last.reading_clauses.last(), Some(ReadingClause::CallSubquery(_)))
}

/// A statement that changes constraints or indexes.
pub(super) fn schema(change: SchemaChange, mode: Mode) -> Statement {
    let clauses = vec![Clause::Schema(change)];
    Statement {
        query: one_branch(Branch { clauses, columns: Vec::new() }),
        subqueries: Vec::new(),
        columns: Vec::new(),
        width: 0,
        names: Vec::new(),
        parameters: Vec::new(),
        calls: false,
        mode,
    }
}

/// Returns true for a query whose first clause is `WITH`.
fn begins_with_with(single: &SingleQuery) -> bool {
    let SingleQueryKind::MultiPart(parts) = &single.kind else { return false };
    parts
        .parts
        .first()
        .is_some_and(|part| part.reading_clauses.is_empty() && part.updating_clauses.is_empty())
}

/// The expression of a query that is `RETURN` and nothing else.
pub(super) fn only_item(query: &decypher::Query) -> Option<Expression> {
    let [QueryBody::SingleQuery(single)] = query.statements.as_slice() else { return None };
    let SingleQueryKind::SinglePart(part) = &single.kind else { return None };
    let SinglePartBody::Return(returned) = &part.body else { return None };
    match (part.reading_clauses.as_slice(), returned.items.as_slice()) {
        ([], [one]) => Some(one.expression.clone()),
        _ => None,
    }
}

fn one_branch(branch: Branch) -> Query {
    Query { columns: branch.columns.clone(), branches: vec![branch], all: true }
}

impl Resolver<'_> {
    fn regular(&mut self, regular: &RegularQuery) -> Result<(Query, Columns)> {
        let scope = self.scope.clone();
        let isolated = std::mem::take(&mut self.isolated);
        if isolated && !begins_with_with(&regular.single_query) {
            self.scope.clear();
        }
        let (branch, columns) = self.single(&regular.single_query)?;
        if regular.unions.is_empty() {
            return Ok((one_branch(branch), columns));
        }
        let slots = columns.iter().map(|(name, _)| self.slot(name)).collect::<Vec<_>>();
        let all = regular.unions.iter().all(|union| union.all);
        let mut query = Query { branches: vec![branch], all, columns: slots.clone() };
        for union in &regular.unions {
            self.scope.clone_from(&scope);
            if isolated && !begins_with_with(&union.single_query) {
                self.scope.clear();
            }
            let (mut branch, own) = self.single(&union.single_query)?;
            let mut in_order = Vec::with_capacity(columns.len());
            for (name, _) in &columns {
                let found = own.iter().find(|(other, _)| other == name).map(|(_, slot)| *slot);
                in_order.extend(found);
            }
            if in_order.len() != columns.len() || own.len() != columns.len() {
                let message = "the parts of UNION have different columns";
                return Err(self.refuse("DifferentColumnsInUnion", message, union.span.start));
            }
            branch.columns = in_order;
            query.branches.push(branch);
        }
        let columns =
            columns.into_iter().zip(slots).map(|((name, _), slot)| (name, slot)).collect();
        Ok((query, columns))
    }

    fn single(&mut self, single: &SingleQuery) -> Result<(Branch, Columns)> {
        let mut branch = Branch::default();
        let last = match &single.kind {
            SingleQueryKind::SinglePart(part) => part,
            SingleQueryKind::MultiPart(parts) => {
                for part in &parts.parts {
                    self.reading(&part.reading_clauses, &mut branch)?;
                    self.updating(&part.updating_clauses, &mut branch)?;
                    let (project, _) = self.projection(&Body::from(&part.with))?;
                    branch.clauses.push(Clause::Project(project));
                }
                &parts.final_part
            }
        };
        let columns = self.last_part(last, &mut branch)?;
        branch.columns = columns.iter().map(|(_, slot)| *slot).collect();
        Ok((branch, columns))
    }

    fn last_part(&mut self, part: &SinglePartQuery, branch: &mut Branch) -> Result<Columns> {
        self.reading(&part.reading_clauses, branch)?;
        let returned = match &part.body {
            SinglePartBody::Return(returned) => Some(returned),
            SinglePartBody::Updating { updating, return_clause } => {
                self.updating(updating, branch)?;
                return_clause.as_ref()
            }
            SinglePartBody::Finish(_) => None,
        };
        let Some(returned) = returned else { return Ok(Columns::new()) };
        let (project, columns) = self.projection(&Body::from(returned))?;
        branch.clauses.push(Clause::Project(project));
        Ok(columns)
    }

    fn reading(&mut self, clauses: &[ReadingClause], branch: &mut Branch) -> Result<()> {
        for clause in clauses {
            let resolved = match clause {
                ReadingClause::Match(one) => self.matching(one)?,
                ReadingClause::Unwind(unwind) => {
                    let list = self.expr(&unwind.expression)?;
                    Clause::Unwind { list, slot: self.declare(&unwind.variable.name.name) }
                }
                ReadingClause::InQueryCall(call) => Clause::Call(self.in_query_call(call)?),
                ReadingClause::CallSubquery(call) => self.call_subquery(call)?,
                ReadingClause::LoadCsv(load) => self.load_csv(load)?,
            };
            branch.clauses.push(resolved);
        }
        Ok(())
    }

    fn matching(&mut self, one: &Match) -> Result<Clause> {
        let paths = self.paths(&one.pattern.parts)?;
        let filter = one.where_clause.as_ref().map(|filter| self.expr(filter)).transpose()?;
        Ok(Clause::Match { optional: one.optional, paths, filter })
    }

    fn call_subquery(&mut self, call: &CallSubquery) -> Result<Clause> {
        let batches = match &call.in_transactions {
            Some(inner) if self.inner => {
                let message = "CALL { ... } IN TRANSACTIONS cannot be inside of another subquery";
                return Err(self.refuse("UnexpectedSyntax", message, inner.span.start));
            }
            Some(asked) => Some(self.batches(asked)?),
            None => None,
        };
        let scoped = self.notes.subqueries.get(&call.span.start).cloned();
        let optional = scoped.as_ref().is_some_and(|scoped| scoped.optional);
        let outer = std::mem::replace(&mut self.inner, true);
        let (query, columns) = self.within(|it| {
            match scoped {
                Some(Scoped { imports: Imports::All, .. }) => {}
                Some(Scoped { imports: Imports::Some(names), .. }) => it.scope = it.named(names)?,
                None => it.isolated = true,
            }
            it.regular(&call.query)
        })?;
        self.inner = outer;
        if optional && query.writes() {
            let message = "OPTIONAL CALL with a subquery that changes the graph";
            return Err(self.refuse("UnexpectedSyntax", message, call.span.start));
        }
        for (name, slot) in columns {
            self.scope.insert(name, slot);
        }
        Ok(Clause::Subquery { query: Box::new(query), optional, batches })
    }

    /// The variables with some names.
    fn named(&self, names: Vec<(String, usize)>) -> Result<Scope> {
        let known = |(name, at): (String, usize)| match self.scope.get_key_value(name.as_str()) {
            Some((name, slot)) => Ok((Arc::clone(name), *slot)),
            None => {
                let message = format!("variable '{name}' is not defined");
                Err(self.refuse("UndefinedVariable", message, at))
            }
        };
        names.into_iter().map(known).collect()
    }

    fn batches(&mut self, asked: &InTransactions) -> Result<Batches> {
        let rows = asked.of_rows.as_ref().map(|rows| self.expr(rows)).transpose()?;
        let on_error = match asked.on_error {
            Some(OnErrorBehavior::Continue) => OnError::Continue,
            Some(OnErrorBehavior::Break) => OnError::Break,
            Some(OnErrorBehavior::Fail) | None => OnError::Fail,
        };
        Ok(Batches { rows, on_error })
    }

    fn load_csv(&mut self, load: &LoadCsv) -> Result<Clause> {
        let source = self.expr(&load.source)?;
        let separator = match load.field_terminator.as_ref().map(|text| text.value.as_bytes()) {
            None => b',',
            Some([one]) => *one,
            Some(_) => {
                let message = "FIELDTERMINATOR needs one ASCII character";
                return Err(self.refuse("UnexpectedSyntax", message, load.span.start));
            }
        };
        let (headers, slot) = (load.with_headers, self.declare(&load.variable.name.name));
        Ok(Clause::LoadCsv { source, headers, separator, slot })
    }

    fn updating(&mut self, clauses: &[UpdatingClause], branch: &mut Branch) -> Result<()> {
        for clause in clauses {
            let resolved = match clause {
                UpdatingClause::Create(one) => self.create(one)?,
                UpdatingClause::Merge(one) => self.merge(one)?,
                UpdatingClause::Delete(one) => self.delete(one)?,
                UpdatingClause::Set(one) => self.set(one)?,
                UpdatingClause::Remove(one) => self.remove(one)?,
                UpdatingClause::Foreach(one) => self.foreach(one)?,
            };
            branch.clauses.push(resolved);
        }
        Ok(())
    }

    fn create(&mut self, create: &Create) -> Result<Clause> {
        let paths = self.paths(&create.pattern.parts)?;
        self.refuse_to_create(&paths, create.span.start)?;
        Ok(Clause::Create(paths))
    }

    /// Refuses to create an edge that is there already, and what has to meet a condition.
    fn refuse_to_create(&self, paths: &[PathPattern], at: usize) -> Result<()> {
        let mut edges = paths.iter().flat_map(|path| &path.edges);
        let mut nodes = paths.iter().flat_map(|path| &path.nodes);
        if edges.clone().any(|edge| edge.bound) {
            return Err(self.refuse("VariableAlreadyBound", "the edge is there already", at));
        }
        if edges.clone().any(|edge| edge.repeat.is_some()) {
            let message = "CREATE and MERGE make no quantified path patterns";
            return Err(self.refuse("CreatingVarLength", message, at));
        }
        let is_choice =
            |labels: &Option<Labels>| labels.as_ref().is_some_and(|labels| !labels.can_be_given());
        if edges.clone().any(|edge| is_choice(&edge.labels))
            || nodes.clone().any(|node| is_choice(&node.labels))
        {
            let message = "what is made gets labels and types, and no choice of them";
            return Err(self.refuse("UnexpectedSyntax", message, at));
        }
        if edges.any(|edge| edge.condition.is_some()) || nodes.any(|node| node.condition.is_some())
        {
            let message = "WHERE inside of a pattern is for MATCH";
            return Err(self.refuse("UnexpectedSyntax", message, at));
        }
        Ok(())
    }

    fn merge(&mut self, merge: &Merge) -> Result<Clause> {
        let mut paths = self.paths(std::slice::from_ref(&merge.pattern))?;
        self.refuse_to_create(&paths, merge.span.start)?;
        let Some(path) = paths.pop() else {
            return Err(self.refuse("UnexpectedSyntax", "MERGE has no pattern", merge.span.start));
        };
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        for action in &merge.actions {
            let items = action.set_items.iter().map(|item| self.set_item(item));
            let items = items.collect::<Result<Vec<_>>>()?;
            if action.on_match { on_match.extend(items) } else { on_create.extend(items) }
        }
        Ok(Clause::Merge { path, on_create, on_match })
    }

    fn delete(&mut self, delete: &Delete) -> Result<Clause> {
        Ok(Clause::Delete { detach: delete.detach, targets: self.all(&delete.targets)? })
    }

    fn set(&mut self, set: &Set) -> Result<Clause> {
        Ok(Clause::Set(set.items.iter().map(|item| self.set_item(item)).collect::<Result<_>>()?))
    }

    fn remove(&mut self, remove: &Remove) -> Result<Clause> {
        let mut items = Vec::with_capacity(remove.items.len());
        for item in &remove.items {
            items.push(match item {
                RemoveItem::Labels { variable, labels } => {
                    let slot = self.bound(&variable.name)?;
                    SetItem::RemoveLabels { slot, labels: self.given(labels)? }
                }
                RemoveItem::Property(property) => {
                    let (of, name) = self.property(property)?;
                    SetItem::RemoveProperty { of, name }
                }
            });
        }
        Ok(Clause::Set(items))
    }

    fn foreach(&mut self, foreach: &Foreach) -> Result<Clause> {
        let list = self.expr(&foreach.list)?;
        self.within(|it| {
            let slot = it.declare(&foreach.variable.name.name);
            let mut body = Vec::with_capacity(foreach.updates.len());
            for update in &foreach.updates {
                body.push(match update {
                    ForeachUpdate::Create(one) => it.create(one)?,
                    ForeachUpdate::Merge(one) => it.merge(one)?,
                    ForeachUpdate::Delete(one) => it.delete(one)?,
                    ForeachUpdate::Set(one) => it.set(one)?,
                    ForeachUpdate::Remove(one) => it.remove(one)?,
                    ForeachUpdate::Foreach(one) => it.foreach(one)?,
                });
            }
            Ok(Clause::Foreach { slot, list, body })
        })
    }

    /// The slot of a variable that must be defined.
    fn bound(&mut self, name: &decypher::ast::names::SymbolicName) -> Result<usize> {
        match self.variable(name)? {
            Expr::Slot(slot) => Ok(slot),
            _ => Err(self.refuse("UndefinedVariable", "it is no variable", name.span.start)),
        }
    }

    /// A property that is changed, and what it belongs to.
    fn property(&mut self, expression: &Expression) -> Result<(Expr, Name)> {
        match expression {
            Expression::PropertyLookup { base, property, .. } => {
                Ok((self.expr(base)?, Arc::from(property.name.name.as_str())))
            }
            Expression::Parenthesized(inner) => self.property(inner),
            _ => Err(self.refuse("UnexpectedSyntax", "only properties can be changed", 0)),
        }
    }

    fn set_item(&mut self, item: &AstSet) -> Result<SetItem> {
        Ok(match item {
            AstSet::Property { property, value, .. } => {
                let (of, name) = self.property(property)?;
                SetItem::Property { of, name, value: self.expr(value)? }
            }
            AstSet::DynamicProperty { property, key, value, .. } => SetItem::DynamicProperty {
                of: self.expr(property)?,
                name: self.expr(key)?,
                value: self.expr(value)?,
            },
            AstSet::Variable { variable, value, operator } => SetItem::All {
                slot: self.bound(&variable.name)?,
                value: self.expr(value)?,
                merge: *operator == SetOperator::Add,
            },
            AstSet::Labels { variable, labels } => SetItem::AddLabels {
                slot: self.bound(&variable.name)?,
                labels: self.given(labels)?,
            },
        })
    }

    /// The labels that `SET` gives, and `REMOVE` takes.
    fn given(&mut self, names: &[decypher::ast::names::SymbolicName]) -> Result<Labels> {
        let all = names.iter().map(|name| self.label(name)).collect::<Result<_>>();
        let labels = Labels::All(all?);
        match labels.can_be_given() {
            true => Ok(labels),
            false => {
                let at = names.first().map_or(0, |name| name.span.start);
                let message = "SET and REMOVE take all of some labels: $(...) and not $any(...)";
                Err(self.refuse("UnexpectedSyntax", message, at))
            }
        }
    }

    fn in_query_call(&mut self, call: &InQueryCall) -> Result<ProcedureCall> {
        let items = call.yield_items.as_ref().map(|items| items.items.as_slice());
        let (mut found, _) = self.procedure(&call.call, items, false)?;
        let filter = call.yield_items.as_ref().and_then(|items| items.where_clause.as_ref());
        found.filter = filter.map(|filter| self.expr(filter)).transpose()?;
        Ok(found)
    }

    fn standalone(&mut self, call: &StandaloneCall) -> Result<(Query, Columns)> {
        let items = match &call.yield_items {
            Some(YieldSpec::Items(items)) => Some(items),
            Some(YieldSpec::Star { .. }) | None => None,
        };
        let of_items = items.map(|items| items.items.as_slice());
        let (mut found, columns) = self.procedure(&call.call, of_items, true)?;
        let filter = items.and_then(|items| items.where_clause.as_ref());
        found.filter = filter.map(|filter| self.expr(filter)).transpose()?;
        let slots = columns.iter().map(|(_, slot)| *slot).collect();
        let branch = Branch { clauses: vec![Clause::Call(found)], columns: slots };
        Ok((one_branch(branch), columns))
    }

    /// A call of a procedure; all its columns are yielded if `all` and none are named.
    fn procedure(
        &mut self,
        call: &ProcedureInvocation,
        items: Option<&[YieldItem]>,
        all: bool,
    ) -> Result<(ProcedureCall, Columns)> {
        let parts = call.name.name.iter().map(|part| part.name.as_str()).collect::<Vec<_>>();
        let (name, at) = (parts.join("."), call.span.start);
        let Some(procedure) = self.procedures.find(&name) else {
            let place = Some((self.text, at));
            let message = format!("procedure '{name}' is unknown");
            return Err(QueryError::compile(Class::Procedure, "ProcedureNotFound", message, place));
        };
        self.calls = true;
        let signature = procedure.signature();
        let implicit = call.implicit_arguments;
        let mut arguments = match implicit {
            true if !all => {
                let message = "the arguments of a procedure stand in parentheses inside of a query";
                return Err(self.refuse("InvalidArgumentPassingMode", message, at));
            }
            true => self.implicit_arguments(signature),
            false => self.all(&call.name.arguments)?,
        };
        let takes = signature.arguments.len();
        let needed = takes.saturating_sub(signature.optional);
        if !(needed..=takes).contains(&arguments.len()) {
            let message = match signature.optional {
                0 => format!("procedure '{name}' takes {takes} arguments"),
                _ => format!("procedure '{name}' takes {needed} to {takes} arguments"),
            };
            return Err(self.refuse("InvalidNumberOfArguments", message, at));
        }
        arguments.resize_with(takes, || Expr::Literal(Value::Null));
        for (argument, (_, ty)) in arguments.iter().zip(&signature.arguments) {
            if let Expr::Literal(value) = argument
                && !ty.has(value)
            {
                let message = format!("procedure '{name}' does not take {value}");
                return Err(self.refuse("InvalidArgumentType", message, at));
            }
        }
        let wanted = match items {
            Some(items) => items.iter().map(yielded).collect(),
            None if all => every(signature, at),
            None => Vec::new(),
        };
        let (yields, columns) = self.yields(&name, signature, &wanted)?;
        let passes = signature.columns.is_empty();
        let name = Arc::from(name);
        Ok((ProcedureCall { name, arguments, yields, filter: None, passes }, columns))
    }

    /// Slots for columns of a procedure.
    fn yields(
        &mut self,
        name: &str,
        signature: &Signature,
        wanted: &[Yielded<'_>],
    ) -> Result<(Vec<(Name, Slot)>, Columns)> {
        let (mut columns, mut yields) = (Columns::new(), Vec::new());
        for &(column, alias, at) in wanted {
            if !signature.columns.iter().any(|(known, _)| known == column) {
                let message = format!("procedure '{name}' has no column '{column}'");
                return Err(self.refuse("UndefinedVariable", message, at));
            }
            if self.scope.contains_key(alias) {
                let message = format!("variable '{alias}' is defined already");
                return Err(self.refuse("VariableAlreadyBound", message, at));
            }
            let slot = self.declare(alias);
            yields.push((Arc::from(column), slot));
            columns.push((Arc::from(alias), slot));
        }
        Ok((yields, columns))
    }

    /// Parameters with the names of the arguments.
    fn implicit_arguments(&mut self, signature: &Signature) -> Vec<Expr> {
        let needed = signature.arguments.len().saturating_sub(signature.optional);
        let named = signature.arguments.iter().take(needed);
        let names: Vec<Name> = named.map(|(name, _)| Name::from(name.as_str())).collect();
        self.parameters.extend(names.iter().cloned());
        names.into_iter().map(Expr::Parameter).collect()
    }
}

/// A column of a procedure, the variable that it becomes, and the place of that in the text.
type Yielded<'t> = (&'t str, &'t str, usize);

/// All columns of a procedure, under their own names.
fn every(signature: &Signature, at: usize) -> Vec<Yielded<'_>> {
    signature.columns.iter().map(|(name, _)| (&**name, &**name, at)).collect()
}

fn yielded(item: &YieldItem) -> Yielded<'_> {
    let column = &item.procedure_field;
    let alias = item.alias.as_ref().map_or(column, |alias| &alias.name);
    (&column.name, &alias.name, alias.span.start)
}

impl Subqueries for Resolver<'_> {
    fn pattern_query(&mut self, inner: &ExistsInner) -> Result<Query> {
        match inner {
            ExistsInner::Pattern(pattern, filter) => self.within(|it| {
                let paths = it.paths(&pattern.parts)?;
                it.one_match(paths, filter.as_deref(), None)
            }),
            ExistsInner::RegularQuery(query) => self.whole_query(query),
        }
    }

    fn chain_query(&mut self, found: &Chain<'_>) -> Result<Query> {
        self.within(|it| {
            let mut path = it.one_path(&found.pattern.start, &found.pattern.chains)?;
            if let Some(variable) = found.variable {
                path.path = Some(it.declare(variable));
            }
            it.one_match(vec![path], found.filter, found.map)
        })
    }

    fn whole_query(&mut self, query: &RegularQuery) -> Result<Query> {
        let outer = self.aggregations.take();
        let found = self.within(|it| it.regular(query));
        self.aggregations = outer;
        found.map(|(query, _)| query)
    }
}
