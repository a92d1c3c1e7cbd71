//! Levels that find no memory, with the pipeline's account of it played.

use seamless_asset::{LoadState, MemoryPressure, StreamingSettings, StreamingStats};

use super::*;

fn tell(stage: &mut Stage, tell: impl Fn(&mut StreamingStats)) {
    tell(&mut stage.app.world_mut().get_resource_or_init::<StreamingStats>());
}

/// A place is got ready, and all of it is held back: whoever waits for that would wait for ever.
#[test]
fn who_waits_for_what_is_held_is_told_that_there_is_no_room() {
    let mut stage = Stage::new();
    stage.app.insert_resource(StreamingSettings {
        memory_ceiling: Some(1000),
        ..StreamingSettings::default()
    });
    tell(&mut stage, |_| {});
    stage.hold("west");
    stage.frames(3);
    let point = ArrivalPoint {
        target: LevelTarget::Loaded,
        ..ArrivalPoint::at(WEST)
    };
    let arrival = stage.ask(move |levels| levels.prepare(point));
    stage.frames(5);
    assert_eq!(stage.level("west").state(), LevelState::Loading(LoadState::Requested));
    assert_eq!(arrival.result(), None, "there is room, and it comes in its time");
    tell(&mut stage, |stats| {
        stats.memory_pressure = MemoryPressure::Tight;
        stats.memory_held = 1;
        stats.memory_short = 10;
    });
    stage.frames(1);
    assert_eq!(arrival.result(), None, "somebody is about to go");
    tell(&mut stage, |stats| stats.memory_short = 0);
    stage.frames(1);
    assert_eq!(arrival.result(), Some(StreamingResult::WithFailures(1)));
    // It is still asked for, and comes when there is room.
    tell(&mut stage, |stats| stats.memory_held = 0);
    let again = stage.ask(move |levels| levels.prepare(point));
    stage.frames(2);
    assert_eq!(again.result(), None);
}

/// By files all fits; the pipeline says that it does not.
#[test]
fn the_least_urgent_goes_while_the_pipeline_is_short() {
    let mut manifest = manifest();
    manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest);
    stage.app.insert_resource(StreamingSettings {
        memory_ceiling: Some(1000),
        ..StreamingSettings::default()
    });
    tell(&mut stage, |stats| {
        stats.live_bytes = 300;
        stats.memory.packages = 900;
    });
    stage.go(WEST);
    assert!(stage.level("west").is_visible());
    // Somebody else's load, of which this crate knows nothing, is none of its business.
    tell(&mut stage, |stats| {
        stats.memory_pressure = MemoryPressure::Tight;
        stats.memory_short = 100;
    });
    stage.frames(30);
    assert!(stage.level("west").is_visible());
    tell(&mut stage, |stats| stats.memory_short = 0);
    stage.hold("east");
    let wish = LevelWanted {
        levels: vec!["east".into()],
        ..LevelWanted::default()
    };
    let wish = stage.app.world_mut().spawn(wish).id();
    stage.frames(30);
    assert!(stage.level("west").is_visible(), "nothing is short");
    tell(&mut stage, |stats| stats.memory_short = 100);
    stage.frames(5);
    assert!(!stage.level("west").is_wanted() && stage.level("base").is_visible());
    assert_eq!(
        stage.app.world().get::<LevelTable>(stage.world).unwrap().dropped(),
        1,
        "it is left out"
    );
    // It is on its way, and nobody comes back meanwhile.
    tell(&mut stage, |stats| stats.memory_short = 0);
    stage.frames(300);
    assert!(!stage.level("west").is_wanted());
    // It has come; the other is tried once, and finds nothing.
    stage.hold("west");
    stage.fake().held.remove("east");
    stage.frames(5);
    assert!(stage.level("east").is_visible() && stage.level("west").is_wanted());
    tell(&mut stage, |stats| stats.memory_short = 50);
    stage.frames(5);
    assert!(stage.level("east").is_visible() && !stage.level("west").is_wanted());
    stage.release();
    tell(&mut stage, |stats| stats.memory_short = 0);
    stage.frames(300);
    assert!(!stage.level("west").is_wanted());
    // As much is gone as it lacked.
    tell(&mut stage, |stats| stats.memory.packages = 850);
    stage.frames(2);
    assert!(stage.level("west").is_visible());
    // Without a ceiling nobody is left out.
    stage.app.world_mut().despawn(wish);
    stage.frames(3);
    stage.hold("east");
    let wish = LevelWanted {
        levels: vec!["east".into()],
        ..LevelWanted::default()
    };
    stage.app.world_mut().spawn(wish);
    stage.frames(2);
    tell(&mut stage, |stats| stats.memory_short = 50);
    stage.frames(5);
    assert!(!stage.level("west").is_wanted());
    stage.app.world_mut().resource_mut::<StreamingSettings>().memory_ceiling = None;
    stage.frames(2);
    assert!(stage.level("west").is_visible());
}

/// One house forty times: it is read once, and each of them has entities of its own.
#[test]
fn a_package_that_is_there_many_times_takes_its_memory_once() {
    let mut manifest = counts::row(40);
    manifest.volumes.clear();
    manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
    let names = manifest.levels.iter().map(|level| level.name.clone()).collect();
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest);
    stage.app.insert_resource(StreamingSettings {
        memory_ceiling: Some(250),
        ..StreamingSettings::default()
    });
    stage.app.world_mut().spawn(LevelWanted {
        levels: names,
        ..LevelWanted::default()
    });
    for _ in 0..30 {
        stage.frames(1);
        let table = stage.app.world().get::<LevelTable>(stage.world).unwrap();
        let visible = table.iter().filter(|level| level.is_visible()).count() as u64;
        tell(&mut stage, |stats| {
            stats.live_bytes = if visible > 0 { 100 } else { 0 };
            stats.memory.packages = stats.live_bytes;
            stats.memory.levels = visible;
        });
    }
    let told = stage.told();
    assert_eq!(told.len(), 40, "all fit, and none has gone meanwhile: {told:?}");
}

/// The pipeline has started them: it knows what they brought the last time.
#[test]
fn what_is_on_its_way_goes_on_while_there_is_memory() {
    let mut manifest = counts::row(10);
    manifest.volumes.clear();
    manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
    let names: Vec<String> = manifest.levels.iter().map(|level| level.name.clone()).collect();
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest);
    stage.app.insert_resource(StreamingSettings {
        memory_ceiling: Some(250),
        ..StreamingSettings::default()
    });
    tell(&mut stage, |_| {});
    let held = ["row 0", "row 1", "row 2", "row 3"];
    held.iter().for_each(|name| stage.hold(name));
    stage.app.world_mut().spawn(LevelWanted {
        levels: names.clone(),
        ..LevelWanted::default()
    });
    stage.frames(3);
    let mut table = stage.app.world_mut().get_mut::<LevelTable>(stage.world).unwrap();
    for index in 0..held.len() as u32 {
        say(&mut table, index, LevelState::Loading(LoadState::Reading));
    }
    let told = |memory| {
        move |stats: &mut StreamingStats| {
            stats.live_bytes = 600;
            stats.memory.packages = memory;
        }
    };
    tell(&mut stage, told(249));
    stage.frames(5);
    let is_wanted = |stage: &Stage| names.iter().filter(|name| stage.level(name).is_wanted()).count();
    assert_eq!(is_wanted(&stage), 10);
    tell(&mut stage, told(250));
    stage.frames(5);
    assert_eq!(is_wanted(&stage), 6, "there is no more");
}

/// Mips that nobody needs, for instance, stay in their files.
#[test]
fn what_nobody_reads_of_a_file_takes_no_memory() {
    for ceiling in [Some(200), Some(20)] {
        let mut manifest = manifest();
        manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
        let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest);
        stage.app.insert_resource(StreamingSettings {
            memory_ceiling: ceiling,
            ..StreamingSettings::default()
        });
        stage.go(WEST);
        for _ in 0..30 {
            stage.frames(1);
            let visible = ["base", "west"].map(|level| stage.level(level).is_visible());
            let live = visible.iter().filter(|is_visible| **is_visible).count() as u64;
            tell(&mut stage, |stats| {
                stats.live_bytes = 10 * live;
                stats.memory.packages = 30 * live;
            });
        }
        // Above the ceiling there are what is always loaded, and the most urgent one.
        assert_eq!(stage.told(), ["+base", "+west"], "{ceiling:?}");
    }
}
