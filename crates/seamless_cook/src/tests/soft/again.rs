//! Cooking on gives what cooking everything gives, whatever soft references do meanwhile.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::game::Door;
use super::*;

/// What a cook did.
#[derive(Default)]
struct Stages(RefCell<Vec<Stage>>);

impl Progress for Stages {
    fn begin(&self, stage: Stage, _: u64) {
        self.0.borrow_mut().push(stage);
    }
}

type Files = BTreeMap<String, Vec<u8>>;

fn output(folder: &Path) -> Files {
    let read = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    };
    files(folder).into_iter().map(read).collect()
}

/// Cooks on, cooks elsewhere, and compares; gives how many sources were encoded.
#[track_caller]
fn check(fixture: &Fixture, world: &str) -> u64 {
    let ours = fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    let file = fixture.path("test.world.ron");
    game().cook(&file, fresh.path(), &CookOptions::default(), &()).unwrap();
    let (cooked, full) = (output(&fixture.out()), output(fresh.path()));
    let differ: Vec<_> = cooked
        .keys()
        .chain(full.keys())
        .filter(|file| cooked.get(*file) != full.get(*file))
        .collect();
    assert_eq!(differ, [""; 0]);
    sound(fixture);
    ours.work.encoded
}

const WORLD: &str = r#"(levels: [(source: "hall.scn.ron")], assets: ["spells"])"#;

#[test]
fn edits_are_followed() {
    let fixture = school("fire.spell");
    fixture
        .write("fire.spell", spell("smoke.spell", "red.ppm", "element=fire"))
        .write("smoke.spell", spell("", "", ""))
        .write("rain.spell", spell("fire.spell", "red.ppm", ""))
        .write("spells/a.spell", spell("smoke.spell", "", ""))
        .write("red.ppm", RED);
    assert!(check(&fixture, WORLD) >= 5);
    assert_eq!(check(&fixture, WORLD), 0, "nothing has changed");
    let edits: [(&str, String); 6] = [
        // Another tag: only the registry changes.
        ("fire.spell", spell("smoke.spell", "red.ppm", "element=ash")),
        // A longer chain, a circle, another end, and none.
        ("smoke.spell", spell("rain.spell", "", "")),
        ("rain.spell", spell("fire.spell", "", "")),
        ("smoke.spell", spell("", "red.ppm", "")),
        ("spells/b.spell", spell("rain.spell", "", "")),
        ("spells/a.spell", spell("", "", "kind=x")),
    ];
    for (file, text) in edits {
        fixture.write(file, text);
        check(&fixture, WORLD);
    }
    assert!(
        paths(&registry(&fixture)).contains(&"spells/b.spell"),
        "the folder is looked into again"
    );
    std::fs::remove_file(fixture.path("spells/a.spell")).unwrap();
    check(&fixture, WORLD);
    assert!(!paths(&registry(&fixture)).contains(&"spells/a.spell"));
    // What nobody names any more goes.
    fixture.write(
        "hall.scn.ron",
        scene(&[(Wand::type_path(), "(spell: \"\", spare: [\"smoke.spell\"])")]),
    );
    check(&fixture, r#"(levels: [(source: "hall.scn.ron")])"#);
    assert_eq!(paths(&registry(&fixture)), ["hall.scn.ron", "red.ppm", "smoke.spell"]);
}

/// A scene that only a soft reference leads to says how its texture is loaded, as any other does.
#[test]
fn textures_of_soft_scenes_are_edited_alone() {
    let fixture = two_scenes();
    let door = |to: &str| scene(&[(Door::type_path(), &format!("(to: \"{to}\")"))]);
    fixture.write("hall.scn.ron", door("scenes/a.gltf"));
    check(&fixture, HALL);
    for number in [1, 2] {
        let colour = [b"P6\n1 1\n255\n".as_slice(), &[number, 0, 0]].concat();
        fixture.write("scenes/red.ppm", colour);
        let progress = Stages::default();
        let file = fixture.path("test.world.ron");
        let options = CookOptions::default();
        let report = game().cook(&file, &fixture.out(), &options, &progress).unwrap();
        assert_eq!((report.work.sources_loaded, report.work.encoded), (1, 1));
        assert!(
            !progress.0.borrow().contains(&Stage::Share),
            "nothing is laid out again"
        );
        assert_eq!(check(&fixture, HALL), 0, "as all at once");
    }
    // It is listed, too, and then the door is gone: it is loaded with its own settings.
    let listed = r#"(levels: [(source: "hall.scn.ron")], assets: ["scenes/red.ppm"])"#;
    check(&fixture, listed);
    fixture.write("hall.scn.ron", door(""));
    check(&fixture, listed);
    fixture.write("hall.scn.ron", door("scenes/b.gltf"));
    check(&fixture, listed);
    fixture.write("scenes/red.ppm", RED);
    check(&fixture, HALL);
}

/// What is cooked into a folder that is listed is no source of the next cook.
#[test]
fn what_was_cooked_is_not_listed() {
    let fixture = school("fire.spell");
    fixture.write("fire.spell", spell("", "", ""));
    let world = r#"(levels: [(source: "hall.scn.ron")], assets: ["."])"#;
    for _ in 0..2 {
        fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
        let again = fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
        assert_eq!(again.work, crate::CookWork::default());
        fixture.write("other.world.ron", "()").write("cook.ron", "()");
    }
}

/// An error is told again, and what was cooked before stays.
#[test]
fn errors_are_told_again() {
    let fixture = school("fire.spell");
    fixture.write("fire.spell", spell("", "", ""));
    check(&fixture, HALL);
    let before = output(&fixture.out());
    fixture.write("fire.spell", spell("lost.spell", "", ""));
    for _ in 0..2 {
        let error = fixture.cook_with(&game(), HALL, &CookOptions::default()).unwrap_err();
        assert_error(
            error.content_errors(),
            "lost.spell",
            "",
            "`fire.spell` refers to it softly",
        );
        assert_eq!(output(&fixture.out()), before);
    }
    fixture.write("lost.spell", spell("", "", ""));
    check(&fixture, HALL);
}
