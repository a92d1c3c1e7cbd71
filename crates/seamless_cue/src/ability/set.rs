//! What a class of units can do. See [`AbilitySet`].

use bevy_asset::{Asset, LoadContext};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::SoftHandle;
use serde::Deserialize;

use super::Ability;
use crate::{
    GameplayTag,
    ron_file::{Checked, DefinitionError, FromRon},
};

/// The ending of sources of [`AbilitySet`]s, without the first dot.
pub const ABILITY_SET_EXTENSION: &str = "abilities.ron";
/// How many abilities a set may have.
pub const MAX_SET: usize = 256;

/// An ability of an [`AbilitySet`].
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct SetEntry {
    /// Which one. It is not loaded with the set.
    pub ability: SoftHandle<Ability>,
    /// At which level.
    pub level: f32,
    /// Where it goes: a key, a button of the bar, a name for the AI.
    pub slot: Option<GameplayTag>,
}

/// Abilities that go together: those of a class, of a weapon, of a mount. It refers to them softly, so a game can have all its sets in memory, and
/// of abilities only those that somebody has.
///
/// Authors write one as `*.abilities.ron`; paths are relative to the file:
///
/// ```text
/// // classes/mage.abilities.ron
/// (
///     abilities: [
///         (ability: "../spells/fireball.ability.ron", slot: "Slot.Primary"),
///         (ability: "../spells/shield.ability.ron", level: 2.0),
///     ],
/// )
/// ```
#[derive(Asset, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct AbilitySet {
    /// In the order in which they are granted.
    pub abilities: Vec<SetEntry>,
}

/// A set as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetSource {
    abilities: Vec<EntrySource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntrySource {
    ability: String,
    #[serde(default = "first")]
    level: f32,
    #[serde(default)]
    slot: Option<GameplayTag>,
}

fn first() -> f32 {
    1.0
}

impl Checked for SetSource {
    fn fault(&self) -> Option<String> {
        let entries = self.abilities.iter();
        fault(entries.map(|entry| (entry.ability.as_str(), entry.level)))
    }
}

impl Checked for AbilitySet {
    fn fault(&self) -> Option<String> {
        let entries = self.abilities.iter();
        fault(entries.map(|entry| (entry.ability.path(), entry.level)))
    }
}

fn fault<'a>(mut entries: impl ExactSizeIterator<Item = (&'a str, f32)>) -> Option<String> {
    let count = entries.len();
    if count > MAX_SET {
        return Some(format!("{count} abilities; {MAX_SET} are possible, make several sets"));
    }
    entries.find_map(|(path, level)| match path {
        "" => Some("an ability without a path".to_owned()),
        _ if !level.is_finite() => Some(format!("the level of `{path}` is no finite number")),
        _ => None,
    })
}

impl FromRon for AbilitySet {
    type Source = SetSource;
    const EXTENSION: &'static str = ABILITY_SET_EXTENSION;

    fn from_source(source: SetSource, context: &mut LoadContext) -> Result<Self, DefinitionError> {
        let entry = |EntrySource { ability, level, slot }| {
            let path = context.path().resolve_embed_str(&ability);
            let path = path.map_err(|cause| DefinitionError::Path { path: ability, cause })?;
            let ability = SoftHandle::new(path.to_string());
            Ok::<_, DefinitionError>(SetEntry { ability, level, slot })
        };
        let abilities = source
            .abilities
            .into_iter()
            .map(entry)
            .collect::<Result<_, DefinitionError>>()?;
        Ok(Self { abilities })
    }
}
