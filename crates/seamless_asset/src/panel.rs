//! What others have to say on the overlay's panel. See [`PanelLines`].

use std::collections::BTreeMap;

use bevy_ecs::{resource::Resource, schedule::SystemSet};

/// Lines that the panel of an overlay shows, by topic, in the topics' order. Who has something to say sets its topic's lines, and sets them
/// again when they have changed; the panel shows the first 24, and how many more there are. Letters beyond ASCII are not shown. While
/// there is [no panel](Self::is_shown), nobody need say anything.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{PanelLine, PanelLines};
/// fn tell(mut panel: ResMut<PanelLines>) {
///     if !panel.is_shown {
///         return;
///     }
///     let pool = PanelLine::new("pool: 300 of 512 MiB");
///     let full = PanelLine { is_alarm: true, ..PanelLine::new("over budget") };
///     panel.set("mips", vec![pool, full]);
/// }
/// ```
#[derive(Resource, Debug, Clone, Default, PartialEq)]
pub struct PanelLines {
    /// Whether a panel shows them in this frame: to write lines takes time. Default: false. The panel's overlay sets it in each frame,
    /// before [`PanelSystems::Tell`].
    pub is_shown: bool,
    lines: BTreeMap<&'static str, Vec<PanelLine>>,
}

/// What overlays and those who speak on their panel do, in an order, though they do not know each other.
#[derive(SystemSet, Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PanelSystems {
    /// Keys turn overlays on and off. In `Update`.
    Toggle,
    /// Who has something to say sets its [`PanelLines`]. In `PostUpdate`, before they are shown.
    Tell,
    /// The panel shows them. In `PostUpdate`.
    Show,
}

/// A line of the panel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PanelLine {
    /// What it says.
    pub text: String,
    /// Whether something is wrong: it stands out.
    pub is_alarm: bool,
}

impl PanelLine {
    /// A line that says how it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_alarm: false,
        }
    }
}

impl PanelLines {
    /// What is said of a topic from now on; nothing if there are no lines.
    pub fn set(&mut self, topic: &'static str, lines: Vec<PanelLine>) {
        match lines.is_empty() {
            true => self.lines.remove(topic),
            false => self.lines.insert(topic, lines),
        };
    }

    /// All lines, topic by topic.
    pub fn iter(&self) -> impl Iterator<Item = &PanelLine> {
        self.lines.values().flatten()
    }
}
