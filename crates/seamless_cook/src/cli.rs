//! The command line of `seamless`. See [`CookApp::run_cli`].

mod compare;
mod cook;
mod package;
pub(crate) mod paint;
mod verdict;
mod world;

use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use self::paint::{ERROR, Painted};
use crate::app::{CookApp, CookOptions, Profile, Target};
use crate::commands::{CleanReport, DiffError, DiffReport, clean, diff, html_report, inspect, list, verify, why};
use crate::progress::Bars;
use crate::report::counted;

/// Content errors, a file that is not sound, or a difference.
const FAILED: u8 = 1;
/// Wrong usage, as `clap` has it too.
const USAGE: u8 = 2;

#[derive(Parser)]
#[command(
    name = "seamless",
    version,
    about = "Cooks worlds into packages for Bevy, and looks into them.",
    after_help = "Exit codes: 0 done, 1 something is wrong with the content or differs, 2 wrong usage.\n\
                  Colours only on a terminal; NO_COLOR turns them off."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cooks a world file (`*.world.ron`) into a directory.
    #[command(after_help = "Examples:\n  \
        seamless cook worlds/town.world.ron --out assets/town\n  \
        seamless cook worlds/town.world.ron --out assets/town --profile dev --json report.json\n  \
        seamless cook worlds/town.world.ron --out assets/server --target server --maps harbour,market\n\n\
        What has not changed since the last cook into the same directory is left alone.")]
    Cook {
        /// The world file.
        world: PathBuf,
        /// The directory to write the packages and the manifest to; made if it is not there.
        #[arg(long)]
        out: PathBuf,
        /// Only these levels, by name, and what they need.
        #[arg(long, value_name = "A,B", value_delimiter = ',')]
        maps: Vec<String>,
        /// Whom the packages are for: what nobody of these needs is left out.
        #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Target::NAMES), default_value = "all")]
        target: String,
        /// How many threads compress textures and make packages. Default: as many as the machine runs at once.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        jobs: Option<u16>,
        /// What is done with the data.
        #[arg(long, value_enum, default_value_t = CliProfile::Exact)]
        profile: CliProfile,
        /// Writes the report as JSON to this file, also when there are errors.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Writes a page about what was cooked to this file; see `seamless report`.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
        /// Seconds that a load may go without any progress before it is an error.
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        load_timeout: u64,
    },
    /// Checks a package wholly, and tells what is in it: tables, sizes, versions, schemas, where bulk data lies.
    #[command(after_help = "Examples:\n  \
        seamless inspect assets/town/harbour.pkg\n  \
        seamless inspect assets/town/harbour.pkg --json | jq '.types'")]
    Inspect {
        /// The package (`*.pkg`).
        package: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lists the cooked worlds in a directory.
    #[command(after_help = "Examples:\n  \
        seamless list assets/town\n  \
        seamless list assets/town --json | jq '.[].levels[].name'")]
    List {
        /// The directory.
        directory: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Checks everything in a directory: checksums, imports, copies, bulk data, versions, manifests. Tells all faults.
    #[command(after_help = "Examples:\n  \
        seamless verify assets/town\n  \
        seamless verify assets/town --json | jq '.faults[] | select(.kind == \"stale_origin\")'")]
    Verify {
        /// The directory.
        directory: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Compares two packages or two cooked directories, object by object and entity by entity. Exit code 1 if they differ.
    #[command(after_help = "Examples:\n  \
        seamless diff before/harbour.pkg after/harbour.pkg\n  \
        seamless diff before after --json")]
    Diff {
        /// A package, or a directory.
        a: PathBuf,
        /// What it is compared with.
        b: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tells which levels and references bring an object in.
    #[command(after_help = "Examples:\n  \
        seamless why harbour.pkg#Material0/std assets/town\n  \
        seamless why textures/rope.png assets/town\n  \
        seamless why 5a3be1d7c09f2e64 assets/town --json")]
    Why {
        /// `file.pkg#Name`, a name, or an object id of 16 hexadecimal digits.
        object: String,
        /// The directory.
        directory: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Writes a page about a cooked directory: what takes room, what is there twice, who needs whom.
    #[command(after_help = "Examples:\n  \
        seamless report assets/town --out town.html")]
    Report {
        /// The directory.
        directory: PathBuf,
        /// The page to write; it needs no other file.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Removes what the cooker keeps in a directory to cook faster and no world there needs any more. The game's files stay.
    #[command(after_help = "Examples:\n  \
        seamless clean assets/town\n  \
        seamless clean assets/town --all\n\n\
        With --all, the next cook makes everything anew.")]
    Clean {
        /// The directory.
        directory: PathBuf,
        /// Everything that is kept, whether it is needed or not.
        #[arg(long)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Prints completions for a shell.
    #[command(after_help = "Examples:\n  \
        seamless completions bash > ~/.local/share/bash-completion/completions/seamless\n  \
        seamless completions zsh > ~/.zfunc/_seamless")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum CliProfile {
    /// Changes no data.
    Exact,
    /// Textures get mips and are compressed fast, and keep no copy in main memory at run time.
    Dev,
    /// As `dev`, with textures as good as they can be, meshes in an order that GPUs read fast, and smaller packages.
    Ship,
}

impl From<CliProfile> for Profile {
    fn from(profile: CliProfile) -> Self {
        match profile {
            CliProfile::Exact => Self::Exact,
            CliProfile::Dev => Self::Dev,
            CliProfile::Ship => Self::Ship,
        }
    }
}

impl CookApp {
    /// Runs the command line of `seamless` with this cooker: exit code 0 is done, 1 content errors (all are listed) or a difference,
    /// 2 wrong usage.
    #[must_use]
    pub fn run_cli(mut self) -> ExitCode {
        let cli = match Cli::try_parse() {
            Ok(cli) => cli,
            Err(error) => {
                // Printing can only fail where nobody listens.
                let _ = error.print();
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
            }
        };
        self.log = true;
        let mut text = String::new();
        let code = self.run(cli.command, &mut text);
        // A closed pipe (`seamless list | head`) is no failure.
        let _ = anstream::stdout().lock().write_all(text.as_bytes());
        code
    }

    fn run(&self, command: Command, text: &mut String) -> ExitCode {
        match command {
            Command::Cook {
                world,
                out,
                maps,
                target,
                jobs,
                profile,
                json,
                report,
                load_timeout,
            } => {
                let options = CookOptions {
                    profile: profile.into(),
                    target: Target::named(&target).unwrap_or(Target::ALL),
                    maps,
                    jobs: jobs.map_or(CookOptions::default().jobs, usize::from),
                    load_timeout: Duration::from_secs(load_timeout.max(1)),
                    ..CookOptions::default()
                };
                let result = self.cook(&world, &out, &options, &Bars::new());
                let code = cook::report_cook(&result, &out, json, text);
                match report {
                    Some(page) if result.is_ok() => write_report(&out, &page, text),
                    _ => code,
                }
            }
            Command::Inspect { package, json } => tell(inspect(&package), json, text, package::print_package, |_| {
                ExitCode::SUCCESS
            }),
            Command::List { directory, json } => {
                let print = |worlds: &Vec<_>, text: &mut String| {
                    if worlds.is_empty() {
                        *text += &format!("no cooked world in {}\n", directory.display());
                    }
                    worlds.iter().for_each(|world| world::print_world(world, text));
                };
                tell(list(&directory), json, text, print, |_| ExitCode::SUCCESS)
            }
            Command::Verify { directory, json } => {
                let versions = self.versions();
                tell(
                    verify(&directory, versions.as_deref()),
                    json,
                    text,
                    verdict::print_verify,
                    |report| failed_if(!report.faults.is_empty()),
                )
            }
            Command::Diff { a, b, json } => tell_diff(diff(&a, &b), json, text),
            Command::Why {
                object,
                directory,
                json,
            } => tell(why(&object, &directory), json, text, verdict::print_why, |_| {
                ExitCode::SUCCESS
            }),
            Command::Report { directory, out } => write_report(&directory, &out, text),
            Command::Clean { directory, all, json } => {
                tell(clean(&directory, all), json, text, print_clean, |_| ExitCode::SUCCESS)
            }
            Command::Completions { shell } => completions(shell, text),
        }
    }
}

fn tell_diff(result: Result<DiffReport, DiffError>, json: bool, text: &mut String) -> ExitCode {
    if let Err(error @ DiffError::Unlike { .. }) = &result {
        complain_error(error);
        return ExitCode::from(USAGE);
    }
    tell(result, json, text, compare::print_diff, |report| {
        failed_if(!report.is_equal())
    })
}

fn print_clean(report: &CleanReport, text: &mut String) {
    let (removed, kept) = (counted(report.removed, "file"), counted(report.kept, "file"));
    *text += &format!("removed {removed}, {}; kept {kept}\n", paint::size(report.bytes));
}

fn failed_if(failed: bool) -> ExitCode {
    ExitCode::from(if failed { FAILED } else { 0 })
}

/// Says on standard error what is wrong.
fn complain_of(what: &str, style: Style, message: impl core::fmt::Display) {
    // There is nowhere else to complain.
    let _ = writeln!(anstream::stderr().lock(), "{}: {message}", Painted(style, what));
}

fn complain_error(message: impl core::fmt::Display) {
    complain_of("error", ERROR, message);
}

/// Prints a result, as text or as JSON, and tells the exit code.
fn tell<T: serde::Serialize, E: core::fmt::Display>(
    result: Result<T, E>,
    json: bool,
    text: &mut String,
    print: impl FnOnce(&T, &mut String),
    code: impl FnOnce(&T) -> ExitCode,
) -> ExitCode {
    match result {
        Ok(value) if json => {
            to_json(&value, text);
            code(&value)
        }
        Ok(value) => {
            print(&value, text);
            code(&value)
        }
        Err(error) => {
            complain_error(error);
            ExitCode::from(FAILED)
        }
    }
}

fn to_json(value: &impl serde::Serialize, text: &mut String) {
    match serde_json::to_string_pretty(value) {
        Ok(json) => {
            text.push_str(&json);
            text.push('\n');
        }
        Err(error) => complain_error(error),
    }
}

fn write_report(directory: &Path, out: &Path, text: &mut String) -> ExitCode {
    let page = match html_report(directory) {
        Ok(page) => page,
        Err(error) => {
            complain_error(error);
            return ExitCode::from(FAILED);
        }
    };
    if let Err(error) = std::fs::write(out, &page) {
        complain_error(format_args!("{}: {error}; give another `--out`", out.display()));
        return ExitCode::from(FAILED);
    }
    *text += &format!("wrote {}, {}\n", out.display(), paint::size(page.len() as u64));
    ExitCode::SUCCESS
}

fn completions(shell: Shell, text: &mut String) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "seamless", &mut script);
    text.push_str(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
