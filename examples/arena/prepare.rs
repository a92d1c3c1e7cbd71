//! Generates the sources and cooks them, unless both are up to date.

use std::path::Path;

use seamless_cook::CookOptions;
use seamless_examples::{
    arena::content::{self, Models, WORLD_FILE},
    cook::{ASSETS, cook, is_cooked, manifest_in},
};

use crate::args::Args;

/// Makes sure that the content is cooked. Gives the asset path of its manifest.
pub fn prepare(args: &Args) -> Result<String, String> {
    let (name, models) = match args.small {
        true => ("arena_small", Models::small()),
        false => ("arena", Models::default()),
    };
    let folder = Path::new(ASSETS).join(name);
    let (sources, out) = (folder.join("sources"), folder.join("cooked"));
    let is_new = content::write(&sources, &models)
        .map_err(|error| format!("the content cannot be generated in {}: {error}", sources.display()))?;
    if is_new || !is_cooked(&out) {
        cook(&sources.join(WORLD_FILE), &out, &CookOptions::default())?;
    }
    manifest_in(&format!("{name}/cooked"))
}
