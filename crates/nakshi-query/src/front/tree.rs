//! The tree of a query as `decypher` would make it of the whole text: before it looks for errors of meaning.

use decypher::Query;
use decypher::ast::expr::{BinaryOperator, Expression, UnaryOperator};
use decypher::ast::pattern::{PatternElement, PatternPart, Quantifier};
use decypher::ast::query::{SingleQuery, SingleQueryKind};
use decypher::ast::visit::{
    VisitMut, walk_expression_mut, walk_pattern_part_mut, walk_single_query_mut,
};

use super::notes::Notes;

/// Marks the parts of patterns whose quantifiers were taken out of the text, since variables inside are lists outside,
/// and binds checks of null and of types more loosely than arithmetic: `1 + x IS NULL` is `(1 + x) IS NULL`.
pub(super) fn mend(query: &mut Query, notes: &Notes) {
    Mending(notes).visit_query(query);
}

struct Mending<'n>(&'n Notes);

impl VisitMut for Mending<'_> {
    fn visit_single_query(&mut self, query: &mut SingleQuery) {
        walk_single_query_mut(self, query);
        // `decypher` visits a copy of the part behind the last `WITH`.
        if let SingleQueryKind::MultiPart(parts) = &mut query.kind {
            let kind = SingleQueryKind::SinglePart(parts.final_part.clone());
            let mut last = SingleQuery { use_clause: None, kind };
            self.visit_single_query(&mut last);
            if let SingleQueryKind::SinglePart(last) = last.kind {
                parts.final_part = last;
            }
        }
    }

    fn visit_pattern_part(&mut self, part: &mut PatternPart) {
        let element = &mut part.anonymous.element;
        if let PatternElement::Path { start, .. } = element
            && self.0.groups.contains_key(&start.span.start)
        {
            let (span, inner) = (start.span, Box::new(element.clone()));
            let quantifier = Quantifier { start: None, end: None, span };
            *element = PatternElement::Quantified { element: inner, quantifier, span };
        }
        walk_pattern_part_mut(self, part);
    }

    fn visit_expression(&mut self, expression: &mut Expression) {
        walk_expression_mut(self, expression);
        let bound = match &*expression {
            Expression::UnaryOp { op, operand, span } if *op != UnaryOperator::Not => {
                checked(operand, |operand| Expression::UnaryOp { op: *op, operand, span: *span })
            }
            Expression::BinaryOp { op, lhs, rhs, span } if is_arithmetic(*op) => {
                let (op, span) = (*op, *span);
                checked(rhs, |rhs| Expression::BinaryOp { op, lhs: lhs.clone(), rhs, span })
            }
            _ => None,
        };
        if let Some(bound) = bound {
            *expression = bound;
        }
    }
}

fn is_arithmetic(operator: BinaryOperator) -> bool {
    !matches!(operator, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor)
}

/// A check of null or of a type, with an operand that has more in it; `None` for any other expression.
fn checked(
    expression: &Expression,
    with: impl FnOnce(Box<Expression>) -> Expression,
) -> Option<Expression> {
    let (mut found, operand) = match expression {
        Expression::IsNull { operand, .. } | Expression::IsTyped { operand, .. } => {
            (expression.clone(), with(operand.clone()))
        }
        _ => return None,
    };
    if let Expression::IsNull { operand: own, .. } | Expression::IsTyped { operand: own, .. } =
        &mut found
    {
        **own = operand;
    }
    Some(found)
}
