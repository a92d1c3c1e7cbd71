//! References to entities of levels by name. See [`SoftEntity`] and [`SoftLink`].

mod links;
#[cfg(test)]
mod tests;

use links::{LinkChanges, Links};
pub(crate) use links::{ResolveLinks, SoftLinks, link_resolution};

use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::{Entities, Entity},
    lifecycle::{HookContext, RemovedComponents},
    message::MessageReader,
    reflect::ReflectComponent,
    system::{Commands, Query, Res, ResMut, SystemParam},
    world::DeferredWorld,
};
use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use seamless_asset::{LevelInstance, Reloaded, StreamingClock, package::ObjectId};
use serde::{Deserialize, Serialize};

use crate::{
    events::{LevelHidden, LevelLeft, LevelRevealed, LevelShown},
    world::{EvenHidden, LevelTable},
};

/// An entity of a level by name: the entity itself may not be there, and it is another one each time its level comes. It never brings
/// its level.
///
/// [`SoftEntities`] finds the entity while its level is visible, [`SoftLink`] keeps it at hand.
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Serialize, Deserialize, Default, Clone, Debug, PartialEq, Hash)]
pub struct SoftEntity {
    /// The level, as its world calls it: `market`. Of several worlds, the first in which it is visible is meant.
    pub level: String,
    /// The entity, as object paths name it: the names from the top of its file down to it. In a glTF file that is the scene, `Town/Gate/Lever`, or
    /// `Scene0` where that has no name; in a `.scn.ron` it is who has no parent, `Gate/Lever`. The second of one name in a place is `Lever~1`, and who has no
    /// `Name` is `~0` in a glTF file, and its number in a `.scn.ron`. `seamless inspect` lists those of a package.
    pub object: String,
}

impl SoftEntity {
    /// The entity `object` of `level`.
    #[must_use]
    pub fn new(level: impl Into<String>, object: impl Into<String>) -> Self {
        Self {
            level: level.into(),
            object: object.into(),
        }
    }
}

/// A link to an entity of a level, from an entity of another, or from one of the game's own. It may be cooked, in a `.scn.ron` for instance:
///
/// ```ron
/// "seamless_level::across::soft::SoftLink": (to: (level: "market", object: "Tower/Bell")),
/// ```
///
/// The link leads somewhere while both sides are there: from the frame in which the later of the two levels is revealed or shown, until
/// one of them leaves or is hidden, or the entity is despawned. Where it leads just now is told by [`LinkedEntity`], which every link has; the link itself
/// is as its author, or game code, has left it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{LinkedEntity, SoftEntity, SoftLink};
/// #[derive(Component)]
/// struct Bridge;
///
/// fn build(mut commands: Commands) {
///     commands.spawn((Bridge, SoftLink::new(SoftEntity::new("far_bank", "Scene0/Pier"))));
/// }
///
/// fn reach_out(bridges: Query<&LinkedEntity, (With<Bridge>, Changed<LinkedEntity>)>) {
///     for bridge in &bridges {
///         match bridge.get() {
///             Some(_pier) => {} // the far bank is there
///             None => {}        // it is gone
///         }
///     }
/// }
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[require(LinkedEntity)]
pub struct SoftLink {
    /// Where it leads.
    pub to: SoftEntity,
}

impl SoftLink {
    /// A link that leads there as soon as it can.
    #[must_use]
    pub fn new(to: SoftEntity) -> Self {
        Self { to }
    }
}

/// Where the [`SoftLink`] of this entity leads just now: up to date at the end of [`LevelSystems::Report`](crate::LevelSystems::Report), and `Changed` when
/// it leads elsewhere.
///
/// It comes and goes with the link, and is in no file: a link that has found its entity is not changed by that, so a reload may lead it elsewhere.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct LinkedEntity {
    entity: Option<Entity>,
}

impl LinkedEntity {
    /// The entity, while it is there.
    #[must_use]
    pub fn get(&self) -> Option<Entity> {
        self.entity
    }
}

/// Finds entities of levels by name: a system parameter.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{SoftEntities, SoftEntity};
/// fn ring(bells: SoftEntities, mut commands: Commands) {
///     if let Some(bell) = bells.get(&SoftEntity::new("market", "Scene0/Tower/Bell")) {
///         commands.entity(bell); // the market is there
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct SoftEntities<'w, 's> {
    tables: Query<'w, 's, &'static LevelTable, EvenHidden>,
    levels: Query<'w, 's, &'static LevelInstance>,
    entities: &'w Entities,
}

impl SoftEntities<'_, '_> {
    /// The entity, if its level is in the world and not hidden, and it was not despawned since.
    #[must_use]
    pub fn get(&self, soft: &SoftEntity) -> Option<Entity> {
        let level = self.level_of(soft)?;
        let entity = level.entity(ObjectId::new(&level.package, &soft.object))?;
        self.entities.contains_spawned(entity).then_some(entity)
    }

    fn knows(&self, level: &str) -> bool {
        self.tables.iter().any(|table| table.get(level).is_some())
    }

    /// Whether its level is in the world, and has never had such an entity.
    fn is_mistaken(&self, soft: &SoftEntity) -> bool {
        self.level_of(soft).is_some_and(|level| {
            let id = ObjectId::new(&level.package, &soft.object);
            level.objects.entity(id).is_none()
        })
    }

    /// Its level, while that is in the world and not hidden.
    fn level_of(&self, soft: &SoftEntity) -> Option<&LevelInstance> {
        let root = self.tables.iter().find_map(|table| table.root_of(&soft.level))?;
        self.levels.get(root).ok()
    }

    /// The levels whose package is this one.
    fn levels_of<'a>(&'a self, reloaded: &'a Reloaded) -> impl Iterator<Item = &'a str> {
        let levels = self.tables.iter().flatten();
        let of_package = levels.filter(|level| *level.package() == reloaded.package);
        of_package.map(crate::Level::name)
    }
}

/// On an entity that links lead to.
#[derive(Component)]
#[component(storage = "SparseSet", on_remove = note_lost)]
pub(crate) struct LinkTarget;

fn note_lost(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut links) = world.get_resource_mut::<SoftLinks>() {
        links.lose(context.entity);
    }
}

/// What happened to levels in this frame.
#[derive(SystemParam)]
pub(crate) struct LevelNews<'w, 's> {
    revealed: MessageReader<'w, 's, LevelRevealed>,
    shown: MessageReader<'w, 's, LevelShown>,
    hidden: MessageReader<'w, 's, LevelHidden>,
    left: MessageReader<'w, 's, LevelLeft>,
    reloaded: MessageReader<'w, 's, Reloaded>,
}

impl LevelNews<'_, '_> {
    /// Tells `links` of it.
    fn tell(&mut self, links: &mut SoftLinks, found: &SoftEntities) {
        let revealed = self.revealed.read().map(|event| &event.level);
        let shown = self.shown.read().map(|event| &event.level);
        let hidden = self.hidden.read().map(|event| &event.level);
        let left = self.left.read().map(|event| &event.level);
        for level in revealed.chain(shown).chain(hidden).chain(left) {
            links.level_changed(level);
        }
        for reloaded in self.reloaded.read() {
            found.levels_of(reloaded).for_each(|level| links.level_changed(level));
        }
    }
}

/// Brings links up to date.
fn resolve_links(
    mut query: Links,
    changes: LinkChanges,
    mut removed: RemovedComponents<SoftLink>,
    mut links: ResMut<SoftLinks>,
    mut news: LevelNews,
    found: SoftEntities,
    mut commands: Commands,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("soft links");
    let links = links.bypass_change_detection();
    for link in removed.read() {
        if links.removed(link, &query)
            && let Ok(mut entity) = commands.get_entity(link)
        {
            entity.try_remove::<LinkedEntity>();
        }
    }
    links.find_lost(found.entities);
    news.tell(links, &found);
    links.look(&query, &changes);
    for entity in links.take_dirty() {
        let Ok((_, link, mut linked, is_hidden)) = query.get_mut(entity) else {
            continue;
        };
        let leads_to = if is_hidden { None } else { found.get(&link.to) };
        if leads_to.is_none() && !is_hidden {
            match found.knows(&link.to.level) {
                false => links.note_unknown(&link.to.level),
                true if found.is_mistaken(&link.to) => links.tell_mistaken(&link.to),
                true => {}
            }
        }
        if linked.entity != leads_to {
            linked.entity = leads_to;
        }
        if links.resolved(entity, leads_to)
            && let Some(target) = leads_to
        {
            commands.entity(target).try_insert(LinkTarget);
        }
    }
}
