//! What comes in slices equals what Bevy spawns, in the frame in which it is revealed, later, and in the frame in which it is shown again.

use std::{collections::BTreeMap, path::Path, time::Duration};

use bevy::{pbr::PreviousGlobalTransform, prelude::*, transform::components::TransformTreeChanged};
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::{bevy_spawn_again, bevy_spawn_at, headless_with, run_until},
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, level_of, spawn_world, state, streaming_app_with},
    fixtures::{register_types, write_everything_gltf, write_everything_scn, write_forest_gltf},
    snapshot::{Snapshot, SnapshotOptions, assert_same},
};

use super::{assert_stands, cook_one, elsewhere, snapshot};

const LEVEL: &str = "level";
/// So many that the level has more entities than Bevy works out faster by itself: it comes with its final global transforms.
const TREES: usize = 1_100;

fn write_gltf(dir: &Path) {
    write_everything_gltf(dir);
}

fn write_scn(dir: &Path) {
    write_everything_scn(dir);
}

fn write_forest(dir: &Path) {
    write_forest_gltf(dir, TREES);
}

/// An app in which every level comes in slices: nothing fits its budget, so each frame does one unit of work.
fn start(cooked: &Cooked) -> (App, Entity) {
    let plugins = SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    });
    let mut app = streaming_app_with(&cooked.out(), plugins, register_types);
    let world = spawn_world(&mut app, MANIFEST);
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the manifest loads");
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    (app, world)
}

/// Asks for the level, and updates until the very frame in which it is revealed. It was in the world for several frames by then, hidden.
fn reveal_in_slices(app: &mut App, world: Entity) -> Entity {
    ask(app, LEVEL, Ask::Load);
    let mut hidden = 0;
    let there = run_until(app, STREAM_LIMIT, |ecs| {
        let stats = ecs.resource::<StreamingStats>();
        hidden += usize::from(stats.hidden_entities > 0);
        stats.revealed > 0 || stats.failed > 0
    });
    let level = level_of(app.world(), world, LEVEL);
    assert!(
        there && level.state() == LevelState::Visible,
        "{:?}: {:?}",
        level.state(),
        level.error().map(ToString::to_string)
    );
    assert!(hidden > 1, "it has not come in slices");
    level.root().expect("what is visible has a root")
}

/// Asks for the level, and updates until the very frame in which it is where it is to be.
#[track_caller]
fn bring(app: &mut App, world: Entity, what: Ask, to: LevelState) {
    ask(app, LEVEL, what);
    let there = run_until(app, STREAM_LIMIT, |ecs| state(ecs, world, LEVEL) == to);
    assert!(there, "{what:?} leads to {:?}", state(app.world(), world, LEVEL));
}

/// Up to the very frame in which it is shown again.
fn hide_and_show(app: &mut App, world: Entity) {
    bring(app, world, Ask::Preload, LevelState::Hidden);
    for _ in 0..3 {
        app.update();
    }
    assert!(app.world().resource::<StreamingStats>().hidden_entities > 0);
    assert_eq!(level_of(app.world(), world, LEVEL).root(), None);
    bring(app, world, Ask::Load, LevelState::Visible);
}

/// What Bevy spawns: as it is in the frame in which it comes, and a few frames later.
fn spawns_of_bevy(sources: &Path, path: &str, options: &SnapshotOptions) -> [Snapshot; 2] {
    let mut bevy = headless_with(sources, register_types);
    let root = bevy_spawn_at(&mut bevy, path, elsewhere());
    let later = snapshot(&bevy, root, options);
    let root = bevy_spawn_again(&mut bevy, root);
    [snapshot(&bevy, root, options), later]
}

/// Streams the source in slices, and compares it with Bevy's spawns in each frame that matters; returns the app, where it is shown, and its root.
fn compare(write: fn(&Path), source: &str, bevy_path: &str, options: &SnapshotOptions) -> (App, Entity) {
    let cooked = cook_one(write, source, elsewhere());
    let [first, later] = spawns_of_bevy(cooked.sources(), bevy_path, options);
    let (mut ours, world) = start(&cooked);
    let root = reveal_in_slices(&mut ours, world);
    let assert_is = |app: &App, expected: &Snapshot| {
        assert_stands(app, root, elsewhere());
        assert_same(expected, &snapshot(app, root, options));
    };
    assert_is(&ours, &first);
    for _ in 0..3 {
        ours.update();
    }
    assert_is(&ours, &later);
    hide_and_show(&mut ours, world);
    assert_eq!(level_of(ours.world(), world, LEVEL).root(), Some(root));
    assert_is(&ours, &later);
    ours.update();
    assert_is(&ours, &later);
    (ours, root)
}

#[test]
fn a_gltf_level_that_comes_in_slices_is_what_bevy_spawns() {
    let options = SnapshotOptions::default();
    let (app, root) = compare(write_gltf, "everything.gltf", "everything.gltf#Scene0", &options);
    let text = snapshot(&app, root, &options).to_text();
    for part in ["SkinnedMesh", "MorphWeights", "SpotLight", "Orthographic", "Aabb"] {
        assert!(text.contains(part), "{part} is compared");
    }
}

#[test]
fn a_scene_that_comes_in_slices_is_what_bevy_spawns() {
    let options = SnapshotOptions::default();
    let (app, root) = compare(write_scn, "everything.scn.ron", "everything.scn.ron", &options);
    let text = snapshot(&app, root, &options).to_text();
    for part in ["Inventory", "CrewOf", "EscortedBy", "Skills", "Mood"] {
        assert!(text.contains(part), "{part} is compared");
    }
}

/// One component it has that Bevy's has not: where each mesh was in the frame before. Bevy adds it in the second frame, and only where a camera is
/// active; a level that comes with its final global transforms brings it, since one command for each of its meshes is too much for a frame.
#[test]
fn a_large_level_that_comes_in_slices_is_what_bevy_spawns() {
    let options = SnapshotOptions::default().ignore_type::<PreviousGlobalTransform>();
    let (mut app, _) = compare(write_forest, "forest.gltf", "forest.gltf#Scene0", &options);
    let ecs = app.world_mut();
    let mut leaves = ecs.query_filtered::<Has<PreviousGlobalTransform>, With<Mesh3d>>();
    let leaves: Vec<bool> = leaves.iter(ecs).collect();
    assert_eq!(leaves, [true; TREES], "it is what is left out");
}

/// Where everything stands, and whether it is seen there.
fn standing(app: &mut App) -> BTreeMap<Entity, (GlobalTransform, Option<InheritedVisibility>)> {
    let ecs = app.world_mut();
    let mut all = ecs.query::<(Entity, &GlobalTransform, Option<&InheritedVisibility>)>();
    let all = all.iter(ecs);
    all.map(|(entity, place, seen)| (entity, (*place, seen.copied())))
        .collect()
}

/// Has Bevy work out everything anew in the next frame.
fn touch_all(app: &mut App) {
    let ecs = app.world_mut();
    let mut places = ecs.query::<&mut Transform>();
    places.iter_mut(ecs).for_each(|mut place| place.set_changed());
    let mut seen = ecs.query::<&mut Visibility>();
    seen.iter_mut(ecs).for_each(|mut seen| seen.set_changed());
}

/// Whether Bevy has marked nobody to be worked out since the level came.
fn was_bevy_spared(app: &mut App) -> bool {
    let ecs = app.world_mut();
    let now = ecs.change_tick();
    let mut all = ecs.query_filtered::<(Ref<TransformTreeChanged>, Ref<Transform>), With<ChildOf>>();
    assert!(all.iter(ecs).count() > 1, "nobody is there who could be marked");
    let mut all = all.iter(ecs);
    all.all(|(mark, place)| !mark.last_changed().is_newer_than(place.last_changed(), now))
}

/// Compares the very frame of the reveal with the next one, and with one in which Bevy works out everything anew; returns who is seen in the first.
fn look_at_reveal(write: fn(&Path), source: &str, is_large: bool) -> Vec<Option<InheritedVisibility>> {
    let cooked = cook_one(write, source, elsewhere());
    let (mut app, world) = start(&cooked);
    reveal_in_slices(&mut app, world);
    assert_eq!(was_bevy_spared(&mut app), is_large, "{source}");
    let revealed = standing(&mut app);
    // With the root.
    assert!(revealed.len() > cooked.report.entities as usize, "all of {source}");
    for is_touched in [false, true] {
        if is_touched {
            touch_all(&mut app);
        }
        app.update();
        let now = standing(&mut app);
        let others = revealed
            .iter()
            .filter(|(entity, first)| now.get(*entity) != Some(*first));
        assert_eq!(others.count(), 0, "{source}, all anew: {is_touched}");
        assert_eq!(now.len(), revealed.len());
    }
    revealed.into_values().map(|(_, seen)| seen).collect()
}

#[test]
fn in_the_frame_of_its_reveal_everything_stands_and_is_seen_as_bevy_says() {
    let seen = look_at_reveal(write_scn, "everything.scn.ron", false);
    for one in [InheritedVisibility::VISIBLE, InheritedVisibility::HIDDEN] {
        assert!(seen.contains(&Some(one)), "the scene has both");
    }
    look_at_reveal(write_gltf, "everything.gltf", false);
    let seen = look_at_reveal(write_forest, "forest.gltf", true);
    assert!(seen.iter().all(|seen| *seen == Some(InheritedVisibility::VISIBLE)));
}
