//! What the generated glTF files say.

use super::*;

#[test]
fn a_material_shows_each_texture_in_its_role() {
    let textures = [
        ("a.png".to_owned(), TextureRole::Color),
        ("b.png".to_owned(), TextureRole::Normal),
    ];
    let gltf: serde_json::Value = serde_json::from_str(&gltf("x.bin", &textures)).unwrap();
    let materials = gltf["materials"].as_array().unwrap();
    assert_eq!(materials[0]["pbrMetallicRoughness"]["baseColorTexture"]["index"], 0);
    assert!(materials[0]["normalTexture"].is_null());
    assert_eq!(materials[1]["normalTexture"]["index"], 1);
    assert!(materials[1]["pbrMetallicRoughness"].is_null());
    assert_eq!(gltf["images"][1]["uri"], "b.png");
    assert_eq!(gltf["buffers"][0]["uri"], "x.bin");
}

#[test]
fn a_project_has_its_levels_and_their_buffers() {
    let project = Project::new(&[Vec::new(), Vec::new()]);
    let mut names: Vec<_> = (project.sources().iter())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["l0.bin", "l0.gltf", "l1.bin", "l1.gltf", "w.world.ron"]);
}
