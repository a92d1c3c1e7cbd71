//! A page about a cook: what takes room, what is there twice, who needs whom. See [`html_report`].

mod duplicates;
mod facts;
mod graph;
mod layout;
mod page;
mod tables;
mod treemap;

use std::path::Path;

use super::folder::CookedFolder;
use super::inspect::InspectError;
use facts::Facts;

/// How long the cook spent on an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectTiming {
    /// The object: its source, or its package and name.
    pub object: String,
    /// What was done, such as `load` or `compress`.
    pub step: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A page in HTML about the cooked files in `directory`: a treemap of their sizes by package and type, the largest objects, what is
/// stored more than once, what was decided of it by the cook that the folder remembers, which packages need which, and the slowest objects of `timings`, if there are any. It needs no other file
/// and no script.
///
/// # Errors
/// When the directory or a file in it cannot be read.
pub fn html_report(directory: &Path, timings: &[ObjectTiming]) -> Result<String, InspectError> {
    let folder = CookedFolder::open_sound(directory)?;
    let facts = Facts::of(&folder);
    let mut page = page::Page::new(&facts.title());
    tables::summary(&facts, &mut page);
    treemap::section(&facts, &mut page);
    tables::types(&facts, &mut page);
    tables::largest(&facts, &mut page);
    duplicates::section(&folder, &mut page);
    layout::section(directory, &folder, &mut page);
    graph::section(&facts, &mut page);
    tables::slowest(timings, &mut page);
    tables::packages(&facts, &mut page);
    Ok(page.finish())
}
