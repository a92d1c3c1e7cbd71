//! Objects referred to over a network, as small numbers in place of paths: two processes, UDP on the loopback, replicon on top.
//!
//! ```text
//! cargo run --example net_refs                      a server, which starts a client; both stream the same cooked world
//! cargo run --example net_refs -- --other-content   the client has another version of one package, and is refused
//! ```
//!
//! The server has both levels of the world in its `World`, the client only the village at first. The server speaks of cubes and
//! of a mesh; what the client lacks it loads, or waits for. Both check what they got, and say so. The exit code is 0 when all is right.

mod client;
mod content;
mod server;
mod transport;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;

/// References to objects over a network.
#[derive(Parser, Debug, Clone)]
struct Args {
    /// The client has another version of a package: show how it is refused.
    #[arg(long)]
    other_content: bool,
    /// Where the worlds are made and cooked.
    #[arg(long, value_name = "DIR", default_value = "target/net_refs")]
    dir: PathBuf,
    /// Be the client of the server at this address; the server gives it.
    #[arg(long, value_name = "ADDR")]
    client: Option<SocketAddr>,
}

#[expect(clippy::print_stderr, reason = "a command line tells its user what is wrong")]
fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.client {
        Some(server) => client::run(&args, server),
        None => server::run(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Tells people what one side has seen.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn say(side: &str, text: &str) {
    println!("{side}: {text}");
}
