//! The program `seamless`: cooks worlds of Bevy's own types, and looks into packages.

use std::process::ExitCode;

use seamless_cook::CookApp;

fn main() -> ExitCode {
    CookApp::new().run_cli()
}
