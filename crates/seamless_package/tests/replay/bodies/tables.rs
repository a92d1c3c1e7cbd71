//! Opening: any bytes, and packages with changed tables under right checksums.

use super::forge::{EXPORT_FIELDS, change, export_field, header_sections, reseal_data};
use super::{made, walk};
use arbitrary::{Result, Unstructured};
use seamless_package::{Limits, Package};

/// Opens `bytes` as a package, and then the package that they describe.
pub fn tables(bytes: &[u8]) {
    open(bytes);
    // Too few bytes are no fault.
    changed(&mut Unstructured::new(bytes)).ok();
}

fn changed(u: &mut Unstructured<'_>) -> Result<()> {
    let mut file = made::package(u)?.file;
    let package = Package::verify_whole(&file, &Limits::default()).expect("as it was written");
    walk::tables(&package);
    let seal: bool = u.ratio(7, 8)?;
    for _ in 0..u.int_in_range(1..=2)? {
        let sections = header_sections(package.summary());
        let section = u.choose(&sections)?.clone();
        change(u, &mut file, section)?;
        if u.ratio(1, 4)? {
            let index = u.choose_index(package.exports().len())?;
            let field = *u.choose(&EXPORT_FIELDS)?;
            change(u, &mut file, export_field(package.summary(), index, field))?;
        }
    }
    if seal {
        reseal_data(&mut file, &package);
    }
    let cut = u.int_in_range(0..=40)?;
    if u.ratio(1, 8)? {
        file.truncate(file.len() - cut);
    }
    open(&file);
    Ok(())
}

/// With usual and with narrow limits. What the narrow ones let pass is the same package.
fn open(file: &[u8]) {
    let parsed = Package::parse(file, &Limits::default());
    if let Ok(package) = &parsed {
        walk::tables(package);
    }
    if let Ok(narrow) = Package::parse(file, &narrow()) {
        assert_eq!(parsed.as_ref().ok(), Some(&narrow));
    }
    Package::verify_whole(file, &narrow()).ok();
    if let Ok(whole) = Package::verify_whole(file, &Limits::default()) {
        assert_eq!(parsed.as_ref().ok(), Some(&whole));
        assert!(walk::data(&whole, file, 0));
    }
}

fn narrow() -> Limits {
    Limits {
        file_bytes: 4000,
        header_bytes: 1500,
        names: 10,
        name_bytes: 12,
        imports: 1,
        origins: 1,
        exports: 4,
        refs: 3,
        bulk: 2,
        version_lists: 1,
        version_entries: 2,
        raw_bytes_per_object: 1000,
        total_raw_bytes: 2000,
        depth: 2,
    }
}
