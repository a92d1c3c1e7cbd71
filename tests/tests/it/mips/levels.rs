//! Levels whose textures stream: what is there when they are revealed, and what is left when they leave.

use std::{fs, path::Path};

use bevy::{camera::ScalingMode, prelude::*, render::render_resource::WgpuFeatures};
use bevy_seamless::{
    level::{LevelEntry, MANIFEST_FORMAT, WorldManifest},
    prelude::*,
    render::mip::{MipForce, MipPlugin, MipSettings, MipTextures, MipWork},
};
use seamless_tests::{
    app::{headless_with, run_until},
    cooked::{Ask, MANIFEST, STREAM_LIMIT, ask, level_of, spawn_world, state},
    footprint::{assets, entities},
    handmade::{References, add_asset, add_asset_with, add_level, new_ids, new_package},
    picture::{Frame, SIDE, has_driver},
};

use super::{
    files::packages::cook_hall,
    lifecycle::{Failures, assert_leaves, listen},
    pictures::{COLUMNS, FLOOR, assert_shows, coloured},
    stage::{Planned, Stage, tile_at, unlit},
};

const LEVEL: &str = "room";
/// Tiles, in the lowest row of the wall.
const TILES: usize = COLUMNS;

/// More than anything takes on a busy machine.
const MOST_FRAMES: usize = 2_000;

/// A world of one level: tiles, each with a texture of its own.
fn write_world(dir: &Path) {
    let package = format!("{LEVEL}.pkg");
    let app = headless_with(dir, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    let mut writer = new_package(&app, &package);
    let mut references = References::default();
    let side = 2.0 / COLUMNS as f32;
    let mesh = add_asset(&app, &mut writer, "Tile", Mesh::from(Rectangle::new(side, side)));
    let mesh = references.handle::<Mesh>(&app, mesh);
    let materials: Vec<Handle<StandardMaterial>> = (0..TILES)
        .map(|tile| {
            let image = add_asset(&app, &mut writer, &format!("t{tile}"), coloured(tile));
            let image = references.handle::<Image>(&app, image);
            let name = format!("Material{tile}");
            let material = add_asset_with(&app, &mut writer, &name, unlit(image), &references);
            references.handle(&app, material)
        })
        .collect();
    let (ids, roots) = (new_ids(TILES), (0..TILES as u32).collect());
    add_level(&app, &mut writer, &package, &ids, roots, &references, |level| {
        level
            .add((0..TILES).map(|tile| Transform::from_translation(tile_at(tile, COLUMNS))))
            .add([Visibility::default(); TILES])
            .add([(); TILES].map(|()| Mesh3d(mesh.clone())))
            .add(materials.iter().cloned().map(MeshMaterial3d));
        level.end_group(TILES);
    });
    let bytes = writer.finish().expect("the package is small");
    let manifest = WorldManifest {
        format: MANIFEST_FORMAT,
        name: "test".into(),
        levels: vec![LevelEntry {
            name: LEVEL.into(),
            package: package.clone(),
            entities: TILES as u32,
            bytes: bytes.len() as u64,
            ..LevelEntry::default()
        }],
        peak_entities: 100,
        ..WorldManifest::default()
    };
    fs::write(dir.join(package), bytes).expect("it is written");
    fs::write(dir.join(MANIFEST), manifest.to_ron().expect("it is valid")).expect("it is written");
}

/// A stage with a world, of which no level is there.
struct Theatre {
    stage: Stage,
    world: Entity,
}

impl Theatre {
    fn new(dir: &Path) -> Self {
        let mips = MipPlugin {
            settings: MipSettings {
                cached: 0.0,
                ..MipSettings::default()
            },
            ..MipPlugin::default()
        };
        let mut stage = Stage::of(mips, WgpuFeatures::empty(), dir, |app| {
            app.init_resource::<Failures>().add_systems(Last, listen);
        });
        let world = spawn_world(&mut stage.app, MANIFEST);
        let is_there = |ecs: &World| ecs.get::<LevelTable>(world).is_some();
        assert!(
            run_until(&mut stage.app, STREAM_LIMIT, is_there),
            "the manifest is loaded"
        );
        // What asks by name is an entity.
        ask(&mut stage.app, LEVEL, Ask::Unload);
        let _ = stage.frame();
        Self { stage, world }
    }

    fn state(&self) -> LevelState {
        state(self.stage.app.world(), self.world, LEVEL)
    }

    /// So many metres are seen.
    fn see(&mut self, width: f32) {
        let world = self.stage.app.world_mut();
        let mut cameras = world.query_filtered::<&mut Projection, With<Camera3d>>();
        let mut camera = cameras.single_mut(world).expect("there is one camera");
        let Projection::Orthographic(camera) = &mut *camera else {
            panic!("it has another projection");
        };
        camera.scaling_mode = ScalingMode::Fixed { width, height: width };
    }

    /// Asks for the level; the first frame in which it is visible. In none before is anything drawn.
    fn show(&mut self) -> Frame {
        ask(&mut self.stage.app, LEVEL, Ask::Load);
        for _ in 0..MOST_FRAMES {
            let frame = self.stage.frame();
            if self.state() == LevelState::Visible {
                return frame;
            }
            assert_eq!(frame.picture.colours(), 1, "it is {:?}", self.state());
        }
        panic!("it does not come: {:?}", self.state());
    }

    /// Has the level hidden.
    fn hide(&mut self) {
        ask(&mut self.stage.app, LEVEL, Ask::Preload);
        self.until(|theatre| theatre.state() == LevelState::Hidden, "it is hidden");
        let frame = self.stage.frame();
        assert_eq!(frame.picture.colours(), 1, "nothing of it is drawn");
    }

    #[track_caller]
    fn until(&mut self, done: impl Fn(&mut Self) -> bool, what: &str) {
        for _ in 0..MOST_FRAMES {
            if done(self) {
                return;
            }
            drop(self.stage.frame());
        }
        panic!("{what}: {:?}, {:?}", self.state(), self.tops());
    }

    fn root(&self) -> Entity {
        let level = level_of(self.stage.app.world(), self.world, LEVEL);
        level.root().expect("it is there")
    }

    /// Of each tile's texture the number and the image.
    fn textures(&self) -> Vec<(u32, AssetId<Image>)> {
        let textures = self.stage.app.world().resource::<MipTextures>();
        let mut of_paths: Vec<_> = textures
            .iter()
            .map(|(number, id, of)| (of.path(), number, id))
            .collect();
        of_paths.sort_unstable();
        of_paths.into_iter().map(|(_, number, id)| (number, id)).collect()
    }

    fn tops(&mut self) -> Vec<u8> {
        let textures = self.textures();
        textures
            .into_iter()
            .map(|(texture, _)| self.stage.top(texture))
            .collect()
    }

    /// Replaces the texture of a tile, from the beginning to the end.
    fn swap(&mut self, tile: usize, to: u8) {
        let (texture, _) = self.textures()[tile];
        let is_finer = to < self.stage.top(texture);
        let change = self.stage.begin(texture, to);
        let reads = is_finer.then_some((texture, change));
        self.stage.until_staged(reads.as_slice(), |_| {});
        self.stage.send(texture, change);
        self.stage.until_idle(|_| {});
    }

    fn assert_no_failures(&self) {
        let failures = &self.stage.app.world().resource::<Failures>().0;
        assert!(failures.is_empty(), "{failures:?}");
    }
}

#[test]
fn in_the_first_frame_of_a_level_all_tails_are_drawn() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_world(dir.path());
    let mut theatre = Theatre::new(dir.path());
    let first = theatre.show();
    let textures = theatre.textures();
    let tails = textures.iter().map(|(_, image)| theatre.stage.texels(*image).len());
    assert_eq!(tails.collect::<Vec<_>>(), [11 - usize::from(FLOOR); TILES]);
    assert_shows(&first, &[FLOOR; TILES], "in its first frame");
    theatre.assert_no_failures();
}

/// As the cooker makes it of a glTF file.
#[test]
fn so_is_that_of_a_cooked_level() {
    if !has_driver() {
        return;
    }
    let cooked = cook_hall();
    let mut stage = Stage::new(&cooked.out(), |_| {});
    let world = spawn_world(&mut stage.app, MANIFEST);
    let is_there = |ecs: &World| ecs.get::<LevelTable>(world).is_some();
    assert!(
        run_until(&mut stage.app, STREAM_LIMIT, is_there),
        "the manifest is loaded"
    );
    let mut theatre = Theatre { stage, world };
    ask(&mut theatre.stage.app, "hall", Ask::Load);
    let is_visible = |ecs: &World| state(ecs, world, "hall") == LevelState::Visible;
    let mut first = theatre.stage.frame();
    for _ in 0..MOST_FRAMES {
        if is_visible(theatre.stage.app.world()) {
            break;
        }
        first = theatre.stage.frame();
    }
    let [(texture, image)] = *theatre.textures() else {
        panic!("{:?}", theatre.textures());
    };
    let chain = theatre.stage.chain(texture);
    let tail = theatre.stage.texels(image).len();
    assert_eq!(tail, usize::from(chain.mips() - chain.floor()));
    assert!(chain.floor() > 0, "there is more to come");
    // Within the triangle, and beside it.
    let at = |eighths: [u32; 2]| eighths.map(|eighths| eighths * SIDE / 8);
    let [inside, outside] = [[5, 3], [3, 3]].map(at).map(|[x, y]| first.picture.pixel(x, y));
    assert!(
        first.instances == 1 && inside != outside && inside[0] > 20,
        "{inside:?}"
    );
}

#[test]
fn nothing_is_left_of_a_level_that_leaves_while_its_mips_are_read() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_world(dir.path());
    let mut theatre = Theatre::new(dir.path());
    let held = |stage: &Stage| (assets(stage.app.world()), entities(stage.app.world()));
    let (before, gpu_images) = (held(&theatre.stage), theatre.stage.gpu_images());
    for frames in [0, 1, 2, 4, 8] {
        drop(theatre.show());
        for (texture, _) in theatre.textures() {
            theatre.stage.begin(texture, 0);
        }
        (0..frames).for_each(|_| drop(theatre.stage.frame()));
        let is_reading = !theatre.stage.app.world().resource::<MipWork>().is_idle();
        assert!(is_reading || frames > 0, "it leaves before that is over");
        ask(&mut theatre.stage.app, LEVEL, Ask::Unload);
        let when = format!("after {frames} frames");
        theatre.until(|theatre| theatre.state() == LevelState::Unloaded, &when);
        assert_leaves(&mut theatre.stage, gpu_images, &when);
        theatre.until(|theatre| held(&theatre.stage) == before, &when);
    }
    assert_eq!(theatre.stage.pool().ledger.stray(), 0);
    theatre.assert_no_failures();
}

#[test]
fn a_level_whose_root_is_forced_is_shown_with_whole_textures() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_world(dir.path());
    let mut theatre = Theatre::new(dir.path());
    // A tile is smaller than a pixel.
    theatre.see(2_000.0);
    drop(theatre.show());
    let root = theatre.root();
    theatre.hide();
    theatre.stage.app.insert_resource(Planned);
    (0..8).for_each(|_| drop(theatre.stage.frame()));
    assert_eq!(theatre.tops(), [FLOOR; TILES], "nobody needs more");
    let world = theatre.stage.app.world_mut();
    world.entity_mut(root).insert(MipForce::default());
    theatre.until(|theatre| theatre.tops() == [0; TILES], "they come whole");
    theatre.see(2.0);
    assert_shows(&theatre.show(), &[0; TILES], "in the frame in which it is shown");
    theatre.see(2_000.0);
    (0..8).for_each(|_| drop(theatre.stage.frame()));
    assert_eq!(theatre.tops(), [0; TILES], "for as long as it is forced");
    theatre.stage.app.world_mut().entity_mut(root).remove::<MipForce>();
    theatre.until(|theatre| theatre.tops() == [FLOOR; TILES], "they are coarse again");
    theatre.assert_no_failures();
}

#[test]
fn what_is_replaced_while_a_level_is_hidden_is_drawn_when_it_is_shown() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_world(dir.path());
    let mut theatre = Theatre::new(dir.path());
    drop(theatre.show());
    theatre.swap(2, 1);
    theatre.hide();
    // One becomes finer, one coarser, and one both.
    theatre.swap(0, 0);
    theatre.swap(2, FLOOR);
    theatre.swap(3, 1);
    theatre.swap(3, 2);
    let tops = [0, FLOOR, FLOOR, 2];
    assert_shows(&theatre.show(), &tops, "in the frame in which it is shown");
    assert_shows(&theatre.stage.frame(), &tops, "afterwards");
    assert_eq!(theatre.tops(), tops);
    theatre.assert_no_failures();
}
