//! The program `seamless` as it is run: its exit codes, what it prints, and the report that it writes.

mod commands;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// One triangle with a material, under a node.
const CRATE: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
"nodes":[{"mesh":0,"name":"Crate"}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0},"material":0}]}],"materials":[{}],
"buffers":[{"uri":"crate.bin","byteLength":36}],"bufferViews":[{"buffer":0,"byteLength":36}],
"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,2,0]}]}"#;

/// A directory with `crate.gltf` and the world file `town.world.ron`.
struct Town {
    directory: TempDir,
}

impl Town {
    fn new(world: &str) -> Self {
        let town = Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        let triangle = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        let triangle: Vec<u8> = triangle.iter().flat_map(|value| value.to_le_bytes()).collect();
        town.write("crate.bin", triangle);
        town.write("crate.gltf", CRATE);
        town.write("town.world.ron", world);
        // However small, what levels share lies in a package of its own.
        town.write("cook.ron", "(layout: (rules: [(objects: \"*\", place: Share)]))");
        town
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(file), bytes).expect("a file is written");
    }

    /// Runs `seamless` in the directory.
    fn run(&self, arguments: &[&str]) -> Finished {
        let output = Command::new(env!("CARGO_BIN_EXE_seamless"))
            .current_dir(self.directory.path())
            .args(arguments)
            .output();
        Finished(output.expect("the program starts"))
    }

    fn cook(&self) -> Finished {
        self.run(&["cook", "town.world.ron", "--out", "out", "--json", "report.json"])
    }

    /// What the cook wrote for `--json`.
    fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.path("report.json")).expect("there is a report");
        serde_json::from_str(&text).expect("the report is JSON")
    }
}

/// A run that is over.
struct Finished(Output);

impl Finished {
    /// What it printed, if it ended with this exit code.
    #[track_caller]
    fn printed(&self, code: i32) -> Cow<'_, str> {
        assert_eq!(self.0.status.code(), Some(code), "{}", self.complaints());
        String::from_utf8_lossy(&self.0.stdout)
    }

    fn complaints(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0.stderr)
    }
}

#[track_caller]
fn assert_holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

const THREE_LINES: &str = "(\n    levels: [(source: \"crate.gltf\")],\n)\n";

#[test]
fn a_world_of_three_lines_is_cooked_inspected_and_listed() {
    let town = Town::new(THREE_LINES);
    let cooked = town.cook();
    assert_holds(&cooked.printed(0), &["cooked `town`: 1 level, 3 entities, 1 package"]);
    let complaints = cooked.complaints();
    let complains = ["error: ", "warning: "].iter().any(|word| complaints.contains(word));
    assert!(!complains, "{complaints}");
    let report = town.report();
    assert_eq!(report["entities"], 3);
    assert_eq!(report["errors"], Value::Array(Vec::new()));

    let inspected = town.run(&["inspect", "out/crate.pkg"]);
    let parts = [
        "crate.pkg: format ",
        "Mesh0/Primitive0  bevy_mesh::",
        "Material0/std",
        "level: 3 entities, 1 roots",
        "bevy_ecs::name::Name",
    ];
    assert_holds(&inspected.printed(0), &parts);

    let inspected = town.run(&["inspect", "out/crate.pkg", "--json"]);
    let info: Value = serde_json::from_str(&inspected.printed(0)).expect("it prints JSON and nothing else");
    assert_eq!(info["name"], "crate.pkg");
    assert_eq!(info["level"]["entities"], 3);

    let listed = town.run(&["list", "out"]);
    let parts = ["town (town.seamless): 1 level, 3 entities, 1 volume", "crate.pkg"];
    assert_holds(&listed.printed(0), &parts);
}

/// The program knows no plugin of a game; the world file lists content, too.
#[test]
fn startup_content_is_told_by_every_command() {
    let town = Town::new("(levels: [(source: \"crate.gltf\")], startup: [\"crate.gltf#Mesh0/Primitive0\"])");
    let cooked = town.cook();
    let parts = [
        "startup content: 1 object, ",
        " in memory for ever, ",
        "town.world.ron: alone 1 object, ",
    ];
    assert_holds(&cooked.printed(0), &parts);
    let startup = &town.report()["startup"];
    assert_eq!(startup["package"], "startup.pkg");
    assert_eq!(startup["total"]["objects"], 1);
    assert_eq!(startup["owners"][0]["owner"], "town.world.ron");
    assert_eq!(startup["owners"][0]["paths"][0], "crate.gltf#Mesh0/Primitive0");
    assert_eq!(startup["owners"][0]["exclusive"], startup["total"]);
    let inspected = town.run(&["inspect", "out/startup.pkg"]);
    assert_holds(
        &inspected.printed(0),
        &[parts[0], parts[2], "crate.gltf#Mesh0/Primitive0"],
    );
    let inspected = town.run(&["inspect", "out/startup.pkg", "--json"]);
    let info: Value = serde_json::from_str(&inspected.printed(0)).expect("it prints JSON and nothing else");
    assert_eq!(&info["startup"], startup);
    assert_holds(
        &town.run(&["list", "out"]).printed(0),
        &["startup.pkg", "startup content"],
    );
}

#[test]
fn content_errors_are_all_listed_with_file_and_object() {
    let town = Town::new("(levels: [(source: \"broken.glb\"), (source: \"painted.gltf\")])");
    town.write("broken.glb", "glTF, but not really");
    let textured = "\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}}],\
                    \"textures\":[{\"source\":0}],\"images\":[{\"uri\":\"gone.png\"}]";
    town.write("painted.gltf", CRATE.replace("\"materials\":[{}]", textured));
    let cooked = town.cook();
    assert_eq!(cooked.printed(1), "");
    let parts = ["broken.glb", "gone.png", "2 errors in the content of `town`"];
    assert_holds(&cooked.complaints(), &parts);

    let report = town.report();
    let errors = report["errors"].as_array().expect("a list");
    let found: Vec<_> = errors.iter().map(|error| (&error["file"], &error["object"])).collect();
    assert_eq!(
        found,
        [
            (&Value::from("broken.glb"), &Value::from("level `broken`")),
            (&Value::from("gone.png"), &Value::from(""))
        ]
    );
    let message = errors[1]["message"].as_str().unwrap_or_default();
    assert_holds(message, &["needed by `painted.gltf#Material0", "`painted.gltf`"]);
    let written = std::fs::read_dir(town.path("out")).into_iter().flatten().flatten();
    // What the cooker keeps for itself is not written for the game.
    let written = written.filter(|file| file.file_name() != ".cook");
    assert_eq!(written.count(), 0, "nothing is written for a world with errors");
}

#[test]
fn what_is_wrong_with_a_world_file_is_listed_too() {
    let town = Town::new("(levels: [(source: \"gone.gltf\"), (source: \"crate.obj\")])");
    assert_eq!(town.cook().printed(1), "");
    let report = town.report();
    let errors = report["errors"].as_array().expect("a list");
    assert_eq!(errors.len(), 2, "{errors:?}");
    for (error, object) in errors.iter().zip(["level `gone`", "level `crate.obj`"]) {
        assert_eq!(error["file"], "town.world.ron");
        assert_eq!(error["object"], object);
    }
}

#[test]
fn files_that_are_not_sound_are_errors() {
    let town = Town::new(THREE_LINES);
    town.write("torn.pkg", "no package");
    for arguments in [["inspect", "torn.pkg"], ["inspect", "gone.pkg"], ["list", "gone"]] {
        let finished = town.run(&arguments);
        assert_eq!(finished.printed(1), "");
        assert_holds(&finished.complaints(), &["error: ", arguments[1]]);
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let town = Town::new(THREE_LINES);
    let cook = ["cook", "town.world.ron", "--out", "out"];
    for wrong in [["--fast", "yes"], ["--profile", "shiny"], ["--load-timeout", "soon"]] {
        let finished = town.run(&[cook.as_slice(), wrong.as_slice()].concat());
        assert_eq!(finished.printed(2), "");
        assert_holds(&finished.complaints(), &["error: ", wrong[0]]);
    }
    assert_eq!(town.run(&["cook", "town.world.ron"]).printed(2), "");
    assert_eq!(town.run(&["bake"]).printed(2), "");
    assert_eq!(town.run(&[]).printed(2), "");
    assert!(!town.path("out").exists(), "nothing was cooked");
    assert_holds(&town.run(&["--help"]).printed(0), &["cook", "inspect", "list"]);
}

/// The relative path from one directory to another; both must be absolute and without links.
fn relative(from: &Path, to: &Path) -> String {
    let up = from.components().skip(1).map(|_| Cow::Borrowed(".."));
    let down = to.components().skip(1).map(|part| part.as_os_str().to_string_lossy());
    let parts: Vec<Cow<str>> = up.chain(down).collect();
    parts.join("/")
}

/// A real model, where it lies; it is no part of the project.
#[test]
fn the_flight_helmet_is_cooked_where_it_lies() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/gltf/FlightHelmet");
    let Ok(models) = models.canonicalize() else {
        // Not by `eprintln!`, which is kept back in tests that pass.
        let _ = writeln!(std::io::stderr().lock(), "skipped: no FlightHelmet in ../shared/data");
        return;
    };
    let town = Town::new("");
    let here = town.directory.path().canonicalize().expect("it is there");
    let source = format!("{}/FlightHelmet.gltf", relative(&here, &models));
    let world = here.join("town.world.ron");
    std::fs::write(&world, format!("(\n    levels: [(source: {source:?})],\n)\n")).expect("a file is written");
    let world = world.to_str().expect("a readable path");

    let cooked = town.run(&["cook", world, "--out", "out"]);
    assert_holds(&cooked.printed(0), &["cooked `town`: 1 level, 13 entities"]);
    let inspected = town.run(&["inspect", "out/FlightHelmet.pkg"]);
    let parts = [
        "FlightHelmet.pkg: format ",
        "Mesh5/Primitive0",
        "FlightHelmet_Materials_GlassPlasticMat_BaseColor.png",
        "level: 13 entities, 1 roots",
    ];
    assert_holds(&inspected.printed(0), &parts);
    assert_holds(
        &town.run(&["list", "out"]).printed(0),
        &["FlightHelmet.pkg  13 entities"],
    );
}
