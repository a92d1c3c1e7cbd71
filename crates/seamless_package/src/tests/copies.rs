//! Any copies of any package's objects, with any payloads inside or outside, and any version lists: written, then read.

use super::*;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// An object of a shared package.
#[derive(Debug, Clone)]
struct Shared {
    data: Vec<u8>,
    bulk: Vec<Vec<u8>>,
    codec: Codec,
}

/// A copy of one: which, whether each payload stays outside, and what it refers to.
#[derive(Debug, Clone)]
struct Copied {
    of: Index,
    outside: u8,
    part: bool,
    refs: Vec<(bool, Index)>,
    import: bool,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..80),
        (any::<u8>(), 0..600_usize).prop_map(|(byte, len)| std::vec![byte; len]),
    ]
}

fn shared() -> impl Strategy<Value = Shared> {
    let codec = select(std::vec![Codec::None, Codec::Lz4, Codec::Zstd]);
    (bytes(), vec(bytes(), 0..4), codec).prop_map(|(data, bulk, codec)| Shared { data, bulk, codec })
}

fn copied() -> impl Strategy<Value = Copied> {
    let refs = vec(any::<(bool, Index)>(), 0..4);
    (any::<Index>(), any::<u8>(), any::<bool>(), refs, any::<bool>()).prop_map(|(of, outside, part, refs, import)| {
        Copied {
            of,
            outside,
            part,
            refs,
            import,
        }
    })
}

fn version_lists() -> impl Strategy<Value = Vec<VersionList>> {
    let entries = btree_set("[^\\x00]{1,6}", 0..5).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    let entries = entries.prop_shuffle();
    let list = ("[^\\x00]{1,8}", entries);
    proptest::collection::btree_map(any::<[u8; 16]>(), list, 0..4).prop_map(|lists| {
        let lists = lists.into_iter();
        let lists = lists.map(|(id, (label, entries))| VersionList::new(VersionId(id), label, entries).unwrap());
        lists.collect()
    })
}

fn object_name(index: usize) -> String {
    format!("object {index}")
}

/// The shared package `number`, with all its objects.
fn write_shared(number: usize, objects: &[Shared]) -> Vec<u8> {
    let mut writer = PackageWriter::new(&format!("shared/{number}.pkg"));
    let class = writer.class(&schema("game::Tree")).unwrap();
    for (index, object) in objects.iter().enumerate() {
        let name = object_name(index);
        let new = NewExport {
            bulk: object.bulk.iter().cloned().map(NewBulk::from).collect(),
            codec: object.codec,
            ..plain(&name, class, &object.data)
        };
        writer.export(new).unwrap();
    }
    writer.finish().unwrap()
}

/// A copy that was written: its shared package, its number there, its outer and its references.
type Written = (usize, usize, ObjectRef, Vec<ObjectRef>);

/// A package with an own object, and copies of objects of the shared ones.
fn write(
    shared: &[Vec<Shared>],
    files: &[Vec<u8>],
    copies: &[Copied],
    lists: &[VersionList],
) -> (Vec<u8>, Vec<Written>) {
    let mut writer = PackageWriter::new("levels/any.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    let rock = writer.import("rocks.pkg", "Rock", "game::Rock", Role::ALL).unwrap();
    writer.export(plain("Own", class, b"own")).unwrap();
    let opened: Vec<Package> = files.iter().map(|file| verify(file).unwrap()).collect();
    let mut written: Vec<Written> = Vec::new();
    for copy in copies {
        let all: Vec<(usize, usize)> = (0..shared.len())
            .flat_map(|package| (0..shared[package].len()).map(move |object| (package, object)))
            .collect();
        let Some(&(package, object)) = all.get(copy.of.index(all.len().max(1))) else {
            continue;
        };
        if written.iter().any(|known| (known.0, known.1) == (package, object)) {
            continue;
        }
        let original = object + 1;
        let payloads = shared[package][object].bulk.iter().enumerate();
        let bulk = payloads.map(|(number, raw)| match copy.outside >> number & 1 {
            1 => NewBulk::External(opened[package].bulk(original).get(number).unwrap()),
            _ => raw.clone().into(),
        });
        let forced = |index: usize| ObjectRef::export(index + 2).unwrap();
        let home = written.iter().position(|known| copy.part && known.0 == package);
        let outer = home.map_or(ObjectRef::NONE, forced);
        let refs = copy.refs.iter().map(|(is_import, index)| match written.len() {
            0 => rock,
            _ if *is_import => rock,
            len => forced(index.index(len)),
        });
        let refs: Vec<ObjectRef> = refs.collect();
        let from = ForcedOrigin {
            package: opened[package].name(),
            content_hash: opened[package].summary().content_hash,
            index: original as u32,
        };
        let name = object_name(object);
        if copy.import {
            writer.import(from.package, &name, "game::Tree", Role::CLIENT).unwrap();
        }
        let new = NewExport {
            outer,
            refs: refs.clone(),
            bulk: bulk.collect(),
            codec: shared[package][object].codec,
            ..plain(&name, class, &shared[package][object].data)
        };
        writer.forced(from, new).unwrap();
        written.push((package, object, outer, refs));
    }
    writer.versions(lists).unwrap();
    (writer.finish().unwrap(), written)
}

/// All payloads of a copy, each read alone out of the file that it lies in.
fn payloads(package: &Package, index: usize, own: &[u8], other: &[u8]) -> Vec<Vec<u8>> {
    let opened = verify(other).unwrap();
    let read = |payload| {
        package.check_origin(index, payload, &opened).unwrap();
        let location = package.bulk_location(index, payload).unwrap();
        let file = match location.origin {
            None => own,
            Some((path, hash)) => {
                assert_eq!((path, hash), (opened.name(), opened.summary().content_hash));
                other
            }
        };
        let stored = &file[location.range.start as usize..location.range.end as usize];
        location.unpack(stored).unwrap().into_owned()
    };
    (0..package.bulk(index).len()).map(read).collect()
}

proptest! {
    #[test]
    fn copies_are_read_back(
        shared in vec(vec(shared(), 0..4), 1..4), copies in vec(copied(), 0..6), lists in version_lists(),
    ) {
        let files: Vec<Vec<u8>> = shared.iter().enumerate().map(|(at, objects)| write_shared(at, objects)).collect();
        let (bytes, written) = write(&shared, &files, &copies, &lists);
        prop_assert_eq!(&write(&shared, &files, &copies, &lists).0, &bytes, "not deterministic");
        let package = verify(&bytes).unwrap();
        prop_assert_eq!(package.exports().len(), 2 + written.len());
        for (at, (home, object, outer, refs)) in written.iter().enumerate() {
            let index = at + 2;
            let original = &shared[*home][*object];
            let origin = package.origin_of(index).unwrap();
            let other = verify(&files[*home]).unwrap();
            prop_assert_eq!(origin.package, other.name());
            prop_assert_eq!(origin.content_hash, other.summary().content_hash);
            prop_assert_eq!(origin.index as usize, object + 1);
            prop_assert_eq!(package.exports().get(index).unwrap().object_id, other.exports().get(object + 1).unwrap().object_id);
            prop_assert_eq!(package.exports().get(index).unwrap().outer, *outer);
            prop_assert_eq!(package.refs(index).to_vec(), refs.clone());
            prop_assert_eq!(&*package.export_data(index, &bytes, 0).unwrap(), &original.data[..]);
            prop_assert_eq!(&payloads(&package, index, &bytes, &files[*home]), &original.bulk);
        }
        for import in 0..package.imports().len() {
            let id = package.imports().get(import).unwrap().object_id;
            prop_assert_eq!(package.forced_for_import(import), package.find(id));
        }
        prop_assert!(!package.is_seek_free(), "there is no copy of the rock");
        prop_assert_eq!(package.version_lists().len(), lists.len());
        for list in &lists {
            let stored = package.versions(list.id()).unwrap();
            prop_assert_eq!(stored.label(), list.label());
            prop_assert!(stored.entries().eq(list.entries()));
            prop_assert_eq!(pending(Some(stored), list), Ok(list.number()..list.number()));
        }
    }

    #[test]
    fn what_is_pending_is_the_rest_or_the_first_difference(
        stored in vec(0..3_u8, 0..6), build in vec(0..3_u8, 0..6),
    ) {
        // Names are numbered, so that each is there once and lists still agree often.
        let names = |list: &[u8]| {
            let names = list.iter().enumerate();
            names.map(|(at, name)| format!("{name} at {at}")).collect::<Vec<_>>()
        };
        let (old, new) = (names(&stored), names(&build));
        let list = |names: &[String]| VersionList::new(VersionId::GAME, "game", names.to_vec()).unwrap();
        let mut writer = PackageWriter::new("a.pkg");
        writer.versions(&[list(&old)]).unwrap();
        let package = verify(&writer.finish().unwrap()).unwrap();
        let found = pending(package.versions(VersionId::GAME), &list(&new));
        let differs = old.iter().zip(&new).position(|(a, b)| a != b);
        match (differs, found) {
            (Some(at), Err(VersionMismatch::Diverged { index, package, build, .. })) => {
                prop_assert_eq!((index, &package, &build), (at, &old[at], &new[at]));
            }
            (None, Ok(range)) => prop_assert_eq!(range, old.len()..new.len()),
            (None, Err(VersionMismatch::Newer { first, .. })) => prop_assert_eq!(&first, &old[new.len()]),
            (_, found) => prop_assert!(false, "{:?}", found),
        }
    }
}
