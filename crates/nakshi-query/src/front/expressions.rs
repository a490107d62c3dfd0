//! Expressions.

use std::sync::Arc;

use decypher::ast::ToCypher;
use decypher::ast::expr::{
    BinaryOperator, ComparisonOperator, ExistsInner, Expression, FilterExpression,
    FunctionInvocation, Literal, MapProjectionItem, NumberLiteral, UnaryOperator,
};
use decypher::ast::pattern::LabelExpression;

use super::grouping::{chain, regrouped};
use super::notes::Computed;
use super::scope::Resolver;
use super::types::type_of;
use crate::error::Result;
use crate::functions;
use crate::ir::{
    Aggregate, Aggregation, Binary, Branch, Clause, Compare, Expr, Labels, Name, Projected,
    Quantifier, Query, SubqueryKind,
};
use crate::value::Value;

/// Queries inside of expressions, which the clauses resolve.
pub(super) trait Subqueries {
    /// A pattern with a condition.
    fn pattern_query(&mut self, inner: &ExistsInner) -> Result<Query>;
    /// A pattern that is an expression, with what each of its rows gives.
    fn chain_query(&mut self, found: &Chain<'_>) -> Result<Query>;
    /// A whole query.
    fn whole_query(&mut self, query: &decypher::ast::RegularQuery) -> Result<Query>;
}

/// A pattern inside of an expression.
pub(super) struct Chain<'q> {
    pub(super) pattern: &'q decypher::ast::pattern::RelationshipsPattern,
    pub(super) variable: Option<&'q str>,
    pub(super) filter: Option<&'q Expression>,
    pub(super) map: Option<&'q Expression>,
}

impl Resolver<'_> {
    /// Resolves an expression.
    pub(super) fn expr(&mut self, expression: &Expression) -> Result<Expr> {
        if !self.projected.is_empty() && !matches!(expression, Expression::Literal(_)) {
            let printed = expression.to_cypher();
            if let Some((_, slot)) = self.projected.iter().find(|(column, _)| *column == printed) {
                return Ok(Expr::Slot(*slot));
            }
        }
        Ok(match expression {
            Expression::Literal(literal) => self.literal(literal)?,
            Expression::Variable(variable) => self.variable(&variable.name)?,
            Expression::Parameter(parameter) => {
                let name: Name = Arc::from(parameter.name.name.as_str());
                if !self.parameters.contains(&name) {
                    self.parameters.push(Arc::clone(&name));
                }
                Expr::Parameter(name)
            }
            Expression::PropertyLookup { base, property, .. } => {
                Expr::Property(self.boxed(base)?, Arc::from(property.name.name.as_str()))
            }
            Expression::BinaryOp { op, lhs, rhs, .. } => match regrouped(expression) {
                Some(regrouped) => self.expr(&regrouped)?,
                None => Expr::Binary(binary(*op), self.boxed(lhs)?, self.boxed(rhs)?),
            },
            Expression::UnaryOp { op, operand, .. } => {
                let operand = self.boxed(operand)?;
                match op {
                    UnaryOperator::Negate => negated(*operand),
                    UnaryOperator::Plus => Expr::Plus(operand),
                    UnaryOperator::Not => Expr::Not(operand),
                }
            }
            Expression::Comparison { lhs, operators, .. } => self.comparison(lhs, operators)?,
            Expression::ListIndex { list, index, .. } => {
                Expr::Index(self.boxed(list)?, self.boxed(index)?)
            }
            Expression::ListSlice { list, start, end, .. } => {
                let start = start.as_ref().map(|start| self.boxed(start)).transpose()?;
                let end = end.as_ref().map(|end| self.boxed(end)).transpose()?;
                Expr::Slice(self.boxed(list)?, start, end)
            }
            Expression::In { lhs, rhs, .. } => Expr::In(self.boxed(lhs)?, self.boxed(rhs)?),
            Expression::Parenthesized(inner) => self.expr(inner)?,
            Expression::Case(case) => {
                let scrutinee = case.scrutinee.as_ref().map(|one| self.boxed(one)).transpose()?;
                let mut branches = Vec::new();
                for one in &case.alternatives {
                    branches.push((self.expr(&one.when)?, self.expr(&one.then)?));
                }
                let otherwise = case.default.as_ref().map(|one| self.boxed(one)).transpose()?;
                Expr::Case { scrutinee, branches, otherwise }
            }
            Expression::FunctionCall(call) => self.call(call)?,
            Expression::CountStar { span } => {
                self.aggregation(Aggregate::CountRows, false, &[], span.start)?
            }
            other => self.check(other)?,
        })
    }

    /// Resolves a check of null, of labels or of a type.
    fn check(&mut self, expression: &Expression) -> Result<Expr> {
        Ok(match expression {
            Expression::NodeLabels { base, labels, .. } => {
                if let [LabelExpression::Static(name)] = labels.as_slice()
                    && let Some(found) = self.notes.types.get(&name.span.start).cloned()
                {
                    return Ok(Expr::IsTyped(self.boxed(base)?, found));
                }
                let all = labels.iter().map(|one| self.labels(one)).collect::<Result<_>>()?;
                Expr::HasLabels(self.boxed(base)?, Labels::All(all))
            }
            Expression::IsNull { operand, negated, .. } => {
                let is_null = Expr::IsNull(self.boxed(operand)?);
                if *negated { Expr::Not(Box::new(is_null)) } else { is_null }
            }
            Expression::IsTyped { operand, negated, type_name, span } => {
                let found = type_of(type_name)
                    .map_err(|message| self.refuse("UnexpectedSyntax", message, span.start))?;
                let is_typed = Expr::IsTyped(self.boxed(operand)?, found);
                if *negated { Expr::Not(Box::new(is_typed)) } else { is_typed }
            }
            other => self.scoped(other)?,
        })
    }

    /// Resolves an expression with variables or queries of its own.
    fn scoped(&mut self, expression: &Expression) -> Result<Expr> {
        Ok(match expression {
            Expression::ListComprehension(one) => {
                let list = self.boxed(&one.collection)?;
                let (slot, filter, map) = self.within(|it| -> Result<_> {
                    let slot = it.declare(&one.variable.name.name);
                    let filter = one.filter.as_ref().map(|one| it.boxed(one)).transpose()?;
                    let map = one.map.as_ref().map(|one| it.boxed(one)).transpose()?;
                    Ok((slot, filter, map))
                })?;
                Expr::Comprehension { slot, list, filter, map }
            }
            Expression::All(filter) => self.quantified(Quantifier::All, filter)?,
            Expression::Any(filter) => self.quantified(Quantifier::Any, filter)?,
            Expression::None(filter) => self.quantified(Quantifier::None, filter)?,
            Expression::Single(filter) => self.quantified(Quantifier::Single, filter)?,
            Expression::Reduce(one) => {
                let (initial, list) = (self.boxed(&one.init)?, self.boxed(&one.list)?);
                let (accumulator, slot, step) = self.within(|it| -> Result<_> {
                    let accumulator = it.declare(&one.accumulator.name.name);
                    let slot = it.declare(&one.variable.name.name);
                    Ok((accumulator, slot, it.boxed(&one.expression)?))
                })?;
                Expr::Reduce { accumulator, initial, slot, list, step }
            }
            Expression::PatternComprehension(one) => {
                let variable = one.variable.as_ref().map(|variable| variable.name.name.as_str());
                let (pattern, filter) = (&one.pattern, one.where_clause.as_ref());
                let chain = Chain { pattern, variable, filter, map: Some(&one.map) };
                let query = self.chain_query(&chain)?;
                self.subquery(SubqueryKind::Collect, query)
            }
            Expression::Pattern(pattern) => {
                let chain = Chain { pattern, variable: None, filter: None, map: None };
                let query = self.chain_query(&chain)?;
                self.subquery(SubqueryKind::Exists, query)
            }
            Expression::Exists(one) => {
                let query = self.pattern_query(&one.inner)?;
                self.subquery(SubqueryKind::Exists, query)
            }
            Expression::CountSubquery(one) => {
                let query = self.pattern_query(&one.inner)?;
                self.subquery(SubqueryKind::Count, query)
            }
            Expression::CollectSubquery(one) => {
                let query = self.whole_query(&one.query)?;
                self.subquery(SubqueryKind::Collect, query)
            }
            Expression::MapProjection(one) => {
                let base = Box::new(self.variable(&one.base.name)?);
                let items = one.items.iter().map(|item| self.projected_item(item));
                Expr::Projection(base, items.collect::<Result<_>>()?)
            }
            _ => {
                return Err(self.refuse("UnexpectedSyntax", "this expression is not supported", 0));
            }
        })
    }

    pub(super) fn boxed(&mut self, expression: &Expression) -> Result<Box<Expr>> {
        self.expr(expression).map(Box::new)
    }

    pub(super) fn all(&mut self, expressions: &[Expression]) -> Result<Vec<Expr>> {
        expressions.iter().map(|one| self.expr(one)).collect()
    }

    fn subquery(&mut self, kind: SubqueryKind, query: Query) -> Expr {
        self.subqueries.push(query);
        Expr::Subquery(kind, self.subqueries.len() - 1)
    }

    fn literal(&mut self, literal: &Literal) -> Result<Expr> {
        Ok(match literal {
            Literal::Number(NumberLiteral::Integer(value)) => Expr::Literal(Value::Int(*value)),
            Literal::Number(NumberLiteral::Float(value)) => {
                if value.is_infinite() {
                    let message = "the number is too large for a float";
                    return Err(self.refuse("FloatingPointOverflow", message, 0));
                }
                Expr::Literal(Value::Float(*value))
            }
            Literal::String(text) => {
                Expr::Literal(Value::text(self.notes.with_breaks(text.value.as_str())))
            }
            Literal::Boolean(value) => Expr::Literal(Value::Bool(*value)),
            Literal::Null => Expr::Literal(Value::Null),
            Literal::List(list) => {
                let items = self.all(&list.elements)?;
                constant(&items).map_or(Expr::List(items), Expr::Literal)
            }
            Literal::Map(map) => {
                let mut entries = Vec::with_capacity(map.entries.len());
                for (name, value) in &map.entries {
                    entries.push((Arc::from(name.name.name.as_str()), self.expr(value)?));
                }
                Expr::Map(entries)
            }
        })
    }

    /// A variable that is used.
    pub(super) fn variable(&mut self, name: &decypher::ast::names::SymbolicName) -> Result<Expr> {
        match self.scope.get(name.name.as_str()) {
            Some(slot) => Ok(Expr::Slot(*slot)),
            None => {
                let message = format!("variable '{}' is not defined", name.name);
                Err(self.refuse("UndefinedVariable", message, name.span.start))
            }
        }
    }

    /// A chain of comparisons holds if each of them does.
    fn comparison(
        &mut self,
        first: &Expression,
        rest: &[(ComparisonOperator, Box<Expression>)],
    ) -> Result<Expr> {
        let (first, rest) = chain(first, rest);
        let mut left = self.expr(first)?;
        let mut found = None;
        for (operator, right) in rest {
            let right = self.expr(right)?;
            let one = Expr::Compare(comparison(operator), Box::new(left), Box::new(right.clone()));
            left = right;
            found = Some(match found {
                None => one,
                Some(before) => Expr::Binary(Binary::And, Box::new(before), Box::new(one)),
            });
        }
        Ok(found.unwrap_or(left))
    }

    fn quantified(&mut self, quantifier: Quantifier, one: &FilterExpression) -> Result<Expr> {
        let list = self.boxed(&one.collection)?;
        let (slot, filter) = self.within(|it| -> Result<_> {
            let slot = it.declare(&one.variable.name.name);
            let filter = match &one.predicate {
                Some(predicate) => it.boxed(predicate)?,
                None => Box::new(Expr::Slot(slot)),
            };
            Ok((slot, filter))
        })?;
        Ok(Expr::Quantified { quantifier, slot, list, filter })
    }

    fn projected_item(&mut self, item: &MapProjectionItem) -> Result<Projected> {
        let name = |name: &decypher::ast::names::SymbolicName| Name::from(name.name.as_str());
        Ok(match item {
            MapProjectionItem::AllProperties { .. } => Projected::All,
            MapProjectionItem::PropertyLookup { property } => {
                Projected::Property(name(&property.name))
            }
            MapProjectionItem::Literal { key, value } => {
                Projected::Entry(name(&key.name), self.expr(value)?)
            }
            MapProjectionItem::Variable { variable } => {
                Projected::Entry(name(&variable.name), self.variable(&variable.name)?)
            }
        })
    }

    fn call(&mut self, call: &FunctionInvocation) -> Result<Expr> {
        let parts = call.name.iter().map(|part| part.name.as_str()).collect::<Vec<_>>();
        let name = parts.join(".").to_lowercase();
        let at = call.span.start;
        if let Some(aggregate) = aggregate(&name) {
            return self.aggregation(aggregate, call.distinct, &call.arguments, at);
        }
        if let ("exists", [argument]) = (name.as_str(), call.arguments.as_slice()) {
            let resolved = self.expr(argument)?;
            return Ok(match resolved {
                Expr::Subquery(SubqueryKind::Exists, _) => resolved,
                other => Expr::Not(Box::new(Expr::IsNull(Box::new(other)))),
            });
        }
        let Some((function, takes)) = functions::find(&name) else {
            let message = format!("function '{}' is unknown", parts.join("."));
            return Err(self.refuse("UnknownFunction", message, at));
        };
        if !takes.contains(&call.arguments.len()) {
            let (low, high) = (takes.start(), takes.end());
            let message = format!("function '{name}' takes {low} to {high} arguments");
            return Err(self.refuse("InvalidNumberOfArguments", message, at));
        }
        Ok(Expr::Call(function, self.all(&call.arguments)?))
    }

    /// A call of an aggregate function, whose result gets a slot.
    fn aggregation(
        &mut self,
        function: Aggregate,
        distinct: bool,
        arguments: &[Expression],
        at: usize,
    ) -> Result<Expr> {
        let Some(outer) = self.aggregations.take() else {
            let (detail, message) = match self.aggregates {
                true => ("NestedAggregation", "an aggregation cannot be inside of another"),
                false => {
                    let message =
                        "an aggregation is possible in the columns of WITH and RETURN only";
                    ("InvalidAggregation", message)
                }
            };
            return Err(self.refuse(detail, message, at));
        };
        let projected = std::mem::take(&mut self.projected);
        let outside = std::mem::replace(&mut self.aggregates, true);
        let arguments = self.all(arguments);
        self.aggregates = outside;
        self.projected = projected;
        let slot = self.slot("aggregate");
        let found = Aggregation { slot, function, distinct, arguments: arguments? };
        self.aggregations.insert(outer).push(found);
        Ok(Expr::Slot(slot))
    }

    /// A condition on labels or types.
    pub(super) fn labels(&mut self, labels: &LabelExpression) -> Result<Labels> {
        let both = |it: &mut Self, a: &LabelExpression, b: &LabelExpression| -> Result<_> {
            Ok(vec![it.labels(a)?, it.labels(b)?])
        };
        Ok(match labels {
            LabelExpression::Static(name) => self.label(name)?,
            LabelExpression::Wildcard { .. } => Labels::Any,
            LabelExpression::Or { lhs, rhs, .. } => Labels::Some(both(self, lhs, rhs)?),
            LabelExpression::And { lhs, rhs, .. } => Labels::All(both(self, lhs, rhs)?),
            LabelExpression::Not { inner, .. } => Labels::Not(Box::new(self.labels(inner)?)),
            LabelExpression::Group { inner, .. } => self.labels(inner)?,
            LabelExpression::Dynamic { expression, .. } => {
                Labels::Computed { names: self.boxed(expression)?, any: false }
            }
        })
    }

    /// A label or a type, or what stands for an expression that gives some.
    pub(super) fn label(&mut self, name: &decypher::ast::names::SymbolicName) -> Result<Labels> {
        match self.notes.computed.get(&name.span.start).cloned() {
            Some(Computed { of, any }) => {
                Ok(Labels::Computed { names: Box::new(self.noted(&of)?), any })
            }
            None => Ok(Labels::Has(Arc::from(name.name.as_str()))),
        }
    }

    /// A query of one pattern with a condition, and perhaps a column.
    pub(super) fn one_match(
        &mut self,
        paths: Vec<crate::ir::PathPattern>,
        filter: Option<&Expression>,
        map: Option<&Expression>,
    ) -> Result<Query> {
        let filter = filter.map(|filter| self.expr(filter)).transpose()?;
        let mut branch = Branch::default();
        branch.clauses.push(Clause::Match { optional: false, paths, filter });
        if let Some(map) = map {
            let (slot, map) = (self.slot("item"), self.expr(map)?);
            let items = vec![(slot, map)];
            branch
                .clauses
                .push(Clause::Project(crate::ir::Project { items, ..Default::default() }));
            branch.columns.push(slot);
        }
        Ok(Query { columns: branch.columns.clone(), branches: vec![branch], all: true })
    }
}

/// The list of values, if all of them are known.
fn constant(items: &[Expr]) -> Option<Value> {
    let items = items.iter().map(|item| match item {
        Expr::Literal(value) => Some(value.clone()),
        _ => None,
    });
    items.collect::<Option<Vec<_>>>().map(Value::list)
}

fn negated(operand: Expr) -> Expr {
    match operand {
        Expr::Literal(Value::Int(value)) if value != i64::MIN => Expr::Literal(Value::Int(-value)),
        Expr::Literal(Value::Float(value)) => Expr::Literal(Value::Float(-value)),
        other => Expr::Negate(Box::new(other)),
    }
}

/// The aggregate function of a name in lower case.
pub(super) fn aggregate(name: &str) -> Option<Aggregate> {
    Some(match name {
        "count" => Aggregate::Count,
        "sum" => Aggregate::Sum,
        "avg" => Aggregate::Avg,
        "min" => Aggregate::Min,
        "max" => Aggregate::Max,
        "collect" => Aggregate::Collect,
        "stdev" => Aggregate::StDev,
        "stdevp" => Aggregate::StDevP,
        "percentilecont" => Aggregate::PercentileCont,
        "percentiledisc" => Aggregate::PercentileDisc,
        _ => return None,
    })
}

fn binary(operator: BinaryOperator) -> Binary {
    match operator {
        BinaryOperator::Add => Binary::Add,
        BinaryOperator::Subtract => Binary::Subtract,
        BinaryOperator::Multiply => Binary::Multiply,
        BinaryOperator::Divide => Binary::Divide,
        BinaryOperator::Modulo => Binary::Modulo,
        BinaryOperator::Power => Binary::Power,
        BinaryOperator::And => Binary::And,
        BinaryOperator::Or => Binary::Or,
        BinaryOperator::Xor => Binary::Xor,
    }
}

fn comparison(operator: ComparisonOperator) -> Compare {
    match operator {
        ComparisonOperator::Eq => Compare::Equal,
        ComparisonOperator::Ne => Compare::NotEqual,
        ComparisonOperator::Lt => Compare::Less,
        ComparisonOperator::Gt => Compare::Greater,
        ComparisonOperator::Le => Compare::LessEqual,
        ComparisonOperator::Ge => Compare::GreaterEqual,
        ComparisonOperator::RegexMatch => Compare::Matches,
        ComparisonOperator::StartsWith => Compare::StartsWith,
        ComparisonOperator::EndsWith => Compare::EndsWith,
        ComparisonOperator::Contains => Compare::Contains,
    }
}
