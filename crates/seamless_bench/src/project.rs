//! Projects that are made to be cooked: glTF files, each with a triangle for every texture. See [`Project`].

#[cfg(test)]
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use seamless_cook::{CookApp, CookOptions, CookReport, Profile};
use tempfile::TempDir;

/// What a material shows a texture as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextureRole {
    /// Its base colour.
    Color,
    /// Its normal map.
    Normal,
}

impl TextureRole {
    /// The member of a glTF material that shows the texture with this index so.
    fn member(self, index: usize) -> String {
        match self {
            Self::Color => format!(r#""pbrMetallicRoughness":{{"baseColorTexture":{{"index":{index}}}}}"#),
            Self::Normal => format!(r#""normalTexture":{{"index":{index}}}"#),
        }
    }
}

/// A project on disk.
pub struct Project {
    directory: TempDir,
}

const WORLD: &str = "w.world.ron";
const OUT: &str = "out";

impl Project {
    /// One level for each list of textures: the files and what they are shown as. The files are still to be written.
    pub fn new(levels: &[Vec<(String, TextureRole)>]) -> Self {
        let directory = tempfile::tempdir().expect("a folder for temporary files");
        let project = Self { directory };
        let mut world = String::from("(levels: [");
        for (level, textures) in levels.iter().enumerate() {
            let buffer = format!("l{level}.bin");
            project.write(&buffer, triangle());
            project.write(&format!("l{level}.gltf"), gltf(&buffer, textures));
            world += &format!("(source: \"l{level}.gltf\"),");
        }
        project.write(WORLD, world + "])");
        project
    }

    /// The path of a file or folder of the project.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// The folder with what was cooked, and the cook's cache.
    pub fn out(&self) -> PathBuf {
        self.path(OUT)
    }

    /// Writes a file.
    pub fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("the folder can be written to");
        fs::write(path, bytes).expect("the folder can be written to");
    }

    /// Cooks the project on `jobs` threads; the time in milliseconds.
    pub fn cook(&self, profile: Profile, jobs: usize) -> (f64, CookReport) {
        let options = CookOptions {
            profile,
            jobs,
            ..CookOptions::default()
        };
        let start = Instant::now();
        let report = CookApp::new().cook(&self.path(WORLD), &self.out(), &options, &());
        (
            start.elapsed().as_secs_f64() * 1e3,
            report.expect("the project is sound"),
        )
    }

    /// The files beside the world's file, the world's file included.
    pub fn sources(&self) -> Vec<PathBuf> {
        files(self.directory.path())
    }
}

/// The files in a folder, those in folders in it left out.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect()
}

fn triangle() -> Vec<u8> {
    let values = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn gltf(buffer: &str, textures: &[(String, TextureRole)]) -> String {
    let list = |item: &dyn Fn(usize, &(String, TextureRole)) -> String| {
        let items = textures.iter().enumerate().map(|(n, texture)| item(n, texture));
        items.collect::<Vec<_>>().join(",")
    };
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[{}]}}],"nodes":[{}],"meshes":[{}],
        "materials":[{}],"textures":[{}],"images":[{}],"buffers":[{{"uri":"{buffer}","byteLength":36}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}}]}}"#,
        list(&|n, _| n.to_string()),
        list(&|n, _| format!(r#"{{"mesh":{n}}}"#)),
        list(&|n, _| format!(r#"{{"primitives":[{{"attributes":{{"POSITION":0}},"material":{n}}}]}}"#)),
        list(&|n, (_, role)| format!("{{{}}}", role.member(n))),
        list(&|n, _| format!(r#"{{"source":{n}}}"#)),
        list(&|_, (file, _)| format!(r#"{{"uri":"{file}"}}"#)),
    )
}
