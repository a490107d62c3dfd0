//! Weakly connected components by label propagation (FlashGraph section 4, reference 33).

use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, ProgramNeeds, RunContext, Signals, Vertex, VertexProgram,
};
use crate::{Direction, VertexId};

/// Components; after the run each label is the smallest internal id of the component.
#[derive(Clone, Copy, Debug, Default)]
pub struct Components;

/// The label of a vertex, and the one that its neighbours know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Smallest id seen.
    pub label: VertexId,
    /// Smallest id told to the neighbours, or none yet.
    told: Option<VertexId>,
}

impl VertexProgram for Components {
    types!(State = Label, Message = VertexId, Scratch = ());
    const COMBINES: bool = true;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out, Direction::In])
    }

    fn init(&self, vertex: VertexId, _facts: &Facts) -> Label {
        Label { label: vertex, told: None }
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        // A better label may have come before this run as well as after it.
        if me.state.told != Some(me.state.label) {
            me.state.told = Some(me.state.label);
            cx.request_own(ListKind::OUT);
            if cx.facts().directed() {
                cx.request_own(ListKind::IN);
            }
        }
    }

    on_list!(self, me, list, cx => {
        cx.multicast_list(list, me.state.label)
    });

    fn run_on_message(&self, state: &mut Label, message: &VertexId, cx: &mut Signals<'_, Self>) {
        if *message < state.label {
            state.label = *message;
            cx.activate(cx.vertex());
        }
    }

    fn combine(&self, message: &mut VertexId, later: &VertexId) {
        *message = (*message).min(*later);
    }
}
