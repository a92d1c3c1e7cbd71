//! Requests of entities. See [`LevelWanted`].

use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::Entity,
    entity_disabling::Disabled,
    lifecycle::RemovedComponents,
    query::{Allow, Changed},
    reflect::ReflectComponent,
    system::{Query, Res, ResMut},
};
use bevy_log::error;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::StreamingClock;

use super::{LevelRequests, NamedRequest, RequestKind};
use crate::{
    select::{EXPLICIT_PRIORITY, MAX_SOURCE_PRIORITY},
    settings::LevelSettings,
    world::EvenHidden,
};

/// An entity that wants levels, for as long as it has this component: a quest, a time of day, a team.
///
/// A level that nothing else is to bring is `on_request` in the world file; otherwise it comes by its volume, too.
///
/// The component may be changed at any time; to take it back, remove it: Bevy's `Disabled` on the entity does not. A name that no world has asks for nothing until one has it, and is logged when all worlds are there. What is beyond
/// [`LevelSettings::max_requests`](crate::LevelSettings::max_requests) is logged, and asked for as soon as there is room.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LevelWanted, RequestKind};
/// #[derive(Component)]
/// struct Night;
///
/// fn fall(mut commands: Commands) {
///     commands.spawn((
///         Night,
///         LevelWanted::new(["lanterns", "ghosts"]),
///     ));
///     commands.spawn((
///         Night,
///         LevelWanted { kind: RequestKind::Ban, ..LevelWanted::new(["market"]) },
///     ));
/// }
///
/// fn rise(night: Query<Entity, With<Night>>, mut commands: Commands) {
///     for entity in &night {
///         commands.entity(entity).despawn(); // lanterns and ghosts leave, and the market may come
///     }
/// }
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct LevelWanted {
    /// The names of the levels.
    pub levels: Vec<String>,
    /// What is wanted of them.
    pub kind: RequestKind,
    /// How urgent it is, among all that ask: volumes give a million at most, which is the default. Ten million, which is what
    /// [`Levels::load`](crate::Levels::load) gives, is the most that counts; what is no number counts as zero.
    pub priority: f32,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity whose levels are meant; `None` is each that has such levels.
    #[entities]
    pub world: Option<Entity>,
}

impl Default for LevelWanted {
    fn default() -> Self {
        Self {
            levels: Vec::new(),
            kind: RequestKind::default(),
            priority: MAX_SOURCE_PRIORITY,
            world: None,
        }
    }
}

/// Takes over what entities want.
pub(crate) fn sync_wanted(
    changed: Query<(Entity, &LevelWanted), (Changed<LevelWanted>, Allow<Disabled>)>,
    all: Query<&LevelWanted, EvenHidden>,
    mut removed: RemovedComponents<LevelWanted>,
    mut requests: ResMut<LevelRequests>,
    settings: Res<LevelSettings>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("levels that entities want");
    let requests = requests.bypass_change_detection();
    for entity in removed.read() {
        requests.forget_wanted(entity);
    }
    for (entity, wanted) in &changed {
        if let Err(error) = requests.set_wanted(entity, wanted.named(), settings.max_requests) {
            error!("levels wanted by {entity}: {error}");
        }
        wanted.levels.iter().for_each(|level| requests.note_unknown(level));
    }
    // Somebody else may have made room. Whoever is refused again has taken it all.
    while let Some(entity) = requests.next_refused(settings.max_requests) {
        let wanted = all.get(entity).map(LevelWanted::named);
        let made = wanted.map(|wanted| requests.set_wanted(entity, wanted, settings.max_requests));
        if made.is_err() {
            requests.forget_wanted(entity);
        }
    }
}

impl LevelWanted {
    /// Wants these levels shown, all else as by default.
    #[must_use]
    pub fn new(levels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            levels: levels.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    fn named(&self) -> impl Iterator<Item = NamedRequest> {
        // What is always loaded, and the ground, are told by their priorities.
        let most_urgent = self.priority.clamp(0.0, EXPLICIT_PRIORITY);
        let priority = if most_urgent.is_nan() { 0.0 } else { most_urgent };
        self.levels.iter().map(move |level| NamedRequest {
            level: level.clone(),
            kind: self.kind,
            priority,
            world: self.world,
        })
    }
}
