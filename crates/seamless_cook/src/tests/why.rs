//! `why` finds the shortest chains, and says what it cannot find.

use bevy::prelude::*;
use seamless_asset::SeamlessAssetApp;

use super::*;
use crate::{Chain, ChainRoot, WhyError, WhyReport, why};

fn cooked(world: &str) -> Fixture {
    let fixture = two_scenes();
    fixture.cook(world).unwrap();
    fixture
}

fn asked(fixture: &Fixture, object: &str) -> WhyReport {
    why(object, &fixture.out()).unwrap()
}

fn steps(chain: &Chain) -> Vec<&str> {
    chain.steps.iter().map(|step| step.object.as_str()).collect()
}

#[test]
fn a_shared_picture_is_needed_by_both_levels_through_their_materials() {
    let fixture = cooked(TWO_LEVELS);
    let report = asked(&fixture, "scenes/red.ppm");
    assert_eq!(report.object.object, "shared_0.pkg#scenes/red.ppm");
    assert_eq!(report.object.class, Image::type_path());
    let [a, b] = &report.chains[..] else {
        panic!("{:#?}", report.chains)
    };
    assert_eq!(steps(a), ["a.pkg#Material0/std", "shared_0.pkg#scenes/red.ppm"]);
    assert_eq!(steps(b), ["b.pkg#Material0/std", "shared_0.pkg#scenes/red.ppm"]);
    let ChainRoot::Level {
        level,
        entity,
        component,
        others,
        ..
    } = &a.root
    else {
        panic!("{:?}", a.root)
    };
    assert_eq!((level.as_str(), *others), ("a", 3), "four nodes wear it");
    assert!(
        component
            .as_deref()
            .is_some_and(|component| component.contains("MeshMaterial3d"))
    );
    assert!(
        entity.as_deref().is_some_and(|entity| entity.contains("Wheel")),
        "{entity:?}"
    );

    // By package, and by id.
    for same in ["shared_0.pkg#scenes/red.ppm", report.object.id.as_str()] {
        assert_eq!(asked(&fixture, same).chains, report.chains, "{same}");
    }
}

#[test]
fn a_copy_is_the_same_object() {
    let fixture = cooked(r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#);
    let report = asked(&fixture, "scenes/red.ppm");
    assert_eq!(report.copies, ["b.pkg"]);
    let copies: Vec<_> = report
        .chains
        .iter()
        .map(|chain| chain.steps.last().unwrap().copy_in.as_deref())
        .collect();
    assert_eq!(copies, [None, Some("b.pkg")]);
}

#[test]
fn startup_content_and_resources_are_roots() {
    let fixture = two_scenes();
    let resource = "(resources: {\"bevy_camera::clear_color::ClearColor\": (LinearRgba((red: 1.0, green: 0.0, blue: 0.0, alpha: 1.0)))}, entities: {})";
    fixture.write("scenes/c.scn.ron", resource);
    let app = CookApp::new().with(|app| {
        app.add_startup_content::<Chain, Image>(["scenes/red.ppm"]);
    });
    let world = r#"(resources: Persistent, levels: [(source: "scenes/a.gltf"), (source: "scenes/c.scn.ron")])"#;
    fixture.cook_with(&app, world, &CookOptions::default()).unwrap();
    let report = asked(&fixture, "scenes/red.ppm");
    let startup = ChainRoot::Startup {
        package: "startup.pkg".into(),
    };
    assert!(
        report.chains.iter().any(|chain| chain.root == startup),
        "{:#?}",
        report.chains
    );
    let report = asked(&fixture, "Resource:bevy_camera::clear_color::ClearColor");
    let [chain] = &report.chains[..] else {
        panic!("{:#?}", report.chains)
    };
    assert!(matches!(&chain.root, ChainRoot::Resource { package, .. } if package == "c.pkg"));
    assert!(chain.steps.is_empty());
}

#[test]
fn entities_and_types_can_be_asked_for() {
    let fixture = cooked(TWO_LEVELS);
    let door = asked(&fixture, "scenes/red.ppm");
    let ChainRoot::Level {
        entity: Some(entity),
        package,
        ..
    } = &door.chains[1].root
    else {
        panic!("{:#?}", door.chains)
    };
    let report = asked(&fixture, &format!("{package}#{entity}"));
    assert_eq!(report.object.class, "entity");
    assert!(
        matches!(&report.chains[0].root, ChainRoot::Level { level, entity: Some(found), .. } if level == "b" && found == entity)
    );
    let report = asked(&fixture, &format!("a.pkg#class:{}", Transform::type_path()));
    assert_eq!((report.object.class.as_str(), report.chains.len()), ("class", 1));
}

#[test]
fn what_nobody_refers_to_has_no_chain() {
    use seamless_asset::codec::{Encoding, schema};
    use seamless_package::{Codec, NewExport, ObjectRef, PackageWriter, Role};
    let fixture = Fixture::new();
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer
        .class(&schema("game::Tree", Encoding::Asset, 1, "codec"))
        .unwrap();
    let tree = NewExport {
        name: "Oak",
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: vec![1].into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    };
    writer.export(tree).unwrap();
    fixture.write("out/a.pkg", writer.finish().unwrap());
    assert!(asked(&fixture, "Oak").chains.is_empty());
}

#[test]
fn unknown_and_ambiguous_names_list_candidates() {
    let fixture = cooked(TWO_LEVELS);
    let error = why("scenes/rad.ppm", &fixture.out()).unwrap_err();
    assert!(
        matches!(&error, WhyError::Unknown { near, .. } if near == &["shared_0.pkg#scenes/red.ppm"]),
        "{error}"
    );
    let error = why("MATERIAL0", &fixture.out()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no object is called `MATERIAL0`; did you mean a.pkg#Material0/std, b.pkg#Material0/std?"
    );
    let error = why("zzzzzzzzzz", &fixture.out()).unwrap_err();
    assert!(error.to_string().contains("seamless inspect"), "{error}");
    let error = why("Material0/std", &fixture.out()).unwrap_err();
    let both = ["a.pkg#Material0/std", "b.pkg#Material0/std"];
    assert!(
        matches!(&error, WhyError::Ambiguous { found, .. } if found == &both),
        "{error}"
    );
    std::fs::write(fixture.out().join("b.pkg"), "torn").unwrap();
    let error = why("scenes/red.ppm", &fixture.out()).unwrap_err();
    assert!(matches!(error, WhyError::Inspect(_)), "{error}");
}
