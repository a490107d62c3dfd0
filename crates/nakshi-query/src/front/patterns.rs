//! Patterns.

use std::ops::Range;
use std::sync::Arc;

use decypher::Span;
use decypher::ast::names::Variable;
use decypher::ast::pattern::{
    LabelExpression, NodePattern as AstNode, PatternElement, PatternElementChain, PatternPart,
    Properties, RelationshipDirection, RelationshipPattern,
};

use super::repeats::Repeated;
use super::scope::{Resolver, Scope};
use crate::error::Result;
use crate::ir::{Direction, EdgePattern, Expr, Labels, Name, NodePattern, PathPattern, Shortest};

/// The patterns of which shortest paths are found.
const SHORTEST: &str = "shortest paths are those of one part, such as (a)-[:TYPE]->+(b)";

/// A path whose variables have slots, and whose properties are not resolved yet.
struct Declared<'q> {
    path: PathPattern,
    /// `None` for a node that the text does not have.
    nodes: Vec<Option<&'q AstNode>>,
    edges: Vec<Drawn<'q>>,
}

/// An edge, or a pattern that is passed several times, as the text has it.
enum Drawn<'q> {
    Edge(&'q RelationshipPattern),
    /// An edge that is passed several times by a quantifier: `-[r]->{1,3}` and not `-[r*1..3]->`.
    Quantified(&'q RelationshipPattern),
    Repeated(Repeated<'q>),
}

impl Resolver<'_> {
    /// Resolves the paths of a clause. Their properties can name all their variables.
    pub(super) fn paths(&mut self, parts: &[PatternPart]) -> Result<Vec<PathPattern>> {
        let before = self.scope.clone();
        let mut declared: Vec<Declared<'_>> = Vec::with_capacity(parts.len());
        for part in parts {
            let element = &part.anonymous.element;
            let at = first_node(element).span.start;
            if let Some(one) = declared.last_mut().filter(|_| self.notes.joined.contains(&at)) {
                self.append(one, element, &before)?;
                continue;
            }
            let path =
                PathPattern { path: None, nodes: Vec::new(), edges: Vec::new(), shortest: None };
            let mut one = Declared { path, nodes: Vec::new(), edges: Vec::new() };
            self.append(&mut one, element, &before)?;
            one.path.shortest = self.shortest(part)?;
            one.path.path = match &part.variable {
                Some(variable) => Some(self.new_variable(variable)?),
                None => None,
            };
            declared.push(one);
        }
        declared.into_iter().map(|one| self.with_properties(one, &before)).collect()
    }

    /// Resolves a path that is not part of a clause.
    pub(super) fn one_path(
        &mut self,
        start: &AstNode,
        chains: &[PatternElementChain],
    ) -> Result<PathPattern> {
        let before = self.scope.clone();
        let path = PathPattern { path: None, nodes: Vec::new(), edges: Vec::new(), shortest: None };
        let mut one = Declared { path, nodes: Vec::new(), edges: Vec::new() };
        self.append_path(&mut one, (start, chains), &before)?;
        self.with_properties(one, &before)
    }

    /// Adds a part to a path: nodes and edges, or a pattern that is passed several times.
    fn append<'q>(
        &mut self,
        one: &mut Declared<'q>,
        element: &'q PatternElement,
        before: &Scope,
    ) -> Result<()> {
        if one.path.shortest.is_some() {
            let at = first_node(element).span.start;
            return Err(self.refuse("UnexpectedSyntax", SHORTEST, at));
        }
        match element {
            PatternElement::Parenthesized(inner) => self.append(one, inner, before),
            PatternElement::Quantified { element, .. } => self.append_repeat(one, element, before),
            PatternElement::Path { start, .. }
                if self.notes.groups.contains_key(&start.span.start) =>
            {
                self.append_repeat(one, element, before)
            }
            PatternElement::Path { start, chains } => {
                self.append_path(one, (start, chains), before)
            }
        }
    }

    fn append_repeat<'q>(
        &mut self,
        one: &mut Declared<'q>,
        element: &'q PatternElement,
        before: &Scope,
    ) -> Result<()> {
        if one.nodes.is_empty() {
            one.path.nodes.push(self.nameless());
            one.nodes.push(None);
        }
        let (edge, repeated) = self.declare_repeat(element, before)?;
        one.path.edges.push(edge);
        one.edges.push(Drawn::Repeated(repeated));
        // Until the next part has a node.
        one.path.nodes.push(self.nameless());
        one.nodes.push(None);
        Ok(())
    }

    fn new_variable(&mut self, variable: &Variable) -> Result<usize> {
        let name = &variable.name;
        if self.scope.contains_key(name.name.as_str()) {
            let message = format!("variable '{}' is defined already", name.name);
            return Err(self.refuse("VariableAlreadyBound", message, name.span.start));
        }
        Ok(self.declare(&name.name))
    }

    /// Which shortest paths a part asks for; `decypher` keeps functions in its text only.
    fn shortest(&self, part: &PatternPart) -> Result<Option<Shortest>> {
        let bytes = part.span.start..part.span.end;
        if let Some((at, wanted)) = self.notes.shortest.range(bytes.clone()).next() {
            return match &part.anonymous.element {
                PatternElement::Path { start, chains }
                    if !self.notes.groups.contains_key(&start.span.start)
                        && matches!(chains.as_slice(), [one] if self.is_several(one)) =>
                {
                    Ok(Some(*wanted))
                }
                _ => Err(self.refuse("UnexpectedSyntax", SHORTEST, *at)),
            };
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

    fn append_path<'q>(
        &mut self,
        one: &mut Declared<'q>,
        (start, chains): (&'q AstNode, &'q [PatternElementChain]),
        before: &Scope,
    ) -> Result<()> {
        // The node behind a repeated pattern is that of the next part.
        if one.nodes.pop_if(|last| last.is_none()).is_some() {
            one.path.nodes.pop();
        } else if !one.nodes.is_empty() {
            let message =
                "only quantified path patterns stand directly behind another part of a path";
            return Err(self.refuse("UnexpectedSyntax", message, start.span.start));
        }
        one.path.nodes.push(self.declare_node(start, before)?);
        one.nodes.push(Some(start));
        for chain in chains {
            let mut edge = self.declare_edge(&chain.relationship, before)?;
            let repeated = self.notes.repeated.get(&chain.node.span.start);
            if let Some(least) = repeated {
                edge.length = Some((*least, None));
            }
            let is_quantified = repeated.is_some() || chain.relationship.quantifier.is_some();
            one.edges.push(match is_quantified {
                true => Drawn::Quantified(&chain.relationship),
                false => Drawn::Edge(&chain.relationship),
            });
            one.path.edges.push(edge);
            one.path.nodes.push(self.declare_node(&chain.node, before)?);
            one.nodes.push(Some(&chain.node));
        }
        Ok(())
    }

    /// The slot of a variable of a pattern, and if the clause finds it bound.
    fn pattern_slot(
        &mut self,
        variable: Option<&Variable>,
        before: &Scope,
    ) -> Result<(usize, bool)> {
        let Some(variable) = variable else { return Ok((self.slot("  "), false)) };
        let name = variable.name.name.as_str();
        match self.scope.get(name) {
            Some(slot) if self.lists.contains(slot) => {
                let message = format!("variable '{name}' is a list of a quantified path pattern");
                Err(self.refuse("VariableTypeConflict", message, variable.name.span.start))
            }
            Some(slot) => Ok((*slot, before.contains_key(name))),
            None => Ok((self.declare(name), false)),
        }
    }

    pub(super) fn declare_node(&mut self, node: &AstNode, before: &Scope) -> Result<NodePattern> {
        let (slot, bound) = self.pattern_slot(node.variable.as_ref(), before)?;
        let labels = node.labels.iter().map(|one| self.labels(one)).collect::<Result<Vec<_>>>()?;
        let labels = (!labels.is_empty()).then_some(Labels::All(labels));
        Ok(NodePattern { slot, bound, labels, properties: None, condition: None })
    }

    pub(super) fn declare_edge(
        &mut self,
        edge: &RelationshipPattern,
        before: &Scope,
    ) -> Result<EdgePattern> {
        let detail = edge.detail.as_ref();
        let variable = detail.and_then(|detail| detail.variable.as_ref());
        let (slot, bound) = self.pattern_slot(variable, before)?;
        let (mut types, mut labels) = (Vec::new(), None);
        if let Some(wanted) = detail.and_then(|detail| detail.types.as_ref())
            && !self.types(wanted, &mut types)
        {
            types.clear();
            labels = Some(self.labels(wanted)?);
        }
        let range = detail.and_then(|detail| detail.range.as_ref());
        let range = range.map(|range| (range.start, range.end));
        // A quantifier without a lower bound begins at 0, and `*` at 1.
        let quantifier = edge.quantifier.as_ref();
        let range = range.or(quantifier.map(|range| {
            // `decypher` takes `{,3}` for `{3,}`.
            let text = self.text.get(range.span.start..range.span.end).unwrap_or_default();
            match text.trim_start_matches('{').trim_start().starts_with(',') {
                true => (Some(0), range.start),
                false => (range.start.or(Some(0)), range.end),
            }
        }));
        let count = |count: i64| u64::try_from(count).unwrap_or_default();
        let length = range.map(|(low, high)| (low.map_or(1, count), high.map(count)));
        let direction = match edge.direction {
            RelationshipDirection::Left => Direction::In,
            RelationshipDirection::Right => Direction::Out,
            RelationshipDirection::Both | RelationshipDirection::Undirected => Direction::Both,
        };
        let (properties, condition, repeat) = (None, None, None);
        Ok(EdgePattern {
            slot,
            bound,
            types,
            labels,
            direction,
            length,
            properties,
            condition,
            repeat,
        })
    }

    /// Adds the types of which an edge has one; false for any other condition on its type.
    fn types(&self, wanted: &LabelExpression, types: &mut Vec<Name>) -> bool {
        match wanted {
            LabelExpression::Static(name) => {
                let is_name = !self.notes.computed.contains_key(&name.span.start);
                let name: Name = Arc::from(name.name.as_str());
                if is_name && !types.contains(&name) {
                    types.push(name);
                }
                is_name
            }
            LabelExpression::Or { lhs, rhs, .. } => {
                self.types(lhs, types) && self.types(rhs, types)
            }
            LabelExpression::Group { inner, .. } => self.types(inner, types),
            _ => false,
        }
    }

    fn with_properties(&mut self, declared: Declared<'_>, before: &Scope) -> Result<PathPattern> {
        let Declared { mut path, nodes, edges } = declared;
        for (node, from) in path.nodes.iter_mut().zip(nodes) {
            if let Some(from) = from {
                self.finish_node(node, from)?;
            }
        }
        let shortest = path.shortest.is_some();
        for (edge, from) in path.edges.iter_mut().zip(edges) {
            let from = match from {
                Drawn::Repeated(repeated) => {
                    self.finish_repeat(edge, repeated)?;
                    continue;
                }
                Drawn::Quantified(from) if !shortest && self.condition_at(from.span).is_some() => {
                    self.repeat_edge(edge, from, before)?;
                    continue;
                }
                Drawn::Edge(from) | Drawn::Quantified(from)
                    if edge.length.is_some() && edge.labels.is_some() =>
                {
                    if shortest {
                        let message = "shortest paths are along edges of all types, or of some that are named";
                        return Err(self.refuse("UnexpectedSyntax", message, from.span.start));
                    }
                    self.repeat_edge(edge, from, before)?;
                    continue;
                }
                Drawn::Edge(from) | Drawn::Quantified(from) => from,
            };
            self.finish_edge(edge, from)?;
            if edge.length.is_some() && edge.condition.is_some() {
                let message = "WHERE inside of an edge of a path of several; use it behind MATCH";
                return Err(self.refuse("UnexpectedSyntax", message, from.span.start));
            }
        }
        Ok(path)
    }

    pub(super) fn finish_node(&mut self, node: &mut NodePattern, from: &AstNode) -> Result<()> {
        node.properties = self.properties(from.properties.as_ref())?;
        node.condition = self.condition(from.span)?;
        Ok(())
    }

    pub(super) fn finish_edge(
        &mut self,
        edge: &mut EdgePattern,
        from: &RelationshipPattern,
    ) -> Result<()> {
        let detail = from.detail.as_ref();
        edge.properties = self.properties(detail.and_then(|one| one.properties.as_ref()))?;
        edge.condition = self.condition(from.span)?;
        Ok(())
    }

    /// The bytes of the condition inside of a node or an edge.
    fn condition_at(&self, span: Span) -> Option<Range<usize>> {
        let noted = self.notes.conditions.range(span.start..span.end).next();
        noted.map(|(_, condition)| condition.clone())
    }

    /// The condition inside of a node or an edge.
    fn condition(&mut self, span: Span) -> Result<Option<Expr>> {
        let noted = self.condition_at(span);
        noted.map(|condition| self.noted(&condition)).transpose()
    }

    /// A condition that was taken out of the text.
    pub(super) fn noted(&mut self, condition: &Range<usize>) -> Result<Expr> {
        let found = super::expression(self.text, condition, &mut self.notes)?;
        self.expr(&found)
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

/// The node that a part of a pattern begins with.
fn first_node(element: &PatternElement) -> &AstNode {
    match element {
        PatternElement::Path { start, .. } => start,
        PatternElement::Parenthesized(inner) => first_node(inner),
        PatternElement::Quantified { element, .. } => first_node(element),
    }
}
