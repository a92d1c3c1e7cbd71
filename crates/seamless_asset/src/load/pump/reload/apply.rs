//! The one frame in which what is live of a package becomes what its new file says. See [`Pipeline::apply_reload`].

use core::time::Duration;
use std::sync::Arc;

use bevy_asset::{AssetPath, UntypedAssetId};
use bevy_ecs::{entity::Entity, message::Messages, world::World};
use bevy_log::debug_span;
use bevy_platform::{collections::HashSet, time::Instant};
use bevy_reflect::TypeRegistry;
use seamless_package::{ObjectId, ObjectRef, Package, RefTarget};

use super::{super::insert::upload_of, MOST_TRIES, Pipeline, Reload, Staged, Step};
use crate::{
    edits::AssetEdits,
    error::{LoadError, LoadErrorKind},
    gate::RevealGates,
    hide::hide_new,
    load::{
        InstanceId, ReloadPolicy, ReloadReport, Reloaded,
        budget::FrameBudget,
        cost::UnitKind,
        instance::{Instance, Phase},
        link::{LiveLevel, LoadedAsset},
        stage::Stage,
    },
    objects::Slot,
    reload::{Differ, LevelDiff, Prepared},
    settings::StreamingStats,
};

/// Edits that an error names.
const EDITS_NAMED: usize = 8;

/// A user of a package that is about to change.
struct User {
    id: InstanceId,
    /// The package that it was asked for, and those beside it that this does not import from, which it keeps.
    roots: Vec<AssetPath<'static>>,
    /// These, and all that they import from.
    held: HashSet<AssetPath<'static>>,
}

impl Pipeline {
    /// Whether there was time for it.
    pub(in crate::load::pump) fn apply_in_turn(
        &mut self,
        world: &mut World,
        id: InstanceId,
        budget: &mut FrameBudget,
    ) -> bool {
        let Some(reload) = self.reloads.get(&id) else {
            return true;
        };
        let Step::Staged(staged) = &reload.step else {
            return true;
        };
        let (count, path) = (staged.entities(), reload.path.clone());
        let cost = |asset: &LoadedAsset| self.costs.of(asset.cost_key(), asset.bytes);
        let assets: Duration = staged.replacing.iter().map(cost).sum();
        if !budget.allows(self.costs.of(UnitKind::Reload, count) + assets) {
            return false;
        }
        let _span = debug_span!("reload", package = %path, entities = count).entered();
        let start = Instant::now();
        let inserted = self.apply_reload(world, id);
        let took = start.elapsed();
        if let Some(inserted) = inserted {
            self.costs.learn(UnitKind::Reload, count, took.saturating_sub(inserted));
        }
        budget.book(UnitKind::Reload, took, || format!("reload {path} ({count} entities)"));
        true
    }

    /// All that is live of the package becomes what the new file says, in this frame; or nothing, when that cannot be.
    /// If it has, what its assets took of it.
    fn apply_reload(&mut self, world: &mut World, id: InstanceId) -> Option<Duration> {
        let mut reload = self.reloads.remove(&id)?;
        let staged = match core::mem::replace(&mut reload.step, Step::Queued) {
            Step::Staged(staged) if self.is_up_to_date(world, &reload, &staged) => staged,
            stale => {
                // What is live is not what it was: once more.
                self.tasks.drop_later(stale);
                let bytes = core::mem::take(&mut reload.bytes);
                let path = reload.path.to_string();
                world.resource_mut::<StreamingStats>().waste(Stage::Staged, bytes);
                let tries = reload.tries;
                self.reloads.insert(id, reload);
                if tries >= MOST_TRIES {
                    let error = LoadErrorKind::Restless { tries };
                    self.fail_reload(world, id, Arc::new(LoadError::package(path, error)));
                }
                return None;
            }
        };
        let result = self.change(world, &reload, id, *staged);
        match result {
            Ok((report, inserted)) => {
                let outcome = reload.outcome.upgrade();
                let package = reload.path.clone();
                world.resource_mut::<Messages<Reloaded>>().write(Reloaded {
                    package,
                    report: report.clone(),
                });
                if let Some(outcome) = outcome {
                    outcome.finish(Ok(report));
                }
                world.resource_mut::<StreamingStats>().reloaded += 1;
                self.release(world, id);
                self.instances.remove(&id);
                Some(inserted)
            }
            Err(error) => {
                self.reloads.insert(id, reload);
                self.fail_reload(world, id, Arc::from(error));
                None
            }
        }
    }

    /// Whether what was staged still fits what is live.
    fn is_up_to_date(&self, world: &World, reload: &Reload, staged: &Staged) -> bool {
        let renewed = &staged.loaded.renewed;
        let mut live = self.live_instances(&reload.path);
        let edited = world.resource::<AssetEdits>().all();
        let is_new_edit = |asset: &UntypedAssetId| edited.contains(asset) && !staged.of.edited.contains(asset);
        let is_alive = |entity: &Entity| world.entities().contains_spawned(*entity);
        let mut kept = renewed.levels.iter().flat_map(|level| {
            let is_live = self.live_instances(&reload.path).any(|(id, ..)| id == level.instance);
            level
                .kept
                .iter()
                .filter(move |_| is_live)
                .flat_map(|group| &group.entities)
        });
        staged.of.is_used == self.packages.contains_key(&reload.path)
            && live.all(|(id, _, members)| {
                // A level lets go of entities that stay when it is hidden: they are not its own any more.
                let is_same = |level: &LiveLevel| level.instance == id && Arc::ptr_eq(&level.objects, &members.objects);
                renewed.levels.iter().any(|level| level.instance == id) && staged.of.levels.iter().any(is_same)
            })
            && !renewed.own.iter().any(is_new_edit)
            && kept.all(is_alive)
    }

    fn change(
        &mut self,
        world: &mut World,
        reload: &Reload,
        id: InstanceId,
        mut staged: Staged,
    ) -> Result<(ReloadReport, Duration), Box<LoadError>> {
        let mut unverified = staged.loaded.unverified.iter();
        if let Some(error) = unverified.find_map(|import| import.fault(&self.services)) {
            return Err(error.into());
        }
        if let Some(error) = self.unmet_import(id) {
            return Err(error.into());
        }
        let types = self.services.registry.clone();
        let registry = types.read();
        let mut report = ReloadReport::default();
        let mut levels: Vec<(Prepared, LevelDiff)> = Vec::new();
        for level in core::mem::take(&mut staged.loaded.renewed.levels) {
            let live = self.instances.get(&level.instance).map(|live| &live.phase);
            let Some(Phase::Live { members, .. } | Phase::Leaving { members, .. } | Phase::Hidden { members, .. }) =
                live
            else {
                // It left meanwhile.
                self.tasks.drop_later(level);
                continue;
            };
            let level = Prepared::new(world, level, &self.services, &registry);
            let diff = Differ::new(world, &registry, reload.policy, members).diff(&level, &mut report);
            levels.push((level, diff));
        }
        let edited = staged.loaded.renewed.edited.len();
        match reload.policy {
            ReloadPolicy::Refuse => refuse(world, &registry, reload, &staged, &levels)?,
            ReloadPolicy::Overwrite => report.edits_overwritten += edited,
            ReloadPolicy::KeepEdits => report.edits_kept += edited,
        }
        // Hooks and observers run from here on, and may register types.
        drop(registry);
        report.assets_added = staged.added;
        let (replaced, inserted) = self.replace_assets(world, reload, core::mem::take(&mut staged.replacing));
        report.assets_replaced = replaced.len();
        self.touch_users(world, &reload.path, &replaced);
        for (level, diff) in levels {
            let instance = level.staged.instance;
            let Some(mut live) = self.instances.get_mut(&instance) else {
                continue;
            };
            let spent = match &mut live.phase {
                Phase::Live { members, .. } | Phase::Leaving { members, .. } => {
                    level.apply(world, diff, members, &mut report)
                }
                Phase::Hidden { root, members, hiding } => {
                    let spent = level.apply(world, diff, members, &mut report);
                    hide_new(world, *root, members, hiding);
                    spent
                }
                _ => continue,
            };
            self.tasks.drop_later(spent);
        }
        let unseen = self.drop_unseen(world, &reload.path);
        self.take_over_package(world, reload, staged, &unseen);
        unseen.into_iter().for_each(|id| self.read_again(id));
        Ok((report, inserted))
    }

    /// Levels of the package that nobody has seen yet were read from the old file. They are to be [read again](Self::read_again).
    fn drop_unseen(&mut self, world: &mut World, path: &AssetPath<'static>) -> Vec<InstanceId> {
        let is_unseen = |instance: &Instance| matches!(instance.phase, Phase::Staged(_) | Phase::Spawning(_));
        let of_package = self.instances.iter();
        let of_package = of_package.filter(|(_, instance)| instance.request.package == *path);
        let unseen: Vec<_> = of_package
            .filter(|(_, instance)| is_unseen(instance))
            .map(|(id, _)| *id)
            .collect();
        for id in &unseen {
            self.level_gates.forget(*id, world.resource::<RevealGates>());
            match self.instances.replace_phase(*id, Phase::Queued) {
                Some(Phase::Staged(level)) => self.drop_level(world, level),
                Some(Phase::Spawning(spawn)) => self.abandon(world, spawn),
                _ => {}
            }
        }
        unseen
    }

    /// At once: it was in memory a moment ago, and everybody still takes it for loaded. So nobody is told of that a second time.
    fn read_again(&mut self, id: InstanceId) {
        let is_announced = self.instances.get(&id).is_some_and(|instance| instance.is_announced);
        self.start_level(id, false);
        if let Some(mut instance) = self.instances.get_mut(&id) {
            instance.is_announced = is_announced;
        }
    }

    /// Which were, and how long that took.
    fn replace_assets(
        &mut self,
        world: &mut World,
        reload: &Reload,
        assets: Vec<LoadedAsset>,
    ) -> (HashSet<ObjectId>, Duration) {
        let (mut replaced, mut inserted) = (HashSet::new(), Duration::ZERO);
        for mut asset in assets {
            let mut edits = world.resource_mut::<AssetEdits>();
            let stays = reload.policy != ReloadPolicy::Overwrite && edits.all().contains(&asset.asset);
            if !stays {
                edits.replaced(asset.asset);
                let (upload, start) = (upload_of(&asset), Instant::now());
                let is_replaced = asset.value.insert(world, asset.asset);
                let took = start.elapsed();
                inserted += took;
                if is_replaced {
                    self.costs.learn(asset.cost_key(), asset.bytes, took);
                    // All in one frame, since what is live changes as a whole.
                    let mut stats = world.resource_mut::<StreamingStats>();
                    stats.uploaded_bytes += upload;
                    stats.uploaded_last += upload;
                    asset.slot.replace(asset.fingerprint);
                    self.held_memory.note(&asset.slot, asset.bytes);
                    replaced.insert(asset.object);
                } else {
                    world.resource_mut::<AssetEdits>().forget(asset.asset);
                }
            }
            self.tasks.drop_later(asset);
        }
        (replaced, inserted)
    }

    /// Assets of other packages that refer to replaced ones are marked as modified: a renderer that has put an image into a material
    /// does not look at the image again. Only packages whose linkers are kept can tell.
    fn touch_users(&self, world: &mut World, path: &AssetPath<'static>, replaced: &HashSet<ObjectId>) {
        if replaced.is_empty() {
            return;
        }
        let users = self.packages.iter().filter(|(_, entry)| entry.needs.contains(path));
        for (_, entry) in users {
            let Some(linker) = &entry.linker else { continue };
            for id in referring(linker.package(), replaced) {
                let Some(handle) = self.services.objects.get(linker.cook().object(id)) else {
                    continue;
                };
                let codec = self.services.codecs.read().asset(handle.type_id());
                if let Some(codec) = codec
                    && codec.touch(world, handle.id())
                {
                    world.resource_mut::<AssetEdits>().touched(handle.id());
                }
            }
        }
    }

    /// The package is what the new file says; its users hold what that imports, and no more. Of those that are `unseen` nothing is left that
    /// was read from the old one.
    fn take_over_package(&mut self, world: &mut World, reload: &Reload, staged: Staged, unseen: &[InstanceId]) {
        let Staged { mut loaded, .. } = staged;
        loaded.slots.iter().for_each(Slot::complete);
        let users = self.users_of(&reload.path);
        let Some(mut entry) = self.packages.get_mut(&reload.path) else {
            self.tasks.drop_later(loaded);
            return;
        };
        entry.needs = loaded.needs.into_iter().map(|need| need.path).collect();
        entry.unverified = loaded.unverified;
        entry.assets = core::mem::take(&mut loaded.rendered);
        entry.bytes = reload.bytes;
        entry.hashes = vec![loaded.linker.package().summary().content_hash];
        self.sizes.note_assets(&reload.path, loaded.memory);
        self.held_memory.hold(&loaded.slots);
        self.held_memory.let_go(&entry.held);
        entry.held = core::mem::take(&mut loaded.slots);
        let old = core::mem::replace(&mut entry.handles, loaded.handles);
        let linker = self.keep_linkers.then_some(loaded.linker);
        let linker = core::mem::replace(&mut entry.linker, linker);
        drop(entry);
        self.tasks.drop_later((old, linker, loaded.sources));
        for user in users {
            let is_unseen = unseen.contains(&user.id);
            self.hold_needed(world, user, is_unseen);
        }
    }

    /// The users of a package, and what they hold as of now.
    fn users_of(&self, path: &AssetPath<'static>) -> Vec<User> {
        let Some(entry) = self.packages.get(path) else {
            return Vec::new();
        };
        let users = entry.users.iter().filter_map(|id| {
            let request = &self.instances.get(id)?.request;
            let mut roots = vec![request.package.clone()];
            let own = self.closure_of(&roots);
            let others = request.dependencies.iter().filter(|path| !own.contains(*path));
            roots.extend(others.cloned());
            Some(User {
                id: *id,
                held: self.closure_of(&roots),
                roots,
            })
        });
        users.collect()
    }

    /// The instance holds the packages that it needs by now, and no more. One that is still to be loaded may need more than is known yet, unless it
    /// begins anew.
    fn hold_needed(&mut self, world: &mut World, user: User, is_unseen: bool) {
        let User { id, roots, held } = user;
        let Some(instance) = self.instances.get(&id) else {
            return;
        };
        let is_live = matches!(
            instance.phase,
            Phase::Live { .. } | Phase::Leaving { .. } | Phase::Hidden { .. }
        );
        let needed = self.closure_of(&roots);
        let own = self.closure_of(core::slice::from_ref(&instance.request.package));
        let packages = instance.packages.iter().filter(|_| is_live || is_unseen);
        let unneeded: Vec<_> = packages
            .filter(|path| held.contains(*path) && !needed.contains(*path))
            .cloned()
            .collect();
        for path in needed {
            self.join(id, path);
        }
        if let Some(mut instance) = self.instances.get_mut(&id) {
            instance.packages.retain(|path| !unneeded.contains(path));
            if is_live || is_unseen {
                // What it was asked for with because it imported that is nothing to keep from now on.
                let dependencies = &mut instance.request.dependencies;
                dependencies.retain(|path| roots.contains(path) || own.contains(path));
            }
        }
        for path in unneeded {
            self.release_package(world, id, &path);
        }
        if is_live && self.has_packages(id) {
            self.use_packages(id);
        }
    }

    /// These packages and all that they import from, directly and indirectly.
    fn closure_of(&self, roots: &[AssetPath<'static>]) -> HashSet<AssetPath<'static>> {
        let mut closure = HashSet::new();
        let mut open = roots.to_vec();
        while let Some(path) = open.pop() {
            if let Some(entry) = self.packages.get(&path) {
                open.extend(entry.needs.iter().filter(|need| !closure.contains(*need)).cloned());
            }
            closure.insert(path);
        }
        closure
    }
}

/// The objects of `package` that refer to one of these imports.
fn referring(package: &Package, imported: &HashSet<ObjectId>) -> Vec<ObjectId> {
    let is_imported = |reference: ObjectRef| match reference.target() {
        RefTarget::Import(index) => {
            let import = package.imports().get(index);
            import.is_some_and(|import| imported.contains(&import.object_id))
        }
        _ => false,
    };
    let exports = package.exports().iter().enumerate();
    let referring = exports.filter(|(index, _)| package.refs(*index).iter().any(is_imported));
    referring.map(|(_, export)| export.object_id).collect()
}

/// The error about what was changed at run time, if anything was.
fn refuse(
    world: &World,
    registry: &TypeRegistry,
    reload: &Reload,
    staged: &Staged,
    levels: &[(Prepared, LevelDiff)],
) -> Result<(), Box<LoadError>> {
    let assets = staged.loaded.renewed.edited.iter();
    let edits = levels.iter().flat_map(|(_, diff)| &diff.edits);
    let count = assets.len() + edits.clone().count();
    if count == 0 {
        return Ok(());
    }
    let named = assets
        .map(|name| format!("`{name}`"))
        .chain(edits.map(|edit| edit.describe(world, registry)));
    let first = named.take(EDITS_NAMED).collect();
    let kind = LoadErrorKind::Edited { first, count };
    Err(LoadError::package(reload.path.to_string(), kind).into())
}
