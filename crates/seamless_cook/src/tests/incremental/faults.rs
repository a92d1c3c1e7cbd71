//! Killed cooks, full disks, damaged files, two cooks at once: what is there is whole, and the next cook mends it.

use std::cell::Cell;
use std::io;

use super::*;
use crate::cook::Order;
use crate::graph::storage::{Disk, Storage};

/// What happens at a certain operation, and to all after it.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// The process is killed: a write has put half of its bytes.
    Kill,
    /// There is no room: a write has put half of its bytes, and everything else works.
    Full,
    ReadOnly,
}

/// A disk on which something goes wrong after some operations that change it.
struct Faulty {
    fault: Fault,
    left: Cell<u32>,
}

impl Faulty {
    fn change(&self, is_write: bool) -> io::Result<()> {
        if self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            return Ok(());
        }
        match self.fault {
            Fault::Kill => Err(io::ErrorKind::Interrupted.into()),
            Fault::Full if is_write => Err(io::ErrorKind::StorageFull.into()),
            Fault::Full => Ok(()),
            Fault::ReadOnly => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }
}

impl Storage for Faulty {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Disk.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        if let Err(error) = self.change(true) {
            if self.fault != Fault::ReadOnly && self.left.replace(0) == 0 && !path.exists() {
                Disk.write(path, &bytes[..bytes.len() / 2], sync)?;
            }
            return Err(error);
        }
        Disk.write(path, bytes, sync)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(false)?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(false)?;
        Disk.remove(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.change(false)?;
        Disk.make_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.change(false)?;
        Disk.sync_folder(path)
    }
}

fn cook_on(project: &Project, storage: &dyn Storage) -> Result<CookReport, CookError> {
    project.write();
    let order = Order {
        cooker: &project.cooker(),
        world_file: &project.world_file(),
        out: &project.out(),
        options: &project.options(),
        progress: &(),
        storage,
    };
    order.run()
}

/// Goes through a cook with a fault at each operation, until it gets through. `again` prepares the folder for each.
fn at_each_operation(fault: Fault, project: &Project, prepare: impl Fn(), check: impl Fn(u32, CookError)) -> u32 {
    for operation in 0.. {
        prepare();
        let storage = Faulty {
            fault,
            left: Cell::new(operation),
        };
        match cook_on(project, &storage) {
            Ok(_) if storage.left.get() > 0 => return operation,
            // What was left to do was only to tidy up.
            Ok(_) => {}
            Err(error) => check(operation, error),
        }
    }
    unreachable!()
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// The reader sees the old package or the new one, whole, at any time; the next cook finishes.
#[test]
fn a_killed_cook_leaves_whole_files_and_the_next_one_finishes() {
    let mut project = Project::new(2);
    project.cook(&project.out()).unwrap();
    let (kept, old) = (tempfile::tempdir().unwrap(), output(&project.out()));
    copy(&project.out(), kept.path());
    project.paint(0, 99);
    project.levels[0].name = "renamed".into();
    let fresh = tempfile::tempdir().unwrap();
    project.cook(fresh.path()).unwrap();
    let new = output(fresh.path());
    let operations = at_each_operation(
        Fault::Kill,
        &project,
        || copy(kept.path(), &project.out()),
        |operation, error| {
            assert!(matches!(error, CookError::Write { .. }), "{error}");
            for (file, bytes) in output(&project.out()) {
                let known = [&old, &new].iter().any(|known| known.get(&file) == Some(&bytes));
                assert!(known, "{file} is half written when killed at operation {operation}");
            }
            project.cook(&project.out()).unwrap();
            assert_eq!(output(&project.out()), new, "killed at operation {operation}");
        },
    );
    assert!(operations > 10, "{operations}");
    assert_eq!(output(&project.out()), new);
}

#[test]
fn a_full_disk_is_an_error_and_changes_nothing() {
    let project = Project::new(2);
    let empty = tempfile::tempdir().unwrap();
    at_each_operation(
        Fault::Full,
        &project,
        || copy(empty.path(), &project.out()),
        |operation, error| {
            assert!(
                matches!(&error, CookError::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull),
                "{error}"
            );
            let complete = files(&project.out()).contains(&"test.seamless".to_owned());
            assert!(
                complete || files(&project.out()).is_empty(),
                "half of it is there after operation {operation}"
            );
        },
    );
    project.check();
}

#[test]
fn a_read_only_folder_is_an_error() {
    let mut project = Project::new(2);
    project.cook(&project.out()).unwrap();
    let old = output(&project.out());
    // Nothing to do needs no writing.
    let storage = || Faulty {
        fault: Fault::ReadOnly,
        left: Cell::new(0),
    };
    assert_eq!(cook_on(&project, &storage()).unwrap().work, CookWork::default());
    project.paint(0, 3);
    let error = cook_on(&project, &storage()).unwrap_err();
    assert!(matches!(error, CookError::Write { .. }), "{error}");
    assert_eq!(output(&project.out()), old);
}

fn cached(project: &Project) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(project.out().join(".cook/objects"))
        .unwrap()
        .flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.path()).collect()
}

#[test]
fn damaged_and_lost_cache_entries_are_made_again() {
    let mut project = Project::new(2);
    project.startup = vec![1];
    project.cook(&project.out()).unwrap();
    for (index, path) in cached(&project).into_iter().enumerate() {
        if index % 3 == 0 {
            std::fs::remove_file(path).unwrap();
        } else {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }
    }
    // Every package is written anew, out of what is in the cache.
    for level in &mut project.levels {
        level.name += "_again";
    }
    project.check();
}

#[test]
fn damaged_and_lost_output_is_made_again() {
    let project = Project::new(2);
    project.cook(&project.out()).unwrap();
    let old = output(&project.out());
    for (index, file) in files(&project.out()).iter().enumerate() {
        let path = project.out().join(file);
        if index % 2 == 0 {
            std::fs::remove_file(path).unwrap();
        } else {
            std::fs::write(path, "broken").unwrap();
        }
    }
    assert!(project.cook(&project.out()).unwrap().work.packages_written > 0);
    assert_eq!(output(&project.out()), old);
}

/// Whatever part of it is damaged, and whether there is something to do or not.
#[test]
fn a_damaged_memory_is_no_memory() {
    let mut project = Project::new(2);
    let state = project.out().join(".cook/test.state");
    for step in 0..=12 {
        project.cook(&project.out()).unwrap();
        let mut bytes = std::fs::read(&state).unwrap();
        let at = (bytes.len() - 1) * step / 12;
        bytes[at] ^= 0x55;
        std::fs::write(&state, bytes).unwrap();
        if step % 4 > 0 {
            project.paint(0, 100 + step as u8);
        }
        project.check();
    }
    let sound = std::fs::read(&state).unwrap();
    std::fs::write(&state, &sound[..sound.len() / 3]).unwrap();
    project.check();
}

#[test]
fn two_cooks_at_once_do_not_meet() {
    let mut project = Project::new(2);
    project.cook(&project.out()).unwrap();
    let first = crate::graph::output::Output::open(&Disk, &project.out()).unwrap();
    project.paint(0, 3);
    let error = project.cook(&project.out()).unwrap_err();
    assert!(matches!(error, CookError::Busy { .. }), "{error}");
    drop(first);
    project.check();
}

/// Takes a file away as soon as the first level is loaded.
struct Vanish(PathBuf);

impl Progress for Vanish {
    fn step(&self, _: Stage, _: &str) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_source_that_vanishes_midway_is_an_error_or_was_read_before() {
    for file in ["textures/t2.ppm", "scenes/s2.gltf", "scenes/2.bin", "lists/1.scn.ron"] {
        let project = Project::new(3);
        let path = project.files().into_iter().find(|path| path.ends_with(file)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let one_ahead = CookOptions {
            levels_ahead: 1,
            ..project.options()
        };
        let result = project
            .cooker()
            .cook(&project.world_file(), &project.out(), &one_ahead, &Vanish(path.clone()));
        if let Err(error) = result {
            assert!(!error.content_errors().is_empty(), "{error}");
        }
        std::fs::write(&path, bytes).unwrap();
        project.check();
    }
}
