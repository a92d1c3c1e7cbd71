//! A request that holds as long as somebody keeps it. See [`LevelTicket`].

use core::{
    future::{Future, IntoFuture},
    pin::Pin,
};
use std::sync::Arc;

use async_channel::Sender;
use bevy_ecs::entity::Entity;

use super::{RequestKind, named::RequestId};
use crate::{
    arrival::{Outcome, StreamingProgress, StreamingResult},
    target::LevelTarget,
};

/// A request for a level, with all that may be said of it: for [`Levels::ask`](crate::Levels::ask).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelRequest, LevelTarget, LevelTicket, Levels};
/// # #[derive(Component)]
/// # struct Party { dungeon: Entity }
/// #[derive(Component)]
/// struct Vault(LevelTicket);
///
/// /// Each party has a dungeon of its own, from one manifest.
/// fn open(parties: Query<(Entity, &Party)>, mut levels: Levels, mut commands: Commands) -> Result {
///     for (entity, party) in &parties {
///         let request = LevelRequest {
///             world: Some(party.dungeon),
///             ..LevelRequest::new("vault", LevelTarget::Visible)
///         };
///         commands.entity(entity).insert(Vault(levels.ask(request)?));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRequest {
    /// The level's name.
    pub level: String,
    /// How far it is to come; [`LevelTarget::Unloaded`] keeps it away, whoever else wants it.
    pub target: LevelTarget,
    /// How urgent it is, among all that ask: volumes give a million at most, and ten million is the most that counts; what is no number counts as zero. `None`
    /// is as urgent as [`Levels::load`](crate::Levels::load) or [`preload`](crate::Levels::preload): what is to be shown is ten million then, and comes
    /// [whatever memory there is](seamless_asset::StreamingSettings::memory_ceiling).
    pub priority: Option<f32>,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity that is meant; `None` is each that has such a level.
    pub world: Option<Entity>,
}

impl LevelRequest {
    /// A request to all worlds, as urgent as usual.
    #[must_use]
    pub fn new(level: impl Into<String>, target: LevelTarget) -> Self {
        Self {
            level: level.into(),
            target,
            priority: None,
            world: None,
        }
    }
}

/// A request for a level that holds until it is dropped, with all its clones, on whatever thread; and who keeps it can wait for the level.
///
/// [`Levels::request`](crate::Levels::request) makes one. Keep it where the wish lives: in a component, a resource, a task.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelTarget, LevelTicket, Levels, StreamingResult};
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
///
/// fn rise(elevators: Query<&Elevator>) {
///     for elevator in &elevators {
///         match elevator.above.result() {
///             None => { /* its bar shows elevator.above.progress().fraction() */ }
///             Some(StreamingResult::Ready) => { /* it starts */ }
///             Some(StreamingResult::WithFailures(_) | StreamingResult::Gone) => { /* out of order */ }
///         }
///     }
/// }
/// ```
///
/// A task waits without asking again and again:
///
/// ```
/// # use seamless_level::{LevelTicket, StreamingResult};
/// async fn open(vault: LevelTicket) {
///     if vault.wait().await == StreamingResult::Ready { /* the door opens */ }
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
    outcome: Arc<Outcome>,
    returns: Sender<RequestId>,
}

impl Drop for TicketInner {
    fn drop(&mut self) {
        // Whoever listened may be gone, and all requests with it.
        let _ = self.returns.try_send(self.id);
    }
}

impl LevelTicket {
    pub(super) fn new(
        level: &str,
        target: LevelTarget,
        (id, outcome): (RequestId, Arc<Outcome>),
        returns: Sender<RequestId>,
    ) -> Self {
        let level = level.to_owned();
        Self(Arc::new(TicketInner {
            level,
            target,
            id,
            outcome,
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

    /// Whether the level has come as far as was asked, or was away if it was to [stay away](LevelTarget::Unloaded); `None` while it is on its way, is tried
    /// again, or while a world may come that has it. Never before it was looked at for a frame. It is the first end, and stays so: what becomes of the level after
    /// that is told by [`LevelStates`](crate::LevelStates). The ticket holds whatever came of it, and a level that was left out comes as soon as it can.
    #[must_use]
    pub fn result(&self) -> Option<StreamingResult> {
        self.0.outcome.result()
    }

    /// How far it is; as it was at the end, from then on. Of a request to several worlds, it is that of all that have such a level.
    #[must_use]
    pub fn progress(&self) -> StreamingProgress {
        self.0.outcome.progress()
    }

    /// Waits for the [result](Self::result), on any thread but the one that runs the app: it is the app's frames that bring the level.
    pub async fn wait(&self) -> StreamingResult {
        self.0.outcome.wait().await
    }
}

impl IntoFuture for LevelTicket {
    type Output = StreamingResult;
    type IntoFuture = Pin<Box<dyn Future<Output = StreamingResult> + Send>>;

    /// As [`wait`](Self::wait), and drops it then: keep a clone for as long as the level is to be there.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.wait().await })
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
