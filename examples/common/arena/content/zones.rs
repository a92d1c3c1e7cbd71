//! The zones: each has a floor, something in the air, and something that befalls whoever fights there.

use std::io;

use super::{Files, capital, classes::ACTOR};

/// Metres from the middle of a zone to that of the next.
pub const APART: f32 = 120.0;
/// Metres from a zone's middle to its edge.
pub const HALF: f32 = 24.0;

/// A place to fight.
#[derive(Debug, Clone, Copy)]
pub struct Zone {
    /// Its name, and that of its folders.
    pub name: &'static str,
    /// The colour of its floor, linear.
    pub floor: [f32; 3],
    /// The colour of what happens there, linear.
    pub color: [f32; 3],
    /// What its hazard takes away.
    damage: f32,
}

/// All zones that there are; a battle is fought in some of them.
pub const ZONES: [Zone; 4] = [
    Zone {
        name: "meadow",
        floor: [0.16, 0.34, 0.1],
        color: [0.9, 0.9, 0.3],
        damage: 3.0,
    },
    Zone {
        name: "volcano",
        floor: [0.16, 0.08, 0.06],
        color: [1.0, 0.25, 0.05],
        damage: 12.0,
    },
    Zone {
        name: "glacier",
        floor: [0.55, 0.68, 0.8],
        color: [0.5, 0.8, 1.0],
        damage: 8.0,
    },
    Zone {
        name: "swamp",
        floor: [0.13, 0.17, 0.08],
        color: [0.35, 0.8, 0.2],
        damage: 6.0,
    },
];

impl Zone {
    /// The path of the effect that befalls whoever fights here.
    #[must_use]
    pub fn hazard(&self) -> String {
        format!("zones/{}/hazard.effect.ron", self.name)
    }

    /// All folders of which it needs something.
    #[must_use]
    pub fn folders(&self) -> [String; 3] {
        let name = self.name;
        [
            format!("zones/{name}"),
            format!("cues/zones/{name}"),
            format!("models/{name}"),
        ]
    }

    pub(super) fn write(&self, files: &mut Files) -> io::Result<()> {
        let name = capital(self.name);
        let hazard = HAZARD
            .replace("NAME", &name)
            .replace("DAMAGE", &format!("{:.1}", self.damage));
        files.put(&self.hazard(), hazard)?;
        for cue in ["ambience", "hazard"] {
            let text = ACTOR
                .replace("NAME", &format!("Zone.{name}.{}", capital(cue)))
                .replace("MODEL", &format!("models/{}/{cue}.glb", self.name))
                .replace("DELAY", "1.0");
            files.put(&format!("cues/zones/{}/{cue}.cue.ron", self.name), text)?;
        }
        Ok(())
    }
}

const HAZARD: &str = r#"(
    tags: ["Effect.Hazard"],
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(-DAMAGE))],
    cues: (executed: ["Cue.Zone.NAME.Hazard"]),
)
"#;
