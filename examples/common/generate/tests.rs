//! Tests of the generator: the same bytes again, valid glTF, no seams, enough entities, and nothing half-written.

use std::{collections::BTreeSet, fs, path::Path};

use glam::{Vec2, Vec3};
use gltf::{Gltf, Semantic, accessor::Dimensions, mesh::Mode};

use super::{
    noise::{Noise, Rng},
    shapes::{self, Shape},
    terrain::Terrain,
    *,
};

fn small() -> WorldOptions {
    WorldOptions {
        grid: 3,
        towns: 2,
        items_per_cell: 60,
        texture_divisor: 64,
        ..WorldOptions::default()
    }
}

fn make(dir: &Path, seed: u64) -> WorldSummary {
    generate(dir, seed, &small(), &mut |_, _, _| {}).unwrap()
}

/// Every file below a folder with its bytes.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut list = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        if path.is_dir() {
            list.extend(
                files(&path)
                    .into_iter()
                    .map(|(below, bytes)| (format!("{name}/{below}"), bytes)),
            );
        } else {
            list.push((name, fs::read(&path).unwrap()));
        }
    }
    list.sort();
    list
}

/// Loads a GLB file from its bytes, checked against the glTF specification.
fn parse(bytes: &[u8]) -> Gltf {
    assert_eq!(
        u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize,
        bytes.len()
    );
    assert_eq!(bytes.len() % 4, 0);
    Gltf::from_slice(bytes).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b, c) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
    make(&a, 5);
    make(&b, 5);
    make(&c, 6);
    assert!(files(&a) == files(&b), "the same seed gave other bytes");
    assert!(files(&a) != files(&c), "another seed gave the same bytes");
}

#[test]
fn a_current_world_is_left_alone_and_another_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let world = dir.path().join("world");
    let first = make(&world, 5);
    assert_eq!(is_current(&world, 5, &small()).as_ref(), Some(&first));
    assert_eq!(is_current(&world, 6, &small()), None);
    assert_eq!(is_current(&world, 5, &WorldOptions::default()), None);
    let mut steps = 0;
    let again = generate(&world, 5, &small(), &mut |_, _, _| steps += 1).unwrap();
    assert_eq!((again, steps), (first, 0));
    generate(&world, 6, &small(), &mut |_, _, _| steps += 1).unwrap();
    assert!(steps > 9);
    assert!(is_current(&world, 6, &small()).is_some());
}

#[test]
fn foreign_folders_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    let error = generate(dir.path(), 5, &small(), &mut |_, _, _| {}).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(dir.path().join("thesis.txt").is_file());
}

#[test]
fn what_an_interrupted_run_left_is_not_a_world() {
    let dir = tempfile::tempdir().unwrap();
    let (world, partial) = (dir.path().join("world"), dir.path().join("world.partial"));
    fs::create_dir_all(partial.join("cells")).unwrap();
    fs::write(partial.join("cells/cell_9_9.glb"), "half").unwrap();
    make(&world, 5);
    assert!(!partial.exists());
    assert!(!world.join("cells/cell_9_9.glb").exists());
}

#[test]
fn cells_and_kit_are_valid_gltf() {
    let dir = tempfile::tempdir().unwrap();
    let world = dir.path().join("world");
    let summary = make(&world, 5);
    let (mut entities, mut names) = (0, BTreeSet::new());
    for (name, bytes) in files(&world).into_iter().filter(|(name, _)| name.ends_with(".glb")) {
        let gltf = parse(&bytes);
        let blob = gltf.blob.clone().unwrap();
        for mesh in gltf.meshes() {
            mesh.primitives()
                .for_each(|primitive| check_primitive(&primitive, &blob));
        }
        for image in gltf.images() {
            let gltf::image::Source::Uri { uri, .. } = image.source() else {
                panic!("{name} embeds an image")
            };
            assert!(
                world.join(&name).parent().unwrap().join(uri).is_file(),
                "{name}: no {uri}"
            );
        }
        assert_eq!(gltf.scenes().len(), 1);
        if name.starts_with("cells/") {
            let primitives: usize = gltf
                .nodes()
                .filter_map(|node| node.mesh())
                .map(|m| m.primitives().len())
                .sum();
            entities += (1 + gltf.nodes().len() + primitives) as u64;
            names.insert(gltf.default_scene().unwrap().name().unwrap().to_string());
            assert!(gltf.nodes().any(|node| node.name().is_none()));
        }
    }
    assert_eq!(names.len(), 9);
    let others: u64 = (0..summary.towns as usize).map(|i| town::build(i, 5).1).sum::<u64>() + town::sky().1;
    assert_eq!(entities + others, summary.entities);
}

fn check_primitive(primitive: &gltf::Primitive, blob: &[u8]) {
    assert_eq!(primitive.mode(), Mode::Triangles);
    let reader = primitive.reader(|_| Some(blob));
    let positions: Vec<Vec3> = reader.read_positions().unwrap().map(Vec3::from).collect();
    let bounds = primitive.bounding_box();
    for p in &positions {
        assert!(p.cmpge(Vec3::from(bounds.min)).all() && p.cmple(Vec3::from(bounds.max)).all());
    }
    assert!(
        reader
            .read_normals()
            .unwrap()
            .all(|n| (Vec3::from(n).length() - 1.0).abs() < 1e-3)
    );
    assert!(
        reader
            .read_indices()
            .unwrap()
            .into_u32()
            .all(|i| (i as usize) < positions.len())
    );
    for (semantic, accessor) in primitive.attributes() {
        assert_eq!(accessor.count(), positions.len());
        let view = accessor.view().unwrap();
        assert!(view.offset() % 4 == 0 && view.offset() + view.length() <= blob.len());
        assert!(semantic != Semantic::Positions || accessor.dimensions() == Dimensions::Vec3);
    }
    let bumpy = primitive.material().normal_texture().is_some();
    assert_eq!(bumpy, reader.read_tangents().is_some());
    for [x, y, z, w] in reader.read_tangents().into_iter().flatten() {
        assert!((Vec3::new(x, y, z).length() - 1.0).abs() < 1e-3 && w.abs() == 1.0);
    }
}

#[test]
fn the_default_world_has_half_a_million_entities() {
    let options = WorldOptions::default();
    let terrain = Terrain::new(7, &options);
    assert_eq!(terrain.towns.len(), 40);
    // A diagonal and two columns of the grid stand for the rest.
    let cells: Vec<(u32, u32)> = (0..options.grid).flat_map(|i| [(i, i), (3, i), (14, i)]).collect();
    let sum: u64 = cells
        .iter()
        .map(|(x, z)| cell::build(*x, *z, 7, &options, &terrain).unwrap().entities)
        .sum();
    let mean = sum / cells.len() as u64;
    assert!(
        mean * u64::from(options.grid * options.grid) >= 520_000,
        "{mean} entities per cell"
    );
}

#[test]
fn neighbouring_cells_meet_without_a_seam() {
    let options = small();
    let terrain = Terrain::new(5, &options);
    let edge = |x: u32, at: f32| {
        let gltf = parse(&cell::build(x, 1, 5, &options, &terrain).unwrap().bytes);
        let mesh = gltf
            .nodes()
            .find(|node| node.name() == Some("terrain"))
            .unwrap()
            .mesh()
            .unwrap();
        let blob = gltf.blob.clone().unwrap();
        let mut heights = BTreeSet::new();
        for primitive in mesh.primitives() {
            let reader = primitive.reader(|_| Some(&blob));
            let pairs = reader.read_positions().unwrap().zip(reader.read_normals().unwrap());
            let on_edge = pairs.filter(|(p, _)| (p[0] - at).abs() < 1e-3);
            heights.extend(on_edge.map(|(p, n)| [p[2], p[1], n[0], n[2]].map(|v| (v * 100.0).round() as i32)));
        }
        heights
    };
    let (right, left) = (edge(0, options.cell_size), edge(1, 0.0));
    assert_eq!(right.len(), 29);
    assert_eq!(right, left);
}

#[test]
fn slopes_are_those_of_the_heights() {
    let terrain = Terrain::new(7, &WorldOptions::default());
    let mut rng = Rng::new(1, 1);
    let step = 0.05;
    for i in 0..2000 {
        let town = &terrain.towns[i % terrain.towns.len()];
        // Half of the places are at the borders of towns.
        let wild = Vec2::new(rng.range(0.0, 1280.0), rng.range(0.0, 1280.0));
        let near = town.center + Vec2::from_angle(rng.range(0.0, 6.0)) * rng.range(20.0, 50.0);
        let p = if i % 2 == 0 { wild } else { near };
        let at = |offset: Vec2| terrain.ground(p + offset).value;
        let x = (at(Vec2::X * step) - at(-Vec2::X * step)) / (2.0 * step);
        let y = (at(Vec2::Y * step) - at(-Vec2::Y * step)) / (2.0 * step);
        let slope = terrain.ground(p).slope;
        assert!(slope.distance(Vec2::new(x, y)) < 0.02, "{slope} and {x}, {y} at {p}");
    }
}

#[test]
fn textures_tile() {
    let noise = Noise::new(3, 4);
    for i in 0..100 {
        let p = Vec2::new(i as f32 * 0.137, i as f32 * 0.291);
        let (a, b) = (
            noise.fractal(p, 3, 5).value,
            noise.fractal(p + Vec2::splat(5.0), 3, 5).value,
        );
        assert!((a - b).abs() < 1e-3);
        let (a, b) = (noise.cells(p, 4), noise.cells(p + Vec2::splat(4.0), 4));
        assert!((a.0 - b.0).abs() < 1e-4 && a.2 == b.2);
    }
    for texture in textures::TEXTURES.map(|texture| texture.smaller(16)) {
        let (pixels, size) = (texture.paint(7), texture.size as usize);
        let pixel = |x: usize, y: usize| &pixels[(y * size + x) * 3..][..3];
        let step = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
        let across = |x: usize| {
            (0..size)
                .map(|y| step(pixel(x, y), pixel((x + 1) % size, y)))
                .sum::<u64>()
        };
        // The step over the border is about as large as the largest inside.
        let inside = (0..size - 1).map(across).max().unwrap();
        assert!(across(size - 1) * 4 <= inside * 5, "{} has a seam", texture.name);
        let distinct: BTreeSet<_> = pixels.chunks(3).collect();
        assert!(distinct.len() > 20, "{} is a plain colour", texture.name);
    }
}

#[test]
fn closed_shapes_face_outwards() {
    let mut rng = Rng::new(2, 2);
    let mut cube = Shape::default();
    cube.cuboid(Vec3::splat(-1.0), Vec3::splat(1.0), 1.0);
    let cone = shapes::cone(1.0, 0.5, -1.0, 1.0, 8);
    for shape in [shapes::lump(1.0, 0.8, 0.3, 5, &mut rng), cone, cube] {
        for triangle in shape.indices.chunks(3) {
            let [a, b, c] = [0, 1, 2].map(|i| shape.positions[usize::from(triangle[i])]);
            let face = (b - a).cross(c - a);
            assert!(face.length() > 1e-5, "a degenerate triangle");
            assert!(face.dot(a + b + c) > 0.0, "a triangle faces inwards");
            assert!(
                face.dot(shape.normals[usize::from(triangle[0])]) > 0.0,
                "a normal points inwards"
            );
        }
    }
}

#[test]
fn town_files_are_ron_with_a_consistent_hierarchy() {
    for text in [town::build(3, 7).0, town::sky().0] {
        let value: ron::Value = ron::from_str(&text).unwrap();
        let ron::Value::Map(top) = value else {
            panic!("not a map")
        };
        assert_eq!(top.len(), 2);
    }
    let (text, entities) = town::build(3, 7);
    assert_eq!(text.matches("components: {").count() as u64, entities);
    // Every entity but the root has a parent, and is in exactly one list of children.
    assert_eq!(text.matches("hierarchy::ChildOf").count() as u64, entities - 1);
    let listed: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("hierarchy::Children"))
        .flat_map(|line| line.split(['[', ']']).nth(1).unwrap().split(", "))
        .collect();
    assert_eq!(listed.len() as u64, entities - 1);
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
}

#[test]
fn the_world_file_names_every_level_once() {
    let dir = tempfile::tempdir().unwrap();
    let summary = make(&dir.path().join("world"), 5);
    let text = fs::read_to_string(&summary.world_file).unwrap();
    ron::from_str::<ron::Value>(&text).unwrap();
    assert_eq!(text.matches("source:").count() as u64, summary.levels);
    assert_eq!(text.matches("unload_margin: 32.0").count() as u64, summary.levels - 1);
    assert!(text.contains(
        "(name: \"around cell_1_0\", shape: Box(min: (-160.0, -500.0, -224.0), max: (352.0, 2000.0, 288.0))"
    ));
    for line in text.lines().filter(|line| line.contains("source:")) {
        let source = line.split("source: \"").nth(1).unwrap().split('"').next().unwrap();
        assert!(
            summary.world_file.with_file_name(source).is_file(),
            "{source} is missing"
        );
    }
}
