//! The five ways for content to come into memory. See [`Approach`].

use bevy::prelude::*;
use bevy_seamless::{
    asset::{PreloadAppExt, PreloadSet, PreloadSets},
    cue::CueConfig,
};

use super::{
    ArenaOptions, Phase, Roster,
    content::{classes::CLASSES, zones::ZONES},
};

/// When content is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Approach {
    /// Everything, before anything begins.
    All,
    /// Everything, in the background, from the start on.
    Async,
    /// Each thing when it is used for the first time.
    Lazy,
    /// What a phase of the game may need, before it begins; the rest is released.
    Phase,
    /// What the chosen classes need, and the zones that are near.
    Class,
}

impl Approach {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::All, Self::Async, Self::Lazy, Self::Phase, Self::Class];

    /// What it is called on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Async => "async",
            Self::Lazy => "lazy",
            Self::Phase => "phase",
            Self::Class => "class",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|approach| approach.name() == name)
    }

    /// What it is called in a table.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::All => "everything at the start",
            Self::Async => "in the background from the start",
            Self::Lazy => "fully lazy",
            Self::Phase => "by phase",
            Self::Class => "by class and zone",
        }
    }

    /// Whether the game waits until what it has asked for is there.
    #[must_use]
    pub fn waits(self) -> bool {
        matches!(self, Self::All | Self::Phase | Self::Class)
    }

    /// How cues are loaded: preload sets say what is loaded ahead, so nothing is always loaded.
    #[must_use]
    pub fn cue_config(self) -> CueConfig {
        CueConfig {
            always_loaded: Vec::new(),
            ..CueConfig::default()
        }
    }
}

/// The name of a class's set.
pub(super) fn class_set(class: usize) -> String {
    format!("class/{}", CLASSES[class].name)
}

/// The name of a zone's set.
pub(super) fn zone_set(zone: usize) -> String {
    format!("zone/{}", ZONES[zone].name)
}

/// Declares all sets, and says when they are wanted.
pub(super) fn build(app: &mut App, options: &ArenaOptions) {
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    declare(&mut sets);
    let classes = (0..CLASSES.len()).map(class_set);
    let zones = (0..ZONES.len()).map(zone_set);
    match options.approach {
        Approach::All | Approach::Async => sets.want("the whole game", ["everything"]),
        Approach::Lazy => {}
        Approach::Phase => {
            show_sets(app);
            // A phase does not know who will fight where.
            app.preload_in_state(
                Phase::Battle,
                ["common".to_owned()].into_iter().chain(classes).chain(zones),
            );
        }
        Approach::Class => {
            show_sets(app);
            app.preload_in_state(Phase::Battle, ["common"])
                .add_systems(OnEnter(Phase::Lobby), choose)
                .add_systems(OnExit(Phase::Battle), unchoose);
        }
    }
}

fn show_sets(app: &mut App) {
    app.preload_in_state(Phase::Start, ["lobby"])
        .preload_in_state(Phase::Lobby, ["lobby"])
        .preload_in_state(Phase::Aftermath, ["aftermath"]);
}

fn declare(sets: &mut PreloadSets) {
    let of = |folders: &[String]| {
        folders
            .iter()
            .fold(PreloadSet::default(), |set, folder| set.folder(folder.as_str()))
    };
    let everything = ["classes", "cues", "models", "zones"].map(String::from);
    sets.declare("everything", of(&everything));
    for name in ["common", "lobby", "aftermath"] {
        sets.declare(name, of(&[format!("cues/{name}"), format!("models/{name}")]));
    }
    for (place, class) in CLASSES.iter().enumerate() {
        sets.declare(class_set(place), of(&class.folders()).priority(10.0));
    }
    for (place, zone) in ZONES.iter().enumerate() {
        sets.declare(zone_set(place), of(&zone.folders()).priority(20.0));
    }
}

/// The players have chosen their classes: they come while the lobby's show goes on.
fn choose(roster: Res<Roster>, mut sets: ResMut<PreloadSets>) {
    sets.want("class selection", roster.classes.iter().map(|class| class_set(*class)));
}

fn unchoose(mut sets: ResMut<PreloadSets>) {
    sets.want("class selection", [] as [&str; 0]);
}
