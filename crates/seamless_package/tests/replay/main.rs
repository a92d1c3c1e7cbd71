//! The bytes that the fuzz targets have found worth keeping, on the stable toolchain: see `fuzz/README.md`.

mod bodies;

use seamless_package::{FORMAT_VERSION, Limits, Package};
use std::path::Path;

const TARGETS: [(&str, fn(&[u8])); 4] = [
    ("tables", bodies::tables),
    ("export_data", bodies::export_data),
    ("bulk_decode", bodies::bulk_decode),
    ("network", bodies::network),
];

/// The golden packages of all versions have the same in them.
#[test]
fn older_files_are_made_as_they_were_written() {
    let golden = |version: u32, name: &str| {
        let name = format!("src/tests/golden/format-{version}{name}.pkg");
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
    };
    let kinds = (2..FORMAT_VERSION).flat_map(|version| [(version, ""), (version, "-compressed")]);
    for (version, codecs) in kinds {
        let trees = format!("{codecs}-trees");
        assert!(bodies::older(&golden(FORMAT_VERSION, &trees), version) == golden(version, &trees));
        // The other one copies from the trees of its own version: their content hash and the place of a payload are others.
        let [made, kept] = [
            bodies::older(&golden(FORMAT_VERSION, codecs), version),
            golden(version, codecs),
        ];
        assert_eq!(made.len(), kept.len());
        let [made, kept] = [made, kept].map(|file| Package::verify_whole(&file, &Limits::default()).unwrap());
        assert_eq!(made.imports(), kept.imports());
        assert_eq!(made.exports(), kept.exports());
    }
}

#[test]
fn what_the_fuzz_targets_kept_is_harmless() {
    for (target, body) in TARGETS {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus")).join(target);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for file in files {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let run = std::panic::catch_unwind(|| body(&bytes));
            assert!(run.is_ok(), "{} breaks a promise; the reason is above", path.display());
            count += 1;
        }
        assert!(
            count > 0,
            "{} is empty; fuzz/README.md says how to fill it",
            folder.display()
        );
    }
}
