//! Cooking again: what is changed, and nothing else, with the same result as cooking everything.

mod again;
mod edges;
mod edits;
mod faults;
mod project;

use super::*;
use crate::CookWork;
use project::Project;

/// What is in an output folder, by file name.
pub(super) fn output(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let read = |file: String| {
        let bytes = std::fs::read(folder.join(&file)).unwrap();
        (file, bytes)
    };
    files(folder).into_iter().map(read).collect()
}

#[test]
fn nothing_is_done_where_nothing_has_changed() {
    let project = Project::new(3);
    let first = project.cook(&project.out()).unwrap();
    assert!(first.work.sources_loaded > 0 && first.work.encoded > 0 && first.work.files_written > 0);
    let second = project.cook(&project.out()).unwrap();
    assert_eq!(second.work, CookWork::default());
    let told = |report: &CookReport| CookReport {
        seconds: 0.0,
        work: CookWork::default(),
        ..report.clone()
    };
    assert_eq!(told(&first), told(&second), "the report is the same");
}

/// Touching a file is no change of it.
#[test]
fn nothing_is_loaded_where_files_are_only_newer() {
    let project = Project::new(3);
    project.cook(&project.out()).unwrap();
    let before = output(&project.out());
    for file in project.files() {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
    }
    let work = project.cook(&project.out()).unwrap().work;
    assert_eq!((work.sources_loaded, work.encoded, work.packages_written), (0, 0, 0));
    assert_eq!(work.files_written, 1, "when the files were looked at last");
    assert_eq!(output(&project.out()), before);
    assert_eq!(project.cook(&project.out()).unwrap().work, CookWork::default());
}

/// A texture that many levels use is loaded by itself, and nothing else is.
#[test]
fn a_changed_texture_is_cooked_alone() {
    let mut project = Project::new(3);
    project.cook(&project.out()).unwrap();
    project.paint(0, 77);
    let work = project.cook(&project.out()).unwrap().work;
    assert_eq!((work.sources_loaded, work.encoded), (1, 1));
    assert!(work.packages_written >= 1, "{work:?}");
    project.check();
}

#[test]
fn a_moved_level_changes_the_manifest_only() {
    let mut project = Project::new(3);
    project.cook(&project.out()).unwrap();
    project.levels[1].x = 500.0;
    let work = project.cook(&project.out()).unwrap().work;
    assert_eq!((work.sources_loaded, work.encoded, work.packages_written), (0, 0, 0));
    project.check();
}
