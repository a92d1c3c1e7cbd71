//! Cues from their authors' files to what observers hear: with a prefab, which is cooked because a cue names it.

use std::path::Path;
use std::time::{Duration, Instant};

use bevy::prelude::*;
use seamless_asset::{ObjectRegistry, SeamlessAssetPlugin, write_registry};
use seamless_cue::{
    CueAct, CueConfig, CueContext, CueExecuted, CuePlugin, CueRecycled, CueStats, FireCues, GameplayTag,
};

use super::soft::{one, paths, registry, sound};
use super::*;
use crate::{FaultKind, verify};

const WORLD: &str = r#"(levels: [(source: "scenes/a.gltf")], assets: ["cues"])"#;
const CUE: &str = "cues/fire.cue.ron";
const PREFAB: &str = "prefabs/flame.scn.ron";

/// A cue whose prefab has two entities.
fn fire(prefab: &str) -> Fixture {
    let fixture = two_scenes();
    let place = "(translation: (0, 1, 0), rotation: (0, 0, 0, 1), scale: (1, 1, 1))";
    let flame = [(Transform::type_path(), place), (Name::type_path(), "\"Smoke\"")];
    let cue =
        format!("(\n    tag: \"Cook.Fire\",\n    kind: Actor(prefab: {prefab:?}),\n    auto_destroy_delay: 0.0,\n)");
    fixture.write(PREFAB, scene(&flame)).write(CUE, cue);
    fixture
}

#[derive(Resource, Default)]
struct Told {
    played: Vec<Entity>,
    recycled: usize,
}

/// A game that plays what was cooked into a folder.
fn game(folder: &Path) -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        TransformPlugin,
        AssetPlugin {
            file_path: folder.display().to_string(),
            ..AssetPlugin::default()
        },
        SeamlessAssetPlugin {
            registries: vec!["test.registry".into()],
            ..SeamlessAssetPlugin::default()
        },
        CuePlugin {
            config: CueConfig {
                // However slow the machine is.
                expire_after: Duration::from_secs(1000),
                ..CueConfig::default()
            },
            ..CuePlugin::default()
        },
    ))
    .init_resource::<Told>()
    .add_observer(|cue: On<CueExecuted>, mut told: ResMut<Told>| told.played.extend(cue.instance))
    .add_observer(|_: On<CueRecycled>, mut told: ResMut<Told>| told.recycled += 1);
    app.finish();
    app.cleanup();
    app
}

#[track_caller]
fn run_until(app: &mut App, done: impl Fn(&World) -> bool) {
    let start = Instant::now();
    while !done(app.world()) {
        assert!(
            start.elapsed().as_secs() < 240,
            "{:?}",
            app.world().resource::<CueStats>()
        );
        app.update();
    }
}

#[test]
fn a_cue_is_cooked_with_its_prefab_loaded_and_played() {
    let fixture = fire(PREFAB);
    fixture.cook(WORLD).unwrap();
    let registry = registry(&fixture);
    assert!([CUE, PREFAB].iter().all(|path| paths(&registry).contains(path)));
    let cue = one(&registry, CUE);
    assert_eq!(cue.tag("cue").collect::<Vec<_>>(), ["Cook.Fire"]);
    assert_eq!(cue.soft.iter().map(|path| &**path).collect::<Vec<_>>(), [PREFAB]);
    assert_eq!(
        one(&registry, PREFAB).level.as_ref().map(|level| level.entities),
        Some(2)
    );
    sound(&fixture);

    let mut app = game(&fixture.out());
    let target = app.world_mut().spawn(Transform::from_xyz(7.0, 0.0, 0.0)).id();
    run_until(&mut app, |world| {
        world.resource::<seamless_cue::CueLibraries>().known().next().is_some()
    });
    app.update();
    let tag = GameplayTag::new("Cook.Fire").unwrap();
    app.world_mut().fire_cue(CueAct::Execute, tag, CueContext::new(target));
    run_until(&mut app, |world| world.resource::<Told>().recycled == 1);
    let played = app.world().resource::<Told>().played.clone();
    assert_eq!(played.len(), 1, "{:?}", app.world().resource::<CueStats>());
    assert_eq!(app.world().get::<Transform>(played[0]).unwrap().translation.x, 7.0);
    let mut names = app.world_mut().query::<&Name>();
    assert!(names.iter(app.world()).any(|name| name.as_str() == "Smoke"));
    let mut children = app.world_mut().query::<&ChildOf>();
    assert_eq!(
        children
            .iter(app.world())
            .filter(|child| child.parent() == played[0])
            .count(),
        2
    );
}

/// Whatever an author writes wrong is told with file and line, and nothing is written.
#[test]
fn hostile_cues_and_tags_are_errors_with_a_line() {
    let declared = r#"["Cook.Fire"]"#;
    let flood = format!("[{}]", "\"A.B.C.D.E.F.G\",\n".repeat((10 << 20) / 17));
    let good = "(tag: \"Cook.Fire\")";
    for (cue, tags, message) in [
        (
            "(\n tag: \"Cook.Ice\",\n)",
            declared,
            "line 2: `Cook.Ice` is not declared in `game.tags.ron`, `Cook` is",
        ),
        (
            "(\n tag: \"Cook.Fire\",\n kind: Actor(),\n)",
            declared,
            "line 3: an actor without a prefab",
        ),
        (
            "(\n\n\n parent: \"fire.cue.ron\",\n)",
            declared,
            "line 4: `fire.cue.ron` is among its own parents",
        ),
        (
            "(\n parent: \"deep/ash.cue.ron\",\n)",
            declared,
            "line 2: `../fire.cue.ron` is among its own parents",
        ),
        (
            good,
            "[\n \"Cook.Fire\",\n \"Cook.fire\",\n]",
            "`game.tags.ron`: line 3",
        ),
        (good, flood.as_str(), "`game.tags.ron`: line 246724: more than"),
    ] {
        let fixture = two_scenes();
        fixture.write(CUE, cue).write("game.tags.ron", tags);
        fixture.write(
            "cues/deep/ash.cue.ron",
            "(tag: \"Cook.Fire\", parent: \"../fire.cue.ron\")",
        );
        assert_error(&fixture.errors(WORLD), CUE, "", message);
    }
}

/// By the cook with file and line, and in what was cooked by `verify`.
#[test]
fn a_prefab_that_leads_nowhere_is_found() {
    let errors = fire("prefabs/flam.scn.ron").errors(WORLD);
    let reason = "`cues/fire.cue.ron` refers to it softly, line 3";
    assert_error(&errors, "prefabs/flam.scn.ron", "", reason);
    let errors = fire("scenes/red.ppm").errors(WORLD);
    assert_error(&errors, CUE, "", "refers softly to `scenes/red.ppm`, which is no scene");
    assert_error(&errors, CUE, "", ", line 3");

    let fixture = fire(PREFAB);
    fixture.cook(WORLD).unwrap();
    let mut objects = registry(&fixture).objects().to_vec();
    objects.retain(|object| *object.path != *PREFAB);
    let less = ObjectRegistry::new("", objects).unwrap();
    fixture.write("out/test.registry", write_registry(&less).unwrap());
    let faults = verify(&fixture.out(), None).unwrap().faults;
    let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 1, "{told:?}");
    let expected = format!("{CUE}: refers softly to `{PREFAB}`, line 3, which no registry here has");
    assert!(told[0].contains(&expected), "{told:?}");
    // Where the sources are not, there is nothing to count lines of.
    std::fs::remove_file(fixture.path(CUE)).unwrap();
    let told = verify(&fixture.out(), None).unwrap().faults[0].to_string();
    assert!(told.contains(&format!("{PREFAB}`, which no registry")), "{told}");
}

/// A path of a package is the game's own affair when it is cooked: whoever puts the folders together finds out.
#[test]
fn a_typo_in_the_path_of_a_package_is_found_with_its_line() {
    let fixture = fire("prefabs.pkg#level");
    fixture.cook(WORLD).unwrap();
    let faults = verify(&fixture.out(), None).unwrap().faults;
    let [fault] = &faults[..] else {
        panic!("{faults:?}");
    };
    assert!(
        matches!(&fault.kind, FaultKind::SoftNowhere { path, line: Some(3) } if path == "prefabs.pkg#level"),
        "{fault}"
    );
}
