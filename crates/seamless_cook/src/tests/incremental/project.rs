//! A project that is generated from a description, which is what the tests edit.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
use crate::{Profile, Progress, Target};

/// A scene of triangles with textures.
#[derive(Clone, Debug)]
pub struct Scene {
    pub file: String,
    pub nodes: Vec<String>,
    /// Index of a texture.
    pub texture: usize,
    /// Whether its texture is a normal map instead, which is loaded with other settings.
    pub is_normal: bool,
    /// Scales the triangle.
    pub size: f32,
}

/// A level of the world.
#[derive(Clone, Debug)]
pub struct Level {
    pub name: String,
    /// Index of a scene, or of a list of entities behind all scenes.
    pub source: usize,
    pub x: f32,
    pub seek_free: bool,
    pub always_loaded: bool,
}

/// Sources and settings.
pub struct Project {
    fixture: Fixture,
    /// Colour of each texture, and its file.
    pub textures: Vec<(String, u8)>,
    pub scenes: Vec<Scene>,
    /// Scenes of entities, each with the meshes of these scenes.
    pub lists: Vec<Vec<usize>>,
    pub levels: Vec<Level>,
    /// Textures that are startup content.
    pub startup: Vec<usize>,
    /// Textures that the world file lists beside levels.
    pub assets: Vec<usize>,
    /// Textures with settings of their own.
    pub settings: BTreeMap<usize, bool>,
    pub profile: Profile,
    pub target: Target,
    /// Only this level, if it is there.
    pub map: Option<usize>,
    pub importer: u32,
    /// What `cook.ron` says of objects: a pattern, and a place. Without, there is no such file.
    pub rule: Option<(&'static str, &'static str)>,
    written: std::cell::RefCell<BTreeMap<String, Vec<u8>>>,
}

impl Project {
    /// A project of `size` levels of each kind.
    pub fn new(size: usize) -> Self {
        let project = Self {
            fixture: Fixture::new(),
            textures: (0..size)
                .map(|index| (format!("textures/t{index}.ppm"), index as u8))
                .collect(),
            scenes: (0..size).map(|index| scene(index, (index * 7 / 3) % size)).collect(),
            lists: (0..size).map(|index| vec![index, (index + 1) % size]).collect(),
            levels: (0..2 * size).map(level).collect(),
            startup: Vec::new(),
            assets: Vec::new(),
            settings: BTreeMap::new(),
            profile: Profile::Exact,
            target: Target::ALL,
            map: None,
            importer: 1,
            rule: None,
            written: std::cell::RefCell::default(),
        };
        project.write();
        project
    }

    pub fn out(&self) -> PathBuf {
        self.fixture.out()
    }

    pub fn world_file(&self) -> PathBuf {
        self.fixture.path("test.world.ron")
    }

    pub fn paint(&mut self, texture: usize, colour: u8) {
        self.textures[texture].1 = colour;
    }

    /// All source files, as they were written last.
    pub fn files(&self) -> Vec<PathBuf> {
        self.written
            .borrow()
            .keys()
            .map(|file| self.fixture.path(file))
            .collect()
    }

    /// Brings the files up to date: only those that differ are written.
    pub fn write(&self) {
        let files = self.sources();
        let mut written = self.written.borrow_mut();
        for file in written.keys().filter(|file| !files.contains_key(*file)) {
            std::fs::remove_file(self.fixture.path(file)).unwrap();
        }
        for (file, bytes) in &files {
            if written.get(file) != Some(bytes) {
                self.fixture.write(file, bytes);
            }
        }
        *written = files;
    }

    pub fn cooker(&self) -> CookApp {
        CookApp::new().importer_version("scenes of the test", self.importer)
    }

    pub fn options(&self) -> CookOptions {
        CookOptions {
            profile: self.profile,
            target: self.target,
            maps: self
                .map
                .and_then(|map| Some(self.levels.get(map)?.name.clone()))
                .into_iter()
                .collect(),
            ..CookOptions::default()
        }
    }

    pub fn cook(&self, out: &Path) -> Result<CookReport, CookError> {
        self.cook_with(out, &())
    }

    pub fn cook_with(&self, out: &Path, progress: &dyn Progress) -> Result<CookReport, CookError> {
        self.write();
        // What is compared with is made by one thread.
        let jobs = if out == self.out() { 3 } else { 1 };
        let options = CookOptions { jobs, ..self.options() };
        self.cooker().cook(&self.world_file(), out, &options, progress)
    }

    /// Cooks on, cooks everything elsewhere, and compares.
    #[track_caller]
    pub fn check(&self) {
        let fresh = tempfile::tempdir().unwrap();
        let before = output(&self.out());
        let incremental = self.cook(&self.out());
        let full = self.cook(fresh.path());
        match (&incremental, &full) {
            (Ok(incremental), Ok(full)) => {
                let (ours, all) = (output(&self.out()), output(fresh.path()));
                let differ: Vec<&String> = (ours.keys().chain(all.keys()))
                    .filter(|file| ours.get(*file) != all.get(*file))
                    .collect();
                assert_eq!(differ, [""; 0], "files differ");
                assert_eq!(
                    (
                        &incremental.levels,
                        &incremental.packages,
                        &incremental.warnings,
                        &incremental.startup,
                        &incremental.layout,
                        &incremental.textures,
                        incremental.slowest.len()
                    ),
                    (
                        &full.levels,
                        &full.packages,
                        &full.warnings,
                        &full.startup,
                        &full.layout,
                        &full.textures,
                        full.slowest.len()
                    )
                );
                let faults = crate::verify(&self.out(), None).unwrap().faults;
                assert!(faults.is_empty(), "{faults:#?}");
            }
            (Err(incremental), Err(full)) => {
                assert_eq!(incremental.content_errors(), full.content_errors());
                assert_eq!(output(&self.out()), before, "nothing changes where there are errors");
            }
            _ => panic!("incremental: {incremental:?}\nfull: {full:?}"),
        }
    }

    fn sources(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for (index, (file, colour)) in self.textures.iter().enumerate() {
            files.insert(file.clone(), picture(*colour));
            if let Some(linear) = self.settings.get(&index) {
                files.insert(format!("{file}.meta"), meta(*linear).into_bytes());
            }
        }
        for (index, scene) in self.scenes.iter().enumerate() {
            // A normal map of its own: how a file that two scenes load with different settings ends up is Bevy's choice.
            let normal = format!("textures/normal{index}.ppm");
            let texture = match self.textures.get(scene.texture) {
                _ if scene.is_normal => &normal,
                Some((file, _)) => file,
                None => "lost.ppm",
            };
            files.insert(format!("scenes/{index}.bin"), triangle_with_uvs(scene.size));
            files.insert(scene.file.clone(), gltf_of(scene, index, texture).into_bytes());
            files.insert(normal, b"P6\n1 1\n255\nabc".to_vec());
        }
        for (index, scenes) in self.lists.iter().enumerate() {
            files.insert(list_file(index), self.list(scenes).into_bytes());
        }
        if let Some((objects, place)) = self.rule {
            let text = format!("(layout: (rules: [(objects: \"{objects}\", place: {place})]))");
            files.insert("cook.ron".into(), text.into_bytes());
        }
        files.insert("test.world.ron".into(), self.world().into_bytes());
        files
    }

    fn list(&self, scenes: &[usize]) -> String {
        let meshes: Vec<String> = (scenes.iter().filter_map(|scene| self.scenes.get(*scene)))
            .map(|scene| format!("(Path(\"{}#Mesh0/Primitive0\"))", scene.file))
            .collect();
        let components: Vec<(&str, &str)> = meshes
            .iter()
            .map(|mesh| ("bevy_mesh::components::Mesh3d", mesh.as_str()))
            .collect();
        super::super::scene(&components)
    }

    fn world(&self) -> String {
        let mut text = String::from("(root: \".\", levels: [\n");
        for level in &self.levels {
            let source = match self.scenes.get(level.source) {
                Some(scene) => scene.file.clone(),
                None => list_file(level.source - self.scenes.len()),
            };
            let Level {
                name,
                x,
                seek_free,
                always_loaded,
                ..
            } = level;
            writeln!(
                text,
                "(name: \"{name}\", source: \"{source}\", translation: ({x:.1}, 0.0, 0.0), seek_free: {seek_free}, \
                 always_loaded: {always_loaded}),"
            )
            .unwrap();
        }
        let (startup, assets) = (self.paths(&self.startup), self.paths(&self.assets));
        write!(text, "], startup: [{startup}], assets: [{assets}])").unwrap();
        text
    }

    fn paths(&self, textures: &[usize]) -> String {
        let textures = textures.iter().filter_map(|index| self.textures.get(*index));
        let paths: Vec<String> = textures.map(|(file, _)| format!("\"{file}\"")).collect();
        paths.join(", ")
    }
}

/// Of one texel, or of some more.
fn picture(colour: u8) -> Vec<u8> {
    let texels = usize::from(colour % 3) + 1;
    let header = format!("P6\n{texels} 1\n255\n");
    [header.as_bytes(), &[colour, 10, 20].repeat(texels)].concat()
}

fn list_file(index: usize) -> String {
    format!("lists/{index}.scn.ron")
}

pub fn scene(index: usize, texture: usize) -> Scene {
    Scene {
        file: format!("scenes/s{index}.gltf"),
        nodes: vec![format!("node{index}"), "twin".into()],
        texture,
        is_normal: false,
        size: 1.0,
    }
}

pub fn level(index: usize) -> Level {
    Level {
        name: format!("level{index}"),
        source: index,
        x: index as f32 * 10.0,
        seek_free: index % 5 == 4,
        always_loaded: index == 1,
    }
}

fn gltf_of(scene: &Scene, index: usize, texture: &str) -> String {
    let names: Vec<&str> = scene.nodes.iter().map(String::as_str).collect();
    let text = with_uvs(&gltf(&names, &format!("../{texture}"))).replace("triangle.bin", &format!("{index}.bin"));
    if scene.is_normal {
        text.replace(
            r#""pbrMetallicRoughness":{"baseColorTexture":{"index":0}}"#,
            r#""normalTexture":{"index":0}"#,
        )
    } else {
        text
    }
}

/// Settings for an image, beside its file.
fn meta(linear: bool) -> String {
    format!(
        r#"(meta_format_version: "1.0", asset: Load(loader: "bevy_image::image_loader::ImageLoader", settings: (
            format: FromExtension, is_srgb: {}, sampler: Default, asset_usage: ("MAIN_WORLD | RENDER_WORLD"),
        )))"#,
        !linear
    )
}
