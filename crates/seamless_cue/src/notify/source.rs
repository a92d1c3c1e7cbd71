//! What an author may write of a notify. Pure.

use serde::Deserialize;

use super::{CueKind, CueNotify};
use crate::{
    pool::WhenFull,
    tag::{GameplayTag, TagError},
};

/// How many bytes a `*.cue.ron` file may have.
pub const MAX_CUE_BYTES: usize = 64 << 10;

/// What is wrong with what a cue says.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CueError {
    /// No notify without a tag.
    #[error("it has no tag; write `tag: \"Cue.Hit\"`, here or in its parent")]
    NoTag,
    /// The tag is none.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// An actor without its prefab.
    #[error("an actor without a prefab; write `kind: Actor(prefab: \"effects/flames.scn.ron\")`, or `kind: Static`")]
    NoPrefab,
    /// A number that means nothing.
    #[error("`{field}` is {found}; write a finite number that is not negative")]
    Number {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: f32,
    },
    /// More ahead than there may be.
    #[error("{preallocated} instances are preallocated and {cap} are possible; raise `cap`, which is at least 1")]
    Cap {
        /// How many are to be there.
        preallocated: u32,
        /// How many may be there.
        cap: u32,
    },
}

impl CueError {
    /// The field that it is about.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::NoTag | Self::Tag(_) => "tag",
            Self::NoPrefab => "kind",
            Self::Number { field, .. } => field,
            Self::Cap { cap: 0, .. } => "cap",
            Self::Cap { .. } => "preallocated",
        }
    }
}

/// A file: what it does not say, its parent does, or the defaults.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Source {
    pub parent: Option<String>,
    pub tag: Option<String>,
    kind: Option<SourceKind>,
    overrides: Option<bool>,
    unique_per_instigator: Option<bool>,
    unique_per_source: Option<bool>,
    allow_multiple: Option<bool>,
    attached: Option<bool>,
    auto_destroy_delay: Option<f32>,
    preallocated: Option<u32>,
    cap: Option<u32>,
    when_full: Option<WhenFull>,
    cull_distance: Option<f32>,
}

#[derive(Deserialize, Clone, Debug)]
enum SourceKind {
    Static,
    Actor {
        #[serde(default)]
        prefab: String,
    },
}

impl Source {
    /// What it says, and where it says nothing, what its parent does.
    pub fn over(self, parent: Self) -> Self {
        Self {
            parent: parent.parent,
            tag: self.tag.or(parent.tag),
            kind: self.kind.or(parent.kind),
            overrides: self.overrides.or(parent.overrides),
            unique_per_instigator: self.unique_per_instigator.or(parent.unique_per_instigator),
            unique_per_source: self.unique_per_source.or(parent.unique_per_source),
            allow_multiple: self.allow_multiple.or(parent.allow_multiple),
            attached: self.attached.or(parent.attached),
            auto_destroy_delay: self.auto_destroy_delay.or(parent.auto_destroy_delay),
            preallocated: self.preallocated.or(parent.preallocated),
            cap: self.cap.or(parent.cap),
            when_full: self.when_full.or(parent.when_full),
            cull_distance: self.cull_distance.or(parent.cull_distance),
        }
    }

    /// The notify that it describes. Its tag is made, so it has to be known to be one of the game's.
    pub fn notify(self) -> Result<CueNotify, CueError> {
        let tag = GameplayTag::new(&self.tag.ok_or(CueError::NoTag)?)?;
        let usual = CueNotify::new(tag);
        checked(CueNotify {
            tag,
            kind: match self.kind {
                None | Some(SourceKind::Static) => CueKind::Static,
                Some(SourceKind::Actor { prefab }) => CueKind::Actor { prefab: prefab.into() },
            },
            overrides: self.overrides.unwrap_or(usual.overrides),
            unique_per_instigator: self.unique_per_instigator.unwrap_or(usual.unique_per_instigator),
            unique_per_source: self.unique_per_source.unwrap_or(usual.unique_per_source),
            allow_multiple: self.allow_multiple.unwrap_or(usual.allow_multiple),
            attached: self.attached.unwrap_or(usual.attached),
            auto_destroy_delay: self.auto_destroy_delay.unwrap_or(usual.auto_destroy_delay),
            preallocated: self.preallocated.unwrap_or(usual.preallocated),
            cap: self.cap.unwrap_or(usual.cap),
            when_full: self.when_full.unwrap_or(usual.when_full),
            cull_distance: self.cull_distance,
        })
    }
}

/// A notify, if it can be played as it is.
pub(super) fn checked(notify: CueNotify) -> Result<CueNotify, CueError> {
    if matches!(&notify.kind, CueKind::Actor { prefab } if prefab.is_empty()) {
        return Err(CueError::NoPrefab);
    }
    let numbers = [
        ("auto_destroy_delay", Some(notify.auto_destroy_delay)),
        ("cull_distance", notify.cull_distance),
    ];
    for (field, found) in numbers {
        if let Some(found) = found.filter(|found| !(found.is_finite() && *found >= 0.0)) {
            return Err(CueError::Number { field, found });
        }
    }
    let (preallocated, cap) = (notify.preallocated, notify.cap);
    if cap == 0 || preallocated > cap {
        return Err(CueError::Cap { preallocated, cap });
    }
    Ok(notify)
}
