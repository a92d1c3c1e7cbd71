//! A game's own cook program: the command line of `seamless`, which knows what the game's plugins register.
//!
//! `cargo run -p seamless_cook --example cook_own_types -- cook worlds/town.world.ron --out assets/town`

use std::process::ExitCode;

use bevy::prelude::*;
use seamless_cook::CookApp;

/// A component of the game's own. Whatever a scene (`.scn.ron`) holds of it is cooked by reflection.
#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Door {
    /// Who may open it.
    key: String,
    /// The door that opens with it, in the same level.
    #[entities]
    twin: Option<Entity>,
}

/// The game adds it, too. What its code refers to directly would be registered here: `app.add_startup_content::<Self, Image>([…])`.
struct DoorPlugin;

impl Plugin for DoorPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<Door>();
    }
}

fn main() -> ExitCode {
    let cook = CookApp::new().with(|app| {
        app.add_plugins(DoorPlugin);
    });
    cook.run_cli()
}
