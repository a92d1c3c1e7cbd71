//! Cues that belong to no class and no zone: those of every fight, and the shows before and after it.

use std::io;

use super::{Files, capital, classes::ACTOR};

/// What is shown before a battle.
pub const LOBBY: [&str; 4] = ["banner", "drums", "parade", "torches"];
/// What is shown after it.
pub const AFTERMATH: [&str; 4] = ["confetti", "fireworks", "statue", "wreath"];

/// The shows, with their folders.
pub(super) fn shows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lobby = LOBBY.iter().map(|name| ("lobby", *name));
    lobby.chain(AFTERMATH.iter().map(|name| ("aftermath", *name)))
}

pub(super) fn write(files: &mut Files) -> io::Result<()> {
    // Hears of the hits of all classes, because none of them overrides it.
    files.put("cues/common/hit.cue.ron", "(tag: \"Cue.Hit\", cull_distance: 50.0)\n")?;
    files.put(
        "cues/common/spawn.cue.ron",
        "(tag: \"Cue.Spawn\", cull_distance: 50.0)\n",
    )?;
    let death = actor("Death", "models/common/death.glb", 1.0);
    // All fall in the same zone, each for itself.
    let death = death.replace("(\n", "(\n    unique_per_instigator: true,\n");
    files.put("cues/common/death.cue.ron", death)?;
    for (folder, name) in shows() {
        let tag = format!("{}.{}", capital(folder), capital(name));
        let text = actor(&tag, &format!("models/{folder}/{name}.glb"), 2.0);
        files.put(&format!("cues/{folder}/{name}.cue.ron"), text)?;
    }
    Ok(())
}

fn actor(tag: &str, model: &str, delay: f32) -> String {
    let text = ACTOR.replace("NAME", tag).replace("MODEL", model);
    text.replace("DELAY", &format!("{delay:.1}"))
}
