//! The example's arena, without pictures: whole games, with each way for content to come into memory.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bevy::{
    app::TerminalCtrlCHandlerPlugin,
    image::{CompressedImageFormatSupport, CompressedImageFormats},
    log::LogPlugin,
    prelude::*,
    time::TimeUpdateStrategy,
};
use bevy_seamless::asset::StreamingSettings;
use seamless_cook::{CookApp, CookOptions};
use seamless_examples::{
    arena::{
        Approach, Arena, ArenaOptions, Outcome, Phase,
        content::{Models, WORLD_FILE, write},
        middle_of_fight, place_of,
    },
    display::headless_plugins,
};
use seamless_tests::cooked::describe;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(240);

/// Generates and cooks the content, once for all tests that need it at that time: the last of them takes it away.
fn content() -> Arc<TempDir> {
    static CONTENT: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut shared = CONTENT.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let dir = Arc::new(cooked());
        *shared = Arc::downgrade(&dir);
        dir
    })
}

fn cooked() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let sources = dir.path().join("sources");
    assert!(write(&sources, &Models::small()).expect("the content is generated"));
    assert!(
        !write(&sources, &Models::small()).expect("it is there"),
        "it is not made again"
    );
    let (world, out) = (sources.join(WORLD_FILE), dir.path().join("cooked"));
    CookApp::new()
        .cook(&world, &out, &CookOptions::default(), &())
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    dir
}

fn play(content: &TempDir, approach: Approach, seed: u64) -> Outcome {
    let game = try_play(content, approach, seed, "cooked/arena.seamless");
    game.expect("it is played to the end")
}

fn try_play(content: &TempDir, approach: Approach, seed: u64, manifest: &str) -> Result<Outcome, String> {
    let options = ArenaOptions {
        approach,
        seed,
        units: 60,
        battle_ticks: 600,
        show_ticks: 20,
        // Tests keep all cores busy.
        background: false,
        ..ArenaOptions::default()
    };
    let assets = AssetPlugin {
        file_path: content.path().to_string_lossy().into_owned(),
        ..default()
    };
    let mut app = App::new();
    let plugins = headless_plugins()
        .disable::<LogPlugin>()
        .disable::<TerminalCtrlCHandlerPlugin>();
    app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::NONE))
        .add_plugins(plugins.set(assets))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(1.0 / 60.0)));
    let mut arena = Arena::new(app, options, manifest);
    // On a busy machine, the threads that read files get next to nothing of it.
    arena.app().world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
    arena.play(None, PATIENCE, |_, _| true)
}

/// Where there is no world to play in, nobody waits for it.
#[test]
fn without_its_manifest_a_game_ends_and_says_what_mends_it() {
    let error =
        try_play(&content(), Approach::Lazy, 7, "elsewhere/arena.seamless").expect_err("there is no such world");
    assert!(
        error.contains("elsewhere/arena.seamless") && error.contains("BEVY_ASSET_ROOT"),
        "{error}"
    );
}

/// A picture shows those who fight, and not the way from zone to zone.
#[test]
fn the_picture_is_taken_in_the_middle_of_the_fight() {
    let around = place_of(1) + Vec3::new(4.0, 0.0, -6.0);
    let units = [place_of(0), around + Vec3::X, around - Vec3::X, place_of(3)];
    let on_the_way = place_of(1).lerp(place_of(2), 0.3);
    assert_eq!(middle_of_fight(on_the_way, units.into_iter()), around);
    assert_eq!(middle_of_fight(on_the_way, [place_of(3)].into_iter()), place_of(1));
}

/// What a phase needs is there before it begins: nothing is late, nothing stays, and the same game is the same battle.
#[test]
fn by_phase_nothing_is_late_and_nothing_is_left_over() {
    let content = content();
    let game = play(&content, Approach::Phase, 7);
    let cues = &game.cues;
    assert_eq!(
        (cues.replayed, cues.expired, cues.failed, cues.unknown),
        (0, 0, 0, 0),
        "{cues:?}"
    );
    assert!(cues.played > 100 && game.falls > 0, "{} falls, {cues:?}", game.falls);
    // Of all instances only the ground stays.
    assert_eq!((game.left_over, game.instances, game.streaming.failed), (0, 1, 0));
    let again = play(&content, Approach::Phase, 7);
    assert_eq!((game.digest, game.falls), (again.digest, again.falls));
    assert_eq!(cues.fired, again.cues.fired);
    assert_ne!(game.digest, play(&content, Approach::Phase, 8).digest);
}

/// Whenever it comes, content comes: the same cues play, if late, and who needs less reads less.
#[test]
fn lazy_games_are_played_too_and_read_less() {
    let content = content();
    let games = [Approach::All, Approach::Class, Approach::Lazy].map(|approach| play(&content, approach, 7));
    for game in &games {
        assert_eq!(
            (game.left_over, game.cues.failed, game.cues.unknown),
            (0, 0, 0),
            "{:?}",
            game.approach
        );
        assert!(game.falls > 0, "{:?}", game.approach);
        let phases = game.frames.iter().map(|frame| frame.phase);
        assert!(
            phases.clone().any(|phase| phase == Phase::Aftermath) && phases.clone().any(|phase| phase == Phase::Over)
        );
    }
    let [all, class, lazy] = &games;
    assert_eq!((all.cues.replayed, all.cues.expired), (0, 0));
    assert!(lazy.cues.replayed > 0, "the first of each kind is late");
    let read = [all, class, lazy].map(|game| game.streaming.bytes_read);
    assert!(read[1] < read[0] && read[2] < read[0], "{read:?}");
    let (all, class) = (all.content(), class.content());
    assert!(class.0 < all.0 && class.1 < all.1, "{class:?} of {all:?}");
}
