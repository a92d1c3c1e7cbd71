//! The flight as a game flies it: a world's levels, a volume around each, and a source on the camera.

use std::time::{Duration, Instant};

use bevy_app::App;
use bevy_asset::Assets;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use seamless_level::{
    LevelEntry, LevelTable, LevelWanted, MANIFEST_FORMAT, RequestKind, SeamlessWorld, StreamingSource, VolumeEntry,
    VolumeShape, WorldManifest,
};

use super::{
    Wish,
    content::{ENTITIES, corner, file},
    path::{CELL, GRID, MARGIN, REACH},
};
use crate::app::KIT;

/// How high volumes are, in metres: the camera is in them wherever it flies.
const HEIGHT: f32 = 1000.0;

/// The world, and who asks for its levels.
pub(super) struct LevelRoad {
    source: Entity,
    /// Asks for all levels, whatever the source does.
    all: Entity,
    asked: Option<Wish>,
}

impl LevelRoad {
    /// Puts the world into the app, and a source on the camera that asks for nothing yet.
    pub fn new(app: &mut App, camera: Entity) -> Self {
        let manifest = app.world_mut().resource_mut::<Assets<WorldManifest>>().add(manifest());
        let world = app.world_mut().spawn(SeamlessWorld(manifest)).id();
        let source = StreamingSource {
            enabled: false,
            ..StreamingSource::default()
        };
        app.world_mut().entity_mut(camera).insert(source);
        let all = app.world_mut().spawn_empty().id();
        let start = Instant::now();
        while app.world().get::<LevelTable>(world).is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "the world comes");
            app.update();
        }
        Self {
            source: camera,
            all,
            asked: None,
        }
    }

    /// What the camera is to find. Volumes know what is around it.
    pub fn ask(&mut self, world: &mut World, wish: Wish) {
        let kind = core::mem::discriminant(&wish);
        if self
            .asked
            .replace(wish)
            .is_some_and(|asked| core::mem::discriminant(&asked) == kind)
        {
            return;
        }
        if let Some(mut source) = world.get_mut::<StreamingSource>(self.source) {
            source.enabled = matches!(wish, Wish::Around(_));
        }
        let mut all = world.entity_mut(self.all);
        all.remove::<LevelWanted>();
        if wish == Wish::All {
            all.insert(LevelWanted {
                levels: cells().map(file).collect(),
                kind: RequestKind::Show,
                ..LevelWanted::default()
            });
        }
    }
}

fn cells() -> impl Iterator<Item = usize> {
    0..GRID * GRID
}

fn manifest() -> WorldManifest {
    let level = |cell| LevelEntry {
        name: file(cell),
        package: file(cell),
        dependencies: vec![KIT.into()],
        translation: corner(cell).to_array(),
        entities: ENTITIES as u32,
        ..LevelEntry::default()
    };
    let mut manifest = WorldManifest {
        format: MANIFEST_FORMAT,
        name: "flight".into(),
        levels: cells().map(level).collect(),
        volumes: cells().map(volume).collect(),
        ..WorldManifest::default()
    };
    // As the cook writes it.
    manifest.peak_entities = manifest.estimate_peak_entities();
    manifest
}

/// The same rule as that of [`Wish::Around`], with what a game has besides: a way ahead, and a delay before levels leave.
fn volume(cell: usize) -> VolumeEntry {
    let reach = Vec3::new(REACH, HEIGHT, REACH);
    let low = corner(cell);
    VolumeEntry {
        name: file(cell),
        shape: VolumeShape::Box {
            min: low - reach,
            max: low + Vec3::new(CELL, 0.0, CELL) + reach,
        },
        unload_margin: MARGIN,
        levels: vec![file(cell)],
        ..VolumeEntry::default()
    }
}
