//! The tags that code uses. See [`Tags`].

use bevy::prelude::*;
use bevy_seamless::cue::GameplayTag;

use super::content::{AFTERMATH, LOBBY, capital, zones::ZONES};

/// Made once.
#[derive(Resource)]
pub(super) struct Tags {
    pub health: GameplayTag,
    pub most_health: GameplayTag,
    pub mana: GameplayTag,
    pub speed: GameplayTag,
    /// In the order in which they are tried.
    pub slots: [GameplayTag; 2],
    pub death: GameplayTag,
    pub spawn: GameplayTag,
    pub ambience: Vec<GameplayTag>,
    pub lobby: Vec<GameplayTag>,
    pub aftermath: Vec<GameplayTag>,
}

impl Tags {
    pub fn new() -> Self {
        let show = |kind: &str, names: &[&str]| -> Vec<GameplayTag> {
            names
                .iter()
                .map(|name| tag(&format!("Cue.{kind}.{}", capital(name))))
                .collect()
        };
        let of_zone = |name: &str| tag(&format!("Cue.Zone.{}.Ambience", capital(name)));
        Self {
            health: tag("Attribute.Health"),
            most_health: tag("Attribute.MaxHealth"),
            mana: tag("Attribute.Mana"),
            speed: tag("Attribute.Speed"),
            slots: [tag("Slot.Special"), tag("Slot.Attack")],
            death: tag("Cue.Death"),
            spawn: tag("Cue.Spawn"),
            ambience: ZONES.iter().map(|zone| of_zone(zone.name)).collect(),
            lobby: show("Lobby", &LOBBY),
            aftermath: show("Aftermath", &AFTERMATH),
        }
    }
}

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("the names above are tags")
}
