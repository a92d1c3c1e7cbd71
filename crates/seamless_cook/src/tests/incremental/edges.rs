//! Edits that once gave something else than cooking everything.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::{Profile, Target};

/// How scenes load a texture counts, whether the world file lists it or not.
#[test]
fn a_listed_texture_is_loaded_as_scenes_say() {
    for profile in [Profile::Exact, Profile::Dev] {
        let mut project = Project::new(3);
        project.profile = profile;
        let (texture, another) = (project.scenes[0].texture, project.scenes[1].texture);
        project.assets = vec![texture];
        project.check();
        project.paint(texture, 78);
        let work = project.cook(&project.out()).unwrap().work;
        assert_eq!((work.sources_loaded, work.encoded), (1, 1), "it alone");
        project.check();
        // Scenes let go of it, and of none that is listed, and take it again.
        project.scenes.iter_mut().for_each(|scene| scene.texture = another);
        project.check();
        project.paint(texture, 79);
        project.check();
        project.scenes[2].texture = texture;
        project.check();
        project.assets.clear();
        project.check();
        // Listed again, and then its level goes.
        project.assets = vec![texture];
        project.check();
        project.levels.retain(|level| level.source != 2);
        project.lists.iter_mut().for_each(|list| list.fill(0));
        project.check();
        project.paint(texture, 80);
        project.check();
    }
}

/// Of a world with so many levels that what is shared stays in memory here and there.
#[test]
fn what_a_layout_costs_is_told_alike_after_an_edit() {
    let mut project = Project::new(24);
    project.check();
    for texture in 0..3 {
        project.paint(texture, 91);
        project.check();
    }
}

/// A texture that is loaded alone comes between two scenes that lack the same file.
#[test]
fn a_missing_file_is_told_once_after_an_edit_too() {
    let mut project = Project::new(6);
    project.check();
    project.scenes[1].texture = usize::MAX;
    project.scenes[4].texture = usize::MAX;
    project.check();
    for texture in 0..6 {
        project.paint(texture, 92);
        project.check();
    }
}

/// The file's own pixels are the same, what the level says of them is not.
#[test]
fn a_sampler_that_changes_under_a_texture_is_seen() {
    let sampler = |wrap: u32| {
        let text = gltf(&["a"], "red.ppm");
        let text = text.replace(
            r#""textures":[{"source":0}]"#,
            r#""textures":[{"source":0,"sampler":0}]"#,
        );
        text.replace(r#""images":"#, &format!(r#""samplers":[{{"wrapS":{wrap}}}],"images":"#))
    };
    let cook = |fixture: &Fixture, wrap| {
        fixture.write("scenes/a.gltf", sampler(wrap));
        fixture.cook(r#"(levels: [(source: "scenes/a.gltf")])"#).unwrap();
        output(&fixture.out())
    };
    let (edited, fresh) = (two_scenes(), two_scenes());
    let clamped = cook(&edited, 33071);
    let repeated = cook(&edited, 10497);
    assert_ne!(clamped, repeated);
    assert_eq!(repeated, cook(&fresh, 10497));
}

/// Loaded through who refers to it, and compressed on another thread.
#[test]
fn a_texture_with_settings_beside_it_is_waited_for() {
    let mut project = Project::new(2);
    project.profile = Profile::Dev;
    project.settings.insert(0, true);
    project.check();
    project.paint(0, 200);
    project.check();
    project.settings.remove(&0);
    project.check();
    project.settings.insert(1, false);
    project.check();
}

#[test]
fn an_import_of_what_the_target_leaves_out_is_part_of_a_package() {
    let mut project = Project::new(2);
    project.target = Target::named("server").unwrap();
    project.check();
    project.scenes[0].texture = 1 - project.scenes[0].texture;
    project.check();
}

#[test]
fn a_missing_texture_is_told_beside_a_broken_level() {
    let project = Project::new(3);
    project.check();
    let file = |name: &str| project.files().into_iter().find(|path| path.ends_with(name)).unwrap();
    std::fs::write(file("scenes/s0.gltf"), "broken").unwrap();
    std::fs::remove_file(file("textures/t2.ppm")).unwrap();
    project.check();
    // And again, from what is remembered of that.
    project.check();
    let errors = project.cook(&project.out()).unwrap_err();
    assert!(
        errors
            .content_errors()
            .iter()
            .any(|error| error.file == "textures/t2.ppm"),
        "{errors:?}"
    );
    assert!(
        errors
            .content_errors()
            .iter()
            .any(|error| error.file == "scenes/s0.gltf"),
        "{errors:?}"
    );
}

/// A texture that nothing needs may be missing, in every cook.
#[test]
fn what_nobody_needs_is_not_missed() {
    let fixture = two_scenes();
    let text = gltf(&["a"], "red.ppm");
    let text = text.replace(
        r#""textures":[{"source":0}]"#,
        r#""textures":[{"source":0},{"source":1}]"#,
    );
    let text = text.replace(
        r#""images":[{"uri":"red.ppm"}]"#,
        r#""images":[{"uri":"red.ppm"},{"uri":"gone.ppm"}]"#,
    );
    let unused = r#""materials":[{"pbrMetallicRoughness":{"baseColorTexture":{"index":1}}},"#;
    let text = text
        .replace(r#""materials":["#, unused)
        .replace(r#""material":0"#, r#""material":1"#);
    fixture.write("scenes/a.gltf", text);
    let world = r#"(levels: [(source: "scenes/a.gltf")])"#;
    fixture.cook(world).unwrap();
    assert_eq!(fixture.cook(world).unwrap().work, CookWork::default());
}

/// Packages of levels that are gone go, though nobody knows their manifest any more.
#[test]
fn packages_of_a_lost_manifest_go() {
    let mut project = Project::new(2);
    project.check();
    project.levels.truncate(1);
    std::fs::remove_file(project.out().join("test.seamless")).unwrap();
    project.check();
}

/// What is painted when the next app is built, which is after the cook has looked at the files.
static PAINTED_MEANWHILE: Mutex<Option<PathBuf>> = Mutex::new(None);

fn paint_meanwhile(_: &mut bevy::prelude::App) {
    if let Some(picture) = PAINTED_MEANWHILE.lock().unwrap().take() {
        // By now the cooker has looked at files whose stamps it does not know.
        std::thread::sleep(Duration::from_millis(100));
        std::fs::write(picture, b"P6\n1 1\n255\n\x00\xff\x00").unwrap();
        // More than the clock of the files is behind.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The texture is taken over as it was, and read anew by the level's loader: neither may hide that it has changed.
#[test]
fn a_file_that_changes_while_a_cook_begins_is_seen_by_the_next() {
    let cooker = CookApp::new().with(paint_meanwhile);
    let cook = |fixture: &Fixture| {
        let report = fixture.cook_with(&cooker, TWO_LEVELS, &CookOptions::default());
        report.unwrap().work
    };
    for is_touched in [false, true] {
        begin_while_a_file_changes(&cook, is_touched);
    }
}

fn begin_while_a_file_changes(cook: &dyn Fn(&Fixture) -> CookWork, is_touched: bool) {
    let fixture = two_scenes();
    cook(&fixture);
    // The first level is made anew, and nothing else.
    fixture.write("scenes/a.gltf", gltf(&["Cart"], "red.ppm"));
    if is_touched {
        let same = std::fs::read(fixture.path("scenes/red.ppm")).unwrap();
        fixture.write("scenes/red.ppm", same);
    }
    *PAINTED_MEANWHILE.lock().unwrap() = Some(fixture.path("scenes/red.ppm"));
    cook(&fixture);
    cook(&fixture);
    let fresh = two_scenes();
    fresh
        .write("scenes/a.gltf", gltf(&["Cart"], "red.ppm"))
        .write("scenes/red.ppm", b"P6\n1 1\n255\n\x00\xff\x00");
    cook(&fresh);
    assert!(output(&fixture.out()) == output(&fresh.out()), "as all at once");
    assert_eq!(cook(&fixture), CookWork::default());
}
