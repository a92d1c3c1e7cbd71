//! Payloads with right checksums that no encoder has written.

use super::forge::{BULK_CHECKSUM, bulk_at, put, reseal_tables};
use super::{made, walk};
use arbitrary::{Result, Unstructured};
use seamless_package::{Codec, Limits, NewExport, Package};
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// Where the summary has the length of the file and the size of the bulk data, and an entry of the bulk table its sizes
/// and codec: see `docs/FORMAT.md`.
const FILE_LEN: usize = 24;
const BULK_DATA_SIZE: usize = 228;
const STORED_SIZE: usize = 8;
const RAW_SIZE: usize = 16;
const CODEC: usize = 32;

const OBJECT: usize = 1;
const CODECS: [Codec; 3] = [Codec::None, Codec::Lz4, Codec::Zstd];

/// A package whose one object has one payload, of no bytes, at the end of the file.
static TEMPLATE: LazyLock<(Vec<u8>, Package)> = LazyLock::new(|| {
    let (mut writer, class) = made::writer();
    let export = NewExport {
        bulk: vec![Vec::new().into()],
        ..made::object("A", class, Codec::None)
    };
    writer.export(export).expect("the only object");
    let file = writer.finish().expect("a small package");
    let package = Package::verify_whole(&file, &Limits::default()).expect("as it was written");
    (file, package)
});

/// The payload as it is stored: the last of the fuzzer's bytes, behind what is said of it.
struct Payload<'a> {
    codec: Codec,
    raw_size: u64,
    stored: &'a [u8],
}

/// Unpacks the payload in `bytes`, out of a package and alone.
pub fn bulk_decode(bytes: &[u8]) {
    // Too few bytes are no fault.
    decode(&mut Unstructured::new(bytes)).ok();
}

fn decode(u: &mut Unstructured<'_>) -> Result<()> {
    let codec = *u.choose(&CODECS)?;
    let raw_size = match u.arbitrary()? {
        true => u.arbitrary::<u16>()?.into(),
        false => u64::from(u.arbitrary::<u32>()? >> 10),
    };
    let part = u.arbitrary()?..u.arbitrary()?;
    let external = u.ratio(1, 16)?;
    let stored = u.bytes(u.len())?;
    let payload = Payload {
        codec,
        raw_size,
        stored,
    };
    in_package(&payload);
    // Alone, with sizes that no table may have; a caller that makes up a size pays for it.
    let mut location = TEMPLATE.1.bulk_location(OBJECT, 0).expect("the only payload");
    location.codec = codec;
    location.raw_size = raw_size.min(1 << 20);
    location.range.end = location.range.start + stored.len() as u64;
    location.checksum = xxh3_64(stored);
    if external {
        location.origin = Some(("shared/trees.pkg", 1));
    }
    if codec != Codec::None {
        walk::sized(location.unpack(stored), location.raw_size);
    }
    assert!(location.unpack(&stored[..stored.len().saturating_sub(1)]).is_err() || stored.is_empty());
    if let Some(part) = location.part(part) {
        assert!(codec == Codec::None && location.range.start <= part.start && part.end <= location.range.end);
    }
    Ok(())
}

fn in_package(payload: &Payload<'_>) {
    let file = forged(payload);
    // An error says that such a payload cannot be.
    let Ok(package) = Package::parse(&file, &Limits::default()) else {
        return;
    };
    let location = package.bulk_location(OBJECT, 0).expect("the only payload");
    assert_eq!((location.codec, location.raw_size), (payload.codec, payload.raw_size));
    let alone = location.unpack(payload.stored);
    assert_eq!(package.bulk_data(OBJECT, 0, &file, 0), alone);
    assert_eq!(Package::verify_whole(&file, &Limits::default()).is_ok(), alone.is_ok());
    if payload.codec == Codec::None {
        assert_eq!(alone.as_deref(), Ok(payload.stored));
    }
    walk::sized(alone, payload.raw_size);
}

/// The template with another payload, and right checksums.
fn forged(payload: &Payload<'_>) -> Vec<u8> {
    let (template, package) = &*TEMPLATE;
    let mut file = [template, payload.stored].concat();
    let (len, size) = (file.len() as u64, payload.stored.len() as u64);
    put(&mut file, FILE_LEN, &len.to_le_bytes());
    put(&mut file, BULK_DATA_SIZE, &size.to_le_bytes());
    let entry = bulk_at(package.summary(), 0);
    put(&mut file, entry + STORED_SIZE, &size.to_le_bytes());
    put(&mut file, entry + RAW_SIZE, &payload.raw_size.to_le_bytes());
    put(&mut file, entry + BULK_CHECKSUM, &xxh3_64(payload.stored).to_le_bytes());
    put(&mut file, entry + CODEC, &[payload.codec as u8]);
    reseal_tables(&mut file, package.summary());
    file
}
