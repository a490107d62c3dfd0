//! Quantified path patterns, `((x)-[r]->(y) WHERE ...){1,3}`, and edges with a condition that are passed several times.

use std::ops::Range;
use std::sync::Arc;

use decypher::ast::pattern::{
    NodePattern as AstNode, PatternElement, PatternElementChain, RelationshipPattern,
};

use super::notes::Group;
use super::scope::{Resolver, Scope};
use crate::error::Result;
use crate::ir::{Direction, EdgePattern, NodePattern, Repeat};

/// A repeated pattern whose variables have slots, and whose properties are not resolved yet.
pub(super) struct Repeated<'q> {
    nodes: Vec<&'q AstNode>,
    edges: Vec<&'q RelationshipPattern>,
    condition: Option<Range<usize>>,
    /// The variables that can be named inside: those of earlier clauses, and its own.
    scope: Scope,
}

impl Resolver<'_> {
    /// Gives slots to the variables of a repeated pattern, and to the lists that they are outside of it.
    pub(super) fn declare_repeat<'q>(
        &mut self,
        element: &'q PatternElement,
        before: &Scope,
    ) -> Result<(EdgePattern, Repeated<'q>)> {
        let (start, chains, group) = self.group(element)?;
        self.refuse_shared(start, chains, before)?;
        let outside = std::mem::replace(&mut self.scope, before.clone());
        let declared = self.declare_inside(start, chains, before);
        let scope = std::mem::replace(&mut self.scope, outside);
        let (mut repeat, nodes, edges) = declared?;
        for (name, slot) in scope.iter().filter(|(name, _)| !before.contains_key(*name)) {
            let list = self.declare(name);
            self.lists.insert(list);
            repeat.lists.push((*slot, list));
        }
        let edge = EdgePattern {
            slot: self.slot("  "),
            bound: false,
            types: Vec::new(),
            labels: None,
            direction: Direction::Out,
            length: Some(group.length),
            properties: None,
            condition: None,
            repeat: Some(Box::new(repeat)),
        };
        Ok((edge, Repeated { nodes, edges, condition: group.condition, scope }))
    }

    /// The nodes and edges of a repeated pattern, and the number of times that it is passed.
    fn group<'q>(
        &self,
        element: &'q PatternElement,
    ) -> Result<(&'q AstNode, &'q [PatternElementChain], Group)> {
        let refuse = |message: &str, at| Err(self.refuse("UnexpectedSyntax", message, at));
        let (start, chains) = match element {
            PatternElement::Path { start, chains } => (start, chains),
            PatternElement::Parenthesized(inner) => return self.group(inner),
            PatternElement::Quantified { span, .. } => {
                return refuse("a quantified path pattern cannot be inside of another", span.start);
            }
        };
        let at = start.span.start;
        let Some(group) = self.notes.groups.get(&at).cloned() else {
            return refuse("quantified path patterns are for MATCH, EXISTS and COUNT", at);
        };
        if chains.is_empty() {
            return refuse("a quantified path pattern needs at least one edge", at);
        }
        let several = |chain: &&PatternElementChain| self.is_several(chain);
        if let Some(chain) = chains.iter().find(several) {
            let message = "an edge of a quantified path pattern is one, and no path of several";
            return refuse(message, chain.relationship.span.start);
        }
        match group.length {
            (_, Some(0)) => refuse("a quantified path pattern is passed at least once", at),
            (least, Some(most)) if least > most => {
                refuse("the lower bound of a quantifier is greater than its upper bound", at)
            }
            _ => Ok((start, chains, group)),
        }
    }

    /// Returns true for a path of several edges.
    pub(super) fn is_several(&self, chain: &PatternElementChain) -> bool {
        let edge = &chain.relationship;
        self.notes.repeated.contains_key(&chain.node.span.start)
            || edge.quantifier.is_some()
            || edge.detail.as_ref().is_some_and(|one| one.range.is_some())
    }

    /// Refuses a variable that a pattern has both inside and outside of a repeated part.
    fn refuse_shared(
        &self,
        start: &AstNode,
        chains: &[PatternElementChain],
        before: &Scope,
    ) -> Result<()> {
        let of_edge = |chain: &'_ PatternElementChain| {
            chain.relationship.detail.as_ref().and_then(|detail| detail.variable.clone())
        };
        let of_nodes = chains.iter().map(|chain| chain.node.variable.clone());
        let variables = std::iter::once(start.variable.clone()).chain(of_nodes);
        for variable in variables.chain(chains.iter().map(of_edge)).flatten() {
            let (name, at) = (variable.name.name.as_str(), variable.name.span.start);
            if self.scope.contains_key(name) {
                let message = match before.contains_key(name) {
                    true => format!(
                        "variable '{name}' is defined already; inside of a quantified path pattern it can be in \
                         conditions only"
                    ),
                    false => format!(
                        "variable '{name}' is both inside and outside of a quantified path pattern"
                    ),
                };
                return Err(self.refuse("VariableAlreadyBound", message, at));
            }
        }
        Ok(())
    }

    /// Gives slots to the variables of one repetition.
    fn declare_inside<'q>(
        &mut self,
        start: &'q AstNode,
        chains: &'q [PatternElementChain],
        before: &Scope,
    ) -> Result<(Repeat, Vec<&'q AstNode>, Vec<&'q RelationshipPattern>)> {
        let (mut nodes, mut edges) = (vec![start], Vec::new());
        let mut repeat = Repeat {
            nodes: vec![self.declare_node(start, before)?],
            edges: Vec::new(),
            condition: None,
            lists: Vec::new(),
        };
        for chain in chains {
            repeat.edges.push(self.declare_edge(&chain.relationship, before)?);
            repeat.nodes.push(self.declare_node(&chain.node, before)?);
            edges.push(&chain.relationship);
            nodes.push(&chain.node);
        }
        Ok((repeat, nodes, edges))
    }

    /// Resolves properties and conditions of a repeated pattern.
    pub(super) fn finish_repeat(
        &mut self,
        edge: &mut EdgePattern,
        repeated: Repeated<'_>,
    ) -> Result<()> {
        let Some(repeat) = &mut edge.repeat else { return Ok(()) };
        let Repeated { nodes, edges, condition, scope } = repeated;
        let outside = std::mem::replace(&mut self.scope, scope);
        let finish = || -> Result<()> {
            for (node, from) in repeat.nodes.iter_mut().zip(nodes) {
                self.finish_node(node, from)?;
            }
            for (edge, from) in repeat.edges.iter_mut().zip(edges) {
                self.finish_edge(edge, from)?;
            }
            if let Some(condition) = condition {
                repeat.condition = Some(self.noted(&condition)?);
            }
            Ok(())
        };
        let finished = finish();
        self.scope = outside;
        finished
    }

    /// Resolves an edge that is passed several times, each time with a condition that sees this one edge.
    pub(super) fn repeat_edge(
        &mut self,
        edge: &mut EdgePattern,
        from: &RelationshipPattern,
        before: &Scope,
    ) -> Result<()> {
        let variable = from.detail.as_ref().and_then(|detail| detail.variable.as_ref());
        if let Some(variable) = variable.filter(|_| edge.bound) {
            let message = format!("variable '{}' is defined already", variable.name.name);
            return Err(self.refuse("VariableAlreadyBound", message, variable.name.span.start));
        }
        let mut one = EdgePattern { slot: self.slot("  "), length: None, ..edge.clone() };
        let mut scope = before.clone();
        scope.extend(variable.map(|variable| (Arc::from(variable.name.name.as_str()), one.slot)));
        let outside = std::mem::replace(&mut self.scope, scope);
        let finished = self.finish_edge(&mut one, from);
        self.scope = outside;
        finished?;
        let nodes = vec![self.nameless(), self.nameless()];
        let repeat = Repeat { nodes, edges: vec![one], condition: None, lists: Vec::new() };
        edge.repeat = Some(Box::new(repeat));
        Ok(())
    }

    /// A node that the text does not have.
    pub(super) fn nameless(&mut self) -> NodePattern {
        let slot = self.slot("  ");
        NodePattern { slot, bound: false, labels: None, properties: None, condition: None }
    }
}
