//! What the example `open_world` leaves on the disk, as data to measure. See [`OpenWorld`].

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::project::{TextureRole, files};

/// The folder of the example.
pub struct OpenWorld {
    folder: PathBuf,
}

/// The example's folder does not have what is measured.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is not there, so the rows of the example world are left out: run `cargo run --example open_world -- --headless` once, \
     or give its folder with `--open-world`", .0.display()
)]
pub struct Missing(PathBuf);

/// A picture of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Where it is.
    pub path: PathBuf,
    /// Its file name.
    pub file: String,
    /// What the world's materials show it as.
    pub role: TextureRole,
}

impl OpenWorld {
    /// The world in `folder`.
    ///
    /// # Errors
    /// When its sources or its cooked files are not there.
    pub fn find(folder: &Path) -> Result<Self, Missing> {
        let world = Self {
            folder: folder.to_owned(),
        };
        let needed = [world.textures(), world.world_file(), world.cooked()];
        match needed.into_iter().find(|needed| !needed.exists()) {
            Some(needed) => Err(Missing(needed)),
            None => Ok(world),
        }
    }

    /// The folder with packages and manifest.
    pub fn cooked(&self) -> PathBuf {
        self.folder.join("cooked")
    }

    /// What says which levels there are.
    pub fn world_file(&self) -> PathBuf {
        self.folder.join("sources").join("open_world.world.ron")
    }

    fn textures(&self) -> PathBuf {
        self.folder.join("sources").join("textures")
    }

    /// All PNGs, by name.
    pub fn pictures(&self) -> Vec<Picture> {
        let mut pictures: Vec<Picture> = files(&self.textures())
            .iter()
            .filter_map(|path| picture(path))
            .collect();
        pictures.sort_unstable_by(|a, b| a.file.cmp(&b.file));
        pictures
    }
}

/// The example's generator names what its materials show as a normal map `*_normal.png`; everything else is colour.
fn picture(path: &Path) -> Option<Picture> {
    let file = path.file_name()?.to_str()?.to_owned();
    let name = file.strip_suffix(".png")?;
    let role = if name.ends_with("_normal") {
        TextureRole::Normal
    } else {
        TextureRole::Color
    };
    Some(Picture {
        path: path.to_owned(),
        file,
        role,
    })
}
