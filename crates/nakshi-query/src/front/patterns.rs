//! Patterns.

use std::ops::Range;
use std::sync::Arc;

use decypher::ast::names::Variable;
use decypher::ast::pattern::{
    LabelExpression, NodePattern as AstNode, PatternElement, PatternElementChain, PatternPart,
    Properties, RelationshipDirection, RelationshipPattern,
};

use super::scope::{Resolver, Scope};
use crate::error::Result;
use crate::ir::{Direction, EdgePattern, Expr, Labels, Name, NodePattern, PathPattern, Shortest};

/// A path whose variables have slots, and whose properties are not resolved yet.
struct Declared<'q> {
    path: PathPattern,
    nodes: Vec<&'q AstNode>,
    edges: Vec<&'q RelationshipPattern>,
}

impl Resolver<'_> {
    /// Resolves the paths of a clause. Their properties can name all their variables.
    pub(super) fn paths(&mut self, parts: &[PatternPart]) -> Result<Vec<PathPattern>> {
        let before = self.scope.clone();
        let mut declared = Vec::with_capacity(parts.len());
        for part in parts {
            let (start, chains) = self.chain(&part.anonymous.element)?;
            let mut one = self.declare_path(start, chains, &before)?;
            one.path.shortest = self.shortest(part)?;
            one.path.path = match &part.variable {
                Some(variable) => Some(self.new_variable(variable)?),
                None => None,
            };
            declared.push(one);
        }
        declared.into_iter().map(|one| self.with_properties(one)).collect()
    }

    /// Resolves a path that is not part of a clause.
    pub(super) fn one_path(
        &mut self,
        start: &AstNode,
        chains: &[PatternElementChain],
    ) -> Result<PathPattern> {
        let before = self.scope.clone();
        let declared = self.declare_path(start, chains, &before)?;
        self.with_properties(declared)
    }

    fn new_variable(&mut self, variable: &Variable) -> Result<usize> {
        let name = &variable.name;
        if self.scope.contains_key(name.name.as_str()) {
            let message = format!("variable '{}' is defined already", name.name);
            return Err(self.refuse("VariableAlreadyBound", message, name.span.start));
        }
        Ok(self.declare(&name.name))
    }

    /// The nodes and edges of a part of a pattern.
    fn chain<'q>(
        &self,
        element: &'q PatternElement,
    ) -> Result<(&'q AstNode, &'q [PatternElementChain])> {
        match element {
            PatternElement::Path { start, chains } => Ok((start, chains)),
            PatternElement::Parenthesized(inner) => self.chain(inner),
            PatternElement::Quantified { span, .. } => {
                let message = "quantified path patterns are not supported";
                Err(self.refuse("UnexpectedSyntax", message, span.start))
            }
        }
    }

    /// Which shortest paths a part asks for; `decypher` keeps functions in its text only.
    fn shortest(&self, part: &PatternPart) -> Result<Option<Shortest>> {
        let bytes = part.span.start..part.span.end;
        if let Some((at, wanted)) = self.notes.shortest.range(bytes.clone()).next() {
            let (_, chains) = self.chain(&part.anonymous.element)?;
            let several = |chain: &PatternElementChain| {
                let edge = &chain.relationship;
                self.notes.repeated.contains_key(&chain.node.span.start)
                    || edge.quantifier.is_some()
                    || edge.detail.as_ref().is_some_and(|one| one.range.is_some())
            };
            if chains.len() != 1 || !chains.iter().all(several) {
                let message = "shortest paths are those of one part, such as (a)-[:TYPE]->+(b)";
                return Err(self.refuse("UnexpectedSyntax", message, *at));
            }
            return Ok(Some(*wanted));
        }
        let text = self.text.get(bytes).unwrap_or_default();
        let text = match &part.variable {
            Some(_) => text.split_once('=').map_or("", |(_, path)| path),
            None => text,
        };
        let word = text.split('(').next().unwrap_or_default().trim();
        let all = word.eq_ignore_ascii_case("allShortestPaths").then_some(Shortest::All);
        let one = word.eq_ignore_ascii_case("shortestPath").then_some(Shortest::First(1));
        Ok(one.or(all))
    }

    fn declare_path<'q>(
        &mut self,
        start: &'q AstNode,
        chains: &'q [PatternElementChain],
        before: &Scope,
    ) -> Result<Declared<'q>> {
        let mut path =
            PathPattern { path: None, nodes: Vec::new(), edges: Vec::new(), shortest: None };
        let (mut nodes, mut edges) = (vec![start], Vec::new());
        path.nodes.push(self.declare_node(start, before)?);
        for chain in chains {
            let mut edge = self.declare_edge(&chain.relationship, before)?;
            if let Some(least) = self.notes.repeated.get(&chain.node.span.start) {
                edge.length = Some((*least, None));
            }
            path.edges.push(edge);
            path.nodes.push(self.declare_node(&chain.node, before)?);
            edges.push(&chain.relationship);
            nodes.push(&chain.node);
        }
        Ok(Declared { path, nodes, edges })
    }

    /// The slot of a variable of a pattern, and if the clause finds it bound.
    fn pattern_slot(&mut self, variable: Option<&Variable>, before: &Scope) -> (usize, bool) {
        let Some(variable) = variable else { return (self.slot("  "), false) };
        let name = variable.name.name.as_str();
        match self.scope.get(name) {
            Some(slot) => (*slot, before.contains_key(name)),
            None => (self.declare(name), false),
        }
    }

    fn declare_node(&mut self, node: &AstNode, before: &Scope) -> Result<NodePattern> {
        let (slot, bound) = self.pattern_slot(node.variable.as_ref(), before);
        let labels = node.labels.iter().map(|one| self.labels(one)).collect::<Result<Vec<_>>>()?;
        let labels = (!labels.is_empty()).then_some(Labels::All(labels));
        Ok(NodePattern { slot, bound, labels, properties: None, condition: None })
    }

    fn declare_edge(&mut self, edge: &RelationshipPattern, before: &Scope) -> Result<EdgePattern> {
        let detail = edge.detail.as_ref();
        let variable = detail.and_then(|detail| detail.variable.as_ref());
        let (slot, bound) = self.pattern_slot(variable, before);
        let mut types = Vec::new();
        if let Some(wanted) = detail.and_then(|detail| detail.types.as_ref()) {
            self.types(wanted, &mut types, edge.span.start)?;
        }
        let range = detail.and_then(|detail| detail.range.as_ref());
        let range = range.map(|range| (range.start, range.end));
        // A quantifier without a lower bound begins at 0, and `*` at 1.
        let quantifier = edge.quantifier.as_ref();
        let range = range.or(quantifier.map(|range| (range.start.or(Some(0)), range.end)));
        let count = |count: i64| u64::try_from(count).unwrap_or_default();
        let length = range.map(|(low, high)| (low.map_or(1, count), high.map(count)));
        let direction = match edge.direction {
            RelationshipDirection::Left => Direction::In,
            RelationshipDirection::Right => Direction::Out,
            RelationshipDirection::Both | RelationshipDirection::Undirected => Direction::Both,
        };
        Ok(EdgePattern { slot, bound, types, direction, length, properties: None, condition: None })
    }

    /// The types of which an edge has one.
    fn types(&self, wanted: &LabelExpression, types: &mut Vec<Name>, at: usize) -> Result<()> {
        match wanted {
            LabelExpression::Static(name) => {
                let name: Name = Arc::from(name.name.as_str());
                if !types.contains(&name) {
                    types.push(name);
                }
                Ok(())
            }
            LabelExpression::Or { lhs, rhs, .. } => {
                self.types(lhs, types, at)?;
                self.types(rhs, types, at)
            }
            LabelExpression::Group { inner, .. } => self.types(inner, types, at),
            _ => Err(self.refuse("UnexpectedSyntax", "types of edges are combined by | only", at)),
        }
    }

    fn with_properties(&mut self, declared: Declared<'_>) -> Result<PathPattern> {
        let Declared { mut path, nodes, edges } = declared;
        for (node, from) in path.nodes.iter_mut().zip(nodes) {
            node.properties = self.properties(from.properties.as_ref())?;
            node.condition = self.condition(from.span.start..from.span.end)?;
        }
        for (edge, from) in path.edges.iter_mut().zip(edges) {
            let detail = from.detail.as_ref();
            edge.properties = self.properties(detail.and_then(|one| one.properties.as_ref()))?;
            edge.condition = self.condition(from.span.start..from.span.end)?;
            if edge.length.is_some() && edge.condition.is_some() {
                let message = "WHERE inside of an edge of a path of several; use it behind MATCH";
                return Err(self.refuse("UnexpectedSyntax", message, from.span.start));
            }
        }
        Ok(path)
    }

    /// The condition inside of a node or an edge.
    fn condition(&mut self, bytes: Range<usize>) -> Result<Option<Expr>> {
        let noted = self.notes.conditions.range(bytes).next();
        let Some(condition) = noted.map(|(_, condition)| condition.clone()) else {
            return Ok(None);
        };
        let found = super::expression(self.text, &condition, &mut self.notes)?;
        self.expr(&found).map(Some)
    }

    fn properties(&mut self, properties: Option<&Properties>) -> Result<Option<Expr>> {
        use decypher::ast::expr::{Expression, Literal};
        Ok(match properties {
            None => None,
            Some(Properties::Map(map)) => {
                Some(self.expr(&Expression::Literal(Literal::Map(map.clone())))?)
            }
            Some(Properties::Parameter(one)) => {
                Some(self.expr(&Expression::Parameter(one.clone()))?)
            }
        })
    }
}
