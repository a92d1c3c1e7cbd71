//! Whatever is written is read back; whatever is read, nothing panics.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Debug, Clone)]
struct Object {
    name: String,
    class: usize,
    outer: Option<Index>,
    role: u8,
    refs: Vec<(bool, Index)>,
    data: Vec<u8>,
    bulk: Vec<Vec<u8>>,
    codec: Codec,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        (any::<u8>(), 0..600_usize).prop_map(|(byte, len)| std::vec![byte; len]),
    ]
}

fn codec() -> impl Strategy<Value = Codec> {
    proptest::sample::select(std::vec![Codec::None, Codec::Lz4, Codec::Zstd])
}

fn object() -> impl Strategy<Value = Object> {
    let head = ("[^\\x00]{0,12}", 0..3_usize, any::<Option<Index>>(), 1..8_u8);
    let tail = (vec(any::<(bool, Index)>(), 0..4), bytes(), vec(bytes(), 0..3), codec());
    (head, tail).prop_map(|((name, class, outer, role), (refs, data, bulk, codec))| Object {
        name,
        class,
        outer,
        role,
        refs,
        data,
        bulk,
        codec,
    })
}

impl Object {
    /// Some that have payloads are marked.
    fn bulk_use(&self) -> PayloadUse {
        PayloadUse::marked(self.bulk.len() == 2)
    }
}

/// What was written for an object.
struct Expected {
    index: usize,
    name: String,
    type_path: String,
    outer: ObjectRef,
    refs: Vec<ObjectRef>,
}

fn write(objects: &[Object], imports: usize) -> (Vec<u8>, Vec<Expected>) {
    let mut writer = PackageWriter::new("levels/any.pkg");
    let imports: Vec<ObjectRef> = (0..imports)
        .map(|at| {
            let object = format!("i{at}");
            let package = format!("shared/{}.pkg", at / 2);
            let import = writer.import(&package, &object, "game::Imported", Role::ALL);
            import.unwrap()
        })
        .collect();
    let mut added: Vec<ObjectRef> = Vec::new();
    let mut expected = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        let type_path = format!("game::T{}", object.class);
        let class = writer.class(&schema(&type_path)).unwrap();
        let name = format!("{at}{}", object.name);
        let pick = |from: &[ObjectRef], index: &Index| (!from.is_empty()).then(|| from[index.index(from.len())]);
        let outer = object.outer.and_then(|index| pick(&added, &index));
        let outer = outer.unwrap_or(ObjectRef::NONE);
        let refs = object.refs.iter();
        let refs = refs.filter_map(|(import, index)| pick(if *import { &imports } else { &added }, index));
        let refs: Vec<ObjectRef> = refs.collect();
        let new = NewExport {
            name: &name,
            class,
            outer,
            role: Role::from_bits(object.role).unwrap(),
            data: object.data.clone().into(),
            refs: refs.clone(),
            bulk: object.bulk.iter().cloned().map(NewBulk::from).collect(),
            bulk_use: object.bulk_use(),
            codec: object.codec,
        };
        let reference = writer.export(new).unwrap();
        added.push(reference);
        let RefTarget::Export(index) = reference.target() else {
            panic!("{reference} is no export");
        };
        expected.push(Expected {
            index,
            name,
            type_path,
            outer,
            refs,
        });
    }
    (writer.finish().unwrap(), expected)
}

/// Length of the type path of a schema record.
fn schema_path_len(record: &[u8]) -> usize {
    Cursor::new(record).u32().unwrap() as usize
}

/// Only the bytes of `range`, as a reader with offset and size gets them.
fn part(bytes: &[u8], range: std::ops::Range<u64>) -> (&[u8], u64) {
    (&bytes[range.start as usize..range.end as usize], range.start)
}

proptest! {
    #[test]
    fn what_is_written_is_read(objects in vec(object(), 0..8), imports in 0..5_usize) {
        let (bytes, expected) = write(&objects, imports);
        prop_assert_eq!(&write(&objects, imports).0, &bytes, "not deterministic");
        let package = verify(&bytes).unwrap();
        prop_assert_eq!(package.imports().len(), imports);
        let classes = package.schemas().len();
        prop_assert_eq!(package.exports().len(), objects.len() + classes);
        for (object, expected) in objects.iter().zip(&expected) {
            let index = expected.index;
            let export = package.exports().get(index).unwrap();
            prop_assert_eq!(package.find_name(&expected.name), Some(index));
            prop_assert_eq!(package.class_of(index), Some(&schema(&expected.type_path)));
            prop_assert_eq!(export.outer, expected.outer);
            prop_assert_eq!(export.role.bits(), object.role);
            prop_assert_eq!(export.bulk_use, object.bulk_use());
            prop_assert_eq!(package.refs(index).to_vec(), expected.refs.clone());
            let (tail, offset) = part(&bytes, package.export_range(index).unwrap());
            let data = package.export_data(index, tail, offset).unwrap();
            prop_assert_eq!(&*data, &object.data[..]);
            prop_assert_eq!(export.bulk_count as usize, object.bulk.len());
            for (payload, raw) in object.bulk.iter().enumerate() {
                let (tail, offset) = part(&bytes, package.bulk_location(index, payload).unwrap().range);
                let data = package.bulk_data(index, payload, tail, offset).unwrap();
                prop_assert_eq!(&*data, &raw[..]);
            }
        }
    }

    #[test]
    fn schemas_are_read_back(
        type_path in ".{1,20}", encoding: u8, immutable: bool, version: u32, hash: u64, description in ".{0,40}",
    ) {
        let schema = Schema { type_path, encoding, immutable, version, hash, description };
        let bytes = schema.encode();
        prop_assert_eq!(Schema::decode(&bytes, &Limits::default()), Ok(schema));
        for len in 0..bytes.len() {
            prop_assert!(Schema::decode(&bytes[..len], &Limits::default()).is_err());
        }
        let flags = 4 + schema_path_len(&bytes) + 1;
        for bit in 1..8 {
            let mut unknown = bytes.clone();
            unknown[flags] |= 1 << bit;
            prop_assert!(Schema::decode(&unknown, &Limits::default()).is_err());
        }
    }

    #[test]
    fn any_bytes_are_an_error(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(verify(&bytes).is_err());
        let _ = Schema::decode(&bytes, &Limits::default());
        // The same behind a magic, a version and a right checksum.
        let mut forged = golden();
        for (target, byte) in forged.iter_mut().skip(CHECKSUM_RANGE.end).zip(&bytes) {
            *target = *byte;
        }
        reseal_summary(&mut forged);
        // Unless these are the bytes that were there.
        prop_assert!(verify(&forged).is_err() || forged == golden());
    }

    #[test]
    fn any_compressed_bytes_are_an_error_or_have_the_right_size(
        noise in vec(any::<u8>(), 1..64), raw in 0..2000_u64,
    ) {
        let bytes = golden();
        let summary = summary_of(&bytes);
        let package = verify(&bytes).unwrap();
        let range = package.export_range(A).unwrap();
        let mut forged = bytes;
        let stored = &mut forged[range.start as usize..range.end as usize];
        for (target, byte) in stored.iter_mut().zip(noise.iter().cycle()) {
            *target = *byte;
        }
        let sum = xxh3_64(stored);
        put_export(&mut forged, A, "checksum", sum);
        put_export(&mut forged, A, "raw_size", raw);
        reseal_tables(&mut forged, &summary);
        if let Ok(package) = Package::parse(&forged, &Limits::default())
            && let Ok(data) = package.export_data(A, &forged, 0)
        {
            prop_assert_eq!(data.len() as u64, raw);
        }
    }

    #[test]
    fn numbers_and_texts_are_read_back(
        a: u8, b: u16, c: u32, d: u64, e: i32, f: i64, g: f32, h: f64, i: bool, text in ".{0,20}",
        blob in vec(any::<u8>(), 0..20),
    ) {
        let mut writer = ByteWriter::new();
        writer.u8(a);
        writer.u16(b);
        writer.u32(c);
        writer.u64(d);
        writer.i32(e);
        writer.i64(f);
        writer.f32(g);
        writer.f64(h);
        writer.bool(i);
        writer.str(&text);
        writer.byte_slice(&blob);
        writer.count(blob.len());
        writer.bytes(&blob);
        let len = writer.len();
        let bytes = writer.into_bytes();
        let read = |bytes: &[u8]| -> Result<(), CursorError> {
            let mut cursor = Cursor::new(bytes);
            assert_eq!((cursor.u8()?, cursor.u16()?, cursor.u32()?), (a, b, c));
            assert_eq!((cursor.u64()?, cursor.i32()?, cursor.i64()?), (d, e, f));
            assert_eq!(cursor.f32()?.to_bits(), g.to_bits());
            assert_eq!(cursor.f64()?.to_bits(), h.to_bits());
            assert_eq!(cursor.bool()?, i);
            assert_eq!(cursor.str()?, text);
            assert_eq!(cursor.byte_slice()?, &blob[..]);
            let count = cursor.count("bytes", 20, 1)?;
            assert_eq!(cursor.bytes(count)?, &blob[..]);
            cursor.finish()
        };
        prop_assert_eq!(read(&bytes), Ok(()));
        for short in 0..len {
            let ends = matches!(read(&bytes[..short]), Err(CursorError::End { .. }));
            prop_assert!(ends, "cut off at {}", short);
        }
        let longer = [&bytes[..], &[0]].concat();
        let trailing = CursorError::Trailing { offset: len, left: 1 };
        prop_assert_eq!(read(&longer), Err(trailing));
    }
}

#[test]
fn a_cursor_refuses_what_means_nothing() {
    assert!(matches!(
        Cursor::new(&[2]).bool(),
        Err(CursorError::Value { found: 2, .. })
    ));
    assert_eq!(
        Cursor::new(&[1, 0, 0, 0, 0xff]).str(),
        Err(CursorError::Utf8 { offset: 0 })
    );
    let many = [5, 0, 0, 0, 1, 2, 3];
    assert!(matches!(
        Cursor::new(&many).count("things", 4, 0),
        Err(CursorError::Count { found: 5, .. })
    ));
    assert!(matches!(
        Cursor::new(&many).count("things", 5, 1),
        Err(CursorError::End { need: 5, have: 3, .. })
    ));
    assert_eq!(Cursor::new(&many).count("things", 5, 0), Ok(5));
}
