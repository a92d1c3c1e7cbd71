//! Sounds of Bevy: loaded as Bevy does, cooked whole, shared, left out for servers, and live with their level. Needs the feature `audio`,
//! and no sound card.

use std::path::PathBuf;

use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use bevy_audio::{AudioPlayer, AudioSource, PlaybackSettings, Volume};
use seamless_asset::assets::AudioSourceCodec;
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EntityRows};
use seamless_asset::{BlockingLoads, DialogueVariants, InstanceRequest, SeamlessAssetPlugin};
use seamless_cook::{CookApp, CookError, CookOptions, CookReport, ExportInfo, Target, inspect, verify};
use tempfile::TempDir;

const ONE: &str = r#"(levels: [(source: "a.scn.ron")])"#;
const TWO: &str = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron")])"#;

/// A directory with sources, and one to cook into.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Levels `a` and `b`, each with an entity that plays `sounds/bell.wav`.
    fn ringing() -> Self {
        let project = Self::new();
        project.write("sounds/bell.wav", bell());
        for level in ["a.scn.ron", "b.scn.ron"] {
            project.write(
                level,
                scene(&[(AudioPlayer::<AudioSource>::type_path(), r#"(Path("sounds/bell.wav"))"#)]),
            );
        }
        project
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.path().join(file);
        let folder = path.parent().expect("it is in a directory");
        std::fs::create_dir_all(folder).expect("it can be made");
        std::fs::write(path, bytes).expect("it can be written");
    }

    fn cook(&self, app: &CookApp, world: &str, target: &str) -> Result<CookReport, CookError> {
        self.write("test.world.ron", world);
        let options = CookOptions {
            target: Target::named(target).expect("there is this target"),
            ..CookOptions::default()
        };
        app.cook(&self.0.path().join("test.world.ron"), &self.out(), &options, &())
    }

    /// Cooks for everybody what is right.
    fn cooked(&self, world: &str) -> CookReport {
        let report = self.cook(&CookApp::new(), world, "all");
        report.unwrap_or_else(|error| panic!("{error}: {:#?}", error.content_errors()))
    }

    fn sound_of(&self, package: &str) -> Option<ExportInfo> {
        let info = inspect(&self.out().join(package)).expect("the package is sound");
        let mut exports = info.exports.into_iter();
        exports.find(|export| export.class == AudioSource::type_path())
    }

    /// A game without window and sound card.
    fn game(&self) -> App {
        let mut app = App::new();
        let assets = AssetPlugin {
            file_path: self.out().display().to_string(),
            ..AssetPlugin::default()
        };
        app.add_plugins((MinimalPlugins, assets, TransformPlugin, SeamlessAssetPlugin::default()));
        app.finish();
        app.cleanup();
        let request = InstanceRequest {
            name: "a".into(),
            package: "a.pkg".into(),
            ..InstanceRequest::default()
        };
        app.world_mut().load_level_blocking(request).expect("it loads");
        app.update();
        app
    }
}

/// A scene of one entity with these components, given by type path and value.
fn scene(components: &[(&str, &str)]) -> String {
    let components: Vec<String> = components
        .iter()
        .map(|(type_path, value)| format!("\"{type_path}\": {value}"))
        .collect();
    let entity = number();
    let components = components.join(", ");
    format!("(resources: {{}}, entities: {{{entity}: (components: {{{components}}})}})")
}

/// The number of the entity of a scene.
fn number() -> u64 {
    Entity::from_raw_u32(1).expect("a small number").to_bits()
}

/// A square wave as a WAV file: 16 bits, one channel, 8000 samples a second.
fn bell() -> Vec<u8> {
    let samples = (0..4000).map(|sample| if sample / 8 % 2 == 0 { 900_i16 } else { -900 });
    let data: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
    let (size, rate) = (data.len() as u32, 8000_u32);
    let format = [
        &[1, 0, 1, 0][..],
        &rate.to_le_bytes(),
        &(2 * rate).to_le_bytes(),
        &[2, 0, 16, 0],
    ]
    .concat();
    let chunks = [
        &b"WAVEfmt "[..],
        &16_u32.to_le_bytes(),
        &format,
        b"data",
        &size.to_le_bytes(),
        &data,
    ]
    .concat();
    [&b"RIFF"[..], &(chunks.len() as u32).to_le_bytes(), &chunks].concat()
}

/// Bytes that no compression makes fewer, as those of every compressed format.
fn dense() -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..5000).map(next).collect()
}

#[test]
fn a_sound_is_cooked_whole_with_its_level() {
    let project = Project::ringing();
    project.cooked(ONE);
    let sound = project.sound_of("a.pkg").expect("the level has its sound");
    assert_eq!((sound.name.as_str(), sound.bulk.len()), ("sounds/bell.wav", 1));
    assert_eq!(sound.bulk[0].raw_bytes, bell().len() as u64);
    assert!(
        sound.bulk[0].stored_bytes < sound.bulk[0].raw_bytes,
        "a WAV gets smaller"
    );
}

/// Any bytes will do behind the first: the cooker decodes nothing.
#[test]
fn what_is_compressed_already_stays_as_it_is() {
    for (file, kind) in [
        ("bell.mp3", &b"ID3"[..]),
        ("bell.mp3", b"\xff\xfb"),
        ("bell.ogg", b"OggS"),
        ("bell.oga", b"OggS"),
        ("bell.spx", b"OggS"),
        ("bell.flac", b"fLaC"),
    ] {
        let project = Project::new();
        let bytes = [kind, &dense()].concat();
        project.write(file, &bytes);
        project.write(
            "a.scn.ron",
            scene(&[(AudioPlayer::<AudioSource>::type_path(), &format!("(Path(\"{file}\"))"))]),
        );
        project.cooked(ONE);
        let sound = project.sound_of("a.pkg").expect("the level has its sound");
        assert_eq!(sound.bulk[0].stored_bytes, bytes.len() as u64, "{file}");
    }
}

#[test]
fn a_file_that_is_no_sound_is_refused_with_the_kinds_that_there_are() {
    for bytes in [
        &b""[..],
        b"RIFF\x04\0\0\0AVI ",
        b"RIFF",
        b"\xff",
        b"\xff\x00",
        b"<html>",
        b"version https://git-lfs.github.com/spec/v1\n",
    ] {
        let project = Project::ringing();
        project.write("sounds/bell.wav", bytes);
        let error = project.cook(&CookApp::new(), ONE, "all").expect_err("it is no sound");
        let [error] = error.content_errors() else {
            panic!("one error: {error}")
        };
        assert_eq!(error.file, "sounds/bell.wav");
        for kind in ["WAV", "Ogg", "FLAC", "MP3", "export it again"] {
            assert!(error.message.contains(kind), "{error}");
        }
    }
    let refused = AudioSourceCodec::encode(
        &AudioSource {
            bytes: (*b"<html>").into(),
        },
        &mut EncodeContext::new(&TypeRegistry::default(), &EntityRows::default()),
    );
    assert!(matches!(refused, Err(EncodeError::UnknownSound)));
}

/// Which kinds a game can play is known to the game.
#[test]
fn a_file_that_may_be_a_sound_is_cooked() {
    for bytes in [
        &b"\0\0\0\x20ftypM4A "[..],
        b"\0\0\0\0\xff\xfb\x90\x64",
        b"APETAGEX\xd0\x07\0\0",
        b"OggS\0\x02",
    ] {
        let project = Project::ringing();
        project.write("sounds/bell.wav", bytes);
        project.cooked(ONE);
    }
}

#[test]
fn sounds_are_shared_like_other_objects() {
    let project = Project::ringing();
    project.write("cook.ron", r#"(layout: (rules: [(objects: "*", place: Share)]))"#);
    let report = project.cooked(TWO);
    assert!(project.sound_of("shared_0.pkg").is_some() && project.sound_of("a.pkg").is_none());
    assert_eq!(report.levels[1].dependencies, ["shared_0.pkg"]);
}

#[test]
fn servers_get_no_sounds_and_nothing_that_plays_them() {
    let project = Project::ringing();
    project.cook(&CookApp::new(), TWO, "server").expect("it can be cooked");
    for package in ["a.pkg", "b.pkg"] {
        let info = inspect(&project.out().join(package)).expect("it is sound");
        assert!(
            info.schemas
                .iter()
                .all(|schema| !schema.type_path.contains("bevy_audio"))
        );
    }
    assert!(verify(&project.out(), None).expect("it is there").faults.is_empty());
}

#[test]
fn a_sound_that_is_not_there_is_named_with_its_entity() {
    let project = Project::ringing();
    std::fs::remove_file(project.0.path().join("sounds/bell.wav")).expect("it was there");
    let error = project
        .cook(&CookApp::new(), ONE, "all")
        .expect_err("the sound is gone");
    let [error] = error.content_errors() else {
        panic!("one error: {error}")
    };
    assert_eq!(error.file, "sounds/bell.wav");
    let needed = format!("needed by entity `{}` in `a.scn.ron`", number());
    assert!(error.message.contains(&needed), "{error}");
}

#[test]
fn a_cooked_sound_is_live_with_its_level_and_so_are_its_settings() {
    let project = Project::ringing();
    let settings = "(mode: Loop, volume: Linear(0.25), speed: 1.0, paused: false, muted: false, spatial: true, \
        spatial_scale: None, start_position: None, duration: None)";
    let player = (AudioPlayer::<AudioSource>::type_path(), r#"(Path("sounds/bell.wav"))"#);
    project.write("a.scn.ron", scene(&[player, (PlaybackSettings::type_path(), settings)]));
    project.cooked(ONE);
    let mut app = project.game();
    let world = app.world_mut();
    let mut players = world.query::<(&AudioPlayer, &PlaybackSettings)>();
    let (player, found) = players.single(world).expect("one entity plays");
    let expected = PlaybackSettings::LOOP
        .with_volume(Volume::Linear(0.25))
        .with_spatial(true);
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    let sounds = world.resource::<Assets<AudioSource>>();
    assert_eq!(*sounds.get(&player.0).expect("the sound is there").bytes, *bell());
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Greets(Handle<DialogueVariants<AudioSource>>);

#[test]
fn dialogue_of_bevys_sounds_needs_nothing_else() {
    let project = Project::new();
    for file in ["1.ogg", "2.ogg", "3.ogg"] {
        project.write(&format!("guard/{file}"), format!("OggS\0{file}"));
    }
    let set = r#"(variants: [(sound: "1.ogg"), (sound: "2.ogg"), (sound: "3.ogg")])"#;
    project.write("guard/hello.dialogue.ron", set);
    project.write(
        "a.scn.ron",
        scene(&[(Greets::type_path(), r#"(Path("guard/hello.dialogue.ron"))"#)]),
    );
    let world = r#"(levels: [(source: "a.scn.ron", max_variants: 2)])"#;
    let report = project.cook(&CookApp::new(), world, "all").expect("it can be cooked");
    assert_eq!(report.dialogue[0].sounds.len(), 2);
    let mut app = project.game();
    let world = app.world_mut();
    let mut guards = world.query::<&Greets>();
    let greets = guards.single(world).expect("one guard");
    let set = world.resource::<Assets<DialogueVariants<AudioSource>>>().get(&greets.0);
    let sound = set.and_then(|set| set.pick(0.9)).expect("there are variants");
    let sounds = world.resource::<Assets<AudioSource>>();
    let heard = &sounds.get(sound).expect("the sound is there").bytes;
    assert_eq!(
        String::from_utf8_lossy(heard),
        report.dialogue[0].sounds[1].replace("guard/", "OggS\0")
    );
}

#[test]
fn what_is_no_sound_is_refused() {
    let registry = TypeRegistry::default();
    let context = DecodeContext {
        registry: &registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    for (data, payloads) in [(&[][..], 0), (&[][..], 2), (&[7][..], 1)] {
        let error = AudioSourceCodec::decode(data, vec![vec![1]; payloads], &context).err();
        assert!(matches!(error, Some(DecodeError::Malformed(_))), "{error:?}");
    }
}
