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
use crate::report::CookReport;
use facts::Facts;

/// A page in HTML about the cooked files in `directory`: a treemap of their sizes by package and type, the largest objects, what is
/// stored more than once, and which packages need which; and, as far as the folder remembers its cooks, what was decided about shared
/// objects, and what took longest. It needs no other file and no script.
///
/// # Errors
/// When the directory or a file in it cannot be read.
pub fn html_report(directory: &Path) -> Result<String, InspectError> {
    let folder = CookedFolder::open_sound(directory)?;
    let manifests = folder.manifests.iter();
    let cooks = manifests.filter_map(|(file, _)| folder.memory(file)?.report());
    let cooks: Vec<CookReport> = cooks.collect();
    let facts = Facts::of(&folder);
    let mut page = page::Page::new(&facts.title());
    tables::summary(&facts, &mut page);
    treemap::section(&facts, &mut page);
    tables::types(&facts, &mut page);
    tables::largest(&facts, &mut page);
    duplicates::section(&folder, &mut page);
    layout::section(&cooks, &mut page);
    graph::section(&facts, &mut page);
    tables::slowest(&cooks, &mut page);
    tables::packages(&facts, &mut page);
    Ok(page.finish())
}
