//! The world that both sides stream: a village that is always there, and a harbour with a volume around it.

use std::{fs, path::Path};

use bevy::prelude::*;
use bevy_seamless::asset::package::ObjectId;
use seamless_cook::{CookApp, CookOptions};
use seamless_examples::cubes::write_cubes;

/// Cubes of the village, at each of which one entity stands.
pub const VILLAGE: usize = 12;
/// Cubes of the harbour.
pub const HARBOUR: usize = 9;
/// A place in the harbour's volume.
pub const IN_HARBOUR: Vec3 = Vec3::new(20.0, 0.0, 0.0);

const WORLD: &str = r#"(
    levels: [
        (source: "village.gltf", always_loaded: true),
        (source: "harbour.gltf", translation: (20.0, 0.0, 0.0)),
    ],
    volumes: [
        (shape: Box(min: (10.0, -5.0, -10.0), max: (30.0, 5.0, 10.0)), unload_margin: 1.0, levels: ["harbour"]),
    ],
)"#;

/// An object of the world by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub package: String,
    pub object: String,
}

impl Named {
    /// Cube `number` of a level.
    pub fn cube(level: &str, number: usize) -> Self {
        Self {
            package: format!("{level}.pkg"),
            object: format!("{level}/cube {number}"),
        }
    }

    /// The mesh of a level's cubes.
    pub fn mesh(level: &str) -> Self {
        Self {
            package: format!("{level}.pkg"),
            object: "Mesh0/Primitive0".into(),
        }
    }

    /// What travels without the package map.
    pub fn path(&self) -> String {
        format!("{}#{}", self.package, self.object)
    }

    pub fn parse(path: &str) -> Option<Self> {
        let (package, object) = path.split_once('#')?;
        let [package, object] = [package, object].map(str::to_owned);
        Some(Self { package, object })
    }

    pub fn id(&self) -> ObjectId {
        ObjectId::new(&self.package, &self.object)
    }
}

/// Makes the sources below `directory` and cooks them; a game does this once, with `seamless cook`. With `more`, the harbour has a
/// cube more.
pub fn make(directory: &Path, more: bool) -> Result<()> {
    let row =
        |count: usize| -> Vec<[f32; 3]> { (0..count).map(|at| [at as f32 - 4.0, 0.0, (at % 3) as f32]).collect() };
    fs::create_dir_all(directory)?;
    write_cubes(directory, "village", &row(VILLAGE), [0.8, 0.3, 0.2])?;
    write_cubes(directory, "harbour", &row(HARBOUR + usize::from(more)), [0.1, 0.3, 0.6])?;
    let world = directory.join("world.world.ron");
    fs::write(&world, WORLD)?;
    CookApp::new().cook(&world, &directory.join("cooked"), &CookOptions::default(), &())?;
    Ok(())
}

/// The folder in which [`make`] has put what an app loads, as Bevy's `AssetPlugin` takes it.
pub fn cooked(directory: &Path) -> Result<String> {
    Ok(fs::canonicalize(directory.join("cooked"))?
        .to_string_lossy()
        .into_owned())
}
