//! Levels that are added to a world while it runs: further placements of a level that the world has. See [`NewInstance`].

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use bevy_asset::AssetId;
use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut},
    entity::Entity,
    lifecycle::RemovedComponents,
    query::With,
    resource::Resource,
    system::{Query, Res, ResMut},
};
use bevy_log::error;
use bevy_math::Vec3;
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_asset::StreamingClock;

use crate::{
    manifest::{LevelEntry, ManifestError, WorldManifest},
    requests::{LevelRequests, LevelTicket, Levels, RequestError},
    target::LevelTarget,
    world::{EvenHidden, LevelSelection, LevelTable, SeamlessWorld},
};

/// A further placement of a level, under a name of its own: a house that is built from the package of another one. See
/// [`Levels::add_instance`].
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, PartialEq)]
pub struct NewInstance {
    /// The [`SeamlessWorld`] entity that gets it; `None` is the first world that has the level.
    pub world: Option<Entity>,
    /// Its name, unique among the levels of all worlds. It is a part of its entities' [`StableId`](seamless_asset::StableId)s: for saves and
    /// peers, give an instance the same name in each run.
    pub name: String,
    /// The level whose package it is another placement of.
    pub of: String,
    /// Where it stands.
    pub placement: Transform,
    /// The world-space box (min, max) around what it renders. `None`: that of the other level, moved along.
    pub bounds: Option<(Vec3, Vec3)>,
    /// What makes it differ from others of its package, for the game's own [hooks](seamless_asset::SeamlessAssetApp::add_instance_hook), which get
    /// it as the text of their [`InstanceData`](seamless_asset::InstanceData).
    pub data: Option<String>,
    /// How far it is to come for as long as somebody has the ticket, wherever sources are: as urgently as [`Levels::load`] asks. Where volumes or distances
    /// are to decide, let go of the ticket; [`LevelTarget::Unloaded`] keeps it away.
    pub target: LevelTarget,
}

impl NewInstance {
    /// Another placement of the level `of`, to be visible.
    #[must_use]
    pub fn new(name: impl Into<String>, of: impl Into<String>, placement: Transform) -> Self {
        Self {
            world: None,
            name: name.into(),
            of: of.into(),
            placement,
            bounds: None,
            data: None,
            target: LevelTarget::Visible,
        }
    }

    /// What a manifest would say about it.
    fn entry(&self, of: &LevelEntry) -> LevelEntry {
        let Transform {
            translation,
            rotation,
            scale,
        } = self.placement;
        let mut entry = of.placed_again(
            &self.name,
            translation.to_array(),
            rotation.to_array(),
            scale.to_array(),
        );
        if let Some((min, max)) = self.bounds {
            entry.bounds = Some((min.to_array(), max.to_array()));
        }
        entry.data.clone_from(&self.data);
        entry
    }
}

/// The instances that game code has added, to all worlds.
#[derive(Resource, Default)]
pub(crate) struct AddedInstances {
    all: BTreeMap<String, AddedInstance>,
    next: u64,
    /// The names of those that came or went since worlds looked: of all others worlds know.
    changed: BTreeSet<String>,
}

/// An instance that was added.
struct AddedInstance {
    /// Tells it from another of that name.
    id: u64,
    world: Entity,
    /// What the world was made of then.
    manifest: AssetId<WorldManifest>,
    entry: LevelEntry,
    /// What game code said.
    said: NewInstance,
}

impl AddedInstances {
    fn add(&mut self, (world, manifest): (Entity, AssetId<WorldManifest>), entry: LevelEntry, said: NewInstance) {
        let id = self.next;
        self.next += 1;
        let name = entry.name.clone();
        let said = self.of_manifest(said, &entry);
        self.changed.insert(name.clone());
        let instance = AddedInstance {
            id,
            world,
            manifest,
            entry,
            said: NewInstance {
                world: Some(world),
                ..said
            },
        };
        self.all.insert(name, instance);
    }

    /// The same as an instance of a level of the manifest: the other instance that it is of may go.
    fn of_manifest(&self, said: NewInstance, entry: &LevelEntry) -> NewInstance {
        let Some(other) = self.all.get(&said.of) else {
            return said;
        };
        NewInstance {
            of: other.said.of.clone(),
            bounds: entry.bounds.map(|(min, max)| (min.into(), max.into())),
            ..said
        }
    }

    /// Whether an instance of that name was added, to the world that is meant or to any; it may not be in its world's table yet.
    pub fn contains(&self, name: &str, meant: Option<Entity>) -> bool {
        let added = self.all.get(name);
        added.is_some_and(|added| meant.is_none_or(|meant| meant == added.world))
    }

    fn remove(&mut self, name: &str) -> bool {
        let was_there = self.all.remove(name).is_some();
        if was_there {
            self.changed.insert(name.to_owned());
        }
        was_there
    }

    /// Forgets all that are not to be kept.
    fn retain(&mut self, is_kept: impl Fn(&AddedInstance) -> bool) {
        let Self { all, changed, .. } = self;
        all.retain(|name, instance| {
            let is_kept = is_kept(instance);
            if !is_kept {
                changed.insert(name.clone());
            }
            is_kept
        });
    }
}

impl Levels<'_, '_> {
    /// Adds a level to a world: another placement of a level that it has, of the same package. From the next `SpawnScene` on it is a level as any
    /// other, which volumes and requests may name. Nothing of it is loaded beyond what is asked for, first of all by the ticket that is given back.
    ///
    /// It stays known until [`remove_instance`](Self::remove_instance), also when its ticket is gone, and when the world's manifest is
    /// loaded again; it goes with its world, and when that gets the handle of another manifest. The ticket is for this very instance, whatever has its name later. If that manifest has a level of its name by then, the name means the manifest's level, and an error is logged: the
    /// instance is left out, until it is removed or a manifest comes that does not have the name.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_transform::components::Transform;
    /// # use seamless_level::{LevelTicket, Levels, NewInstance};
    /// #[derive(Component)]
    /// struct Plot(LevelTicket);
    ///
    /// fn build(mut levels: Levels, mut commands: Commands) -> Result {
    ///     let place = Transform::from_xyz(120.0, 0.0, 40.0);
    ///     let ticket = levels.add_instance(NewInstance::new("house_37", "house", place))?;
    ///     commands.spawn(Plot(ticket)); // the house is there as long as the plot
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// When no world has the level `of`, or [none has come yet](RequestError::NotYet) that may have it, the name is taken, the placement is unusable, or the cap
    /// [`LevelSettings::max_instances`](crate::LevelSettings::max_instances) or that on requests is reached.
    pub fn add_instance(&mut self, instance: NewInstance) -> Result<LevelTicket, RequestError> {
        let limit = self.settings.max_instances;
        if self.instances.all.len() >= limit {
            return Err(RequestError::TooManyInstances { limit });
        }
        let (world, entry) = self.entry_of(&instance)?;
        let number = (world.0, self.instances.next);
        let ticket = self.ticket_of(&instance.name, instance.target, number)?;
        self.instances.add(world, entry, instance);
        Ok(ticket)
    }

    /// All that were added and not removed, in the order of their names, each with its world: what a saved game keeps, and adds again when it is
    /// loaded. One that was placed [of](NewInstance::of) another instance is told as one of the manifest's level that both are of, with the bounds that it got by that.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use seamless_level::{LevelTable, Levels, NewInstance};
    /// #[derive(Resource, Default)]
    /// struct Saved(Vec<NewInstance>);
    ///
    /// fn save(levels: Levels, mut saved: ResMut<Saved>) {
    ///     saved.0 = levels.added_instances().cloned().collect();
    /// }
    ///
    /// fn restore(added: On<Add, LevelTable>, mut saved: ResMut<Saved>, mut levels: Levels) -> Result {
    ///     // Once: it stays when the world's manifest is loaded again, and comes with the new table.
    ///     for house in core::mem::take(&mut saved.0) {
    ///         // Entities have other numbers in another run.
    ///         let world = Some(added.event_target());
    ///         levels.add_instance(NewInstance { world, ..house })?; // volumes or distances bring it
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn added_instances(&self) -> impl ExactSizeIterator<Item = &NewInstance> {
        self.instances.all.values().map(|added| &added.said)
    }

    /// Takes a level away that [`add_instance`](Self::add_instance) added: it leaves, or its load is cancelled, whoever wants it, and
    /// nobody finds it any more. Its name is free at once, and the [standing request](Self::requested) for it is taken back; the ticket that
    /// `add_instance` gave asks for no other one of that name.
    ///
    /// # Errors
    /// When no such instance was added.
    pub fn remove_instance(&mut self, name: &str) -> Result<(), RequestError> {
        if self.instances.remove(name) {
            // Unless it means a level of a manifest that has come since.
            if self.tables.iter().all(|(_, table)| table.listed(name).is_none()) {
                self.forget_standing(name);
            }
            return Ok(());
        }
        let level = name.to_owned();
        Err(RequestError::UnknownInstance { level })
    }

    /// Where an instance goes, and what a manifest would say of it.
    fn entry_of(&self, instance: &NewInstance) -> Result<((Entity, AssetId<WorldManifest>), LevelEntry), RequestError> {
        if instance.name.is_empty() {
            let (what, index) = ("level", self.instances.all.len());
            return Err(RequestError::Instance(ManifestError::Nameless { what, index }));
        }
        let is_meant = |world| instance.world.is_none_or(|meant| meant == world);
        let mut tables = self.tables.iter().filter(|(world, _)| is_meant(*world));
        let added = self
            .instances
            .all
            .get(&instance.of)
            .filter(|added| is_meant(added.world));
        let found = tables.find_map(|(world, table)| {
            let of = table.get(&instance.of)?.entry();
            Some(((world, table.manifest()), of))
        });
        let found = found.or_else(|| added.map(|added| ((added.world, added.manifest), &added.entry)));
        let Some((world, of)) = found else {
            let level = instance.of.clone();
            let is_meant_there = instance.world.is_some_and(|meant| self.tables.contains(meant));
            return Err(match !is_meant_there && self.may_more_come() {
                true => RequestError::NotYet { level },
                false => RequestError::UnknownLevel { level },
            });
        };
        let mut known = self.tables.iter().flat_map(|(_, table)| table.listed(&instance.name));
        if self.instances.all.contains_key(&instance.name) || known.next().is_some() {
            let name = instance.name.clone();
            return Err(RequestError::NameTaken { name });
        }
        let entry = instance.entry(of);
        entry.validate().map_err(RequestError::Instance)?;
        Ok((world, entry))
    }
}

/// Puts levels that were added into the tables of their worlds, and takes those out that were removed.
pub(crate) fn sync_instances(
    mut worlds: Query<(Entity, &mut LevelTable, &mut LevelSelection), EvenHidden>,
    mut added: ResMut<AddedInstances>,
    requests: Res<LevelRequests>,
    known_worlds: Query<(), (With<SeamlessWorld>, EvenHidden)>,
    mut gone_worlds: RemovedComponents<SeamlessWorld>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("levels that were placed");
    let added = added.bypass_change_detection();
    if gone_worlds.read().count() > 0 {
        added.retain(|instance| known_worlds.contains(instance.world));
    }
    // A table that was built anew knows nothing of them.
    let is_any_new = worlds.iter_mut().any(|(_, table, _)| table.is_added());
    if added.changed.is_empty() && !is_any_new {
        return;
    }
    for (world, table, _) in worlds.iter().filter(|_| is_any_new) {
        let is_of_another = |instance: &AddedInstance| instance.world == world && instance.manifest != table.manifest();
        added.retain(|instance| !is_of_another(instance));
    }
    let changed = core::mem::take(&mut added.changed);
    for (world, mut table, mut selection) in &mut worlds {
        // A name that is taken is refused to whoever adds an instance, so only a manifest can bring one that is in use.
        if table.is_added() {
            tell_left_out(world, &table, added);
        }
        // A table that is new is to get all of them.
        let all = || added.all.keys().cloned().collect();
        let names: Cow<BTreeSet<String>> = if table.is_added() {
            Cow::Owned(all())
        } else {
            Cow::Borrowed(&changed)
        };
        if sync_world(
            world,
            table.bypass_change_detection(),
            &mut selection,
            added,
            &names,
            &requests,
        ) {
            table.set_changed();
        }
    }
}

/// Tells of the instances whose names a manifest has that came after them.
fn tell_left_out(world: Entity, table: &LevelTable, added: &AddedInstances) {
    for name in left_out(world, table, added) {
        error!(
            "seamless world `{}`: the instance `{name}` is left out, as the manifest has a level of that name now; call \
             `Levels::remove_instance` and add it under another name, or rename the level in the world file and cook it again",
            table.name()
        );
    }
}

fn left_out<'a>(world: Entity, table: &'a LevelTable, added: &'a AddedInstances) -> impl Iterator<Item = &'a str> {
    let here = added.all.values().filter(move |instance| instance.world == world);
    let names = here.map(|instance| instance.entry.name.as_str());
    names.filter(|name| table.listed(name).is_some())
}

/// Has the table what was said of instances with these names; whether it changed.
fn sync_world(
    world: Entity,
    table: &mut LevelTable,
    selection: &mut LevelSelection,
    added: &AddedInstances,
    names: &BTreeSet<String>,
    requests: &LevelRequests,
) -> bool {
    let is_known = |name: &str, id: u64| {
        let instance = added.all.get(name);
        instance.is_some_and(|instance| instance.id == id && instance.world == world)
    };
    let is_gone = |name: &&String| {
        let known = table.added().get(*name);
        known.is_some_and(|(_, id)| !is_known(name, *id))
    };
    let gone: Vec<String> = names.iter().filter(is_gone).cloned().collect();
    let mut has_changed = !gone.is_empty();
    let gone = gone.into_iter().filter_map(|name| {
        let level = table.remove(&name)?;
        Some((name, level))
    });
    selection.remove_levels(gone.collect(), requests);
    let mut free = table.free_places(|level| selection.is_free(level)).into_iter();
    let here = names.iter().filter_map(|name| added.all.get(name));
    for instance in here.filter(|instance| instance.world == world) {
        // It is there, or the manifest has a level of that name.
        if table.index_of(&instance.entry.name).is_some() {
            continue;
        }
        let level = table.add(instance.entry.clone(), instance.id, free.next());
        if let Some(slot) = table.at(level) {
            selection.add_level(level, slot);
        }
        selection.look_for(world, table, requests, &instance.entry.name);
        has_changed = true;
    }
    table.give_back(free);
    has_changed
}
