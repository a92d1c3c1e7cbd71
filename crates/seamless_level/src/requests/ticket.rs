//! A request that holds as long as somebody keeps it. See [`LevelTicket`].

use std::sync::Arc;

use async_channel::Sender;

use super::{RequestKind, named::RequestId};
use crate::target::LevelTarget;

/// A request for a level that holds until it is dropped, with all its clones, on whatever thread.
///
/// [`Levels::request`](crate::Levels::request) makes one. Keep it where the wish lives: in a component, a resource, a task.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelTarget, LevelTicket, Levels};
/// #[derive(Component)]
/// struct Elevator {
///     above: LevelTicket, // loaded for as long as there is this elevator
/// }
///
/// fn build(mut levels: Levels, mut commands: Commands) -> Result {
///     let above = levels.request("roof", LevelTarget::Loaded)?;
///     commands.spawn(Elevator { above });
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "when it is dropped, the level is not asked for any more"]
pub struct LevelTicket(Arc<TicketInner>);

#[derive(Debug)]
struct TicketInner {
    level: String,
    target: LevelTarget,
    id: RequestId,
    returns: Sender<RequestId>,
}

impl Drop for TicketInner {
    fn drop(&mut self) {
        // Whoever listened may be gone, and all requests with it.
        let _ = self.returns.try_send(self.id);
    }
}

impl LevelTicket {
    pub(super) fn new(level: &str, target: LevelTarget, id: RequestId, returns: Sender<RequestId>) -> Self {
        let level = level.to_owned();
        Self(Arc::new(TicketInner {
            level,
            target,
            id,
            returns,
        }))
    }

    /// The level's name.
    #[must_use]
    pub fn level(&self) -> &str {
        &self.0.level
    }

    /// What was asked for.
    #[must_use]
    pub fn target(&self) -> LevelTarget {
        self.0.target
    }
}

/// The request that asks for a target.
pub(super) fn kind_of(target: LevelTarget) -> RequestKind {
    match target {
        LevelTarget::Unloaded => RequestKind::Ban,
        LevelTarget::Loaded => RequestKind::Load,
        LevelTarget::Visible => RequestKind::Show,
    }
}
