//! Tests of the cooker: fixtures, and what each stage must do.

mod abilities;
mod across;
#[cfg(not(feature = "audio"))]
mod audio;
mod bounds;
mod clean;
mod cook;
mod cues;
mod density;
mod dialogue;
mod diff;
mod hierarchy;
mod html;
mod incremental;
mod layout;
mod mesh_order;
mod own_types;
mod plan;
mod seek_free;
mod settings;
mod soft;
mod startup;
mod targets;
mod verify;
mod versions;
mod why;

use core::marker::PhantomData;
use std::path::{Path, PathBuf};

use bevy::asset::{Asset, AssetLoader, LoadContext, io::Reader};
use bevy::reflect::TypePath;

use crate::report::{CookError, CookReport, Progress, Stage};
use crate::{ContentError, CookApp, CookOptions};

/// A directory with sources, and one to cook into.
struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    fn out(&self) -> PathBuf {
        self.path("out")
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// Writes the world file and cooks it.
    fn cook(&self, world: &str) -> Result<CookReport, CookError> {
        self.cook_with(&CookApp::new(), world, &CookOptions::default())
    }

    fn cook_with(&self, app: &CookApp, world: &str, options: &CookOptions) -> Result<CookReport, CookError> {
        self.write("test.world.ron", world);
        app.cook(&self.path("test.world.ron"), &self.out(), options, &())
    }

    /// Cooks a world that is wrong; gives its errors, and checks that nothing was written.
    fn errors(&self, world: &str) -> Vec<ContentError> {
        self.errors_with(&CookApp::new(), world, &CookOptions::default())
    }

    fn errors_with(&self, app: &CookApp, world: &str, options: &CookOptions) -> Vec<ContentError> {
        let error = self.cook_with(app, world, options).expect_err("the world is wrong");
        assert_eq!(
            files(&self.out()),
            [""; 0],
            "nothing is written for a world with errors"
        );
        assert!(!error.content_errors().is_empty(), "{error}");
        error.content_errors().to_vec()
    }
}

/// A picture of one red pixel; its format needs no encoder.
const RED: &[u8] = b"P6\n1 1\n255\n\xff\x00\x00";

/// A triangle under a node of each name, with a textured material. The vertices lie at (0, 0, 0), (1, 0, 0) and (0, 2, 0).
fn gltf(names: &[&str], image: &str) -> String {
    let nodes: Vec<String> = names
        .iter()
        .map(|name| match *name {
            "" => r#"{"mesh":0}"#.to_owned(),
            name => format!(r#"{{"mesh":0,"name":"{name}"}}"#),
        })
        .collect();
    let scene: Vec<String> = (0..names.len()).map(|index| index.to_string()).collect();
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[{}]}}],"nodes":[{}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"material":0}}]}}],
        "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}}}],
        "textures":[{{"source":0}}],"images":[{{"uri":"{image}"}}],
        "buffers":[{{"uri":"triangle.bin","byteLength":36}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,2,0]}}]}}"#,
        scene.join(","),
        nodes.join(","),
    )
}

/// The number of the entity with this index, as it is written in a scene file.
fn number(index: u32) -> u64 {
    bevy::prelude::Entity::from_raw_u32(index)
        .expect("a small number")
        .to_bits()
}

/// A scene of entities with one component each, given by type path and value; the first has the index 1.
fn scene(components: &[(&str, &str)]) -> String {
    let entities: Vec<String> = (1..)
        .zip(components)
        .map(|(index, (type_path, value))| format!("{}: (components: {{\"{type_path}\": {value}}})", number(index)))
        .collect();
    format!("(resources: {{}}, entities: {{{}}})", entities.join(", "))
}

fn triangle() -> Vec<u8> {
    [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Settings by which everything is shared, however small it is.
const SHARE: &str = r#"(layout: (rules: [(objects: "*", place: Share)]))"#;

/// Sources: two glTF files that share a picture, in a package of its own.
fn two_scenes() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .write("cook.ron", SHARE)
        .write("scenes/a.gltf", gltf(&["Wheel", "Wheel", "", ""], "red.ppm"))
        .write("scenes/b.gltf", gltf(&["Door"], "red.ppm"))
        .write("scenes/triangle.bin", triangle())
        .write("scenes/red.ppm", RED);
    fixture
}

const TWO_LEVELS: &str =
    r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", translation: (10.0, 0.0, 0.0))])"#;

/// What [`gltf`] made, with texture coordinates behind the positions: those of [`triangle_with_uvs`].
fn with_uvs(gltf: &str) -> String {
    let view = r#"{"buffer":0,"byteLength":36}"#;
    gltf.replace(r#""POSITION":0"#, r#""POSITION":0,"TEXCOORD_0":1"#)
        .replace(r#"bin","byteLength":36"#, r#"bin","byteLength":60"#)
        .replace(
            view,
            &format!(r#"{view},{{"buffer":0,"byteOffset":36,"byteLength":24}}"#),
        )
        .replace(
            r#""max":[1,2,0]}"#,
            r#""max":[1,2,0]},{"bufferView":1,"componentType":5126,"count":3,"type":"VEC2"}"#,
        )
}

/// A triangle with legs of `size` and twice that, over half of a texture: √2 · `size` metres per unit.
fn triangle_with_uvs(size: f32) -> Vec<u8> {
    let positions = [0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, 2.0 * size, 0.0];
    let uvs = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    positions
        .iter()
        .chain(&uvs)
        .flat_map(|value: &f32| value.to_le_bytes())
        .collect()
}

fn files(directory: &Path) -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".cook")
        .collect();
    files.sort();
    files
}

/// Whether one of the errors speaks of `object` of `file` in the words `message`.
#[track_caller]
fn assert_error(errors: &[ContentError], file: &str, object: &str, message: &str) {
    let found = errors
        .iter()
        .any(|error| error.file.contains(file) && error.object.contains(object) && error.message.contains(message));
    assert!(
        found,
        "no error about `{object}` of `{file}` with `{message}` in {errors:#?}"
    );
}

/// An asset that a file's bytes make.
trait OfBytes: Asset {
    const EXTENSIONS: &'static [&'static str];

    fn of_bytes(bytes: Vec<u8>, context: &mut LoadContext) -> Self;
}

#[derive(TypePath)]
struct BytesLoader<A: OfBytes>(PhantomData<A>);

impl<A: OfBytes> Default for BytesLoader<A> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<A: OfBytes> AssetLoader for BytesLoader<A> {
    type Asset = A;
    type Settings = ();
    type Error = std::io::Error;

    async fn load(&self, reader: &mut dyn Reader, _: &(), context: &mut LoadContext<'_>) -> Result<A, std::io::Error> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        Ok(A::of_bytes(bytes, context))
    }

    fn extensions(&self) -> &[&str] {
        A::EXTENSIONS
    }
}
