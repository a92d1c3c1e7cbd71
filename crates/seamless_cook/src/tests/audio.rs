//! Sounds: as Bevy loads them, cooked, shared and live again; and what a cook program without them says.

use super::*;

const PLAYER: &str = "bevy_audio::audio::AudioPlayer<bevy_audio::audio_source::AudioSource>";

/// A level whose one entity plays `bell.wav`.
fn ringing(fixture: &Fixture, file: &str) {
    let player = (PLAYER, r#"(Path("sounds/bell.wav"))"#);
    fixture.write(file, scene(&[player]));
}

#[cfg(not(feature = "audio"))]
mod without_the_feature {
    use super::*;

    const MEND: &str = "the feature `audio` of `seamless_cook`";

    #[test]
    fn a_level_with_sounds_names_the_feature() {
        let fixture = Fixture::new();
        ringing(&fixture, "a.scn.ron");
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
        assert!(!mend("a/b.ogg", "Path not found"));
    }
}

#[cfg(feature = "audio")]
mod with_the_feature {
    use bevy::asset::AssetPlugin;
    use bevy::prelude::*;
    use bevy_audio::{AudioPlayer, AudioSource, PlaybackSettings, Volume};
    use seamless_asset::{BlockingLoads, InstanceRequest, SeamlessAssetPlugin};

    use super::*;
    use crate::{Target, inspect, verify};

    /// 16 bits, one channel, 8000 samples a second.
    fn wav(samples: &[i16]) -> Vec<u8> {
        let data: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let mut wav = b"RIFF".to_vec();
        wav.extend((36 + data.len() as u32).to_le_bytes());
        wav.extend(b"WAVEfmt ");
        wav.extend(16_u32.to_le_bytes());
        for half in [1_u16, 1] {
            wav.extend(half.to_le_bytes());
        }
        wav.extend(8000_u32.to_le_bytes());
        wav.extend(16_000_u32.to_le_bytes());
        for half in [2_u16, 16] {
            wav.extend(half.to_le_bytes());
        }
        wav.extend(b"data");
        wav.extend((data.len() as u32).to_le_bytes());
        wav.extend(data);
        wav
    }

    /// A bell of two tones.
    fn bell() -> Vec<u8> {
        let samples: Vec<i16> = (0..4000).map(|n| if n / 8 % 2 == 0 { 900 } else { -900 }).collect();
        wav(&samples)
    }

    /// Bytes that no compression makes fewer, as those of every compressed format.
    fn dense() -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..5000).map(next).collect()
    }

    fn sound_of(fixture: &Fixture, package: &str) -> Option<crate::ExportInfo> {
        let info = inspect(&fixture.out().join(package)).expect("the package is sound");
        info.exports
            .into_iter()
            .find(|export| export.class.ends_with("::AudioSource"))
    }

    const TWO: &str = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron")])"#;

    fn two_ringing() -> Fixture {
        let fixture = Fixture::new();
        fixture.write("sounds/bell.wav", bell());
        ringing(&fixture, "a.scn.ron");
        ringing(&fixture, "b.scn.ron");
        fixture
    }

    #[test]
    fn a_sound_is_cooked_whole_with_its_level() {
        let fixture = two_ringing();
        fixture.cook(r#"(levels: [(source: "a.scn.ron")])"#).unwrap();
        let sound = sound_of(&fixture, "a.pkg").expect("the level has its sound");
        assert_eq!((sound.name.as_str(), sound.bulk.len()), ("sounds/bell.wav", 1));
        assert_eq!(sound.bulk[0].raw_bytes, bell().len() as u64);
        assert!(
            sound.bulk[0].stored_bytes < sound.bulk[0].raw_bytes,
            "a WAV gets smaller"
        );
        // What is compressed already stays as it is. Any bytes will do: nothing is decoded.
        for file in ["bell.mp3", "bell.ogg", "bell.flac"] {
            fixture.write(&format!("sounds/{file}"), dense());
            let player = (PLAYER, format!(r#"(Path("sounds/{file}"))"#));
            fixture.write("a.scn.ron", scene(&[(player.0, &player.1)]));
            fixture.cook(r#"(levels: [(source: "a.scn.ron")])"#).unwrap();
            let sound = sound_of(&fixture, "a.pkg").expect("the level has its sound");
            assert_eq!(sound.bulk[0].stored_bytes, sound.bulk[0].raw_bytes, "{file}");
        }
    }

    #[test]
    fn sounds_are_shared_like_other_objects() {
        let fixture = two_ringing();
        fixture.write("cook.ron", SHARE);
        let report = fixture.cook(TWO).unwrap();
        assert!(sound_of(&fixture, "shared_0.pkg").is_some() && sound_of(&fixture, "a.pkg").is_none());
        assert_eq!(report.levels[1].dependencies, ["shared_0.pkg"]);
    }

    #[test]
    fn servers_get_no_sounds_and_nothing_that_plays_them() {
        let fixture = two_ringing();
        let options = CookOptions {
            target: Target::named("server").expect("a target"),
            ..CookOptions::default()
        };
        fixture.cook_with(&CookApp::new(), TWO, &options).unwrap();
        for package in ["a.pkg", "b.pkg"] {
            let info = inspect(&fixture.out().join(package)).unwrap();
            let classes = info
                .schemas
                .iter()
                .filter(|schema| schema.type_path.contains("bevy_audio"));
            assert_eq!(classes.count(), 0);
        }
        assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
    }

    #[test]
    fn a_sound_that_is_not_there_is_named_with_its_entity() {
        let fixture = Fixture::new();
        ringing(&fixture, "a.scn.ron");
        let errors = fixture.errors(r#"(levels: [(source: "a.scn.ron")])"#);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_error(
            &errors,
            "sounds/bell.wav",
            "",
            &format!("needed by entity `{}`", number(1)),
        );
    }

    /// What a game has once the level is revealed.
    #[test]
    fn a_cooked_sound_is_live_with_its_level() {
        let fixture = Fixture::new();
        fixture.write("sounds/bell.wav", bell());
        let settings = PlaybackSettings::LOOP
            .with_volume(Volume::Linear(0.25))
            .with_spatial(true);
        let settings_ron = "(mode: Loop, volume: Linear(0.25), speed: 1.0, paused: false, muted: false, spatial: true, \
            spatial_scale: None, start_position: None, duration: None)";
        let components = format!(
            r#"{{"{PLAYER}": (Path("sounds/bell.wav")), "{}": {settings_ron}}}"#,
            PlaybackSettings::type_path()
        );
        let entities = format!(
            "(resources: {{}}, entities: {{{}: (components: {components})}})",
            number(1)
        );
        fixture.write("a.scn.ron", entities);
        fixture.cook(r#"(levels: [(source: "a.scn.ron")])"#).unwrap();

        let mut app = App::new();
        let assets = AssetPlugin {
            file_path: fixture.out().display().to_string(),
            ..AssetPlugin::default()
        };
        app.add_plugins((MinimalPlugins, assets, TransformPlugin, SeamlessAssetPlugin::default()));
        app.finish();
        app.cleanup();
        let request = InstanceRequest {
            name: "a".into(),
            package: "a.pkg".into(),
            ..default()
        };
        app.world_mut().load_level_blocking(request).expect("it loads");
        app.update();
        let world = app.world_mut();
        let mut players = world.query::<(&AudioPlayer, &PlaybackSettings)>();
        let (player, found) = players.single(world).expect("one entity plays");
        assert_eq!(format!("{found:?}"), format!("{settings:?}"));
        let sounds = world.resource::<Assets<AudioSource>>();
        assert_eq!(*sounds.get(&player.0).expect("the sound is there").bytes, *bell());
    }
}
