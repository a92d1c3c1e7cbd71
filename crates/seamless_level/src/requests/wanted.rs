//! Requests of entities. See [`LevelWanted`].

use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::{Entity, EntityHashSet},
    lifecycle::RemovedComponents,
    query::{Changed, Has},
    reflect::ReflectComponent,
    system::{Local, Query, Res, ResMut, SystemChangeTick},
};
use bevy_log::error;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::{InHiddenLevel, StreamingClock};

use super::{LevelRequests, NamedRequest, RequestKind, urgency};
use crate::{
    select::MAX_SOURCE_PRIORITY,
    settings::LevelSettings,
    world::{EvenHidden, InstanceIndex},
};

/// An entity that wants levels, for as long as it has this component: a quest, a time of day, a team.
///
/// A level that nothing else is to bring is `on_request` in the world file; otherwise it comes by its volume, too.
///
/// The component may be changed at any time, also while the entity's own level is hidden: one that came with a level counts from when that is first seen. To
/// take it back, remove it: Bevy's `Disabled` on the entity does not. A name that no world has asks for nothing until one has it, and is logged when all worlds are there. What is beyond
/// [`LevelSettings::max_requests`](crate::LevelSettings::max_requests) is logged, once until it fits, and asked for as soon as there is room.
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
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct LevelWanted {
    /// The names of the levels.
    pub levels: Vec<String>,
    /// What is wanted of them.
    pub kind: RequestKind,
    /// How urgent it is, among all that ask: volumes give a million at most. Ten million, which is what
    /// [`Levels::load`](crate::Levels::load) gives, is the most that counts; what is no number counts as zero. `None`, as by default, is a million;
    /// for levels that are only to be loaded, what [`Levels::preload`](crate::Levels::preload) gives: what is near goes before them.
    pub priority: Option<f32>,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity whose levels are meant; `None` is each that has such levels.
    #[entities]
    pub world: Option<Entity>,
}

/// Takes over what entities want.
pub(crate) fn sync_wanted(
    changed: Query<(Entity, &LevelWanted, Has<InHiddenLevel>), (Changed<LevelWanted>, EvenHidden)>,
    all: Query<(&LevelWanted, Has<InHiddenLevel>), EvenHidden>,
    mut removed: RemovedComponents<LevelWanted>,
    (mut unseen, mut told): (Local<EntityHashSet>, Local<EntityHashSet>),
    mut requests: ResMut<LevelRequests>,
    settings: Res<LevelSettings>,
    clock: Res<StreamingClock>,
    (index, ticks): (Res<InstanceIndex>, SystemChangeTick),
) {
    let _time = clock.measure("levels that entities want");
    index.unheard.hear_wanted(ticks.this_run());
    let requests = requests.bypass_change_detection();
    // Whoever has another one by now goes on with that.
    for entity in removed.read().filter(|entity| !all.contains(*entity)) {
        requests.forget_wanted(entity);
        told.remove(&entity);
    }
    for (entity, wanted, is_hidden) in &changed {
        if is_hidden && !requests.is_wanting(entity) {
            unseen.insert(entity);
        } else {
            unseen.remove(&entity);
            wanted.hear(entity, requests, &settings, &mut told);
        }
    }
    // What is seen again need not count as changed then.
    unseen.retain(|entity| match all.get(*entity) {
        Ok((_, true)) => true,
        Ok((wanted, false)) => {
            wanted.hear(*entity, requests, &settings, &mut told);
            false
        }
        Err(_) => false,
    });
    // Somebody else may have made room. Whoever is refused again has taken it all.
    while let Some(entity) = requests.next_refused(settings.max_requests) {
        let wanted = all.get(entity).map(|(wanted, _)| wanted.named());
        let made = wanted.map(|wanted| requests.set_wanted(entity, wanted, settings.max_requests));
        match made {
            Ok(Ok(())) => _ = told.remove(&entity),
            Ok(Err(_)) => {}
            Err(_) => requests.forget_wanted(entity),
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

    /// An entity wants this now. Of one that is `told` it is known that what it wants is too much: it may say so in each frame.
    fn hear(&self, entity: Entity, requests: &mut LevelRequests, settings: &LevelSettings, told: &mut EntityHashSet) {
        match requests.set_wanted(entity, self.named(), settings.max_requests) {
            Ok(()) => _ = told.remove(&entity),
            Err(error) if told.insert(entity) => error!("levels wanted by {entity}: {error}"),
            Err(_) => {}
        }
        self.levels.iter().for_each(|level| requests.note_unknown(level));
    }

    fn named(&self) -> impl Iterator<Item = NamedRequest> {
        let priority = urgency(self.priority, self.kind, MAX_SOURCE_PRIORITY);
        self.levels.iter().map(move |level| NamedRequest {
            level: level.clone(),
            kind: self.kind,
            priority,
            world: self.world,
            instance: None,
        })
    }
}
