//! The command line: `cook`, `inspect` and `list`. See [`CookApp::run_cli`].

use core::time::Duration;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use seamless_asset::{StartupPinned, StartupReport};

use crate::app::{CookApp, CookOptions, Profile};
use crate::inspect::{InspectError, PackageInfo, WorldInfo, inspect, list};
use crate::progress::Bars;
use crate::report::{CookError, CookReport, counted};

/// Content errors, or a file that is not sound.
const FAILED: u8 = 1;
/// Wrong usage, as `clap` has it too.
const USAGE: u8 = 2;

#[derive(Parser)]
#[command(
    name = "seamless",
    version,
    about = "Cooks worlds into packages for Bevy, and looks into them."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cooks a world file (`*.world.ron`) into a directory.
    Cook {
        /// The world file.
        world: PathBuf,
        /// The directory to write the packages and the manifest to; made if it is not there.
        #[arg(long)]
        out: PathBuf,
        /// What is done with the data. `ship`, which will compress textures and strip what games do not need, does not
        /// exist yet.
        #[arg(long, value_enum, default_value_t = CliProfile::Exact)]
        profile: CliProfile,
        /// Writes the report as JSON to this file, also when there are errors.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Seconds that a load may go without any progress before it is an error.
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        load_timeout: u64,
    },
    /// Checks a package wholly, and tells what is in it.
    Inspect {
        /// The package (`*.pkg`).
        package: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lists the cooked worlds in a directory.
    List {
        /// The directory.
        directory: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum CliProfile {
    /// Changes no data.
    Exact,
    /// Textures get mips and are compressed fast, and keep no copy in main memory at run time.
    Dev,
    /// Textures are compressed as well as they can be.
    Ship,
}

impl CookApp {
    /// Runs the command line of `seamless` with this cooker: exit code 0 is done, 1 content errors (all are listed), 2
    /// wrong usage.
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
        let code = match cli.command {
            Command::Cook {
                world,
                out,
                profile,
                json,
                load_timeout,
            } => {
                let options = CookOptions {
                    profile: match profile {
                        CliProfile::Exact => Profile::Exact,
                        CliProfile::Dev => Profile::Dev,
                        CliProfile::Ship => Profile::Ship,
                    },
                    load_timeout: Duration::from_secs(load_timeout.max(1)),
                    ..CookOptions::default()
                };
                let result = self.cook(&world, &out, &options, &Bars::new());
                report_cook(&result, &out, json, &mut text)
            }
            Command::Inspect { package, json } => print_result(inspect(&package), &mut text, |info, text| {
                if json {
                    to_json(info, text)
                } else {
                    print_package(info, text)
                }
            }),
            Command::List { directory } => print_result(list(&directory), &mut text, |worlds, text| {
                if worlds.is_empty() {
                    *text += &format!("no cooked world in {}\n", directory.display());
                }
                for world in worlds {
                    print_world(world, text);
                }
            }),
        };
        // A closed pipe (`seamless list | head`) is no failure.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
        code
    }
}

fn complain(message: &str) {
    // There is nowhere else to complain.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

fn print_result<T>(
    result: Result<T, InspectError>,
    text: &mut String,
    print: impl FnOnce(&T, &mut String),
) -> ExitCode {
    match result {
        Ok(value) => {
            print(&value, text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("error: {error}"));
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
        Err(error) => complain(&format!("error: {error}")),
    }
}

fn report_cook(
    result: &Result<CookReport, CookError>,
    out: &std::path::Path,
    json: Option<PathBuf>,
    text: &mut String,
) -> ExitCode {
    let report = match result {
        Ok(report) => Some(report),
        Err(CookError::Content(report)) => Some(&**report),
        Err(_) => None,
    };
    for warning in report.into_iter().flat_map(|report| &report.warnings) {
        complain(&format!("warning: {warning}"));
    }
    for error in report.into_iter().flat_map(|report| &report.errors) {
        complain(&format!("error: {error}"));
    }
    let mut code = match result {
        Ok(report) => {
            *text += &format!(
                "cooked `{}`: {}, {} entities, {}, {} in {:.1} s to {}\n",
                report.world,
                counted(report.levels.len(), "level"),
                report.entities,
                counted(report.packages.len(), "package"),
                size(report.bytes),
                report.seconds,
                out.display(),
            );
            if let Some(startup) = &report.startup {
                print_startup(startup, text);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("error: {error}"));
            ExitCode::from(FAILED)
        }
    };
    if let (Some(report), Some(path)) = (report, json) {
        let mut json = String::new();
        to_json(report, &mut json);
        if let Err(error) = std::fs::write(&path, json) {
            complain(&format!("error: {}: {error}; give another `--json`", path.display()));
            code = ExitCode::from(FAILED);
        }
    }
    code
}

/// Bytes, with the unit that reads best.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {unit}")
    }
}

fn print_package(info: &PackageInfo, text: &mut String) {
    *text += &format!(
        "{}: format {}, {}, of which {} header; content {}; {} names; all checksums are right\n",
        info.name,
        info.format_version,
        size(info.bytes),
        size(info.header_bytes),
        info.content_hash,
        info.names,
    );
    for list in &info.versions {
        let last = list.entries.last().map_or("none", String::as_str);
        *text += &format!(
            "versions: {} at {}, the last is `{last}`\n",
            list.label,
            list.entries.len()
        );
    }
    *text += &format!("\nimports: {}\n", info.imports.len());
    for import in &info.imports {
        *text += &format!(
            "  {}  {}#{}  {}\n",
            import.id, import.package, import.object, import.class
        );
    }
    *text += &format!("\nexports: {}\n", info.exports.len());
    for (index, export) in info.exports.iter().enumerate() {
        *text += &format!(
            "  {index:4}  {}  {}  {}  [{}]  {} stored, {} raw",
            export.id,
            export.name,
            export.class,
            export.role,
            size(export.stored_bytes),
            size(export.raw_bytes),
        );
        for bulk in &export.bulk_bytes {
            *text += &format!(", bulk {}", size(*bulk));
        }
        if let Some(origin) = &export.copied_from {
            *text += &format!(", a copy from {origin}");
            if export.external_bulk > 0 {
                *text += ", where its bulk stayed";
            }
        }
        text.push('\n');
        for reference in &export.refs {
            *text += &format!("          -> {reference}\n");
        }
    }
    if let Some(startup) = &info.startup {
        text.push('\n');
        print_startup(startup, text);
    }
    let Some(level) = &info.level else { return };
    *text += &format!(
        "\nlevel: {} entities, {} roots, {} groups\n",
        level.entities,
        level.roots,
        level.groups.len()
    );
    for (index, group) in level.groups.iter().enumerate() {
        *text += &format!("  group {index}: {} entities\n", group.rows);
        for column in &group.columns {
            *text += &format!("    {}  [{}]  {}\n", column.class, column.role, size(column.bytes));
        }
    }
}

/// What the startup content pins, and for whom.
fn print_startup(report: &StartupReport, text: &mut String) {
    let objects = |pinned: &StartupPinned| counted(pinned.objects as usize, "object");
    *text += &format!(
        "startup content: {}, {} in memory for ever, {} in {}\n",
        objects(&report.total),
        size(report.total.resident_bytes),
        size(report.package_bytes),
        report.package,
    );
    for owner in &report.owners {
        *text += &format!(
            "  {}: alone {}, {}; with others {}, {}\n",
            owner.owner,
            objects(&owner.exclusive),
            size(owner.exclusive.resident_bytes),
            objects(&owner.shared),
            size(owner.shared.resident_bytes),
        );
        for path in &owner.paths {
            *text += &format!("    {path}\n");
        }
    }
}

fn print_world(world: &WorldInfo, text: &mut String) {
    let entities: u64 = world.levels.iter().map(|level| u64::from(level.entities)).sum();
    let bytes: u64 = world.levels.iter().map(|level| level.bytes).sum();
    let shared: u64 = world.shared.iter().filter_map(|(_, bytes)| *bytes).sum();
    *text += &format!(
        "{} ({}): {}, {entities} entities, {}, {} in levels, {} in {}\n",
        world.name,
        world.manifest,
        counted(world.levels.len(), "level"),
        counted(world.volumes as usize, "volume"),
        size(bytes),
        size(shared),
        counted(world.shared.len(), "shared package"),
    );
    for level in &world.levels {
        *text += &format!(
            "  {}  {}  {} entities  {}  {}\n",
            level.name,
            level.package,
            level.entities,
            size(level.bytes),
            counted(level.dependencies as usize, "shared package"),
        );
    }
    if let Some((file, bytes)) = &world.startup {
        *text += &format!("  {file}  {}  startup content\n", bytes.map_or("missing".into(), size));
    }
    for (file, bytes) in &world.shared {
        *text += &format!("  {file}  {}\n", bytes.map_or("missing".into(), size));
    }
    for file in &world.missing {
        *text += &format!("  missing: {file}; cook the world again\n");
    }
}
