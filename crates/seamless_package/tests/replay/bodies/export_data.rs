//! Data of exports and their payloads, under a right header: as it was written, and changed behind its back.

use super::forge::{change, exports_section, number, reseal_data};
use super::made::{self, Made};
use super::walk;
use arbitrary::{Result, Unstructured};
use seamless_package::{Limits, NewBulk, NewData, Package};
use std::borrow::Cow;

/// Older files say nothing of it.
const FIRST_WITH_MARKS: u32 = 6;

/// Makes the package that `bytes` describe, and takes its data out of a changed file.
pub fn export_data(bytes: &[u8]) {
    // Too few bytes are no fault.
    changed(&mut Unstructured::new(bytes)).ok();
}

fn changed(u: &mut Unstructured<'_>) -> Result<()> {
    let made = made::package(u)?;
    let package = Package::verify_whole(&made.file, &Limits::default()).expect("as it was written");
    reads_back(&made, &package);
    let mut file = made.file;
    let header = package.summary().header_len() as usize;
    let end = file.len();
    change(u, &mut file, header..end)?;
    let tail = part(u, &file, header)?;
    walk::data(&package, tail, header as u64);
    walk::data(&package, tail, number(u)?);
    // The same with right checksums, and maybe with other sizes and codecs.
    if u.ratio(1, 2)? {
        change(u, &mut file, exports_section(package.summary()))?;
    }
    reseal_data(&mut file, &package);
    if let Ok(package) = Package::parse(&file, &Limits::default()) {
        let all = walk::data(&package, &file, 0);
        let whole = Package::verify_whole(&file, &Limits::default());
        assert_eq!(whole.is_ok(), all);
        walk::data(&package, part(u, &file, header)?, header as u64);
    }
    Ok(())
}

/// What a read brought of the file's bytes from `start` on.
fn part<'a>(u: &mut Unstructured<'_>, file: &'a [u8], start: usize) -> Result<&'a [u8]> {
    let end = match u.ratio(1, 4)? {
        true => u.int_in_range(start..=file.len())?,
        false => file.len(),
    };
    Ok(&file[start..end])
}

fn raw(data: &NewData) -> Cow<'_, [u8]> {
    match data {
        NewData::Raw(raw) => Cow::Borrowed(raw),
        NewData::Packed(packed) => packed.unpack().expect("as it was packed"),
    }
}

fn reads_back(made: &Made, package: &Package) {
    for object in &made.objects {
        let data = package.export_data(object.index, &made.file, 0);
        let export = package.exports().get(object.index).expect("as it was written");
        let may_mark = package.summary().format_version >= FIRST_WITH_MARKS;
        assert_eq!(export.bulk_use.is_marked(), object.bulk_use.is_marked() && may_mark);
        assert_eq!(data.expect("as it was written"), raw(&object.data));
        for (payload, bulk) in object.bulk.iter().enumerate() {
            let found = package.bulk_data(object.index, payload, &made.file, 0);
            match bulk {
                NewBulk::Inline(data) => assert_eq!(found.expect("as it was written"), raw(data)),
                NewBulk::External(_) => assert!(found.is_err(), "lies in another file"),
            }
        }
    }
}
