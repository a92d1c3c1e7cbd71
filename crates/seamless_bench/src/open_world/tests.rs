//! What is found, and what is said where it is not.

use super::*;

#[test]
fn a_picture_has_the_role_that_its_name_says() {
    let role = |file: &str| picture(&Path::new("textures").join(file)).map(|picture| picture.role);
    assert_eq!(role("rock.png"), Some(TextureRole::Color));
    assert_eq!(role("rock_normal.png"), Some(TextureRole::Normal));
    assert_eq!(role("rock_normal.txt"), None);
}

#[test]
fn what_is_missing_is_named_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    let missing = |text: &str| {
        let error = OpenWorld::find(folder.path()).err().unwrap().to_string();
        assert!(
            error.contains(text) && error.contains("--example open_world"),
            "{error}"
        );
    };
    missing("textures");
    std::fs::create_dir_all(folder.path().join("sources/textures")).unwrap();
    missing("open_world.world.ron");
    std::fs::write(folder.path().join("sources/open_world.world.ron"), []).unwrap();
    missing("cooked");
    std::fs::create_dir_all(folder.path().join("cooked")).unwrap();
    std::fs::write(folder.path().join("sources/textures/b.png"), []).unwrap();
    std::fs::write(folder.path().join("sources/textures/a_normal.png"), []).unwrap();
    let world = OpenWorld::find(folder.path()).unwrap();
    let files: Vec<String> = world.pictures().into_iter().map(|picture| picture.file).collect();
    assert_eq!(files, ["a_normal.png", "b.png"]);
}
