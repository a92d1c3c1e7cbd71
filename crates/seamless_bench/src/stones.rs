//! Small assets by the thousand, in packages for our road and in files for Bevy's, both read from memory.

use std::path::Path;

use bevy_app::App;
use bevy_asset::{
    Asset, AssetApp, AssetLoader, AssetServer, Assets, Handle, LoadContext, LoadState,
    io::{Reader, memory::Dir},
};
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_reflect::{Reflect, TypePath};
use seamless_asset::{
    SeamlessAssetApp, SeamlessAssetPlugin,
    codec::{Codecs, EncodeContext, EntityRows, encode_reflected},
    package::{Codec, NewExport, ObjectRef, PackageWriter, Role},
};
use serde::{Deserialize, Serialize};

use crate::app::{in_memory, writer};

/// Stones in a file, or in a package.
pub const PER_FILE: usize = 100;

/// An asset as small as can be: what is measured is how it is found, not how it is decoded.
#[derive(Asset, Reflect, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Stone {
    weight: f32,
    kind: u32,
}

/// An asset that needs others.
#[derive(Asset, Reflect, Clone, Debug)]
pub struct Basket {
    pub stones: Vec<Handle<Stone>>,
}

/// Name of the only object of a package with a basket.
pub const BASKET: &str = "Basket";

/// The stone with this number, of all files together.
pub fn stone(number: usize) -> Stone {
    Stone {
        weight: number as f32 * 0.125,
        kind: number as u32 % 7,
    }
}

/// The name of a stone in its file.
pub fn label(number: usize) -> String {
    let index = number % PER_FILE;
    format!("Scene0/Node{}~{}", index / 4, index % 4)
}

/// The path of a file, without its ending.
fn cell(file: usize) -> String {
    format!("levels/cell_{}_{}", file % 10, file / 10)
}

/// The path of our file.
pub fn package_path(file: usize) -> String {
    format!("{}.pkg", cell(file))
}

/// The path of Bevy's file.
pub fn file_path(file: usize) -> String {
    format!("{}.stones", cell(file))
}

/// The path of a stone for Bevy.
pub fn stone_path(number: usize) -> String {
    format!("{}#{}", file_path(number / PER_FILE), label(number))
}

/// The path of a stone in our file.
pub fn object_path(number: usize) -> String {
    format!("{}#{}", package_path(number / PER_FILE), label(number))
}

/// A headless app that reads stones from `files`, without the pipeline.
fn memory_app(files: &Dir) -> App {
    let mut app = in_memory(files);
    app.init_asset::<Stone>();
    app
}

/// A headless app with the pipeline, in which stones and baskets go by reflection, that reads its packages from `files`.
pub fn our_app(files: &Dir) -> App {
    let mut app = memory_app(files);
    app.init_asset::<Basket>()
        .add_plugins(SeamlessAssetPlugin::default())
        .register_asset_reflect::<Stone>()
        .cook_by_reflection::<Stone>()
        .cook_by_reflection::<Basket>();
    app.finish();
    app.cleanup();
    app
}

/// A headless app with Bevy's own loading, that reads `files`.
pub fn bevy_app(files: &Dir) -> App {
    let mut app = memory_app(files);
    app.init_asset::<StoneFile>().init_asset_loader::<StoneLoader>();
    app.finish();
    app.cleanup();
    app
}

/// Adds a stone as an object to a package.
pub fn write_stone(writer: &mut PackageWriter, app: &App, number: usize) -> ObjectRef {
    write_asset(writer, app, &label(number), &stone(number), &mut |_, _| {
        unreachable!("a stone needs nothing")
    })
}

/// A package with the stones of a file.
pub fn stone_package(app: &App, file: usize) -> Vec<u8> {
    let mut writer = writer(app.world(), &package_path(file));
    for number in file * PER_FILE..(file + 1) * PER_FILE {
        write_stone(&mut writer, app, number);
    }
    writer.finish().expect("the package is within the limits")
}

/// A package with a basket of all stones of so many files, each of them an import.
pub fn basket_package(app: &App, name: &str, files: usize) -> Vec<u8> {
    let mut writer = writer(app.world(), name);
    let assets = app.world().resource::<Assets<Stone>>();
    let basket = Basket {
        stones: (0..files * PER_FILE).map(|_| assets.reserve_handle()).collect(),
    };
    write_asset(&mut writer, app, BASKET, &basket, &mut |writer, number| {
        let package = package_path(number / PER_FILE);
        writer
            .import(&package, &label(number), Stone::type_path(), Role::ALL)
            .expect("a new import")
    });
    writer.finish().expect("the package is within the limits")
}

/// Adds an asset that goes by reflection; `import` gives its references by their number.
fn write_asset<A: Asset + Reflect>(
    writer: &mut PackageWriter,
    app: &App,
    name: &str,
    asset: &A,
    import: &mut dyn FnMut(&mut PackageWriter, usize) -> ObjectRef,
) -> ObjectRef {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codec = app
        .world()
        .resource::<Codecs>()
        .read()
        .asset(core::any::TypeId::of::<A>());
    let schema = codec.expect("it has a codec").schema(&registry);
    let class = writer.class(&schema).expect("one schema for a type");
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut data = Vec::new();
    encode_reflected(asset.as_reflect(), &mut context, &mut data).expect("it can be carried over");
    let count = context.into_references().len();
    let refs = (0..count).map(|number| import(writer, number)).collect();
    let export = NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: data.into(),
        refs,
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    };
    writer.export(export).expect("a new object")
}

/// The same stones as a file for Bevy, in the form that reads fastest.
pub fn stone_file(file: usize) -> Vec<u8> {
    let stones: Vec<(String, Stone)> = (file * PER_FILE..(file + 1) * PER_FILE)
        .map(|number| (label(number), stone(number)))
        .collect();
    postcard::to_allocvec(&stones).expect("they are numbers and text")
}

/// Puts a file into the memory that an app reads from.
pub fn put(files: &Dir, path: &str, bytes: Vec<u8>) {
    files.insert_asset(Path::new(path), bytes);
}

/// Bevy's file as an asset. As `Gltf` does, it keeps what is in it alive.
#[derive(Asset, TypePath, Debug)]
pub struct StoneFile {
    _stones: Vec<Handle<Stone>>,
}

/// Reads such files.
#[derive(Default, TypePath)]
struct StoneLoader;

impl AssetLoader for StoneLoader {
    type Asset = StoneFile;
    type Settings = ();
    type Error = std::io::Error;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        context: &mut LoadContext<'_>,
    ) -> Result<StoneFile, std::io::Error> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        let stones: Vec<(String, Stone)> = postcard::from_bytes(&bytes).map_err(std::io::Error::other)?;
        let stones = stones.into_iter();
        Ok(StoneFile {
            _stones: stones
                .map(|(label, stone)| context.add_labeled_asset(label, stone))
                .collect(),
        })
    }

    fn extensions(&self) -> &[&str] {
        // The second where paths are compared that are to be equally long.
        &["stones", "pkg"]
    }
}

/// Runs frames until Bevy has loaded all of `handles`.
pub fn wait_for<A: Asset>(app: &mut App, handles: &[Handle<A>]) {
    let server = app.world().resource::<AssetServer>().clone();
    let mut waiting = handles.iter().peekable();
    while waiting.peek().is_some() {
        app.update();
        while let Some(handle) = waiting.peek() {
            match server.load_state(handle.id()) {
                LoadState::Loaded => waiting.next(),
                LoadState::Failed(error) => panic!("{error}"),
                _ => break,
            };
        }
    }
}
