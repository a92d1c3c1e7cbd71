//! Sources in many formats, and odd ones: what Bevy loads is cooked and equal to it, and of the others an error names the file.
//! Nothing panics, nothing waits for ever.

use std::{collections::BTreeSet, fs, path::Path};

use bevy::prelude::*;
use seamless_cook::{ContentError, CookOptions, Profile};
use seamless_tests::{
    app::{bevy_spawn, headless},
    cooked::{Cooked, cook, cook_with, describe, reveal},
    fixtures::{BadSource, Source, bad_gltf, bad_pictures, good_gltf, good_pictures},
    snapshot::{Snapshot, SnapshotOptions},
};
use serde_json::json;

const PROFILES: [Profile; 3] = [Profile::Exact, Profile::Dev, Profile::Ship];

fn write(dir: &Path, source: &Source) {
    let files = source.beside.iter().map(|(name, bytes)| (name, bytes));
    for (name, bytes) in files.chain([(&source.file, &source.bytes)]) {
        fs::write(dir.join(name), bytes).expect("a source is written");
    }
}

/// A triangle that shows the image.
fn write_shown(dir: &Path, image: &Source) {
    write(dir, image);
    let corners = [
        [0.0_f32, 0.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 1.0],
    ];
    let bytes: Vec<u8> = corners
        .as_flattened()
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    fs::write(dir.join("shown.bin"), bytes).expect("a buffer is written");
    let document = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "material": 0 }] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }],
        "textures": [{ "source": 0 }], "images": [{ "uri": image.file }],
        "buffers": [{ "uri": "shown.bin", "byteLength": 60 }],
        "bufferViews": [{ "buffer": 0, "byteLength": 60, "byteStride": 20 }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3, "min": [0, 0, 0], "max": [1, 1, 0] },
            { "bufferView": 0, "byteOffset": 12, "componentType": 5126, "type": "VEC2", "count": 3 },
        ],
    });
    fs::write(dir.join(shown(image)), document.to_string()).expect("a scene is written");
}

/// The scene that shows the image.
fn shown(image: &Source) -> String {
    format!("{}.gltf", image.name())
}

/// A world of one level for each source.
fn world(files: &[String]) -> String {
    let level = |file: &String| format!("(name: {:?}, source: {file:?})", level_name(file));
    let levels: Vec<String> = files.iter().map(level).collect();
    format!("(levels: [{}])", levels.join(", "))
}

fn level_name(file: &str) -> String {
    file.replace('.', "_")
}

/// Every level as Bevy loads it is as it was cooked.
fn assert_as_bevy_loads_them(cooked: &Cooked, files: &[String], options: &SnapshotOptions) {
    let mut bevy = headless(cooked.sources());
    let (mut ours, world) = cooked.start(|_| {});
    let mut different = Vec::new();
    for file in files {
        let expected = bevy_spawn(&mut bevy, &format!("{file}#Scene0"));
        let found = reveal(&mut ours, world, &level_name(file));
        for _ in 0..3 {
            ours.update();
        }
        let expected = Snapshot::with(bevy.world(), expected, options);
        let found = Snapshot::with(ours.world(), found, options);
        let differences = expected.diff(&found);
        different.extend(differences.iter().take(4).map(|one| format!("{file} {one}")));
        different.extend(found.problems().into_iter().map(|problem| format!("{file} {problem}")));
    }
    assert!(different.is_empty(), "Bevy | cooked:\n{}", different.join("\n"));
}

fn as_profile(profile: Profile) -> CookOptions {
    CookOptions {
        profile,
        ..CookOptions::default()
    }
}

/// Cooks the sources with every profile: they are equal to what Bevy makes of them, shipped ones up to pixels and the order of triangles.
fn assert_good(write: impl FnOnce(&Path), files: &[String]) {
    let mut cooked = Cooked::new(write, &world(files), |_| {});
    let options = SnapshotOptions::default().without_root_components();
    assert_as_bevy_loads_them(&cooked, files, &options);
    for profile in [Profile::Dev, Profile::Ship] {
        cooked.cook_again(&as_profile(profile), |_| {});
        if profile == Profile::Ship {
            assert_as_bevy_loads_them(&cooked, files, &options.clone().as_shipped());
        }
    }
}

#[test]
fn pictures_of_every_format() {
    let pictures = good_pictures();
    let files: Vec<String> = pictures.iter().map(shown).collect();
    let write = |dir: &Path| pictures.iter().for_each(|picture| write_shown(dir, picture));
    assert_good(write, &files);
}

#[test]
fn odd_gltf() {
    let sources = good_gltf();
    let files: Vec<String> = sources.iter().map(|source| source.file.clone()).collect();
    let image = good_pictures().remove(0);
    let write = |dir: &Path| {
        fs::write(dir.join("shown.png"), &image.bytes).expect("a picture is written");
        sources.iter().for_each(|source| write(dir, source));
    };
    assert_good(write, &files);
}

/// Cooks what cannot be cooked, with every profile: each file is told, with these words, and nothing is written.
fn assert_bad(put: impl Fn(&Path, &Source), file: impl Fn(&Source) -> String, sources: &[BadSource]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    sources.iter().for_each(|bad| put(dir.path(), &bad.source));
    let files: Vec<String> = sources.iter().map(|bad| file(&bad.source)).collect();
    let out = dir.path().join("out");
    for profile in PROFILES {
        let result = match profile {
            Profile::Exact => cook(dir.path(), &world(&files), &out, |_| {}),
            _ => cook_with(dir.path(), &out, &as_profile(profile), |_| {}),
        };
        let error = result.expect_err("the sources are wrong");
        let errors = error.content_errors();
        let missing: Vec<String> = sources
            .iter()
            .filter(|bad| !is_told(errors, bad))
            .map(|bad| format!("{} ({})", bad.source.file, bad.says))
            .collect();
        assert!(
            missing.is_empty(),
            "{profile:?}: nothing is told of\n{}\nin {}",
            missing.join("\n"),
            describe(&error)
        );
        let written: BTreeSet<_> = fs::read_dir(&out)
            .expect("the folder is there")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(written, BTreeSet::from([".cook".into()]), "{profile:?}");
    }
}

fn is_told(errors: &[ContentError], bad: &BadSource) -> bool {
    errors.iter().any(|error| {
        let text = error.to_string();
        // A missing file is told as such, with who needs it.
        (error.file == bad.source.file || text.contains(&format!("`{}", bad.source.file))) && text.contains(bad.says)
    })
}

#[test]
fn pictures_that_cannot_be_read() {
    assert_bad(write_shown, shown, &bad_pictures());
}

#[test]
fn gltf_that_cannot_be_read() {
    assert_bad(write, |source| source.file.clone(), &bad_gltf());
}
