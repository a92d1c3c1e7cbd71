//! Cues that mean something else to some targets. See [`TranslateCues`].

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use crate::tag::{GameplayTag, MAX_TAG_BYTES};

/// A tag, and what stands for it.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CueTranslation {
    /// Cues of this tag, and of kinds of it.
    pub from: GameplayTag,
    /// What is played in their place. Of a kind of `from`, the same kind of `to` is, if anybody has made that tag, else `to`.
    pub to: GameplayTag,
}

/// On the target of cues that are others for it: `Cue.Hit` is `Cue.Hit.Metal` for a robot. Of several translations that fit, the one of the most
/// special tag counts, and of two of the same tag the first; the target's own come before [those of all](crate::CueConfig::translations). What was
/// translated is not translated again.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct TranslateCues(pub Vec<CueTranslation>);

/// What stands for `tag`: itself, where nothing fits.
pub(crate) fn translated(tag: GameplayTag, translations: &[CueTranslation]) -> Option<GameplayTag> {
    if translations.is_empty() {
        return None;
    }
    let fitting = tag
        .lineage()
        .find_map(|kind| translations.iter().find(|translation| translation.from == kind))?;
    Some(same_kind(tag, *fitting).unwrap_or(fitting.to))
}

/// The kind of `to` that `tag` is of `from`, if there is one. Names are put together without taking memory.
fn same_kind(tag: GameplayTag, CueTranslation { from, to }: CueTranslation) -> Option<GameplayTag> {
    let rest = tag.name().strip_prefix(from.name()).filter(|rest| !rest.is_empty())?;
    let mut name = [0; MAX_TAG_BYTES];
    let (start, end) = name.split_at_mut(to.name().len());
    start.copy_from_slice(to.name().as_bytes());
    end.get_mut(..rest.len())?.copy_from_slice(rest.as_bytes());
    let name = core::str::from_utf8(&name[..to.name().len() + rest.len()]).ok()?;
    GameplayTag::find(name)
}
