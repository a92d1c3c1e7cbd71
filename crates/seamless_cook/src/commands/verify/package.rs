//! Whether one package is sound in itself: every byte, its level table, its index of startup content.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use seamless_asset::codec::{Encoding, Part};
use seamless_asset::{LoadErrorKind, STARTUP_EXPORT, StartupTable};
use seamless_package::{PackageError, Place};

use super::super::entities::{ColumnView, LevelView};
use super::super::folder::{PackageFile, local_path};
use super::{FaultKind, VerifyReport};

/// Adds all that is wrong with the package, whatever the others are.
pub(super) fn check(file: &PackageFile, report: &mut VerifyReport) {
    let package = &file.package;
    report.objects += package.exports().len();
    let marked = package.exports().iter().filter(|export| export.bulk_use.is_marked());
    report.marked += marked.count();
    if package.name() != file.file {
        let name = package.name().to_owned();
        report.add(&*file.file, "", FaultKind::WrongName { name });
    }
    let read = File::open(&file.path).and_then(|handle| check_bytes(file, handle, report));
    if let Err(error) = read {
        report.add(&*file.file, "", FaultKind::Unreadable(error.to_string()));
    }
}

/// Reads the file once, from front to back.
fn check_bytes(file: &PackageFile, mut handle: File, report: &mut VerifyReport) -> io::Result<()> {
    let package = &file.package;
    let have = handle.metadata()?.len();
    report.bytes += have;
    let need = package.summary().file_len();
    let damaged = |error: PackageError| FaultKind::Package(Box::new(error));
    if have < need {
        let place = Place::File;
        report.add(&*file.file, "", damaged(PackageError::Truncated { place, need, have }));
    } else if have > need {
        let (file_len, extra) = (need, have - need);
        report.add(&*file.file, "", damaged(PackageError::TrailingData { file_len, extra }));
    }
    let level = file.level();
    // Classes were looked at when the tables were opened.
    let is_object = |index: &usize| package.schema(*index).is_none();
    for index in (0..package.exports().len()).filter(is_object) {
        let range = package.export_range(index).unwrap_or_default();
        let stored = read_range(&mut handle, &range)?;
        match package.export_data(index, &stored, range.start) {
            Ok(data) if level == Some(index) => check_level(file, index, &data, report),
            Ok(_) => {}
            Err(error) => report.add(&*file.file, local_path(package, index), damaged(error)),
        }
        if package.find_name(STARTUP_EXPORT) == Some(index) {
            check_startup(file, index, &stored, range.start, report);
        }
    }
    check_payloads(file, &mut handle, report)
}

fn check_payloads(file: &PackageFile, handle: &mut File, report: &mut VerifyReport) -> io::Result<()> {
    let package = &file.package;
    for index in 0..package.exports().len() {
        for payload in 0..package.bulk(index).len() {
            let Some(location) = package
                .bulk_location(index, payload)
                .filter(|place| place.origin.is_none())
            else {
                continue;
            };
            let stored = read_range(handle, &location.range)?;
            if let Err(error) = package.bulk_data(index, payload, &stored, location.range.start) {
                report.add(
                    &*file.file,
                    local_path(package, index),
                    FaultKind::Package(Box::new(error)),
                );
            }
        }
    }
    Ok(())
}

/// Fewer bytes where the file ends before. Memory grows with what is there.
fn read_range(handle: &mut File, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if !range.is_empty() {
        handle.seek(SeekFrom::Start(range.start))?;
        handle.take(range.end - range.start).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn check_startup(file: &PackageFile, index: usize, stored: &[u8], start: u64, report: &mut VerifyReport) {
    match StartupTable::of(&file.package, stored, start) {
        // What is damaged is told already.
        Ok(_) | Err(LoadErrorKind::NoStartupIndex | LoadErrorKind::Package(_)) => {}
        Err(error) => {
            let kind = FaultKind::Startup(Box::new(error));
            report.add(&*file.file, local_path(&file.package, index), kind);
        }
    }
}

fn check_level(file: &PackageFile, index: usize, data: &[u8], report: &mut VerifyReport) {
    let object = || local_path(&file.package, index);
    match LevelView::parse(&file.package, index, data) {
        Ok(level) => {
            for column in level.columns() {
                if let Some(fault) = column_fault(&level, &column) {
                    report.add(&*file.file, object(), fault);
                }
            }
        }
        Err(error) => report.add(&*file.file, object(), FaultKind::LevelTable(error)),
    }
}

fn column_fault(level: &LevelView, view: &ColumnView) -> Option<FaultKind> {
    let class = view.column.class;
    let Some(component) = view.component.map(str::to_owned) else {
        return Some(FaultKind::ColumnClass { class });
    };
    let split = match &view.split {
        Ok(split) => split.as_ref()?,
        // What serialises itself may lie in a way of its own.
        Err(_) if is_reflected(level, class) => return None,
        Err(source) => {
            let source = source.clone();
            return Some(FaultKind::Column { component, source });
        }
    };
    let references = level.package.refs(level.export).len();
    let entities = level.table.ids.len();
    let outside = split.iter().flatten().find_map(|part| match part {
        Part::Reference(index) if *index as usize >= references => Some(("reference", *index, references)),
        Part::Entity(row) if *row as usize >= entities => Some(("entity", *row, entities)),
        _ => None,
    });
    outside.map(|(what, index, count)| FaultKind::ColumnReference {
        component,
        what,
        index,
        count,
    })
}

fn is_reflected(level: &LevelView, class: u32) -> bool {
    let schema = level.package.schema(class as usize);
    schema.is_some_and(|schema| Encoding::from_u8(schema.encoding) == Some(Encoding::Reflect))
}
