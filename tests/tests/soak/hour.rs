//! An hour of play over ten thousand levels, and what it leaves behind.

use std::{
    panic::catch_unwind,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_tests::atomicity::Atomicity;

use crate::{
    apart,
    bed::{Bed, Footprint},
    content::name_of,
    drive::{Drive, Journeys},
    frames,
    town::Seen,
};

/// An hour at 60 Hz.
const HOUR: u64 = 216_000;
const LEVELS: usize = 10_000;
/// Frames of play before memory is measured, at least.
const WARM_UP: u64 = 2_000;
/// Levels that the tour looks at together: more than players ever have, those included that are on their way out, so that all has room for as
/// many: Bevy's tables double when they are full, and never shrink.
const GROUP: usize = 1_000;
/// What streaming may take of a frame of the tour.
const TOUR_BUDGET: Duration = Duration::from_millis(50);
/// How much more memory may be in use at the end than after the warm-up, in parts of it.
const GROWTH: f64 = 0.01;
/// Ids that were freed and that no allocation finds: Bevy keeps up to so many to itself before others may have them.
const KEPT_BY_BEVY: usize = 128;
/// More than a frame's levels have.
const IDS_OF_LEVELS: usize = 5_000;

/// What is in use when everything is as it was at another time.
#[derive(Debug)]
struct Memory {
    /// Without any level.
    at_rest: usize,
    /// With the levels around four fixed places.
    in_camp: usize,
}

/// Lets go of everything; nothing is left.
fn rest(bed: &mut Bed, drive: &mut Drive, before: &Footprint) {
    drive.rest(bed);
    bed.update();
    bed.until("all levels leave", |ecs| {
        ecs.resource::<Streamer>().is_empty() && ecs.resource::<StreamingStats>().hidden_entities == 0
    });
    // Handles are dropped on a task.
    let start = Instant::now();
    while bed.footprint() != *before && start.elapsed().as_secs() < 20 {
        bed.update();
    }
    assert_eq!(
        bed.footprint(),
        *before,
        "after all levels have left: {:?}",
        bed.stats()
    );
    bed.assert_whole();
}

fn measure(bed: &mut Bed, drive: &mut Drive, before: &Footprint) -> Memory {
    rest(bed, drive, before);
    // The same levels are to be there each time.
    bed.faults.turn_off(true);
    let at_rest = bed.memory();
    drive.camp(bed);
    for _ in 0..60 {
        bed.update();
    }
    let world = bed.world;
    bed.until("the levels around the camp come", move |ecs| {
        let levels = ecs.get::<LevelTable>(world).into_iter().flatten();
        let mut wanted = levels.filter(|level| level.is_wanted());
        wanted.all(|level| {
            level.state() == LevelState::Failed
                || level.target() == LevelTarget::Visible && level.is_visible()
                || level.target() == LevelTarget::Loaded && level.state() == LevelState::Hidden
        })
    });
    let in_camp = bed.memory();
    // Else nothing would be said by their being as many as before.
    let twins = bed.footprint().twins;
    assert!(twins > before.twins, "lights have twins: {twins}");
    rest(bed, drive, before);
    bed.faults.turn_off(false);
    Memory { at_rest, in_camp }
}

fn play(bed: &mut Bed, drive: &mut Drive, count: u64) {
    for frame in 0..count {
        drive.frame(bed);
        bed.update();
        if frame.is_multiple_of(600) {
            bed.assert_whole();
        }
    }
}

/// Every level comes, is hidden, and goes once, as fast as it can.
fn tour(bed: &mut Bed) {
    let budget = bed.set_budget(TOUR_BUDGET);
    for first in (0..LEVELS).step_by(GROUP) {
        let names: Vec<String> = (first..first + GROUP).map(name_of).collect();
        let seen = tickets(bed, &names, LevelTarget::Visible);
        until_all_are(bed, &names, LevelState::Visible);
        let loaded = tickets(bed, &names, LevelTarget::Loaded);
        drop(seen);
        until_all_are(bed, &names, LevelState::Hidden);
        drop(loaded);
    }
    bed.set_budget(budget);
}

fn tickets(bed: &mut Bed, names: &[String], target: LevelTarget) -> Vec<LevelTicket> {
    let ticket = |levels: &mut Levels, name: &String| levels.request(name, target);
    bed.levels(|mut levels| {
        let tickets: Result<Vec<_>, _> = names.iter().map(|name| ticket(&mut levels, name)).collect();
        tickets.expect("the requests are taken")
    })
}

/// But those that cannot be read.
fn until_all_are(bed: &mut Bed, names: &[String], wanted: LevelState) {
    let world = bed.world;
    bed.until("the levels of the tour come and are hidden", |ecs| {
        let table = ecs.get::<LevelTable>(world).expect("it stays");
        let mut levels = names.iter().filter_map(|name| table.get(name));
        levels.all(|level| level.state() == wanted || level.state() == LevelState::Failed)
    });
}

#[track_caller]
fn assert_no_growth(what: &str, before: usize, after: usize) {
    let allowed = before as f64 * (1.0 + GROWTH);
    assert!(after as f64 <= allowed, "{what}: {before} bytes became {after}");
}

#[test]
fn an_hour_of_play_leaves_nothing_behind() {
    apart("hour::an_hour_of_play_leaves_nothing_behind", hour_of_play);
}

#[expect(
    clippy::print_stdout,
    reason = "figures for whoever runs all of it, with `--nocapture`"
)]
fn hour_of_play() {
    let all = frames(HOUR);
    let mut bed = Bed::new(LEVELS, true);
    let mut drive = Drive::new(&mut bed);
    (0..4).for_each(|_| bed.update());
    let before = bed.footprint();
    // Everything that happens at all has happened once by then, and every level has been there.
    tour(&mut bed);
    play(&mut bed, &mut drive, WARM_UP.max(all / 3));
    // It makes room for the ids that it looks at, too.
    let peak = bed.taken_ids();
    let warm = measure(&mut bed, &mut drive, &before);
    let start = Instant::now();
    play(&mut bed, &mut drive, all);
    let took = start.elapsed();
    let end = measure(&mut bed, &mut drive, &before);
    let counts = bed.app.world().resource::<Atomicity>().counts();
    let stats = bed.stats();
    println!(
        "{all} frames, {:.0} a second: {warm:?} became {end:?}; {} revealed, {} left, {} failed, {} cancelled, {} bytes read; places that were got ready: {:?}; what the game has built: {:?}; files that were closed, broken, short and stalled: {:?}",
        all as f64 / took.as_secs_f64(),
        stats.revealed,
        stats.left,
        stats.failed,
        stats.cancelled,
        stats.bytes_read,
        drive.ended,
        drive.town.seen,
        bed.faults.counts(),
    );
    assert_no_growth("without any level", warm.at_rest, end.at_rest);
    assert_no_growth("in camp", warm.in_camp, end.in_camp);
    assert_eq!((counts.open, stats.revealed), (0, stats.left), "{counts:?}, {stats:?}");
    let often = all / 20;
    assert!(
        stats.revealed > often && stats.failed > 0 && stats.cancelled > 0,
        "{stats:?}"
    );
    assert!(counts.hidden > 0, "{counts:?}");
    let Journeys {
        ready,
        with_failures,
        given_up,
    } = drive.ended;
    assert!(
        ready > often / 20 && with_failures > 0 && given_up > 0,
        "{:?}",
        drive.ended
    );
    let Seen {
        instances,
        visible,
        linked,
    } = drive.town.seen;
    assert!(
        instances > often / 10 && visible > instances && linked > often / 10,
        "{:?}",
        drive.town.seen
    );
    let faults = bed.faults.counts();
    assert!(faults.iter().all(|count| *count > 0), "{faults:?}");
    let taken = bed.taken_ids();
    assert!(
        taken <= peak + IDS_OF_LEVELS + KEPT_BY_BEVY,
        "{taken} ids are taken, and {peak} were"
    );
}

/// The measure itself: it sees a leak of a hundredth.
#[test]
fn the_measure_sees_a_leak() {
    apart("hour::the_measure_sees_a_leak", leak);
}

fn leak() {
    let mut bed = Bed::new(50, false);
    let before = bed.memory();
    let leak = vec![1_u8; before / 50];
    let after = bed.memory();
    assert_eq!(leak.iter().map(|byte| usize::from(*byte)).sum::<usize>(), leak.len());
    let measured = catch_unwind(|| assert_no_growth("with a leak", before, after));
    assert!(measured.is_err(), "{before} bytes became {after}");
}
