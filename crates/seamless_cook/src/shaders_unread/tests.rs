//! What Bevy has compiled in is not read; what anybody else has is.

use std::path::Path;
use std::time::Instant;

use bevy::asset::io::embedded::EmbeddedAssetRegistry;
use bevy::prelude::*;
use bevy::shader::Source;

use crate::CookApp;
use crate::graph::recorder::Recorder;

fn text(shader: &Shader) -> &str {
    match &shader.source {
        Source::Wgsl(text) => text,
        other => panic!("it is WGSL: {other:?}"),
    }
}

/// An app as cooks have it, with the shader at this path.
fn with_shader(root: &Path, path: &'static str) -> (App, Handle<Shader>) {
    let mut app = CookApp::new().build_app(&Recorder::new(root));
    let own = app.world().resource::<EmbeddedAssetRegistry>();
    own.insert_asset("own.wgsl".into(), Path::new("game/own.wgsl"), b"fn own() {}".as_slice());
    let shader = app.world().resource::<AssetServer>().load(path);
    let start = Instant::now();
    while !app.world().resource::<AssetServer>().is_loaded(&shader) {
        assert!(start.elapsed().as_secs() < 60, "{path} comes");
        app.update();
    }
    (app, shader)
}

#[test]
fn shaders_of_bevy_are_empty_and_others_are_whole() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bevy_file.wgsl"), "fn file() {}").unwrap();
    for (path, whole) in [
        ("embedded://bevy_pbr/render/pbr_types.wgsl", ""),
        ("embedded://game/own.wgsl", "fn own() {}"),
        ("bevy_file.wgsl", "fn file() {}"),
    ] {
        let (app, shader) = with_shader(dir.path(), path);
        let shaders = app.world().resource::<Assets<Shader>>();
        assert_eq!(text(shaders.get(&shader).unwrap()), whole, "{path}");
    }
}
