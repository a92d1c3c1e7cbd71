use bevy_ecs::system::RunSystemOnce;

use super::*;
use crate::mip::{
    plan::tests::{come, plan_for_nobody, world},
    stats::write_stats,
    textures::tests::id,
};

#[test]
fn what_goes_on_is_told_once() {
    let mut alert = Alert::default();
    assert!(!alert.note(false, 0.0));
    assert!(alert.note(true, 1.0));
    assert!(!alert.note(true, 100.0));
    assert!(!alert.note(false, 101.0));
    assert!(alert.note(true, 102.0));
}

#[test]
fn what_comes_and_goes_is_told_each_ten_seconds() {
    let mut alert = Alert::default();
    let told = (0..60).filter(|second| alert.note(second % 2 == 1, f64::from(*second)));
    assert_eq!(told.collect::<Vec<i32>>(), [1, 11, 21, 31, 41, 51]);
    // What has begun in the silence is told when that is over.
    assert!(!alert.note(true, 60.0));
    assert!(alert.note(true, 61.0));
}

#[test]
fn the_panel_says_what_is_wrong() {
    let mut stats = MipStats::default();
    assert_eq!(lines(&stats, 1 << 20), []);
    stats.textures = 4;
    stats.resident = 3 << 20;
    let alarms = |lines: &[PanelLine]| lines.iter().map(|line| line.is_alarm).collect::<Vec<bool>>();
    assert_eq!(alarms(&lines(&stats, 4 << 20)), [false, false]);
    assert_eq!(alarms(&lines(&stats, 2 << 20)), [true, false]);
    stats.under_resolved = 2;
    assert_eq!(alarms(&lines(&stats, 4 << 20)), [false, false, false]);
    stats.starving = 1;
    let said = lines(&stats, 4 << 20);
    assert_eq!(alarms(&said), [false, false, true]);
    assert!(said[2].text.contains("2 of 4"), "{}", said[2].text);
}

/// A world with so many textures, all too coarse, and with numbers of them.
fn coarse_world(textures: u32) -> World {
    let mut world = world();
    for number in 0..textures {
        come(&mut world, number);
    }
    plan_for_nobody(&mut world);
    world.init_resource::<MipStats>();
    world.init_resource::<PanelLines>();
    world.init_resource::<bevy_diagnostic::DiagnosticsStore>();
    world.run_system_once(write_stats).expect("it runs");
    world
}

#[test]
fn nothing_is_written_for_a_panel_that_nobody_sees() {
    let mut world = coarse_world(2);
    for is_shown in [false, true, false] {
        world.insert_resource(PanelLines::default());
        world.resource_mut::<PanelLines>().is_shown = is_shown;
        world.run_system_once(write_panel).expect("it runs");
        let says = world.resource::<PanelLines>().iter().next().is_some();
        assert_eq!(says, is_shown);
    }
}

/// More than are named.
#[test]
fn the_panel_names_what_is_too_coarse() {
    let mut world = coarse_world(12);
    world.resource_mut::<PanelLines>().is_shown = true;
    world.run_system_once(write_panel).expect("it runs");
    let worst = world.run_system_once(|mips: Mips| mips.worst(1)[0]).expect("it runs");
    let path = |world: &World, image| {
        let textures = world.resource::<MipTextures>();
        let texture = textures.number(image).expect("it streams");
        textures.get(texture).expect("it is there").path().to_owned()
    };
    let (first, said) = (path(&world, worst.image), world.resource::<PanelLines>().clone());
    let named: Vec<&str> = said
        .iter()
        .map(|line| &*line.text)
        .filter(|line| line.contains("wanted:"))
        .collect();
    assert_eq!(named.len(), SHOWN, "{named:?}");
    assert!(named[0].ends_with(&format!("mip 2, 0 wanted: {first}")), "{named:?}");
}

#[test]
fn long_names_are_shown_by_their_end() {
    let of = Offender {
        image: id(1),
        top: 3,
        wanted: 1,
        area: 9.0,
    };
    let long = format!("{}/bark", "deep/".repeat(20));
    let text = offender_line(&long, &of).text;
    assert!(
        text.starts_with("    mip 3, 1 wanted: ...") && text.ends_with("/bark"),
        "{text}"
    );
    assert!(text.chars().count() < LETTERS + 30);
}
