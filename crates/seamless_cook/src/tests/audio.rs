//! What a cook program without the feature `audio` says of sounds. What is cooked with it is tested in `tests/audio.rs`.

use super::*;

const MEND: &str = "the feature `audio` of `seamless_cook`";

#[test]
fn a_level_with_sounds_names_the_feature() {
    let fixture = Fixture::new();
    let player = "bevy_audio::audio::AudioPlayer<bevy_audio::audio_source::AudioSource>";
    fixture.write("a.scn.ron", scene(&[(player, r#"(Path("bell.wav"))"#)]));
    let errors = fixture.errors(r#"(levels: [(source: "a.scn.ron")])"#);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "a.scn.ron", "level `a`", MEND);
}

#[test]
fn sounds_of_startup_content_name_the_feature() {
    let fixture = Fixture::new();
    fixture.write("a.scn.ron", scene(&[])).write("click.ogg", "a sound");
    let errors = fixture.errors(r#"(levels: [(source: "a.scn.ron")], startup: ["click.ogg"])"#);
    assert_error(&errors, "click.ogg", "", MEND);
}

#[test]
fn only_what_is_about_sounds_names_the_feature() {
    let mend = |file: &str, message: &str| crate::audio::with_mend(file, message.to_owned()).contains(MEND);
    assert!(mend(
        "a.scn.ron",
        "assets of type `bevy_audio::audio_source::AudioSource` have no codec"
    ));
    assert!(mend("a/b.OGG", "Could not find an asset loader"));
    assert!(!mend("a/b.chime", "Could not find an asset loader"));
    // There is a loader, which the game brings.
    assert!(!mend(
        "a/b.ogg",
        "Failed to load asset 'a/b.ogg' with asset loader 'game::Sounds': it is cut off"
    ));
    assert!(!mend(
        "a/b.ogg",
        "Failed to load asset 'a/b.ogg', asset loader 'game::Sounds' panicked"
    ));
    assert!(!mend("a/b.ogg", "Path not found"));
}
