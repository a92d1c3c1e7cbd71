//! The commands that look at cooked files.

use serde_json::Value;

use super::{Town, assert_holds};

const TWO_LEVELS: &str =
    r#"(levels: [(source: "crate.gltf"), (name: "other", source: "crate.gltf", translation: (9.0, 0.0, 0.0))])"#;

fn cooked() -> Town {
    let town = Town::new(TWO_LEVELS);
    town.cook().printed(0);
    town
}

/// Sizes change with every detail of the format.
fn masked(text: &str) -> String {
    let units = ["B", "KiB", "MiB"];
    let mut out = String::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            let is_unit = units.iter().any(|unit| words[at].trim_end_matches([',', ')']) == *unit);
            if is_unit && words[at - 1].trim_start_matches(['(', '+', '-']).parse::<f64>().is_ok() {
                words[at - 1] = if words[at - 1].starts_with('(') { "(#" } else { "#" };
            }
        }
        for word in &mut words {
            if word
                .trim_end_matches(',')
                .parse::<u64>()
                .is_ok_and(|number| number >= 1000)
            {
                *word = "#";
            }
        }
        out += words.join(" ").trim_end();
        out.push('\n');
    }
    out
}

#[test]
fn verify_tells_all_faults_and_its_exit_code_says_whether_there_are_any() {
    let town = cooked();
    let sound = town.run(&["verify", "out"]);
    assert_eq!(
        masked(&sound.printed(0)),
        "sound: 3 packages of # KiB, 32 objects, 1 manifest\n"
    );
    std::fs::remove_file(town.path("out/shared_0.pkg")).expect("it was cooked");
    town.write("out/other.pkg", "torn");
    let broken = town.run(&["verify", "out"]);
    assert_eq!(
        masked(&broken.printed(1)),
        "error: crate.pkg: needs `shared_0.pkg`, which is not here (2 imports); copy it here, or cook the world again\n\
         error: other.pkg: not a package: the file starts with [74, 6f, 72, 6e]; give the path of a cooked package, or cook it again\n\
         error: town.seamless: needs `shared_0.pkg`, which is not here (it is listed); copy it here, or cook the world again\n\
         3 faults: 1 package of # KiB, 14 objects, 1 manifest\n"
    );
    let json = town.run(&["verify", "out", "--json"]);
    let report: Value = serde_json::from_str(&json.printed(1)).expect("it prints JSON and nothing else");
    assert_eq!(report["faults"][0]["kind"], "missing_package");
    assert_eq!(report["faults"][0]["file"], "crate.pkg");
    assert_eq!(town.run(&["verify", "gone"]).printed(1), "");
}

#[test]
fn diff_tells_the_edit() {
    let town = cooked();
    assert_eq!(town.run(&["diff", "out", "out"]).printed(0), "equal: 3 packages\n");
    std::fs::rename(town.path("out"), town.path("before")).expect("it was cooked");
    let moved = super::CRATE.replace("\"name\":\"Crate\"", "\"name\":\"Crate\",\"translation\":[0,5,0]");
    town.write("crate.gltf", moved);
    town.cook().printed(0);
    let differs = town.run(&["diff", "before", "out"]);
    assert_eq!(masked(&differs.printed(1)), DIFF);
    let json = town.run(&["diff", "before", "out", "--json"]);
    let report: Value = serde_json::from_str(&json.printed(1)).expect("it prints JSON and nothing else");
    assert_eq!(report["packages"][0]["package"], "crate.pkg");
    let unlike = town.run(&["diff", "out", "out/crate.pkg"]);
    assert_eq!(unlike.printed(2), "");
    assert_holds(&unlike.complaints(), &["out is a folder and out/crate.pkg a file"]);
}

const DIFF: &str = "\
~ town.seamless
    level crate: bounds, bytes # -> #
    level other: bounds, bytes # -> #
    volume crate: shape: Box: max, min
    volume other: shape: Box: max, min
~ town.registry
    1 object: other bytes to load
~ crate.pkg  # KiB -> # KiB (# B)
  ~ Level  seamless::Level  # B -> # B (# B)
      data
  ~ bevy_transform::components::transform::Transform: changed on 1 entity (Scene0/Crate)
~ other.pkg  # KiB -> # KiB (# B)
  ~ Level  seamless::Level  # B -> # B (# B)
      data
  ~ bevy_transform::components::transform::Transform: changed on 1 entity (Scene0/Crate)
4 files differ, 1 package equal
";

#[test]
fn why_tells_the_chain() {
    let town = cooked();
    let found = town.run(&["why", "crate.gltf/Material0/std", "out"]);
    assert_eq!(found.printed(0), WHY);
    let json = town.run(&["why", "crate.gltf/Material0/std", "out", "--json"]);
    let report: Value = serde_json::from_str(&json.printed(0)).expect("it prints JSON and nothing else");
    assert_eq!(report["chains"][0]["root"]["kind"], "level");
    let unknown = town.run(&["why", "Materal0/std", "out"]);
    assert_eq!(unknown.printed(1), "");
    assert_holds(
        &unknown.complaints(),
        &["no object is called `Materal0/std`; did you mean "],
    );
}

const WHY: &str = "\
shared_0.pkg#crate.gltf/Material0/std  bevy_pbr::pbr_material::StandardMaterial  18937c1f191d14a7

level crate
  entity Scene0/Crate/Mesh  bevy_pbr::mesh_material::MeshMaterial3d<bevy_pbr::pbr_material::StandardMaterial>
  -> shared_0.pkg#crate.gltf/Material0/std  bevy_pbr::pbr_material::StandardMaterial

level other
  entity Scene0/Crate/Mesh  bevy_pbr::mesh_material::MeshMaterial3d<bevy_pbr::pbr_material::StandardMaterial>
  -> shared_0.pkg#crate.gltf/Material0/std  bevy_pbr::pbr_material::StandardMaterial
";

#[test]
fn report_writes_a_page() {
    let town = cooked();
    let wrote = town.run(&["report", "out", "--out", "town.html"]);
    assert_eq!(masked(&wrote.printed(0)), "wrote town.html, # KiB\n");
    let page = std::fs::read_to_string(town.path("town.html")).expect("it was written");
    assert_holds(&page, &["<!DOCTYPE html>", "Cook of town", "shared_0.pkg", "</html>"]);
    let nowhere = town.run(&["report", "out", "--out", "gone/town.html"]);
    assert_eq!(nowhere.printed(1), "");
    assert_holds(&nowhere.complaints(), &["gone/town.html", "--out"]);
}

#[test]
fn every_command_explains_itself_and_is_completed() {
    let town = Town::new("");
    for command in [
        "cook",
        "inspect",
        "list",
        "verify",
        "diff",
        "why",
        "report",
        "completions",
    ] {
        let example = format!("Examples:\n  seamless {command} ");
        assert_holds(&town.run(&[command, "--help"]).printed(0), &[&example]);
        for shell in ["bash", "zsh", "fish"] {
            assert_holds(&town.run(&["completions", shell]).printed(0), &[command]);
        }
    }
    assert_eq!(town.run(&["completions", "abacus"]).printed(2), "");
}

#[test]
fn json_and_text_are_plain_where_nobody_looks() {
    let town = cooked();
    let listed = town.run(&["list", "out", "--json"]);
    let worlds: Value = serde_json::from_str(&listed.printed(0)).expect("it prints JSON and nothing else");
    assert_eq!(worlds[0]["levels"][1]["name"], "other");
    let inspected = town.run(&["inspect", "out/crate.pkg"]);
    let text = inspected.printed(0);
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_holds(
        &text,
        &[
            "types: ",
            "schemas: ",
            "Record version 1",
            "origins: 0",
            "versions: engine at ",
        ],
    );
}

#[test]
fn colours_are_for_those_who_want_them() {
    let town = cooked();
    let run = |variables: &[(&str, &str)]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_seamless"))
            .current_dir(town.path("."))
            .args(["verify", "out"])
            .envs(variables.iter().copied())
            .output()
            .expect("the program starts");
        String::from_utf8_lossy(&output.stdout).contains('\u{1b}')
    };
    assert!(!run(&[]), "nobody looks");
    assert!(run(&[("CLICOLOR_FORCE", "1")]));
    assert!(!run(&[("NO_COLOR", "1")]));
}

/// `seamless inspect … | head` closes the pipe early.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let town = cooked();
    let shell = std::process::Command::new("sh")
        .current_dir(town.path("."))
        .args([
            "-c",
            "{ \"$0\" completions bash; echo \"code $?\" >&2; } | true",
            env!("CARGO_BIN_EXE_seamless"),
        ])
        .output()
        .expect("there is a shell");
    let complaints = String::from_utf8_lossy(&shell.stderr);
    assert_eq!(complaints, "code 0\n");
}
