//! What is seen in place of a level that cannot be seen. See [`LevelProxy`].

use bevy_camera::visibility::Visibility;
use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::{Entity, EntityHashMap},
    lifecycle::RemovedComponents,
    message::MessageReader,
    query::Changed,
    reflect::ReflectComponent,
    system::{Local, Query, Res, SystemParam},
};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::StreamingClock;

use crate::{
    events::{LevelHidden, LevelLeft, LevelRevealed, LevelShown},
    world::{EvenHidden, Level, LevelTable},
};

/// Its entity is seen as long as a level is not: what a town looks like from afar, or the fog in its place. Other engines call that an HLOD, or an
/// imposter.
///
/// It writes the entity's [`Visibility`], and so decides about all below it: `Hidden` from the very frame on in which the level is revealed or shown, and `Inherited` from
/// that in which it is hidden or has left. So nobody ever sees both, nor a hole. What is to be hidden for other reasons as well is put below an entity whose
/// `Visibility` is the game's own.
///
/// It may be spawned by the game, or come with a level: with one that is always loaded, or with a coarse one that is there from further away.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::LevelProxy;
/// # #[derive(Component)] struct Silhouette;
/// fn build_horizon(mut commands: Commands) {
///     commands.spawn((LevelProxy::of("harbour"), Silhouette));
/// }
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, PartialEq)]
#[require(Visibility)]
pub struct LevelProxy {
    /// The level's name. One that no world has is never seen.
    pub level: String,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity that is meant. Default: all; then it is seen while the level is in none of them.
    #[entities]
    pub world: Option<Entity>,
}

impl LevelProxy {
    /// Stands for a level, of whichever world.
    #[must_use]
    pub fn of(level: impl Into<String>) -> Self {
        Self {
            level: level.into(),
            world: None,
        }
    }

    fn is_of(&self, world: Entity, table: &LevelTable) -> bool {
        let is_meant = self.world.is_none_or(|meant| meant == world);
        is_meant && table.get(&self.level).is_some_and(Level::is_seen)
    }
}

/// The levels that are seen since this frame, or are not any more.
#[derive(SystemParam)]
pub(crate) struct Seen<'w, 's> {
    revealed: MessageReader<'w, 's, LevelRevealed>,
    shown: MessageReader<'w, 's, LevelShown>,
    hidden: MessageReader<'w, 's, LevelHidden>,
    left: MessageReader<'w, 's, LevelLeft>,
}

impl Seen<'_, '_> {
    fn read(&mut self) -> impl Iterator<Item = &str> {
        let revealed = self.revealed.read().map(|event| &*event.level);
        let shown = self.shown.read().map(|event| &*event.level);
        let hidden = self.hidden.read().map(|event| &*event.level);
        let left = self.left.read().map(|event| &*event.level);
        revealed.chain(shown).chain(hidden).chain(left)
    }
}

/// The proxies, by the levels that they stand for: what happens to a level concerns nobody else.
#[derive(Default)]
pub(crate) struct Known {
    proxies: HashMap<String, Vec<Entity>>,
    levels: EntityHashMap<String>,
}

impl Known {
    fn set(&mut self, proxy: Entity, level: &str) {
        self.forget(proxy);
        self.levels.insert(proxy, level.to_owned());
        self.proxies.entry(level.to_owned()).or_default().push(proxy);
    }

    fn forget(&mut self, proxy: Entity) {
        let Some(level) = self.levels.remove(&proxy) else {
            return;
        };
        let Some(others) = self.proxies.get_mut(&level) else {
            return;
        };
        others.retain(|other| *other != proxy);
        if others.is_empty() {
            self.proxies.remove(&level);
        }
    }

    fn of(&self, level: &str) -> &[Entity] {
        self.proxies.get(level).map_or(&[], Vec::as_slice)
    }
}

/// Shows and hides proxies, hidden ones too: what they come with may be shown at any time.
pub(crate) fn show_proxies(
    changed: Query<(Entity, &LevelProxy), (Changed<LevelProxy>, EvenHidden)>,
    mut removed: RemovedComponents<LevelProxy>,
    mut proxies: Query<(&LevelProxy, &mut Visibility), EvenHidden>,
    worlds: Query<(Entity, &LevelTable), EvenHidden>,
    mut seen: Seen,
    mut known: Local<Known>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("proxies of levels");
    // Who has lost it and got it again has changed.
    removed.read().for_each(|proxy| known.forget(proxy));
    let mut stirred = Vec::new();
    for (proxy, of) in &changed {
        known.set(proxy, &of.level);
        stirred.push(proxy);
    }
    stirred.extend(seen.read().flat_map(|level| known.of(level)));
    for proxy in stirred {
        let Ok((of, mut visibility)) = proxies.get_mut(proxy) else {
            continue;
        };
        let is_seen = worlds.iter().any(|(world, table)| of.is_of(world, table));
        visibility.set_if_neq(if is_seen {
            Visibility::Hidden
        } else {
            Visibility::Inherited
        });
    }
}
