//! Counts of levels by their states, and what a frame at rest looks at.

use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};
use bevy_reflect::structs::Struct;

use super::*;
use crate::{diagnostics, random::Random, world::slots::StateCounts};

fn table(stage: &Stage) -> &LevelTable {
    stage.app.world().get::<LevelTable>(stage.world).unwrap()
}

fn measured(stage: &Stage, path: &DiagnosticPath) -> f64 {
    let store = stage.app.world().resource::<DiagnosticsStore>();
    store.get(path).unwrap().value().unwrap()
}

/// Each count, and what is measured under its name.
fn counted(stage: &Stage) -> Vec<(String, f64)> {
    let counts = table(stage).counts();
    let count = |index: usize| {
        let name = counts.name_at(index).unwrap();
        let field = counts.field_at(index).unwrap();
        let value = field.try_downcast_ref::<u32>().unwrap();
        let path = DiagnosticPath::new(format!("seamless_level/{name}"));
        assert_eq!(measured(stage, &path), f64::from(*value), "{path}");
        (name.to_owned(), measured(stage, &path))
    };
    (0..counts.field_len()).map(count).collect()
}

/// Levels in a row, each in a ball of radius ten, twenty apart.
pub(super) fn row(count: usize) -> WorldManifest {
    let mut world = manifest();
    let name = |index: usize| format!("row {index}");
    world.levels = (0..count)
        .map(|index| LevelEntry {
            name: name(index),
            package: format!("row {index}.pkg"),
            bytes: 1 + index as u64,
            ..LevelEntry::default()
        })
        .collect();
    world.volumes = (0..count)
        .map(|index| VolumeEntry {
            name: name(index),
            shape: ball(Vec3::X * 20.0 * index as f32, 10.0),
            levels: vec![name(index)],
            unload_delay: 0.0,
            ..VolumeEntry::default()
        })
        .collect();
    world
}

#[test]
fn a_frame_at_rest_looks_at_no_level() {
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), row(10_000));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.until(|stage| stage.app.world().get::<LevelTable>(stage.world).is_some());
    stage.go(Vec3::X * 4000.0);
    stage.frames(10);
    assert_eq!(measured(&stage, &diagnostics::VISIBLE), 1.0);
    stage.fake().is_idle = true;
    let before = table(&stage).levels.touched();
    stage.frames(100);
    assert_eq!(table(&stage).levels.touched(), before);
    assert_eq!(measured(&stage, &diagnostics::VISIBLE), 1.0);
    assert_eq!(measured(&stage, &diagnostics::WANTED), 1.0);
}

/// Something happens to some level.
fn act(stage: &mut Stage, names: &[&'static str], random: &mut Random) {
    let name = names[random.below(names.len())];
    match random.below(11) {
        0 => drop(stage.fake().held.insert(name)),
        1 => drop(stage.fake().broken.insert(name)),
        2 => drop(stage.fake().unreadable.insert(name)),
        3 => {
            let fake = &mut *stage.fake();
            fake.held.clear();
            fake.broken.clear();
            fake.unreadable.clear();
        }
        4 => stage.ask(|levels| levels.load(name)).unwrap(),
        5 => stage.ask(|levels| levels.unload(name)).unwrap(),
        6 => stage.ask(|levels| levels.release(name)).unwrap(),
        7 => stage.ask(|levels| levels.retry(name)).unwrap(),
        8 => stage.ask(|levels| levels.preload(name)).unwrap(),
        9 => {
            let house = NewInstance::new("house", name, bevy_transform::components::Transform::IDENTITY);
            if stage.ask(|levels| levels.remove_instance("house")).is_err() {
                let ticket = stage.ask(move |levels| levels.add_instance(house.clone()));
                core::mem::forget(ticket.unwrap());
            }
        }
        _ => {
            let place = GlobalTransform::from_translation(Vec3::X * 20.0 * random.below(names.len()) as f32);
            stage.app.world_mut().entity_mut(stage.source).insert(place);
        }
    }
}

/// What is on its way to be seen comes in slices, and what did so is decoded again.
fn turn_to_slices(stage: &mut Stage) {
    let mut table = stage.app.world_mut().get_mut::<LevelTable>(stage.world).unwrap();
    for index in 0..table.len() as u32 {
        let level = table.levels.get(index).unwrap();
        match level.state() {
            LevelState::Loading(_) if level.target() == LevelTarget::Visible => {
                say(&mut table, index, LevelState::Revealing);
            }
            LevelState::Revealing => table.follow(index),
            _ => {}
        }
    }
}

#[test]
fn counts_are_what_a_recount_says() {
    const COUNT: usize = 12;
    let mut random = Random(0xC0_0417);
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), row(COUNT));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.fake().can_hide = true;
    stage.frames(3);
    let names: Vec<&'static str> = (0..COUNT).map(|index| &*format!("row {index}").leak()).collect();
    let mut seen = BTreeMap::<String, f64>::new();
    let mut states = [LevelState::Unloaded; COUNT];
    let mut ways = BTreeSet::new();
    for step in 0..2000 {
        if step % 5 == 0 {
            turn_to_slices(&mut stage);
        }
        act(&mut stage, &names, &mut random);
        stage.frames(1);
        assert_eq!(table(&stage).counts(), StateCounts::recount(table(&stage)));
        for (state, count) in counted(&stage) {
            *seen.entry(state).or_default() += count;
        }
        // Each step on the way is looked at where it is made, see `LevelState::can_become`.
        for (level, before) in names.iter().zip(&mut states) {
            let state = stage.level(level).state();
            ways.insert((word(*before), word(state)));
            *before = state;
        }
    }
    for state in ["visible", "hidden", "loading", "leaving", "failed"] {
        assert!(seen[state] > 20.0, "{seen:?}");
    }
    assert!(seen["revealing"] > 0.0, "{seen:?}");
    let expected = [
        ("Hidden", "Visible"),
        ("Visible", "Hidden"),
        ("Visible", "Leaving"),
        ("Leaving", "Visible"),
        ("Leaving", "Loading"),
        ("Leaving", "Unloaded"),
        ("Loading", "Failed"),
        ("Loading", "Revealing"),
        ("Revealing", "Loading"),
        ("Failed", "Unloaded"),
    ];
    for (from, to) in expected {
        assert!(ways.contains(&(from.into(), to.into())), "{from} to {to}: {ways:?}");
    }
}

/// A state without the pipeline's stage.
fn word(state: LevelState) -> String {
    let text = format!("{state:?}");
    text.split('(').next().unwrap_or_default().to_owned()
}

/// The arrows of the diagram in the crate's documentation, from the lines that draw them.
fn drawn_ways() -> BTreeSet<(String, String)> {
    let text = include_str!("../../lib.rs");
    let mut from = String::new();
    let mut ways = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//! ")) {
        let Some((left, right)) = line.split_once('►') else {
            continue;
        };
        if let Some(name) = left
            .split_whitespace()
            .next()
            .filter(|name| name.chars().all(char::is_alphabetic))
        {
            name.clone_into(&mut from);
        }
        let to = right.split_whitespace().next().unwrap_or_default();
        ways.insert((from.clone(), to.to_owned()));
    }
    ways
}

#[test]
fn the_diagram_shows_the_ways_that_there_are() {
    let states = [
        LevelState::Unloaded,
        LevelState::Loading(seamless_asset::LoadState::Reading),
        LevelState::Hidden,
        LevelState::Revealing,
        LevelState::Visible,
        LevelState::Leaving,
        LevelState::Failed,
    ];
    let pairs = states.iter().flat_map(|from| states.iter().map(move |to| (*from, *to)));
    let ways = pairs.filter(|(from, to)| from != to && from.can_become(*to));
    let ways: BTreeSet<(String, String)> = ways.map(|(from, to)| (word(from), word(to))).collect();
    assert_eq!(drawn_ways(), ways);
    assert!(LevelState::Loading(seamless_asset::LoadState::Requested).can_become(states[1]));
}

/// A state without a count, or a count without a diagnostic, has none of its name.
#[test]
fn each_state_but_the_usual_one_is_counted_and_measured() {
    let stage = Stage::with({
        let mut app = level_app(SeamlessLevelPlugin::default());
        app.init_resource::<DiagnosticsStore>();
        app
    });
    let bevy_reflect::TypeInfo::Enum(states) = <LevelState as bevy_reflect::Typed>::type_info() else {
        unreachable!("it is an enum");
    };
    let mut states: Vec<String> = states.variant_names().iter().map(|name| name.to_lowercase()).collect();
    states.retain(|name| name != "unloaded");
    states.sort();
    let counts = StateCounts::default();
    let mut names: Vec<&str> = (0..counts.field_len())
        .filter_map(|index| counts.name_at(index))
        .collect();
    names.sort_unstable();
    assert_eq!(names, states);
    let store = stage.app.world().resource::<DiagnosticsStore>();
    for state in states {
        let path = DiagnosticPath::new(format!("seamless_level/{state}"));
        assert!(store.get(&path).is_some(), "{path} is registered");
    }
}

/// What counters say is measured.
#[test]
fn what_is_left_out_and_late_is_measured() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_levels: 1,
        ..Default::default()
    }));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.go(WEST);
    assert_eq!(table(&stage).dropped(), 1);
    assert_eq!(measured(&stage, &diagnostics::DROPPED), 1.0);
    assert_eq!(measured(&stage, &diagnostics::BEGUN_LATE), 0.0);
    for path in &diagnostics::ALL {
        measured(&stage, path);
    }
}
