//! Tests of worlds: an app whose pipeline is played by [`play_pipeline`], so that each step can be held or failed.

mod arrivals;
mod at;
mod awaited;
mod bad_input;
mod build;
mod counts;
mod distance;
mod lifecycle;
mod memory;
mod moving_volumes;
mod network;
mod orphans;
mod proxies;
mod reading;
mod reflected;
mod requests;
mod retry;
mod several_worlds;
mod sources;
mod unready;
mod volumes;
mod waits;
mod wanted;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bevy_app::{App, SpawnScene, TaskPoolPlugin};
use bevy_asset::{AssetPlugin, Assets, Handle};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_math::{BVec3, Vec3};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{
    InstanceEvent, InstanceId, LoadError, LoadErrorKind, Streamer, StreamingClock, StreamingSettings, StreamingSystems,
    StreamingTime, StreamingUrgency,
};

use super::{EvenHidden, InstanceIndex};
use crate::*;

/// What [`play_pipeline`] does, and what it has in the world.
#[derive(Resource, Default)]
struct Fake {
    /// Levels that do not get past *Loading*, or past *Leaving*.
    held: BTreeSet<&'static str>,
    /// Levels that fail.
    broken: BTreeSet<&'static str>,
    /// Levels that fail for a reason that may pass.
    unreadable: BTreeSet<&'static str>,
    /// The levels in the order in which their loads began.
    begun: Vec<String>,
    known: BTreeMap<InstanceId, Option<Entity>>,
    loads: usize,
    /// It does nothing.
    is_idle: bool,
    /// It knows levels that are only loaded, and hides those that are in the world, as the pipeline of an app does that has opted in.
    can_hide: bool,
}

/// What becomes of a level whose target is not what it is, if anything.
fn aim(level: &Level, id: InstanceId) -> Option<InstanceEvent> {
    let is_in_world = level.root.is_some();
    match (level.target(), level.state()) {
        (LevelTarget::Loaded, LevelState::Visible) => Some(InstanceEvent::Hidden { id }),
        (LevelTarget::Loaded, LevelState::Loading(_)) => Some(InstanceEvent::Loaded { id, entities: 7 }),
        (LevelTarget::Visible, LevelState::Hidden) if is_in_world => Some(InstanceEvent::Shown { id }),
        _ => None,
    }
}

/// Does in one frame what the pipeline does over several.
fn play_pipeline(
    tables: Query<&LevelTable, EvenHidden>,
    mut fake: ResMut<Fake>,
    mut out: MessageWriter<InstanceEvent>,
    mut commands: Commands,
) {
    let fake = &mut *fake;
    let mut stay = BTreeSet::new();
    for level in tables.iter().flatten() {
        let Some(id) = level.instance() else { continue };
        if level.state() != LevelState::Leaving || fake.held.contains(level.name()) {
            stay.insert(id);
        }
        if !fake.known.contains_key(&id) {
            fake.loads += 1;
            fake.begun.push(level.name().into());
        }
        let root = fake.known.entry(id).or_default();
        let step = fake.can_hide.then(|| aim(level, id)).flatten();
        if let Some(step) = step.filter(|_| !fake.held.contains(level.name())) {
            out.write(step);
            continue;
        }
        let loading = matches!(level.state(), LevelState::Loading(_));
        if !loading || fake.held.contains(level.name()) {
            continue;
        }
        let is_unreadable = fake.unreadable.contains(level.name());
        if is_unreadable || fake.broken.contains(level.name()) {
            let kind = match is_unreadable {
                true => LoadErrorKind::Io("the disk is away".into()),
                false => LoadErrorKind::NoLevel,
            };
            let error = LoadError::package(level.entry().package.as_str(), kind).into();
            out.write(InstanceEvent::Failed { id, error });
            fake.known.remove(&id);
        } else {
            let entity = commands.spawn_empty().id();
            *root = Some(entity);
            out.write(InstanceEvent::Revealed {
                id,
                root: entity,
                entities: 7,
            });
        }
    }
    fake.known.retain(|&id, root| {
        if stay.contains(&id) {
            return true;
        }
        match root {
            Some(root) => {
                commands.entity(*root).despawn();
                out.write(InstanceEvent::Left { id });
            }
            None => {
                out.write(InstanceEvent::Cancelled { id });
            }
        }
        false
    });
}

/// Says that a level is somewhere on its way. The pipeline that is played here reads nothing, so nobody is to be asked how far it is.
fn say(table: &mut LevelTable, index: u32, state: LevelState) {
    let LevelTable {
        levels,
        counts,
        followed,
        ..
    } = table;
    levels.get_mut(index).unwrap().set_state(state, counts);
    followed.remove(&index);
}

/// All that was told, by messages and by observers: `+level`, `-level`, `!level`, and `!` for a world.
#[derive(Resource, Default)]
struct Told {
    messages: Vec<String>,
    events: Vec<String>,
}

fn hear_messages(
    mut revealed: MessageReader<LevelRevealed>,
    mut left: MessageReader<LevelLeft>,
    mut failed: MessageReader<LevelFailed>,
    mut worlds: MessageReader<WorldFailed>,
    mut told: ResMut<Told>,
) {
    told.messages
        .extend(revealed.read().map(|event| format!("+{}", event.level)));
    told.messages
        .extend(left.read().map(|event| format!("-{}", event.level)));
    told.messages
        .extend(failed.read().map(|event| format!("!{}", event.level)));
    told.messages
        .extend(worlds.read().map(|event| format!("! {}", event.error)));
}

pub(crate) fn level_app(plugin: SeamlessLevelPlugin) -> App {
    level_app_of(App::new(), plugin)
}

fn level_app_with(settings: LevelSettings) -> App {
    level_app(SeamlessLevelPlugin { settings })
}

pub(crate) fn level_app_of(mut app: App, plugin: SeamlessLevelPlugin) -> App {
    app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default()))
        .init_resource::<Streamer>()
        .init_resource::<StreamingClock>()
        .init_resource::<StreamingTime>()
        .init_resource::<StreamingUrgency>()
        // However busy the machine is, small worlds come in one frame.
        .insert_resource(StreamingSettings {
            budget: Duration::MAX,
            ..StreamingSettings::default()
        })
        .add_message::<InstanceEvent>()
        .add_plugins(plugin)
        .init_resource::<Fake>()
        .init_resource::<Told>()
        .add_systems(
            SpawnScene,
            (
                play_pipeline
                    .in_set(StreamingSystems::Reveal)
                    .run_if(|fake: Res<Fake>| !fake.is_idle),
                hear_messages.after(LevelSystems::Report),
            ),
        )
        .add_observer(|event: On<LevelRevealed>, mut told: ResMut<Told>| {
            told.events.push(format!("+{}", event.level));
        })
        .add_observer(|event: On<LevelLeft>, mut told: ResMut<Told>| told.events.push(format!("-{}", event.level)))
        .add_observer(|event: On<LevelFailed>, mut told: ResMut<Told>| told.events.push(format!("!{}", event.level)))
        .add_observer(|event: On<WorldFailed>, mut told: ResMut<Told>| told.events.push(format!("! {}", event.error)));
    app
}

fn ball(center: Vec3, radius: f32) -> VolumeShape {
    VolumeShape::Sphere { center, radius }
}

/// Levels `base` (always there), `west` and `east` in balls of radius 10 around x = ∓50, margin 2, no delay.
pub(crate) fn manifest() -> WorldManifest {
    let level = |name: &str| LevelEntry {
        name: name.into(),
        package: format!("{name}.pkg"),
        always_loaded: name == "base",
        ..LevelEntry::default()
    };
    let volume = |name: &str, x: f32| VolumeEntry {
        name: format!("around {name}"),
        shape: ball(Vec3::X * x, 10.0),
        unload_margin: 2.0,
        unload_delay: 0.0,
        levels: vec![name.into()],
        ..VolumeEntry::default()
    };
    WorldManifest {
        format: MANIFEST_FORMAT,
        name: "test".into(),
        levels: vec![level("base"), level("west"), level("east")],
        volumes: vec![volume("west", -50.0), volume("east", 50.0)],
        ..WorldManifest::default()
    }
}

/// The same with a box below each ball: 10 wide, up to 5 high.
pub(crate) fn with_bounds() -> WorldManifest {
    let mut manifest = manifest();
    for (level, x) in manifest.levels.iter_mut().zip([0.0, -50.0, 50.0]) {
        level.bounds = Some(([x - 5.0, 0.0, -5.0], [x + 5.0, 5.0, 5.0]));
    }
    manifest
}

/// The app with a world of [`manifest`] in it, and a source at the origin.
pub(crate) struct Stage {
    pub app: App,
    pub world: Entity,
    pub source: Entity,
}

pub(crate) const WEST: Vec3 = Vec3::new(-50.0, 0.0, 0.0);
pub(crate) const EAST: Vec3 = Vec3::new(50.0, 0.0, 0.0);

impl Stage {
    pub fn new() -> Self {
        Self::with(level_app(SeamlessLevelPlugin::default()))
    }

    pub fn with(app: App) -> Self {
        Self::of(app, manifest())
    }

    pub fn of(mut app: App, manifest: WorldManifest) -> Self {
        let handle = add_manifest(&mut app, manifest);
        let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
        let source = app.world_mut().spawn(StreamingSource::default()).id();
        Self { app, world, source }
    }

    pub fn go(&mut self, position: Vec3) {
        let transform = GlobalTransform::from_translation(position);
        self.app.world_mut().entity_mut(self.source).insert(transform);
        self.frames(3);
    }

    pub fn frames(&mut self, count: usize) {
        (0..count).for_each(|_| self.app.update());
    }

    /// Frames until it is `done`; how many.
    fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> usize {
        let start = std::time::Instant::now();
        for frames in 0.. {
            if done(self) {
                return frames;
            }
            assert!(start.elapsed().as_secs() < 240, "it takes too long");
            self.frames(1);
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        unreachable!()
    }

    /// The level comes no further from here on.
    pub fn hold(&mut self, level: &'static str) {
        self.fake().held.insert(level);
    }

    pub fn release(&mut self) {
        self.fake().held.clear();
    }

    /// The level cannot be loaded, until that is mended.
    pub fn fail(&mut self, level: &'static str) {
        self.fake().broken.insert(level);
    }

    pub fn mend(&mut self) {
        self.fake().broken.clear();
    }

    fn fake(&mut self) -> Mut<'_, Fake> {
        self.app.world_mut().resource_mut::<Fake>()
    }

    /// What was told since the last call; messages and events tell the same.
    pub fn told(&mut self) -> Vec<String> {
        let told = std::mem::take(&mut *self.app.world_mut().resource_mut::<Told>());
        assert_eq!(told.messages, told.events);
        told.messages
    }

    pub fn level(&self, name: &str) -> &Level {
        self.app
            .world()
            .get::<LevelTable>(self.world)
            .unwrap()
            .get(name)
            .unwrap()
    }

    pub fn ask<R: 'static>(&mut self, ask: impl Fn(&mut Levels) -> R + Send + Sync + 'static) -> R {
        let system = move |mut levels: Levels| ask(&mut levels);
        self.app.world_mut().run_system_once(system).unwrap()
    }

    pub fn tracked(&self) -> usize {
        self.app.world().resource::<InstanceIndex>().len()
    }
}

pub(crate) fn add_manifest(app: &mut App, manifest: WorldManifest) -> Handle<WorldManifest> {
    app.world_mut().resource_mut::<Assets<WorldManifest>>().add(manifest)
}
