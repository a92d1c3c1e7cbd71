//! A large level that comes in slices and is known to stand where it came, among all of Bevy's plugins: their observers look at each of its
//! entities meanwhile.

use std::{fs, path::Path, time::Duration};

use bevy::{
    ecs::{archetype::ArchetypeId, change_detection::Tick, relationship::RelationshipTarget},
    pbr::PreviousGlobalTransform,
    prelude::*,
    transform::components::TransformTreeChanged,
};
use bevy_seamless::{
    asset::{InstanceRequest, LoadState},
    prelude::*,
};
use seamless_tests::{
    app::{LOAD_LIMIT, headless_with, run_until},
    handmade::{References, add_asset, add_level, new_ids, new_package},
};

const PACKAGE: &str = "shelves.pkg";
/// More entities than Bevy works out faster by itself.
const SHELVES: usize = 1_000;
const BOOKS: usize = 4;

fn add_game(app: &mut App) {
    app.add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    }));
    // Every level comes in slices.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
}

fn shelf_at(row: usize) -> Transform {
    Transform::from_xyz(row as f32, 0.0, 0.0).with_rotation(Quat::from_rotation_y(row as f32))
}

fn book_at(row: usize) -> Transform {
    Transform::from_xyz(0.0, 1.0, row as f32)
}

/// A level of shelves with books.
fn write_level(dir: &Path) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, PACKAGE);
    let mut references = References::default();
    let book = add_asset(&app, &mut writer, "Book", Cuboid::new(0.2, 0.3, 0.1).mesh().build());
    let book = references.handle::<Mesh>(&app, book);
    let ids = new_ids(SHELVES * (1 + BOOKS));
    let (shelves, books) = ids.split_at(SHELVES);
    let roots = (0..SHELVES as u32).collect();
    add_level(&app, &mut writer, PACKAGE, &ids, roots, &references, |level| {
        level
            .add((0..SHELVES).map(shelf_at))
            .add(vec![GlobalTransform::IDENTITY; SHELVES])
            .add((0..SHELVES).map(|_| TransformTreeChanged))
            .add(vec![Visibility::default(); SHELVES])
            .add(
                books
                    .chunks(BOOKS)
                    .map(|on| Children::from_collection_risky(on.to_vec())),
            );
        level.end_group(SHELVES);
        level
            .add((0..books.len()).map(book_at))
            .add(vec![GlobalTransform::IDENTITY; books.len()])
            .add((0..books.len()).map(|_| TransformTreeChanged))
            .add(vec![Visibility::default(); books.len()])
            .add(vec![Mesh3d(book); books.len()])
            .add((0..books.len()).map(|row| ChildOf(shelves[row / BOOKS])));
        level.end_group(books.len());
    });
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

/// How many of these Bevy has marked to be worked out since they came.
fn marked(world: &mut World) -> usize {
    let now = world.change_tick();
    let mut all = world.query_filtered::<(Ref<TransformTreeChanged>, Ref<Transform>), With<ChildOf>>();
    let is_newer = |mark: Tick, came: Tick| mark.is_newer_than(came, now);
    let all = all.iter(world);
    all.filter(|(mark, place)| is_newer(mark.last_changed(), place.last_changed()))
        .count()
}

/// Each book: by how much it stands elsewhere than its shelf and the level say.
fn worst(world: &mut World, level: Transform) -> f32 {
    let mut books = world.query_filtered::<(&Transform, &GlobalTransform, &ChildOf), Without<Children>>();
    let off = books.iter(world).map(|(book, found, shelf)| {
        let shelf = world.get::<Transform>(shelf.parent()).expect("it is there");
        let expected = GlobalTransform::from(level) * *shelf * *book;
        found.translation().distance(expected.translation())
    });
    off.fold(0.0, f32::max)
}

#[test]
fn bevy_need_not_look_for_where_a_level_stands_and_finds_what_moves() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path());
    let mut app = headless_with(dir.path(), add_game);
    let placement = Transform::from_xyz(10.0, 20.0, 30.0).with_rotation(Quat::from_rotation_x(1.0));
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        name: PACKAGE.to_owned(),
        package: PACKAGE.into(),
        placement,
        ..default()
    });
    let is_live = |world: &World| world.resource::<Streamer>().state(id) == Some(LoadState::Live);
    assert!(run_until(&mut app, LOAD_LIMIT, is_live), "the level can be loaded");
    app.update();
    let world = app.world_mut();
    let mut books = world.query_filtered::<(), (With<ChildOf>, Without<Children>)>();
    assert_eq!(books.iter(world).count(), SHELVES * BOOKS);
    assert_eq!(marked(world), 0, "Bevy has worked it out once more");
    assert!(worst(world, placement) < 1e-2, "{} off", worst(world, placement));
    let mut shelves = world.query_filtered::<Entity, (With<ChildOf>, With<Children>)>();
    let shelf = shelves.iter(world).next().expect("it has shelves");
    world.get_mut::<Transform>(shelf).expect("it stands").translation.y = 7.0;
    app.update();
    let world = app.world_mut();
    assert!(marked(world) > 0, "the shelf that was moved");
    assert!(worst(world, placement) < 1e-2, "{} off", worst(world, placement));
}

/// Where books were in the frame before and are now, when the first was noted, and the table that they are in: each once.
fn noted(world: &mut World) -> Vec<(bool, Option<Tick>, ArchetypeId)> {
    let mut books = world.query_filtered::<EntityRef, With<Mesh3d>>();
    let note = |book: EntityRef| {
        let before = book.get::<PreviousGlobalTransform>().map(|place| place.0);
        let is_same = before == book.get::<GlobalTransform>().map(GlobalTransform::affine);
        let ticks = book.get_change_ticks::<PreviousGlobalTransform>();
        (is_same, ticks.map(|ticks| ticks.changed), book.archetype().id())
    };
    let mut all: Vec<_> = books.iter(world).map(note).collect();
    all.dedup();
    all
}

/// Bevy notes that in the frame after the first one, by a command for each mesh that moves it to another table.
#[test]
fn meshes_come_with_where_they_were_in_the_frame_before() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path());
    let mut app = headless_with(dir.path(), add_game);
    app.world_mut().spawn(Camera3d::default());
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        name: PACKAGE.to_owned(),
        package: PACKAGE.into(),
        ..default()
    });
    let is_live = |world: &World| world.resource::<Streamer>().state(id) == Some(LoadState::Live);
    assert!(run_until(&mut app, LOAD_LIMIT, is_live), "the level can be loaded");
    let first = noted(app.world_mut());
    assert!(
        matches!(first[..], [(true, Some(_), _)]),
        "they stand where they came: {first:?}"
    );
    app.update();
    assert_eq!(noted(app.world_mut()), first, "Bevy has nothing left to do");
    // What moves is noted as ever.
    let mut books = app.world_mut().query_filtered::<&mut Transform, With<Mesh3d>>();
    books
        .iter_mut(app.world_mut())
        .for_each(|mut book| book.translation.x += 1.0);
    app.update();
    assert!(matches!(noted(app.world_mut())[..], [(false, ..)]));
    app.update();
    assert!(matches!(noted(app.world_mut())[..], [(true, ..)]));
}
