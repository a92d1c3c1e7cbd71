//! UV densities stand on what draws a mesh, whatever file the mesh is from.

use bevy::reflect::TypePath;
use seamless_asset::assets::MeshUvDensity;
use seamless_asset::codec::Record;
use seamless_asset::level_data::{LEVEL_EXPORT, LevelTable};
use seamless_package::{Cursor, Limits, Package};

use super::*;
use crate::Profile;

const MESH: (&str, &str) = (
    "bevy_mesh::components::Mesh3d",
    "(Path(\"scenes/a.gltf#Mesh0/Primitive0\"))",
);

fn cook(fixture: &Fixture, profile: Profile, world: &str) -> CookReport {
    let options = CookOptions {
        profile,
        ..CookOptions::default()
    };
    fixture.cook_with(&CookApp::new(), world, &options).unwrap()
}

/// The first channel's densities of a level, row by row; `None` where it has no such column.
fn densities(fixture: &Fixture, file: &str) -> Option<Vec<Option<f32>>> {
    let bytes = std::fs::read(fixture.out().join(file)).unwrap();
    let package = Package::parse(bytes.clone(), &Limits::default()).unwrap();
    let level = package.find_name(LEVEL_EXPORT).unwrap();
    let data = package.export_data(level, &bytes, 0).unwrap();
    let table = LevelTable::parse(&data, 100).unwrap();
    let is_density = |class: u32| package.schema(class as usize).unwrap().type_path == MeshUvDensity::type_path();
    let mut found = None;
    for group in &table.groups {
        for column in group.columns.iter().filter(|column| is_density(column.class)) {
            let mut cursor = Cursor::new(column.data);
            for _ in 0..group.rows {
                let density = MeshUvDensity::read(&mut cursor).unwrap();
                found.get_or_insert_with(Vec::new).push(density.uv_0);
            }
            cursor.finish().unwrap();
        }
    }
    found
}

fn fixture() -> Fixture {
    let fixture = two_scenes();
    fixture
        .write("scenes/a.gltf", with_uvs(&gltf(&["Wheel", "Wheel"], "red.ppm")))
        .write("scenes/triangle.bin", triangle_with_uvs(1.0));
    fixture
}

fn roughly(densities: Option<Vec<Option<f32>>>) -> Vec<Option<i32>> {
    let densities = densities.expect("there are densities");
    let rounded = densities
        .into_iter()
        .map(|density| Some((density? * 100.0).round() as i32));
    rounded.collect()
}

#[test]
fn what_draws_a_mesh_has_its_density() {
    let fixture = fixture();
    let world = r#"(levels: [(source: "scenes/a.gltf")])"#;
    cook(&fixture, Profile::Exact, world);
    assert_eq!(densities(&fixture, "a.pkg"), None, "no data is added");
    for profile in [Profile::Dev, Profile::Ship] {
        cook(&fixture, profile, world);
        assert_eq!(roughly(densities(&fixture, "a.pkg")), [Some(141); 2]);
    }
    // Without texture coordinates.
    fixture
        .write("scenes/a.gltf", gltf(&["Wheel"], "red.ppm"))
        .write("scenes/triangle.bin", triangle());
    cook(&fixture, Profile::Dev, world);
    assert_eq!(densities(&fixture, "a.pkg"), Some(vec![None]));
}

#[test]
fn a_mesh_of_another_file_changes_and_its_density_does() {
    let fixture = fixture();
    fixture.write("scenes/b.scn.ron", scene(&[MESH, MESH]));
    let world = r#"(root: ".", levels: [(source: "scenes/b.scn.ron")])"#;
    cook(&fixture, Profile::Dev, world);
    assert_eq!(roughly(densities(&fixture, "b.pkg")), [Some(141); 2]);
    fixture.write("scenes/triangle.bin", triangle_with_uvs(2.0));
    let report = cook(&fixture, Profile::Dev, world);
    assert_eq!(roughly(densities(&fixture, "b.pkg")), [Some(283); 2]);
    assert_eq!(report.work.encoded, 1, "the mesh, and not the level");
}

#[test]
fn a_density_of_the_scene_stays() {
    let fixture = fixture();
    let own = format!("\"{}\": (uv_0: Some(5.0), uv_1: None)", MeshUvDensity::type_path());
    let mesh = format!("\"{}\": {}", MESH.0, MESH.1);
    let entities = format!(
        "{}: (components: {{{mesh}}}), {}: (components: {{{mesh}, {own}}})",
        number(1),
        number(2)
    );
    fixture.write(
        "scenes/b.scn.ron",
        format!("(resources: {{}}, entities: {{{entities}}})"),
    );
    cook(
        &fixture,
        Profile::Dev,
        r#"(root: ".", levels: [(source: "scenes/b.scn.ron")])"#,
    );
    assert_eq!(roughly(densities(&fixture, "b.pkg")), [Some(141), Some(500)]);
}
