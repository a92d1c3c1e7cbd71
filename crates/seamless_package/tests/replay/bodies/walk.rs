//! What is promised of every package that was opened, whoever wrote it.

use seamless_package::{ObjectRef, Package, PackageError, RefTarget};
use std::borrow::Cow;

/// The tables contradict nothing, and all that can be asked has an answer.
pub fn tables(package: &Package) {
    let summary = package.summary();
    assert_eq!(package.exports().len(), summary.export_count as usize);
    assert!(!package.name().is_empty());
    for (index, export) in package.exports().iter().enumerate() {
        assert_eq!(package.find(export.object_id), Some(index));
        assert!(package.export_name(index).is_some_and(|name| !name.is_empty()));
        assert_eq!(package.schema(index).is_some(), export.is_class());
        assert_eq!(package.class_of(index).is_some(), !export.is_class());
        assert_eq!(package.origin_of(index).is_some(), export.is_forced());
        assert!(
            package
                .export_range(index)
                .is_some_and(|range| range.end <= summary.file_len())
        );
        assert!(before(package, export.outer, index) && before(package, export.class, index));
        assert_eq!(package.refs(index).len(), export.ref_count as usize);
        assert!(
            package
                .refs(index)
                .iter()
                .all(|target| !target.is_none() && before(package, target, index))
        );
        payloads(package, index);
    }
    for (index, import) in package.imports().iter().enumerate() {
        assert_eq!(package.find_import(import.object_id), Some(index));
        assert!(package.import_name(index).is_some() && package.import_type(index).is_some());
        assert_ne!(package.import_package(index), Some(package.name()));
    }
    let satisfied = |index| package.forced_for_import(index).is_some();
    assert_eq!(package.is_seek_free(), (0..package.imports().len()).all(satisfied));
    for list in package.version_lists() {
        assert_eq!(list.entries().count(), list.number());
        assert_eq!(package.versions(list.id()).map(|found| found.hash()), Some(list.hash()));
    }
}

/// A reference of export `index` is to nothing, to an import, or to what comes before.
fn before(package: &Package, target: ObjectRef, index: usize) -> bool {
    match target.target() {
        RefTarget::None => true,
        RefTarget::Export(target) => target < index,
        RefTarget::Import(target) => target < package.imports().len(),
    }
}

fn payloads(package: &Package, index: usize) {
    for (payload, bulk) in package.bulk(index).iter().enumerate() {
        let location = package.bulk_location(index, payload).expect("is in the table");
        assert_eq!(location.origin.is_some(), bulk.origin != 0);
        assert_eq!(location.range, bulk.offset..bulk.offset + bulk.stored_size);
        if location.origin.is_none() {
            assert!(location.range.end <= package.summary().file_len());
            package
                .check_origin(index, payload, package)
                .expect("lies in its own file");
        } else {
            assert!(package.check_origin(index, payload, package).is_err());
        }
    }
}

/// All data out of a part of the file: each is an error, or as long as it says.
pub fn data(package: &Package, tail: &[u8], tail_offset: u64) -> bool {
    let mut whole = true;
    for (index, export) in package.exports().iter().enumerate() {
        whole &= sized(package.export_data(index, tail, tail_offset), export.raw_size);
        for (payload, bulk) in package.bulk(index).iter().enumerate() {
            let unpacked = package.bulk_data(index, payload, tail, tail_offset);
            whole &= sized(unpacked, bulk.raw_size) || bulk.origin != 0;
        }
    }
    whole
}

/// Whether there is data; then it has the size that was promised.
pub fn sized(data: Result<Cow<'_, [u8]>, PackageError>, raw_size: u64) -> bool {
    match data {
        Ok(data) => {
            assert_eq!(data.len() as u64, raw_size);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
