//! What an animation graph must be, so that Bevy can walk it. See [`GraphError`].

/// Nodes below each other. Bevy walks a graph by recursion.
pub const MAX_GRAPH_DEPTH: usize = 256;
/// Nodes that Bevy visits in one walk: a node with several parents is visited once for each way that leads to it.
pub const MAX_GRAPH_VISITS: u64 = 1 << 16;

/// Why an animation graph is none that can be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The root or an edge names a node that is not there.
    #[error("node {node} of an animation graph with {nodes} nodes; cook the graph again")]
    NoNode {
        /// The node's index.
        node: u32,
        /// How many there are.
        nodes: usize,
    },
    /// Bevy walks the graph until the stack is full.
    #[error("node {0} of the animation graph is below itself; remove one of the edges of that circle")]
    Cycle(u32),
    /// The graph is too deep to be walked.
    #[error("the animation graph has nodes more than {MAX_GRAPH_DEPTH} levels deep; flatten it")]
    TooDeep,
    /// The graph has too many ways through it.
    #[error(
        "a walk through the animation graph visits more than {MAX_GRAPH_VISITS} nodes; give fewer nodes several parents"
    )]
    TooLarge,
}

/// Checks a graph of `nodes` nodes. It may have parts that the root does not lead to: Bevy never walks those.
///
/// # Errors
/// When a walk from `root` would leave the graph, not end, or take too long.
pub(super) fn check(nodes: usize, root: u32, edges: &[(u32, u32)]) -> Result<(), GraphError> {
    let ends = edges.iter().flat_map(|(from, to)| [*from, *to]);
    if let Some(node) = core::iter::once(root).chain(ends).find(|node| *node as usize >= nodes) {
        return Err(GraphError::NoNode { node, nodes });
    }
    let mut children = vec![Vec::new(); nodes];
    for (from, to) in edges {
        if let Some(children) = children.get_mut(*from as usize) {
            children.push(*to);
        }
    }
    Walk {
        states: vec![State::New; nodes],
        children,
    }
    .measure(root)
}

#[derive(Clone, Copy)]
enum State {
    New,
    /// Above the node that is looked at.
    Open,
    /// Nodes that a walk of it visits, and levels below it.
    Done {
        visits: u64,
        depth: usize,
    },
}

struct Walk {
    states: Vec<State>,
    children: Vec<Vec<u32>>,
}

impl Walk {
    fn state(&self, node: u32) -> State {
        self.states.get(node as usize).copied().unwrap_or(State::New)
    }

    fn set(&mut self, node: u32, state: State) {
        if let Some(slot) = self.states.get_mut(node as usize) {
            *slot = state;
        }
    }

    /// Children first, without recursion: the graph may be as deep as the file is long.
    fn measure(mut self, root: u32) -> Result<(), GraphError> {
        let mut stack = vec![(root, 0)];
        self.set(root, State::Open);
        while let Some((node, next)) = stack.pop() {
            let child = self.children.get(node as usize).and_then(|children| children.get(next));
            let Some(child) = child.copied() else {
                let done = self.finish(node)?;
                self.set(node, done);
                continue;
            };
            stack.push((node, next + 1));
            match self.state(child) {
                State::New => {
                    self.set(child, State::Open);
                    stack.push((child, 0));
                }
                State::Open => return Err(GraphError::Cycle(child)),
                State::Done { .. } => {}
            }
        }
        Ok(())
    }

    /// The node's sizes, once those of all its children are known.
    fn finish(&self, node: u32) -> Result<State, GraphError> {
        let (mut visits, mut depth) = (1_u64, 0);
        for child in self.children.get(node as usize).into_iter().flatten() {
            if let State::Done {
                visits: of_child,
                depth: levels,
            } = self.state(*child)
            {
                visits += of_child;
                depth = depth.max(levels + 1);
            }
        }
        if depth >= MAX_GRAPH_DEPTH {
            return Err(GraphError::TooDeep);
        }
        if visits > MAX_GRAPH_VISITS {
            return Err(GraphError::TooLarge);
        }
        Ok(State::Done { visits, depth })
    }
}
