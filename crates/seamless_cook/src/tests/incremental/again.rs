//! Where only the bytes of what lies with one level have changed, nothing is laid out again.

use std::cell::Cell;

use super::*;
use crate::{Profile, Progress, Stage};

/// Whether anything was laid out.
#[derive(Default)]
struct LaidOut(Cell<bool>);

impl Progress for LaidOut {
    fn begin(&self, stage: Stage, _: u64) {
        self.0.set(self.0.get() || stage == Stage::Share);
    }
}

/// Cooks on; whether it was laid out again. What comes of it is that of a full cook, and there is nothing left to do.
#[track_caller]
fn lays_out(project: &Project) -> bool {
    let progress = LaidOut::default();
    project.cook_with(&project.out(), &progress).unwrap();
    assert_eq!(project.cook(&project.out()).unwrap().work, CookWork::default());
    project.check();
    progress.0.get()
}

/// Textures, of which some are used by one level and some by more, and levels with copies of each other's meshes.
fn project(profile: Profile) -> Project {
    let mut project = Project::new(4);
    project.profile = profile;
    project.scenes[1].texture = project.scenes[0].texture;
    project.scenes[2].texture = 2;
    project.scenes[3].texture = 3;
    assert!(lays_out(&project), "for the first time");
    project
}

#[test]
fn what_one_level_uses_is_painted_anew() {
    for profile in [Profile::Exact, Profile::Dev, Profile::Ship] {
        let mut project = project(profile);
        for (texture, colour) in [(2, 200), (2, 201), (3, 7)] {
            project.paint(texture, colour);
            assert!(!lays_out(&project), "{texture} {profile:?}");
        }
        // Two at once, the other way round.
        project.paint(3, 70);
        project.paint(2, 71);
        assert!(!lays_out(&project));
        // And as they were.
        project.paint(3, 3);
        project.paint(2, 2);
        assert!(!lays_out(&project));
    }
}

#[test]
fn what_several_levels_use_is_laid_out_again() {
    let mut project = project(Profile::Dev);
    let shared = project.scenes[0].texture;
    project.paint(shared, 99);
    assert!(lays_out(&project));
    project.paint(2, 99);
    assert!(!lays_out(&project), "and then not");
}

/// Everything beside the bytes of an asset is a reason.
#[test]
fn all_other_edits_are_laid_out_again() {
    let mut project = project(Profile::Dev);
    project.scenes[2].size = 4.0;
    project.paint(3, 10);
    assert!(lays_out(&project), "a level is another");
    project.levels[1].x = 7.0;
    project.paint(3, 11);
    assert!(lays_out(&project), "the world file is another");
    project.rule = Some(("*.ppm", "Persistent"));
    project.paint(3, 12);
    assert!(lays_out(&project), "`cook.ron` is another");
    project.paint(3, 13);
    assert!(lays_out(&project), "it is persistent: its size decides");
    project.rule = None;
    project.startup = vec![2];
    assert!(lays_out(&project), "startup content is another");
    project.paint(2, 14);
    assert!(lays_out(&project), "it is startup content");
    project.paint(3, 14);
    assert!(!lays_out(&project), "it is not");
    project.settings.insert(3, true);
    lays_out(&project);
    project.paint(3, 15);
    lays_out(&project);
}

/// What nothing needs any more is remembered, and does not stand in the way.
#[test]
fn what_is_unneeded_does_not_matter() {
    let mut project = project(Profile::Dev);
    project.scenes[3].texture = 2;
    assert!(lays_out(&project), "a level is another");
    project.paint(3, 20);
    lays_out(&project);
    project.scenes[3].texture = 3;
    assert!(lays_out(&project), "and as it was");
    // A scene and its texture, of no level and no list.
    project.levels.retain(|level| level.source != 3);
    project.lists.iter_mut().for_each(|list| list.fill(0));
    assert!(lays_out(&project), "a level is gone");
    for colour in [30, 31, 32] {
        project.paint(2, colour);
        assert!(!lays_out(&project), "{colour}");
    }
}

/// What somebody has damaged meanwhile is made again, with what has changed.
#[test]
fn a_lost_package_is_made_again() {
    let mut project = project(Profile::Dev);
    let files = files(&project.out());
    let packages = files.iter().filter(|file| file.ends_with(".pkg"));
    for (number, file) in packages.enumerate() {
        let path = project.out().join(file);
        match number % 2 {
            0 => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&path, b"no package").unwrap(),
        }
        project.paint(2, 100 + number as u8);
        assert!(lays_out(&project), "{file}");
    }
    std::fs::remove_dir_all(project.out().join(".cook/objects")).unwrap();
    project.paint(3, 90);
    lays_out(&project);
}

/// Nothing is told of what took longest that is not so.
#[test]
fn what_took_longest_is_told_again() {
    let mut project = project(Profile::Dev);
    project.paint(2, 200);
    let report = project.cook(&project.out()).unwrap();
    let objects: Vec<&String> = report.slowest.iter().map(|timing| &timing.object).collect();
    let mut known = objects.clone();
    known.sort();
    known.dedup();
    assert_eq!(known.len(), objects.len(), "each once");
    assert!(objects.iter().any(|object| object.ends_with("t2.ppm")), "{objects:?}");
    assert!(report.slowest.is_sorted_by(|a, b| a.seconds >= b.seconds));
}
