//! How operators bind, where `decypher` reads it in another way than openCypher.
//!
//! What stands in parentheses is an expression of its own in `decypher`'s tree, so that an operator without
//! them can be told from one with them.

use decypher::ast::expr::{BinaryOperator, ComparisonOperator, Expression};

/// The first operand of a chain of comparisons, and the others with their operators. `decypher` reads
/// `a < b < c` as `(a < b) < c`.
pub(super) fn chain<'q>(
    first: &'q Expression,
    rest: &'q [(ComparisonOperator, Box<Expression>)],
) -> (&'q Expression, Vec<(ComparisonOperator, &'q Expression)>) {
    let own = rest.iter().map(|(operator, right)| (*operator, &**right));
    match first {
        Expression::Comparison { lhs, operators, .. }
            if operators.iter().chain(rest).all(|(operator, _)| orders(*operator)) =>
        {
            let (first, mut all) = chain(lhs, operators);
            all.extend(own);
            (first, all)
        }
        other => (other, own.collect()),
    }
}

fn orders(operator: ComparisonOperator) -> bool {
    use ComparisonOperator::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(operator, Eq | Ne | Lt | Gt | Le | Ge)
}

/// An operator of arithmetic whose operands bind otherwise; `None` if they are right. `a ^ b ^ c` is
/// `(a ^ b) ^ c`, and `a + b IN c + d` is `(a + b) IN (c + d)`.
pub(super) fn regrouped(expression: &Expression) -> Option<Expression> {
    let Expression::BinaryOp { op, lhs, rhs, span } = expression else { return None };
    let with = |lhs: &Expression, rhs: &Expression| {
        let (lhs, rhs) = (Box::new(lhs.clone()), Box::new(rhs.clone()));
        Box::new(Expression::BinaryOp { op: *op, lhs, rhs, span: *span })
    };
    match op {
        BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor => return None,
        BinaryOperator::Power => {
            if let Expression::BinaryOp {
                op: BinaryOperator::Power, lhs: middle, rhs: last, ..
            } = &**rhs
            {
                let (lhs, rhs) = (with(lhs, middle), last.clone());
                return Some(Expression::BinaryOp { op: *op, lhs, rhs, span: *span });
            }
        }
        _ => {}
    }
    let (left, right) = (regrouped(lhs), regrouped(rhs));
    let (lhs, rhs) = (left.as_ref().unwrap_or(lhs), right.as_ref().unwrap_or(rhs));
    if let Expression::In { lhs: item, rhs: list, span } = rhs {
        return Some(Expression::In { lhs: with(lhs, item), rhs: list.clone(), span: *span });
    }
    if let Expression::In { lhs: item, rhs: list, span } = lhs {
        return Some(Expression::In { lhs: item.clone(), rhs: with(list, rhs), span: *span });
    }
    (left.is_some() || right.is_some()).then(|| *with(lhs, rhs))
}
