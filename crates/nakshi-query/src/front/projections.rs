//! `WITH` and `RETURN`.

use std::sync::Arc;

use decypher::ast::ToCypher;
use decypher::ast::clause::{Order, ProjectionItem, Return, SortDirection, With};
use decypher::ast::expr::Expression;

use super::scope::{Resolver, Scope};
use crate::error::Result;
use crate::free::free_slots;
use crate::ir::{Expr, Name, Project, Slot};

/// The parts that `WITH` and `RETURN` have in common.
pub(super) struct Body<'q> {
    distinct: bool,
    star: bool,
    items: &'q [ProjectionItem],
    order: Option<&'q Order>,
    skip: Option<&'q Expression>,
    limit: Option<&'q Expression>,
    filter: Option<&'q Expression>,
    at: usize,
}

impl<'q> From<&'q With> for Body<'q> {
    fn from(with: &'q With) -> Self {
        Body {
            distinct: with.distinct,
            star: with.star,
            items: &with.items,
            order: with.order.as_ref(),
            skip: with.skip.as_ref(),
            limit: with.limit.as_ref(),
            filter: with.where_clause.as_ref(),
            at: with.span.start,
        }
    }
}

impl<'q> From<&'q Return> for Body<'q> {
    fn from(it: &'q Return) -> Self {
        Body {
            distinct: it.distinct,
            star: it.star,
            items: &it.items,
            order: it.order.as_ref(),
            skip: it.skip.as_ref(),
            limit: it.limit.as_ref(),
            filter: None,
            at: it.span.start,
        }
    }
}

/// Columns in their order, with their slots.
pub(super) type Columns = Vec<(Name, Slot)>;

impl Resolver<'_> {
    /// Resolves a projection. Its columns are all that can be named afterwards.
    pub(super) fn projection(&mut self, body: &Body<'_>) -> Result<(Project, Columns)> {
        let mut project = Project { distinct: body.distinct, ..Project::default() };
        let mut columns = Columns::new();
        let mut printed = Vec::new();
        if body.star {
            for (name, slot) in &self.scope {
                project.items.push((*slot, Expr::Slot(*slot)));
                columns.push((Arc::clone(name), *slot));
            }
        }
        let written = self.written.get(&body.at).cloned().unwrap_or_default();
        let mut keys: Vec<Expr> = project.items.iter().map(|(_, expr)| expr.clone()).collect();
        for (i, item) in body.items.iter().enumerate() {
            let before = project.aggregations.len();
            let value = self.aggregated(&item.expression, &mut project)?;
            if project.aggregations.len() == before {
                keys.push(value.clone());
            }
            let name: Name = match &item.alias {
                Some(alias) => Arc::from(alias.name.name.as_str()),
                None => match &item.expression {
                    Expression::Variable(variable) => Arc::from(variable.name.name.as_str()),
                    other => match written.get(i).filter(|text| !text.is_empty()) {
                        Some(text) => Arc::from(text.as_str()),
                        None => Arc::from(other.to_cypher()),
                    },
                },
            };
            if columns.iter().any(|(other, _)| *other == name) {
                let message = format!("there are two columns '{name}'");
                return Err(self.refuse("ColumnNameConflict", message, body.at));
            }
            let slot = match (&value, self.scope.get(&name)) {
                // A variable that keeps its name keeps its slot.
                (Expr::Slot(slot), Some(own)) if slot == own => *slot,
                _ => self.slot(&name),
            };
            if !matches!(item.expression, Expression::Variable(_)) {
                printed.push((item.expression.to_cypher(), slot));
            }
            project.items.push((slot, value));
            columns.push((name, slot));
        }
        if !project.aggregations.is_empty() {
            project.keys = keys;
        }
        self.after_columns(body, &mut project, &columns, printed)?;
        Ok((project, columns))
    }

    /// Resolves what stands behind the columns, which can name them and, where rows are still those of
    /// before, what could be named before.
    fn after_columns(
        &mut self,
        body: &Body<'_>,
        project: &mut Project,
        columns: &Columns,
        printed: Vec<(String, Slot)>,
    ) -> Result<()> {
        let own: Scope = columns.iter().map(|(name, slot)| (Arc::clone(name), *slot)).collect();
        let mut seen = self.scope.clone();
        seen.extend(own.iter().map(|(name, slot)| (Arc::clone(name), *slot)));
        self.scope = seen;
        self.projected = match project.distinct || !project.aggregations.is_empty() {
            true => printed,
            false => Vec::new(),
        };
        for item in body.order.iter().flat_map(|order| &order.items) {
            let descends = item.direction == Some(SortDirection::Descending);
            let value = match project.aggregations.is_empty() {
                true => self.expr(&item.expression)?,
                false => self.aggregated(&item.expression, project)?,
            };
            if !project.aggregations.is_empty() {
                self.suspect(&value, project, columns, body.at);
            }
            project.order.push((value, descends));
        }
        project.filter = body.filter.map(|filter| self.expr(filter)).transpose()?;
        self.projected = Vec::new();
        project.skip = body.skip.map(|skip| self.expr(skip)).transpose()?;
        project.limit = body.limit.map(|limit| self.expr(limit)).transpose()?;
        self.scope = own;
        Ok(())
    }

    /// Suspects an order of groups by a variable that is no column.
    fn suspect(&mut self, value: &Expr, project: &Project, columns: &Columns, at: usize) {
        let Some(mut slots) = free_slots(value) else { return };
        slots.retain(|slot| {
            let is_column = columns.iter().any(|(_, own)| own == slot);
            !is_column && !project.aggregations.iter().any(|one| one.slot == *slot)
        });
        if !slots.is_empty() {
            let message = "ORDER BY of groups names a variable that is no column";
            self.suspicion = Some(self.refuse("UndefinedVariable", message, at));
        }
    }

    /// Resolves an expression that may have aggregations, which the projection gets.
    fn aggregated(&mut self, expression: &Expression, project: &mut Project) -> Result<Expr> {
        let outer = self.aggregations.replace(Vec::new());
        let value = self.expr(expression);
        let found = std::mem::replace(&mut self.aggregations, outer);
        project.aggregations.extend(found.unwrap_or_default());
        value
    }
}
