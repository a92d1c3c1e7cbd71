//! An app with notifies in packages, and what its observers hear.

use core::{any::TypeId, time::Duration};
use std::path::Path;
use std::time::Instant;

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    AssetApp, AssetPlugin, Assets,
    io::{
        AssetSourceBuilder, AssetSourceId,
        memory::{Dir, MemoryAssetReader},
    },
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_mesh::MeshPlugin;
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_asset::{
    ObjectRegistries, ObjectRegistry, SeamlessAssetPlugin,
    codec::{Codecs, EncodeContext, EntityRows},
    level_data::LevelBuilder,
};
use seamless_package::{Codec, NewExport, ObjectId, ObjectRef, PackageWriter, Role};

use super::*;
use crate::{CueAct, CueKind, CueNotify, GameplayTag, library::tests::row};

/// What observers of all have heard.
#[derive(Resource, Default)]
pub struct Heard(pub Vec<String>);

/// An app with these notifies: `Cue.Hit` and `Cue.Hit.Fire` below `cues/hit`, `Cue.Far`, which carries 50 m, `Cue.Broken`, whose package is not there,
/// and the actor `Cue.Flame`.
pub struct TestApp {
    pub app: App,
}

pub fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

impl TestApp {
    pub fn new(plugin: CuePlugin) -> Self {
        Self::with(plugin, flame())
    }

    /// With an actor that says this.
    pub fn with(plugin: CuePlugin, flame: CueNotify) -> Self {
        Self::with_more(plugin, flame, |_| {})
    }

    /// And with more in the app.
    pub fn with_more(mut plugin: CuePlugin, flame: CueNotify, more: impl FnOnce(&mut App)) -> Self {
        // However slow the machine is.
        plugin.config.expire_after = Duration::from_secs(1000);
        let dir = Dir::default();
        let root = dir.clone();
        let mut app = App::new();
        app.register_asset_source(
            AssetSourceId::Default,
            AssetSourceBuilder::new(move || Box::new(MemoryAssetReader { root: root.clone() })),
        )
        .add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), MeshPlugin))
        .add_plugins(SeamlessAssetPlugin {
            threads: 1,
            background: false,
            ..SeamlessAssetPlugin::default()
        })
        .add_plugins(plugin)
        .init_resource::<Heard>();
        observe(&mut app);
        more(&mut app);
        app.finish();
        app.cleanup();
        fill(&dir, &mut app, &flame);
        Self { app }
    }

    pub fn spawn(&mut self) -> Entity {
        self.app.world_mut().spawn_empty().id()
    }

    pub fn fire(&mut self, act: CueAct, name: &str, target: Entity) {
        if self.stats() == CueStats::default() {
            // What is looked for at the start.
            self.app.update();
        }
        self.app.world_mut().fire_cue(act, tag(name), CueContext::new(target));
    }

    /// What was heard since the last look.
    pub fn heard(&mut self) -> Vec<String> {
        core::mem::take(&mut self.app.world_mut().resource_mut::<Heard>().0)
    }

    pub fn stats(&self) -> CueStats {
        self.app.world().resource::<CueStats>().clone()
    }

    /// Notifies in memory.
    pub fn assets(&self) -> usize {
        self.app.world().resource::<Assets<CueNotify>>().len()
    }

    pub fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed().as_secs() < 240, "it takes too long");
            self.app.update();
            std::thread::yield_now();
        }
    }

    /// Nobody waits, and nothing is on its way.
    pub fn settle(&mut self) {
        self.app.update();
        self.run_until(|test| {
            let report = CueReport::of(test.app.world());
            report.waiting.is_empty() && report.notifies.iter().all(|notify| notify.state != CueState::Loading)
        });
    }

    /// Loads the notify of a tag.
    pub fn load(&mut self, name: &str) {
        let target = self.spawn();
        self.fire(CueAct::Execute, name, target);
        self.settle();
        self.heard();
    }
}

fn observe(app: &mut App) {
    app.add_observer(|cue: On<CueExecuted>, mut heard: ResMut<Heard>| {
        heard.0.push(format!("executed {} by {}", cue.tag, cue.of));
    })
    .add_observer(|cue: On<CueOnActive>, mut heard: ResMut<Heard>| {
        heard.0.push(format!("begins {} by {}", cue.tag, cue.of));
    })
    .add_observer(|cue: On<CueWhileActive>, mut heard: ResMut<Heard>| {
        heard.0.push(format!("lasts {} by {}", cue.tag, cue.of));
    })
    .add_observer(|cue: On<CueRemoved>, mut heard: ResMut<Heard>| {
        heard.0.push(format!("ends {} by {}", cue.tag, cue.of));
    });
}

/// The actor, as it is usually.
pub fn flame() -> CueNotify {
    CueNotify {
        kind: CueKind::Actor {
            prefab: "flame.pkg".into(),
        },
        auto_destroy_delay: 0.0,
        cap: 4,
        ..CueNotify::new(tag("Cue.Flame"))
    }
}

fn fill(dir: &Dir, app: &mut App, flame: &CueNotify) {
    let mut far = CueNotify::new(tag("Cue.Far"));
    far.cull_distance = Some(50.0);
    let notifies = [
        ("hit", CueNotify::new(tag("Cue.Hit"))),
        ("fire", CueNotify::new(tag("Cue.Hit.Fire"))),
        ("far", far),
        ("flame", flame.clone()),
    ];
    let mut writer = new_package(app, "cues.pkg");
    for (name, notify) in notifies {
        add_notify(app, &mut writer, name, notify);
    }
    let put = |path: &str, bytes: Vec<u8>| dir.insert_asset(Path::new(path), bytes);
    put("cues.pkg", writer.finish().expect("it fits"));
    put("flame.pkg", prefab(app, "flame.pkg"));
    let rows = vec![
        row("cues/hit/hit.cue.ron", "cues.pkg#hit", &[("cue", "Cue.Hit")]),
        row("cues/hit/fire.cue.ron", "cues.pkg#fire", &[("cue", "Cue.Hit.Fire")]),
        row(
            "cues/far.cue.ron",
            "cues.pkg#far",
            &[("cue", "Cue.Far"), ("cue.cull_distance", "50")],
        ),
        row("cues/broken.cue.ron", "gone.pkg#broken", &[("cue", "Cue.Broken")]),
        row("cues/flame.cue.ron", "cues.pkg#flame", &[("cue", "Cue.Flame")]),
    ];
    let registry = ObjectRegistry::new("", rows).expect("the rows are good");
    app.world_mut().resource_mut::<ObjectRegistries>().insert(registry);
}

fn new_package(app: &App, name: &str) -> PackageWriter {
    let mut writer = PackageWriter::new(name);
    let codecs = app.world().resource::<Codecs>().read();
    writer
        .versions(codecs.migrations().versions())
        .expect("the lists are short");
    writer
}

fn add_notify(app: &App, writer: &mut PackageWriter, name: &str, notify: CueNotify) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs.asset(TypeId::of::<CueNotify>()).expect("it has a codec");
    let class = writer.class(&codec.schema(&registry)).expect("a class");
    let mut world = World::new();
    world.init_resource::<Assets<CueNotify>>();
    let handle = world.resource_mut::<Assets<CueNotify>>().add(notify);
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec.encode(&world, handle.id().untyped(), &mut context);
    let encoded = encoded.expect("it can be encoded").expect("it is there");
    let export = NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: encoded.data.into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    };
    writer.export(export).expect("it fits");
}

/// A level of two entities.
fn prefab(app: &App, package: &str) -> Vec<u8> {
    let mut writer = new_package(app, package);
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs
        .component(TypeId::of::<Transform>(), &registry)
        .expect("it has a codec");
    let class = writer.class(&codec.schema(&registry)).expect("a class");
    let places = [Transform::from_xyz(1.0, 0.0, 0.0), Transform::from_xyz(2.0, 0.0, 0.0)];
    let values: Vec<&dyn Reflect> = places.iter().map(|place| place as &dyn Reflect).collect();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut data = Vec::new();
    codec
        .encode(&values, &mut context, &mut data)
        .expect("it can be encoded");
    let objects = (0..2).map(|row| ObjectId::new(package, &row.to_string()));
    let mut level = LevelBuilder::new(objects.collect(), vec![0, 1]);
    level.group(2, [(class.index() as u32, Role::ALL, data.as_slice())].into_iter());
    level
        .export(&mut writer, Vec::new(), Codec::None)
        .expect("the level fits");
    writer.finish().expect("it fits")
}
