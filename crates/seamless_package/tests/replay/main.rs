//! The bytes that the fuzz targets have found worth keeping, on the stable toolchain: see `fuzz/README.md`.

mod bodies;

use std::path::Path;

const TARGETS: [(&str, fn(&[u8])); 4] = [
    ("tables", bodies::tables),
    ("export_data", bodies::export_data),
    ("bulk_decode", bodies::bulk_decode),
    ("network", bodies::network),
];

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
