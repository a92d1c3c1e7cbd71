//! A game of classes and zones: hundreds of units that fight with abilities, and cues that show it. How its content comes into memory is one of five
//! approaches, from all at the start to what the chosen classes need. See [`ArenaPlugin`], and [`Arena::play`] for a measured game.
//!
//! ```text
//! Start ─► Lobby (a show) ─► Battle { Loading ─► Fighting } ─► Aftermath (a show) ─► Over
//! ```

mod approach;
pub mod content;
mod fight;
mod names;
mod phases;
pub mod report;
mod run;
mod tour;
mod units;

pub use approach::Approach;
pub use phases::{BattleStep, Phase};
pub use run::{Arena, Frame, Outcome, Waits, add_game, world_error};
pub use tour::{Player, is_in_the_fray, middle_of_fight, place_of};
pub use units::{Digest, Roster, Unit};

use bevy::prelude::*;
use bevy_seamless::cue::{AbilityPlugin, AbilitySystems};

/// Ticks of the simulation a second.
pub const RATE: f64 = 60.0;

/// What is fought, and how its content is loaded.
#[derive(Resource, Debug, Clone, PartialEq)]
pub struct ArenaOptions {
    /// How content comes into memory.
    pub approach: Approach,
    /// Decides on classes, zones and the fight.
    pub seed: u64,
    /// Units at the same time.
    pub units: usize,
    /// Of the zones that there are, those that are fought in.
    pub zones: usize,
    /// Of the classes that there are, those that fight.
    pub classes: usize,
    /// How long the battle takes.
    pub battle_ticks: u64,
    /// How long each show takes.
    pub show_ticks: u64,
    /// Whether loading threads step back behind everything else, as in a game that has the machine for itself.
    pub background: bool,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        Self {
            approach: Approach::Phase,
            seed: 7,
            units: 300,
            zones: 3,
            classes: 4,
            battle_ticks: 1500,
            show_ticks: 120,
            background: true,
        }
    }
}

/// The game. Add it after Bevy's and the crate's plugins.
pub struct ArenaPlugin(pub ArenaOptions);

impl Plugin for ArenaPlugin {
    fn build(&self, app: &mut App) {
        let options = &self.0;
        app.insert_resource(Time::<Fixed>::from_hz(RATE))
            .add_plugins(AbilityPlugin::new(FixedUpdate))
            .insert_resource(options.clone())
            .insert_resource(names::Tags::new())
            .insert_resource(Roster::new(options))
            .insert_resource(units::Barracks::new());
        approach::build(app, options);
        phases::build(app);
        app.add_systems(Startup, (units::make_looks, tour::place))
            .add_systems(OnEnter(Phase::Battle), units::muster)
            .add_systems(OnExit(Phase::Battle), (units::sum_up, units::dismiss).chain())
            .add_systems(
                FixedUpdate,
                (
                    (units::come_back, units::equip).chain(),
                    (tour::walk, tour::breathe, fight::think, fight::befall)
                        .chain()
                        .run_if(in_state(BattleStep::Fighting)),
                )
                    .chain()
                    .run_if(in_state(Phase::Battle))
                    .before(AbilitySystems::Grant),
            )
            .add_observer(fight::cast)
            .add_observer(fight::perish);
    }
}
