//! Levels that refer to each other, and further placements of one level, from the file to the world.

use bevy::ecs::system::RunSystemOnce;
use bevy::prelude::*;
use seamless_asset::{LevelInstance, SeamlessAssetPlugin, StableIds, StreamingStats};
use seamless_level::{
    Levels, LinkedEntity, ManifestLimits, NewInstance, SeamlessLevelPlugin, SeamlessWorld, SoftEntity, SoftLink,
    WorldManifest,
};

use super::*;

/// What [`Fixture`] has cooked, in an app without a source: only what is asked for comes.
fn app(fixture: &Fixture) -> App {
    let mut app = App::new();
    let assets = AssetPlugin {
        file_path: fixture.out().display().to_string(),
        ..AssetPlugin::default()
    };
    app.add_plugins((MinimalPlugins, assets, TransformPlugin))
        .add_plugins((SeamlessAssetPlugin::default(), SeamlessLevelPlugin::default()));
    app.finish();
    app.cleanup();
    let manifest = app.world().resource::<AssetServer>().load("test.seamless");
    app.world_mut().spawn(SeamlessWorld(manifest));
    app
}

fn ask<R: 'static>(app: &mut App, ask: impl Fn(&mut Levels) -> R + Send + Sync + 'static) -> R {
    let system = move |mut levels: Levels| ask(&mut levels);
    app.world_mut().run_system_once(system).unwrap()
}

fn run_until(app: &mut App, mut done: impl FnMut(&mut App) -> bool) {
    let start = std::time::Instant::now();
    while start.elapsed() < core::time::Duration::from_secs(240) {
        app.update();
        if done(app) {
            return;
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    panic!("it took too long");
}

fn is_there(app: &mut App, level: &'static str) -> bool {
    ask(app, move |levels| levels.root_of(level).is_some())
}

#[test]
fn links_between_scenes_lead_where_their_authors_wrote() {
    let fixture = Fixture::new();
    let to_lever = r#"(to: (level: "b", object: "Lever"))"#;
    let to_nobody = r#"(to: (level: "b", object: "12"))"#;
    let link = SoftLink::type_path();
    fixture
        .write("a.scn.ron", scene(&[(link, to_lever), (link, to_nobody)]))
        .write(
            "b.scn.ron",
            scene(&[(Name::type_path(), "\"Gate\""), (Name::type_path(), "\"Lever\"")]),
        );
    let report = fixture
        .cook(r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron")], volumes: [])"#)
        .unwrap();
    assert_eq!(report.warnings, []);
    let mut app = app(&fixture);
    ask(&mut app, |levels| levels.load("a")).unwrap();
    run_until(&mut app, |app| is_there(app, "a"));
    let leads_to = |app: &mut App| {
        let world = app.world_mut();
        let mut links = world.query::<(&SoftLink, &LinkedEntity)>();
        let mut found: Vec<(String, Option<String>)> = links
            .iter(world)
            .map(|(link, linked)| {
                let name = linked
                    .get()
                    .map(|entity| world.get::<Name>(entity).unwrap().to_string());
                (link.to.object.clone(), name)
            })
            .collect();
        found.sort();
        found
    };
    let away = ["12", "Lever"].map(|object| (object.to_owned(), None));
    assert_eq!(leads_to(&mut app), away);
    for _ in 0..2 {
        ask(&mut app, |levels| levels.load("b")).unwrap();
        run_until(&mut app, |app| is_there(app, "b"));
        let found = leads_to(&mut app);
        assert!(
            found.contains(&("Lever".to_owned(), Some("Lever".to_owned()))),
            "{found:?}"
        );
        assert!(found.contains(&("12".to_owned(), None)), "{found:?}");
        ask(&mut app, |levels| levels.unload("b")).unwrap();
        run_until(&mut app, |app| !is_there(app, "b"));
        assert_eq!(leads_to(&mut app), away);
    }
    assert_eq!(
        SoftEntity::new("b", "12"),
        SoftEntity {
            level: "b".into(),
            object: "12".into()
        }
    );
}

#[test]
fn a_hundred_houses_are_built_of_one_package() {
    let fixture = Fixture::new();
    let name = (Name::type_path(), "\"Roof\"");
    let place = (
        Transform::type_path(),
        "(translation: (1.0, 2.0, 3.0), rotation: (0.0, 0.0, 0.0, 1.0), scale: (1.0, 1.0, 1.0))",
    );
    fixture.write("house.scn.ron", scene(&[name, place]));
    fixture.cook(r#"(levels: [(source: "house.scn.ron")])"#).unwrap();
    let mut app = app(&fixture);
    run_until(&mut app, |app| ask(app, |levels| levels.get("house").is_some()));
    let tickets = ask(&mut app, |levels| {
        let house = |number: usize| {
            let place = Transform::from_xyz(10.0 * number as f32, 0.0, 0.0);
            levels.add_instance(NewInstance::new(format!("house_{number}"), "house", place))
        };
        (0..100).map(house).collect::<Result<Vec<_>, _>>().unwrap()
    });
    let stats = |app: &App| app.world().resource::<StreamingStats>().clone();
    run_until(&mut app, |app| stats(app).live_instances == 100);
    assert_eq!((stats(&app).live_entities, stats(&app).live_packages), (200, 1));
    let mut seen = Vec::new();
    let world = app.world_mut();
    let mut roots = world.query::<(Entity, &LevelInstance, &Transform)>();
    for (root, level, place) in roots.iter(world) {
        seen.push((level.path.to_string(), place.translation.x));
        assert_eq!(world.resource::<StableIds>().root(&level.path), Some(root));
    }
    seen.sort_by(|a, b| a.1.total_cmp(&b.1));
    let expected: Vec<_> = (0..100)
        .map(|number| (format!("test/house_{number}"), 10.0 * number as f32))
        .collect();
    assert_eq!(seen, expected);
    // One is torn down for good, one while it would come again, the others when nobody wants them.
    ask(&mut app, |levels| levels.remove_instance("house_7")).unwrap();
    run_until(&mut app, |app| stats(app).live_instances == 99);
    drop(tickets);
    run_until(&mut app, |app| stats(app).live_instances == 0);
    ask(&mut app, |levels| levels.load("house_8")).unwrap();
    app.update();
    ask(&mut app, |levels| levels.remove_instance("house_8")).unwrap();
    run_until(&mut app, |app| {
        app.world().resource::<seamless_asset::Streamer>().is_empty()
    });
    assert_eq!((stats(&app).live_entities, stats(&app).failed), (0, 0));
}

/// A house of one triangle, which stands in three places.
const HOUSES: &str = r#"(levels: [(name: "house", source: "scenes/b.gltf", translation: (100.0, 0.0, 0.0), data: "(name: \"old\")")], instances: [
    (of: "house", name: "house_1", translation: (0.0, 10.0, 0.0), scale: (2.0, 2.0, 2.0), data: "(owner: \"mayor\")"),
    (of: "house", name: "house_2", always_loaded: true),
])"#;

fn manifest(fixture: &Fixture) -> WorldManifest {
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap()
}

#[test]
fn instances_of_the_world_file_are_levels_of_one_package() {
    let fixture = two_scenes();
    fixture.cook(HOUSES).unwrap();
    let manifest = manifest(&fixture);
    let [house, first, second] = manifest.levels.try_into().unwrap();
    assert_eq!([&first.package, &second.package], [&house.package; 2]);
    assert_eq!([&first.dependencies, &second.dependencies], [&house.dependencies; 2]);
    assert_eq!((first.entities, first.bytes), (house.entities, house.bytes));
    assert_eq!(
        (first.name.as_str(), first.data.as_deref()),
        ("house_1", Some(r#"(owner: "mayor")"#))
    );
    assert_eq!(
        (second.always_loaded, second.data),
        (true, None),
        "what a level has is its own"
    );
    assert_eq!(house.data.as_deref(), Some(r#"(name: "old")"#));
    // The triangle reaches from the origin to (1, 2, 0).
    assert_eq!(house.bounds, Some(([100.0, 0.0, 0.0], [101.0, 2.0, 0.0])));
    assert_eq!(first.bounds, Some(([0.0, 10.0, 0.0], [2.0, 14.0, 0.0])));
    assert_eq!(second.bounds, Some(([0.0, 0.0, 0.0], [1.0, 2.0, 0.0])));
    let volumes: Vec<_> = manifest.volumes.iter().map(|volume| volume.levels.join(" ")).collect();
    assert_eq!(
        volumes,
        ["house", "house_1"],
        "each has one of its own, but for what is always there"
    );
    assert!(manifest.volumes[1].shape.contains(Vec3::new(1.0, 12.0, 0.0)));
    let faults = crate::verify(&fixture.out(), None).unwrap().faults;
    assert!(faults.is_empty(), "{faults:?}");
    let listed = files(&fixture.out());
    assert_eq!(
        listed.iter().filter(|file| file.contains("house")).count(),
        1,
        "{listed:?}"
    );
    // Nothing else changes with it.
    fixture.cook(&HOUSES.replace("old", "new")).unwrap();
    let data = self::manifest(&fixture).levels[0].data.clone();
    assert_eq!(data.as_deref(), Some(r#"(name: "new")"#));
    assert_eq!(files(&fixture.out()), listed);
}

/// The volumes of a world whose house comes only when it is asked for, or is placed; and which levels no volume loads.
fn on_request(volumes: &str) -> [Vec<String>; 2] {
    let fixture = two_scenes();
    let world = format!(
        r#"(levels: [(source: "scenes/a.gltf"), (name: "house", source: "scenes/b.gltf", on_request: true)], instances: [
            (of: "house", name: "house_1"), (of: "house", name: "house_2", on_request: true),
        ]{volumes})"#
    );
    let report = fixture.cook(&world).unwrap();
    let manifest = manifest(&fixture);
    let asked: Vec<_> = manifest.levels.iter().filter(|level| level.on_request).collect();
    assert_eq!(
        asked.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(),
        ["house", "house_2"]
    );
    assert!(crate::verify(&fixture.out(), None).unwrap().faults.is_empty());
    // A cook with nothing to do tells the same.
    assert_eq!(fixture.cook(&world).unwrap().without_volume, report.without_volume);
    let volumes = manifest.volumes.iter().map(|volume| volume.levels.join(" "));
    [volumes.collect(), report.without_volume]
}

#[test]
fn what_is_on_request_gets_no_volume() {
    assert_eq!(on_request(""), [vec!["a", "house_1"], Vec::new()]);
}

#[test]
fn an_empty_list_of_volumes_is_none() {
    assert_eq!(on_request(", volumes: []"), [vec![], Vec::<&str>::new()]);
    let ball = "shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0)";
    let volumes = format!(r#", volumes: [({ball}, levels: ["a"]), ({ball}, levels: ["house_1"], mode: ShowIfLoaded)]"#);
    assert_eq!(on_request(&volumes), [vec!["a", "house_1"], vec!["house_1"]]);
}

#[test]
fn a_cook_with_more_instances_leaves_what_a_full_one_makes() {
    let fixture = two_scenes();
    let none = r#"(levels: [(name: "house", source: "scenes/b.gltf", translation: (100.0, 0.0, 0.0))])"#;
    fixture.cook(none).unwrap();
    let read = |fixture: &Fixture| {
        let files = files(&fixture.out());
        let read = files
            .iter()
            .map(|file| std::fs::read(fixture.out().join(file)).unwrap());
        files.iter().cloned().zip(read.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let package = |fixture: &Fixture| {
        std::fs::metadata(fixture.out().join("house.pkg"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = package(&fixture);
    fixture.cook(HOUSES).unwrap();
    assert_eq!(package(&fixture), before, "the package is left alone");
    let full = two_scenes();
    full.cook(HOUSES).unwrap();
    assert_eq!(read(&fixture), read(&full));
    fixture.cook(none).unwrap();
    assert_eq!(manifest(&fixture).levels.len(), 1);
}

#[test]
fn instances_that_make_no_sense_are_errors() {
    let fixture = two_scenes();
    let errors = fixture.errors(
        r#"(levels: [(name: "house", source: "scenes/b.gltf")], instances: [
            (of: "hovel", name: "a"), (of: "house", name: "House"), (of: "house", name: "b", scale: (1.0, 0.0, 1.0)),
            (of: "house", name: "../c"), (of: "house", name: "d", always_loaded: true, on_request: true),
        ])"#,
    );
    assert_eq!(errors.len(), 5, "{errors:#?}");
    assert_error(&errors, "test.world.ron", "instance `a`", "`hovel`, which is no level");
    assert_error(&errors, "test.world.ron", "instance `House`", "of this name");
    assert_error(&errors, "test.world.ron", "instance `b`", "zero on an axis");
    assert_error(&errors, "test.world.ron", "instance `../c`", "");
    assert_error(&errors, "test.world.ron", "instance `d`", "leave one of them away");
}
