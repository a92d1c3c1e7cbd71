//! Explicit requests for levels, by name. See [`Levels`].

mod named;
mod set;
mod states;
mod ticket;
mod unheard;
mod wanted;

pub(crate) use named::{LevelRequests, NamedRequest, RequestId};
pub use set::{RequestKind, RequestSet};
pub use states::{LevelStates, level_is_visible};
pub use ticket::{LevelRequest, LevelTicket};
pub(crate) use unheard::Unheard;
pub use wanted::LevelWanted;
pub(crate) use wanted::sync_wanted;

use core::ops::Deref;

use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    query::{With, Without},
    system::{Query, Res, ResMut, SystemParam},
};
use bevy_log::warn;
use seamless_asset::StreamingClock;

use crate::{
    across::SoftLinks,
    arrival::{Arrival, ArrivalPoint, Arrivals, StreamingStatus},
    instances::AddedInstances,
    manifest::ManifestError,
    select::{EXPLICIT_PRIORITY, PRELOAD_PRIORITY},
    settings::LevelSettings,
    target::LevelTarget,
    world::{EvenHidden, InstanceIndex, LevelState, LevelTable, SeamlessWorld, WorldFailure},
};

/// A request for a level that was refused.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// All worlds are there, and none has such a level.
    #[error(
        "no seamless world has a level `{level}`; mend the name, or add the level to the world file and cook it again"
    )]
    UnknownLevel {
        /// The name.
        level: String,
    },
    /// No world that is there has such a level, and one may still come.
    #[error(
        "no seamless world that is loaded by now has a level `{level}`; wait for `On<Add, LevelTable>` before instances of it are added"
    )]
    NotYet {
        /// The name.
        level: String,
    },
    /// No instance of that name was added.
    #[error("`{level}` is no instance that was added; levels of the manifest are kept away by `Levels::unload`")]
    UnknownInstance {
        /// The name.
        level: String,
    },
    /// A level of that name is there already.
    #[error("there is a level `{name}` already; give the instance another name, or remove the other one first")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The placement or the bounds of an instance are unusable.
    #[error(transparent)]
    Instance(ManifestError),
    /// The cap on instances is reached.
    #[error("more than {limit} instances are added; remove some, or raise `LevelSettings::max_instances`")]
    TooManyInstances {
        /// The cap.
        limit: usize,
    },
    /// The cap on requests is reached.
    #[error("more than {limit} levels are requested; release some, or raise `LevelSettings::max_requests`")]
    TooMany {
        /// The cap.
        limit: usize,
    },
}

/// Requests levels by name, and tells where they are: a system parameter.
///
/// A request goes to every seamless world that has a level of that name, and to those that will have one when their
/// manifest is loaded. It takes effect in the next `SpawnScene`. Where levels are is told by all methods of [`LevelStates`]; a system that only asks
/// has that, and runs beside others. Requests are counted, together with those of volumes
/// and of [`LevelWanted`], and the highest wins; only one to keep a level away wins over all.
///
/// There are two kinds. A *ticket*, from [`request`](Self::request), holds until it is dropped, and can be [awaited](LevelTicket::wait); there may be any number for
/// a level. A *standing* request holds until the next word about its level, of which the last one counts:
///
/// | last word | the level |
/// |---|---|
/// | none, or [`release`](Self::release) | comes when others want it |
/// | [`load`](Self::load) | is to be in the world |
/// | [`preload`](Self::preload) | is to be ready to be shown, or hidden if it is shown |
/// | [`unload`](Self::unload) | is to stay away |
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelState, Levels};
/// fn enter_dungeon(mut levels: Levels) -> Result {
///     levels.load("dungeon")?;
///     levels.unload("village")?; // even where its volume wants it
///     if levels.state("dungeon") == Some(LevelState::Visible) {
///         levels.release("village")?; // its volume decides again
///     }
///     Ok(())
/// }
/// ```
#[derive(SystemParam)]
pub struct Levels<'w, 's> {
    requests: ResMut<'w, LevelRequests>,
    arrivals: ResMut<'w, Arrivals>,
    pub(crate) instances: ResMut<'w, AddedInstances>,
    pub(crate) settings: Res<'w, LevelSettings>,
    index: Res<'w, InstanceIndex>,
    states: LevelStates<'w, 's>,
    pending: Pending<'w, 's>,
}

impl<'w, 's> Deref for Levels<'w, 's> {
    type Target = LevelStates<'w, 's>;

    fn deref(&self) -> &Self::Target {
        &self.states
    }
}

impl Levels<'_, '_> {
    /// Asks for a level until the ticket and all its clones are dropped: as urgently as [`load`](Self::load) or [`preload`](Self::preload). [`LevelTarget::Unloaded`] keeps it away for as long,
    /// whoever else wants it. The ticket [tells](LevelTicket::result) when the level is there, and can be [awaited](LevelTicket::wait).
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested. A name that no world has when all have come is told in the log.
    pub fn request(&mut self, level: &str, target: LevelTarget) -> Result<LevelTicket, RequestError> {
        self.ask(LevelRequest::new(level, target))
    }

    /// As [`request`](Self::request), to one [world](LevelRequest::world) or with another [priority](LevelRequest::priority). If a world that is still to come is meant and has no
    /// such level, but another one has, only the ticket [tells](LevelTicket::result).
    ///
    /// # Errors
    /// When no world that is meant has such a level, or too many are requested.
    pub fn ask(&mut self, request: LevelRequest) -> Result<LevelTicket, RequestError> {
        let LevelRequest {
            level,
            target,
            priority,
            world,
        } = request;
        let is_known = self.check(&level, world)?;
        let kind = ticket::kind_of(target);
        let request = NamedRequest {
            priority: urgency(priority, kind, EXPLICIT_PRIORITY),
            world,
            ..named(&level, kind)
        };
        let ticket = self.ticket(request, target)?;
        self.note_unknown(&level, is_known);
        Ok(ticket)
    }

    /// A ticket for the instance of this number, which there will be.
    pub(crate) fn ticket_of(
        &mut self,
        level: &str,
        target: LevelTarget,
        (world, instance): (Entity, u64),
    ) -> Result<LevelTicket, RequestError> {
        let request = NamedRequest {
            world: Some(world),
            instance: Some(instance),
            ..named(level, ticket::kind_of(target))
        };
        self.ticket(request, target)
    }

    fn ticket(&mut self, request: NamedRequest, target: LevelTarget) -> Result<LevelTicket, RequestError> {
        let level = request.level.clone();
        let awaited = self.requests.add_awaited(request, self.settings.max_requests)?;
        self.index.unheard.note();
        Ok(LevelTicket::new(&level, target, awaited, self.requests.returns()))
    }

    /// Keeps a level in the world, whatever volumes say.
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested.
    pub fn load(&mut self, level: &str) -> Result<(), RequestError> {
        self.stand(level, RequestKind::Show)
    }

    /// Keeps a level ready to be shown, whatever volumes say; after [`load`](Self::load) it hides the level again unless somebody else wants it shown. A level that is
    /// hidden keeps its entities and all that they became; only an app with [`sliced_levels`](seamless_asset::SeamlessAssetPlugin::sliced_levels) can do that, in others a
    /// level that is in the world stays there, which is logged. What is near goes before it, and where memory is short it waits; a
    /// [`LevelWanted`](crate::LevelWanted) may say another priority.
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested.
    pub fn preload(&mut self, level: &str) -> Result<(), RequestError> {
        self.stand(level, RequestKind::Load)
    }

    /// Keeps a level away, whatever volumes say, and even if it is always loaded.
    ///
    /// # Errors
    /// When no world has such a level, or too many are requested.
    pub fn unload(&mut self, level: &str) -> Result<(), RequestError> {
        self.stand(level, RequestKind::Ban)
    }

    /// Takes the standing request for a level back, whichever it was: others decide again. The world that it was for may be gone.
    ///
    /// # Errors
    /// When there is no such request, and no world has such a level.
    pub fn release(&mut self, level: &str) -> Result<(), RequestError> {
        if self.requests.standing(level).is_none() {
            return self.check(level, None).map(drop);
        }
        self.requests.release(level);
        self.note_changes();
        Ok(())
    }

    /// Takes all standing requests back, also those for levels that no world has: when a game ends and another one begins, say. Tickets and
    /// [`LevelWanted`](crate::LevelWanted) hold as long as they are there.
    pub fn release_all(&mut self) {
        self.requests.release_all();
        self.note_changes();
    }

    /// Tries a level again that failed and is still wanted; does nothing to any other level.
    ///
    /// # Errors
    /// When no world has such a level.
    pub fn retry(&mut self, level: &str) -> Result<(), RequestError> {
        self.check(level, None)?;
        let mut found = self.states.tables.iter().filter_map(|(_, table)| table.get(level));
        if found.any(|other| other.state() == LevelState::Failed) {
            self.requests.retry(level);
            self.note_changes();
        }
        Ok(())
    }

    /// Gets a place ready before somebody comes to it, until the [`Arrival`] and all its clones are dropped: for a teleport, a cutscene, a
    /// place to spawn at. Beyond [`LevelSettings::max_requests`], which counts arrivals by themselves, it is
    /// [gone](crate::StreamingResult::Gone) at once.
    #[must_use = "when it is dropped, what was prepared is let go of"]
    pub fn prepare(&mut self, point: ArrivalPoint) -> Arrival {
        self.index.unheard.note();
        self.arrivals.add(point, self.settings.max_requests)
    }

    /// An instance of this name is no more.
    pub(crate) fn forget_standing(&mut self, level: &str) {
        self.requests.release(level);
    }

    /// The standing request for a level.
    #[must_use]
    pub fn requested(&self, level: &str) -> Option<RequestKind> {
        self.requests.standing(level)
    }

    /// All standing requests, in no order.
    pub fn all_requested(&self) -> impl Iterator<Item = (&str, RequestKind)> {
        self.requests.all_standing()
    }

    fn stand(&mut self, level: &str, kind: RequestKind) -> Result<(), RequestError> {
        let is_known = self.check(level, None)?;
        self.requests.stand(named(level, kind), self.settings.max_requests)?;
        self.note_changes();
        self.note_unknown(level, is_known);
        Ok(())
    }

    /// Whether a name is known, in the world that is meant or in any. One that nobody knows is an error only when no world is still to come.
    fn check(&self, level: &str, meant: Option<Entity>) -> Result<bool, RequestError> {
        let is_there = match meant {
            Some(world) => self
                .states
                .tables
                .get(world)
                .is_ok_and(|(_, table)| table.get(level).is_some()),
            None => self.get(level).is_some(),
        };
        if is_there || self.instances.contains(level, meant) {
            return Ok(true);
        }
        let has_come = meant.is_some_and(|world| self.states.tables.contains(world));
        if !has_come && self.may_more_come() {
            return Ok(false);
        }
        let level = level.to_owned();
        Err(RequestError::UnknownLevel { level })
    }

    /// Whether levels may come that nobody knows of yet.
    pub(crate) fn may_more_come(&self) -> bool {
        self.states.tables.is_empty() || is_any_coming(&self.pending)
    }

    /// Whoever asks for what is asked for already, in each frame for instance, asks for nothing.
    fn note_changes(&self) {
        if self.requests.has_changes() {
            self.index.unheard.note();
        }
    }

    fn note_unknown(&mut self, level: &str, is_known: bool) {
        if !is_known {
            self.requests.note_unknown(level);
        }
    }
}

/// Worlds that have no levels yet.
type Pending<'w, 's> =
    Query<'w, 's, Option<&'static WorldFailure>, (With<SeamlessWorld>, Without<LevelTable>, EvenHidden)>;

fn is_any_coming(pending: &Pending) -> bool {
    pending.iter().any(|failure| failure.is_none_or(WorldFailure::may_come))
}

/// Tells of the levels that somebody asks for or links to, and that no world has now that all have come.
pub(crate) fn tell_unknown(
    levels: LevelStates,
    pending: Pending,
    instances: Res<AddedInstances>,
    mut requests: ResMut<LevelRequests>,
    mut links: ResMut<SoftLinks>,
) {
    let has_any = !requests.unknown.is_empty() || links.has_unknown();
    if !has_any || levels.tables.is_empty() || is_any_coming(&pending) {
        return;
    }
    let is_known = |level: &str| levels.get(level).is_some() || instances.contains(level, None);
    links.bypass_change_detection().tell_unknown(is_known);
    let requests = requests.bypass_change_detection();
    for level in core::mem::take(&mut requests.unknown) {
        if !is_known(&level) && requests.is_asked_for(&level) && requests.is_news(&level) {
            warn!(
                "level `{level}` was requested, and no seamless world has one of that name: mend the name, or add the level to the world file and cook it again"
            );
        }
    }
}

/// Tells who has a ticket how far it is, and when it has come.
pub(crate) fn report_tickets(mut requests: ResMut<LevelRequests>, status: StreamingStatus, clock: Res<StreamingClock>) {
    let _time = clock.measure("tickets");
    let requests = requests.bypass_change_detection();
    requests.look_at_awaited(|request, promise| {
        promise.look(request.world, &status, || status.progress_of_request(request));
    });
}

/// A request of game code, for all worlds.
fn named(level: &str, kind: RequestKind) -> NamedRequest {
    NamedRequest {
        level: level.to_owned(),
        kind,
        priority: usual_priority(kind, EXPLICIT_PRIORITY),
        world: None,
        instance: None,
    }
}

/// How urgent a request is by what was said of it; as it is without when nothing was.
fn urgency(said: Option<f32>, kind: RequestKind, other: f32) -> f32 {
    let priority = said.unwrap_or_else(|| usual_priority(kind, other));
    // What is always loaded, and the ground, are told by their priorities.
    let priority = priority.clamp(0.0, EXPLICIT_PRIORITY);
    if priority.is_nan() { 0.0 } else { priority }
}

/// How urgent a request is when nobody has said so: what is only to be loaded is for later, and all else is as urgent as `other`.
fn usual_priority(kind: RequestKind, other: f32) -> f32 {
    match kind {
        RequestKind::Load => PRELOAD_PRIORITY,
        RequestKind::Show | RequestKind::ShowIfLoaded | RequestKind::Hide | RequestKind::Ban => other,
    }
}
