//! The arena's sources: classes, zones, cues, models, tags, all made by this code. See [`write()`].

pub mod classes;
mod cues;
mod models;
pub mod zones;

use std::{fs, io, path::Path};

pub use cues::{AFTERMATH, LOBBY};
pub use models::Models;

use classes::CLASSES;
use zones::ZONES;

/// The world file among the sources.
pub const WORLD_FILE: &str = "arena.world.ron";
/// Rises when the sources that are made change.
const VERSION: u32 = 1;
/// What says that the folder was made by this code, and how.
const MARKER: &str = "generated.txt";

const WORLD: &str = r#"(
    // The floors of the zones.
    levels: [(source: "models/ground.glb", name: "ground", always_loaded: true)],
    // Nothing refers to these but by soft handles.
    assets: ["classes", "cues", "models", "zones"],
)
"#;

/// Makes the sources in `dir`, unless they are there. Gives whether they were made.
///
/// # Errors
/// When a file cannot be written.
pub fn write(dir: &Path, models: &Models) -> io::Result<bool> {
    let marker = format!("arena {VERSION} {models:?}\n");
    if fs::read_to_string(dir.join(MARKER)).is_ok_and(|found| found == marker) {
        return Ok(false);
    }
    let mut files = Files { dir };
    files.put(WORLD_FILE, WORLD)?;
    files.put("game.tags.ron", tags())?;
    for class in &CLASSES {
        class.write(&mut files)?;
    }
    for zone in &ZONES {
        zone.write(&mut files)?;
    }
    cues::write(&mut files)?;
    models.write(&mut files)?;
    files.put(MARKER, &marker)?;
    Ok(true)
}

/// A folder that is filled.
pub(super) struct Files<'d> {
    dir: &'d Path,
}

impl Files<'_> {
    fn put(&mut self, path: &str, text: impl AsRef<[u8]>) -> io::Result<()> {
        let file = self.dir.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text)
    }
}

/// `knight` as a part of a tag: `Knight`.
#[must_use]
pub fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What tags there are beside those of classes, zones and shows.
const COMMON_TAGS: [&str; 21] = [
    "Attribute.Health",
    "Attribute.MaxHealth",
    "Attribute.Mana",
    "Attribute.Speed",
    "Cooldown.Attack",
    "Cooldown.Special",
    "Cue.Hit",
    "Cue.Death",
    "Cue.Spawn",
    "Effect.Damage",
    "Effect.Fire",
    "Effect.Hazard",
    "Effect.Heal",
    "Effect.Poison",
    "Effect.Root",
    "Effect.Shield",
    "Slot.Attack",
    "Slot.Special",
    "State.Shielded",
    "Ability.Attack",
    "Ability.Special",
];

/// All tags of the game: the cooker refuses what uses others.
fn tags() -> String {
    let of_classes = CLASSES.iter().flat_map(|class| {
        let class = capital(class.name);
        let kinds = [
            "Cue.Cast",
            "Cue.Hit",
            "Cue.Special",
            "Ability.Attack",
            "Ability.Special",
        ];
        kinds.map(|kind| format!("{kind}.{class}"))
    });
    let of_zones = ZONES.iter().flat_map(|zone| {
        let zone = capital(zone.name);
        ["Ambience", "Hazard"].map(|kind| format!("Cue.Zone.{zone}.{kind}"))
    });
    let shows = LOBBY.iter().map(|name| format!("Cue.Lobby.{}", capital(name)));
    let shows = shows.chain(AFTERMATH.iter().map(|name| format!("Cue.Aftermath.{}", capital(name))));
    let common = COMMON_TAGS.map(String::from);
    let all = common.into_iter().chain(of_classes).chain(of_zones).chain(shows);
    let lines: String = all.map(|tag| format!("    \"{tag}\",\n")).collect();
    format!("[\n{lines}]\n")
}
