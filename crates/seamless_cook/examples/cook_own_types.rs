//! A game's own cook program: the command line of `seamless`, which knows the game's types too.
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

fn main() -> ExitCode {
    let cook = CookApp::new().with(|app| {
        app.register_type::<Door>();
    });
    cook.run_cli()
}
