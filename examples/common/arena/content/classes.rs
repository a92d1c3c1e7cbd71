//! The classes: what each can do, as the files that an author would write.

use std::io;

use super::{Files, capital};

/// A class of units.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    /// Its name, and that of its folders.
    pub name: &'static str,
    /// Its colour, linear.
    pub color: [f32; 3],
    /// Health at the start.
    pub health: f32,
    /// Metres a second.
    pub speed: f32,
    /// How far its attack reaches, in metres.
    pub range: f32,
    /// What an attack takes away.
    damage: f32,
    /// Seconds between two attacks.
    pause: f32,
    special: Special,
}

/// What makes a class what it is.
#[derive(Debug, Clone, Copy)]
enum Special {
    /// Nothing hurts it for a while.
    Shield,
    /// Hits all around its target.
    Volley,
    /// Hurts for a while, three times over at most.
    Burn,
    /// Heals whoever of its team is hurt most.
    Heal,
    /// Hurts for long, five times over at most.
    Poison,
    /// Slows its target down.
    Root,
}

const fn class(name: &'static str, color: [f32; 3], health: f32, range: f32, special: Special) -> Class {
    Class {
        name,
        color,
        health,
        speed: if range > 5.0 { 3.5 } else { 5.0 },
        range,
        damage: if range > 5.0 { 8.0 } else { 12.0 },
        pause: if range > 5.0 { 1.4 } else { 1.0 },
        special,
    }
}

/// All classes that there are; a battle has some of them.
pub const CLASSES: [Class; 6] = [
    class("knight", [0.55, 0.6, 0.7], 140.0, 2.0, Special::Shield),
    class("archer", [0.25, 0.6, 0.2], 80.0, 14.0, Special::Volley),
    class("mage", [0.8, 0.3, 0.1], 70.0, 12.0, Special::Burn),
    class("cleric", [0.9, 0.85, 0.5], 90.0, 9.0, Special::Heal),
    class("rogue", [0.45, 0.15, 0.6], 85.0, 2.0, Special::Poison),
    class("druid", [0.2, 0.5, 0.45], 95.0, 10.0, Special::Root),
];

impl Class {
    /// Where its definitions are.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("classes/{}", self.name)
    }

    /// The path of its set of abilities.
    #[must_use]
    pub fn abilities(&self) -> String {
        format!("classes/{0}/{0}.abilities.ron", self.name)
    }

    /// All folders of which it needs something.
    #[must_use]
    pub fn folders(&self) -> [String; 3] {
        let name = self.name;
        [self.folder(), format!("cues/classes/{name}"), format!("models/{name}")]
    }

    pub(super) fn write(&self, files: &mut Files) -> io::Result<()> {
        let (folder, name) = (self.folder(), capital(self.name));
        files.put(&self.abilities(), ABILITIES)?;
        let attack = ATTACK
            .replace("NAME", &name)
            .replace("PAUSE", &format!("{:.1}", self.pause));
        files.put(&format!("{folder}/attack.ability.ron"), attack)?;
        let hit = ATTACK_EFFECT
            .replace("NAME", &name)
            .replace("DAMAGE", &format!("{:.1}", self.damage));
        files.put(&format!("{folder}/attack.effect.ron"), hit)?;
        let special = SPECIAL.replace("NAME", &name).replace("WHOM", self.special.whom());
        files.put(&format!("{folder}/special.ability.ron"), special)?;
        let effect = self.special.effect().replace("NAME", &name);
        files.put(&format!("{folder}/special.effect.ron"), effect)?;
        let cues = format!("cues/classes/{}", self.name);
        files.put(
            &format!("{cues}/cast.cue.ron"),
            format!("(tag: \"Cue.Cast.{name}\", cull_distance: 50.0)\n"),
        )?;
        for (cue, delay) in [("hit", 0.5), ("special", 0.4)] {
            let text = ACTOR
                .replace("NAME", &format!("{}.{name}", capital(cue)))
                .replace("MODEL", &format!("models/{}/{cue}.glb", self.name))
                .replace("DELAY", &format!("{delay:.1}"));
            files.put(&format!("{cues}/{cue}.cue.ron"), text)?;
        }
        Ok(())
    }
}

impl Special {
    /// Whom its effect is for; the name under which the ability lists it.
    fn whom(self) -> &'static str {
        match self {
            Self::Shield => "own",
            Self::Volley => "area",
            Self::Heal => "ally",
            Self::Burn | Self::Poison | Self::Root => "target",
        }
    }

    fn effect(self) -> &'static str {
        match self {
            Self::Shield => {
                r#"(tags: ["Effect.Shield"], duration: For(1.5), grants: ["State.Shielded"], cues: (active: ["Cue.Special.NAME"]))
"#
            }
            Self::Volley => {
                r#"(
    tags: ["Effect.Damage"],
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(-9.0))],
    apply_if: (forbid: ["State.Shielded"]),
    cues: (executed: ["Cue.Special.NAME"]),
)
"#
            }
            Self::Burn => {
                r#"(
    tags: ["Effect.Fire"],
    duration: For(3.0),
    period: (every: 0.5),
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(-3.0))],
    stacking: (by: Target, limit: 3),
    apply_if: (forbid: ["State.Shielded"]),
    cues: (active: ["Cue.Special.NAME"]),
)
"#
            }
            Self::Heal => {
                r#"(
    tags: ["Effect.Heal"],
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(25.0))],
    cues: (executed: ["Cue.Special.NAME"]),
)
"#
            }
            Self::Poison => {
                r#"(
    tags: ["Effect.Poison"],
    duration: For(6.0),
    period: (every: 1.0),
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(-4.0))],
    stacking: (by: Target, limit: 5, expires: OneStack),
    cues: (active: ["Cue.Special.NAME"]),
)
"#
            }
            Self::Root => {
                r#"(
    tags: ["Effect.Root"],
    duration: For(2.5),
    modifiers: [(attribute: "Attribute.Speed", operation: Multiply, magnitude: Constant(0.2))],
    stacking: (by: Target, limit: 1),
    cues: (active: ["Cue.Special.NAME"]),
)
"#
            }
        }
    }
}

const ABILITIES: &str = r#"(
    abilities: [
        (ability: "special.ability.ron", slot: "Slot.Special"),
        (ability: "attack.ability.ron", slot: "Slot.Attack"),
    ],
)
"#;

const ATTACK: &str = r#"(
    tags: ["Ability.Attack.NAME"],
    cooldown: (time: PAUSE, tags: ["Cooldown.Attack"]),
    effects: [(name: "target", effect: "attack.effect.ron")],
    cues: (executed: ["Cue.Cast.NAME"]),
)
"#;

const ATTACK_EFFECT: &str = r#"(
    tags: ["Effect.Damage"],
    modifiers: [(attribute: "Attribute.Health", operation: Add, magnitude: Constant(-DAMAGE))],
    apply_if: (forbid: ["State.Shielded"]),
    cues: (executed: ["Cue.Hit.NAME"]),
)
"#;

const SPECIAL: &str = r#"(
    tags: ["Ability.Special.NAME"],
    costs: [(attribute: "Attribute.Mana", amount: Constant(20.0))],
    cooldown: (time: 4.0, tags: ["Cooldown.Special"]),
    effects: [(name: "WHOM", effect: "special.effect.ron")],
    cues: (executed: ["Cue.Cast.NAME"]),
)
"#;

/// A cue with something to see.
pub(super) const ACTOR: &str = r#"(
    tag: "Cue.NAME",
    kind: Actor(prefab: "MODEL"),
    auto_destroy_delay: DELAY,
    // As many as there may be: no cue waits for an instance.
    preallocated: 6,
    cap: 6,
    cull_distance: 50.0,
)
"#;
