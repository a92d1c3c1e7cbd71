//! Plain Bevy, without any level: textures that the asset server loads by their paths stream, and look as if they did not.

mod kept;
pub mod packages;
#[path = "../../../../crates/seamless_render/src/mip/ktx2/tests/write.rs"]
mod write;

use std::{fs, path::Path, thread, time::Duration};

use bevy::{
    ecs::{message::MessageCursor, system::RunSystemOnce},
    prelude::*,
    render::{
        RenderApp, error_handler::RenderErrorHandler, render_asset::RenderAssets, render_resource::WgpuFeatures,
        renderer::RenderDevice, texture::GpuImage,
    },
};
use bevy_seamless::{
    asset::LoadErrorKind,
    prelude::*,
    render::mip::{
        MipError, MipFailed, MipPlugin, MipPool, MipSettings, MipTextures, MipWork, Mips, NotStreamed, StreamedImage,
    },
};
use ktx2::Format;
use seamless_tests::{
    app::{LOAD_LIMIT, run_until},
    picture::{Frame, Picture, has_driver, next_frame, studio},
    skip::skipped,
};

use self::write::{Ktx2, mips};
use super::stage::QUIET;

/// In metres: so near that the finest mip of the wall is drawn, and so far that it is not.
const NEAR: f32 = 0.2;
const FAR: f32 = 8.0;

/// An app with a camera before a wall of a square metre.
struct Room {
    app: App,
    camera: Entity,
    wall: Option<Entity>,
    cursor: MessageCursor<MipFailed>,
    failures: Vec<MipError>,
}

impl Room {
    fn new(dir: &Path) -> Self {
        Self::with(dir, MipPlugin::default())
    }

    fn with(dir: &Path, mips: MipPlugin) -> Self {
        let mips = MipPlugin {
            settings: MipSettings {
                cached: 0.0,
                ..mips.settings
            },
            ..mips
        };
        let mut app = studio(dir, Transform::from_xyz(0.0, 0.0, FAR), |app| {
            let assets = SeamlessAssetPlugin {
                // Tests keep all cores busy.
                background: false,
                ..SeamlessAssetPlugin::default()
            };
            app.add_plugins((SeamlessPlugins.set(assets), mips));
            // What wgpu refuses ends the test.
            app.insert_resource(RenderErrorHandler(|error, _, _| panic!("{error:?}")));
        });
        // On a busy machine, the threads that read files get next to nothing of it.
        app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        let flat = bevy::core_pipeline::tonemapping::Tonemapping::None;
        app.world_mut().entity_mut(camera).insert(flat);
        Self {
            app,
            camera,
            wall: None,
            cursor: MessageCursor::default(),
            failures: Vec::new(),
        }
    }

    fn server(&self) -> AssetServer {
        self.app.world().resource::<AssetServer>().clone()
    }

    /// Puts a picture on the wall, in the place of the one that was there.
    fn hang(&mut self, picture: Handle<Image>) {
        self.clear();
        let world = self.app.world_mut();
        let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(1.0, 1.0));
        let material = StandardMaterial {
            base_color_texture: Some(picture),
            unlit: true,
            ..default()
        };
        let material = world.resource_mut::<Assets<StandardMaterial>>().add(material);
        self.wall = Some(world.spawn((Mesh3d(mesh), MeshMaterial3d(material))).id());
    }

    fn clear(&mut self) {
        if let Some(wall) = self.wall.take() {
            self.app.world_mut().despawn(wall);
        }
    }

    /// Looks from so far away.
    fn look(&mut self, away: f32) {
        let at = Transform::from_xyz(0.0, 0.0, away);
        self.app.world_mut().entity_mut(self.camera).insert(at);
    }

    fn wait(&mut self, handle: &Handle<impl Asset>) {
        let (server, id) = (self.server(), handle.id());
        let has_come = run_until(&mut self.app, LOAD_LIMIT, |_| server.is_loaded(id));
        assert!(has_come, "{:?}", server.load_state(id));
    }

    /// Frames until nothing has gone on for a while.
    fn settle(&mut self) -> Frame {
        let mut quiet = 0;
        for _ in 0..20_000 {
            thread::sleep(Duration::from_millis(1));
            let frame = next_frame(&mut self.app);
            self.hear();
            let world = self.app.world();
            let (ledger, work) = (&world.resource::<MipPool>().ledger, world.resource::<MipWork>());
            let is_quiet = ledger.changing().is_empty() && ledger.retiring() == 0 && work.is_idle();
            let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
            let is_quiet = is_quiet && frame.waiting == 0 && is_settled.expect("it runs");
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return frame;
            }
        }
        panic!("it does not settle");
    }

    /// What the wall shows, from near and from far.
    fn pictures(&mut self) -> [Picture; 2] {
        [NEAR, FAR].map(|away| {
            self.look(away);
            self.settle().picture
        })
    }

    /// The finest mip that is there; none if the image does not stream.
    fn top(&self, image: &Handle<Image>) -> Option<u8> {
        let number = self.app.world().resource::<MipTextures>().number(image.id())?;
        let ledger = &self.app.world().resource::<MipPool>().ledger;
        Some(ledger.get(number).expect("it is in the books").top)
    }

    /// Bytes of all textures that are in the books.
    fn total(&self) -> u64 {
        self.app.world().resource::<MipPool>().ledger.sums().total()
    }

    fn gpu_images(&self) -> usize {
        let world = self.app.sub_app(RenderApp).world();
        world.resource::<RenderAssets<GpuImage>>().iter().count()
    }

    /// Hears what has failed; nobody remembers it for longer than two frames.
    fn hear(&mut self) {
        let messages = self.app.world().resource::<Messages<MipFailed>>();
        let heard = self.cursor.read(messages).map(|failed| failed.error.clone());
        self.failures.extend(heard);
    }

    fn why(&self, image: &Handle<Image>) -> Option<NotStreamed> {
        let mut all = self.app.world().resource::<MipTextures>().not_streamed();
        all.find(|(id, _)| *id == image.id()).map(|(_, why)| why)
    }
}

fn rgba(side: u32) -> Ktx2 {
    Ktx2::new(Format::R8G8B8A8_SRGB, side, side, mips(side, side, 1, 4))
}

/// Another of the same size.
fn other(side: u32) -> Ktx2 {
    let mut other = rgba(side);
    other.levels.iter_mut().flatten().for_each(|byte| *byte = 255 - *byte);
    other
}

#[track_caller]
fn assert_alike(found: &[Picture; 2], expected: &[Picture; 2], what: &str) {
    for (place, (found, expected)) in ["near", "far"].iter().zip(found.iter().zip(expected)) {
        let difference = found.difference(expected);
        assert!(difference.is_none(), "{what}, {place}: {difference:?}");
        assert!(expected.colours() > 10, "{what}, {place}: there is nothing to see");
    }
}

/// By Bevy's loader, by the name, and by the type.
fn check(file: &Ktx2, floor: u8) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("wall.ktx2"), file.bytes()).expect("it is written");
    fs::write(dir.path().join("wall.stream.ktx2"), file.bytes()).expect("it is written");
    let mut room = Room::new(dir.path());
    let device = room.app.world().resource::<RenderDevice>();
    let has_blocks = device.features().contains(WgpuFeatures::TEXTURE_COMPRESSION_BC);
    let is_compressed = file
        .format
        .is_some_and(|format| format.value() >= Format::BC1_RGB_UNORM_BLOCK.value());
    if is_compressed && !has_blocks {
        return skipped("the driver has no block formats");
    }
    let server = room.server();
    room.hang(server.load("wall.ktx2"));
    let expected = room.pictures();
    assert_eq!(room.total(), 0, "Bevy's own is not in the books");

    let by_name: Handle<Image> = server.load("wall.stream.ktx2");
    room.hang(by_name.clone());
    room.wait(&by_name);
    room.settle();
    assert!(room.top(&by_name).expect("it streams") > 0, "nobody is near");
    assert_alike(&room.pictures(), &expected, "by its name");
    room.look(NEAR);
    room.settle();
    let bytes: usize = file.levels.iter().map(Vec::len).sum();
    assert_eq!((room.top(&by_name), room.total()), (Some(0), bytes as u64));
    room.look(1e6);
    room.settle();
    assert_eq!(room.top(&by_name), Some(floor));
    drop(by_name);

    room.look(FAR);
    let by_type: Handle<StreamedImage> = server.load("wall.ktx2");
    room.wait(&by_type);
    let of_type = room.app.world().resource::<Assets<StreamedImage>>().get(&by_type);
    let of_type = of_type.expect("it is loaded").image.clone();
    room.hang(of_type.clone());
    assert_alike(&room.pictures(), &expected, "by its type");
    assert!(room.top(&of_type).is_some());
    assert!(room.failures.is_empty());
}

#[test]
fn a_wall_of_a_file_looks_as_bevy_draws_it() {
    if has_driver() {
        check(&rgba(1024), 4);
    }
}

#[test]
fn so_does_one_of_packed_blocks() {
    if has_driver() {
        check(
            &Ktx2::new(Format::BC7_SRGB_BLOCK, 1024, 512, mips(1024, 512, 4, 16)).zstd(),
            4,
        );
    }
}

/// Its sides are halved to whole blocks but once.
#[test]
fn so_does_one_of_an_odd_size() {
    if has_driver() {
        check(
            &Ktx2::new(Format::BC1_RGBA_SRGB_BLOCK, 1000, 1000, mips(1000, 1000, 4, 8)),
            1,
        );
    }
}

#[test]
fn what_goes_in_flight_leaves_nothing() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("wall.stream.ktx2"), rgba(1024).bytes()).expect("it is written");
    let mut room = Room::new(dir.path());
    room.look(NEAR);
    room.settle();
    let before = room.gpu_images();
    for frames in (0..24).step_by(3) {
        let image = room.server().load("wall.stream.ktx2");
        room.hang(image);
        for _ in 0..frames {
            let _ = next_frame(&mut room.app);
        }
        room.clear();
        room.settle();
        assert_eq!((room.total(), room.gpu_images()), (0, before), "after {frames} frames");
        assert!(room.app.world().resource::<MipTextures>().is_empty());
    }
    assert!(room.failures.is_empty());
}

#[test]
fn a_file_that_is_cut_is_drawn_with_what_is_there() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut bytes = rgba(1024).bytes();
    bytes.truncate(bytes.len() - 1000);
    fs::write(dir.path().join("wall.stream.ktx2"), bytes).expect("it is written");
    let mut room = Room::new(dir.path());
    let image = room.server().load("wall.stream.ktx2");
    room.hang(image.clone());
    room.look(NEAR);
    room.wait(&image);
    let frame = room.settle();
    assert_eq!(room.top(&image), Some(1));
    assert!(frame.picture.colours() > 10);
    let failures = &room.failures;
    let [MipError::Payload { mip: 0, path, source }] = &**failures else {
        panic!("{failures:?}");
    };
    assert_eq!(path, "wall.stream.ktx2");
    assert!(matches!(source.kind, LoadErrorKind::FilePart { .. }), "{source}");
}

#[test]
fn a_file_that_is_another_comes_anew() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, plain) = (dir.path().join("wall.stream.ktx2"), dir.path().join("other.ktx2"));
    fs::write(&path, rgba(1024).bytes()).expect("it is written");
    fs::write(plain, other(512).bytes()).expect("it is written");
    let mut room = Room::new(dir.path());
    let server = room.server();
    room.hang(server.load("other.ktx2"));
    let expected = room.pictures();
    let image: Handle<Image> = server.load("wall.stream.ktx2");
    room.hang(image.clone());
    room.wait(&image);
    room.settle();
    fs::write(&path, other(512).bytes()).expect("it is written");
    // What is there was another file's, and that is found before anything of it is drawn.
    room.look(NEAR);
    room.settle();
    assert!(room.top(&image) > Some(0));
    let failures = &room.failures;
    assert!(
        matches!(&**failures, [MipError::Payload { source, .. }] if matches!(source.kind, LoadErrorKind::FileChanged)),
        "{failures:?}"
    );
    server.reload("wall.stream.ktx2");
    let is_new = |world: &World| {
        world
            .resource::<Assets<Image>>()
            .get(&image)
            .expect("it is there")
            .width()
            == 512
    };
    assert!(run_until(&mut room.app, LOAD_LIMIT, is_new), "it is loaded anew");
    assert_alike(&room.pictures(), &expected, "the other");
    room.look(NEAR);
    room.settle();
    assert_eq!(room.top(&image), Some(0));
}

/// Nobody is near, so nothing of it is ever replaced by finer mips.
#[test]
fn a_file_that_is_another_is_drawn_at_once() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, plain) = (dir.path().join("wall.stream.ktx2"), dir.path().join("other.ktx2"));
    fs::write(&path, rgba(1024).bytes()).expect("it is written");
    fs::write(plain, other(512).bytes()).expect("it is written");
    let mut room = Room::new(dir.path());
    let server = room.server();
    let plain: Handle<Image> = server.load("other.ktx2");
    room.hang(plain.clone());
    room.wait(&plain);
    room.look(1.5 * FAR);
    let expected = room.settle().picture;
    let image: Handle<Image> = server.load("wall.stream.ktx2");
    room.hang(image.clone());
    room.wait(&image);
    room.settle();
    fs::write(&path, other(512).bytes()).expect("it is written");
    server.reload("wall.stream.ktx2");
    let is_new = |world: &World| {
        let image = world.resource::<Assets<Image>>().get(&image);
        image.expect("it is there").width() == 512
    };
    assert!(run_until(&mut room.app, LOAD_LIMIT, is_new), "it is loaded anew");
    let found = room.settle().picture;
    assert_eq!(room.top(&image), Some(3), "its tail is all that is there");
    let difference = found.difference(&expected);
    assert!(difference.is_none(), "{difference:?}");
}

#[test]
fn what_does_not_stream_is_in_the_books_as_a_whole() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    for side in [128, 512] {
        let name = format!("{side}.stream.ktx2");
        fs::write(dir.path().join(name), rgba(side).zstd().bytes()).expect("it is written");
        fs::write(dir.path().join(format!("{side}.ktx2")), rgba(side).bytes()).expect("it is written");
    }
    let mut room = Room::with(
        dir.path(),
        MipPlugin {
            max_textures: 0,
            ..default()
        },
    );
    for (side, why) in [
        (128, NotStreamed::Small { side: 128, least: 256 }),
        (512, NotStreamed::TooMany),
    ] {
        room.hang(room.server().load(format!("{side}.ktx2")));
        let expected = room.pictures();
        let image = room.server().load(format!("{side}.stream.ktx2"));
        room.hang(image.clone());
        room.wait(&image);
        assert_alike(&room.pictures(), &expected, "the whole");
        let bytes: usize = rgba(side).levels.iter().map(Vec::len).sum();
        assert_eq!((room.why(&image), room.total()), (Some(why), bytes as u64));
        drop(image);
        room.clear();
        room.settle();
        assert_eq!(room.total(), 0);
    }
}
