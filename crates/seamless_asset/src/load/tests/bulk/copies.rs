//! Copies of objects whose payloads stayed in the file of the package that they were copied from.

use bevy_asset::UntypedHandle;
use seamless_package::{ForcedOrigin, NewBulk};

use super::{super::build::copy_object, *};

/// `festival.pkg` with copies of films of `c.pkg`, whose payloads stay there.
pub(super) fn festival(app: &App, original: &[u8], films: &[&str]) -> Vec<u8> {
    let mut writer = new_package(app, "festival.pkg");
    film_class(app, &mut writer);
    for film in films {
        copy_object(&mut writer, original, film, true);
    }
    writer.finish().unwrap()
}

#[test]
fn a_payload_that_stayed_in_another_package_is_read_there() {
    for codec in [Codec::None, Codec::Zstd] {
        let dir = Dir::default();
        let (mut app, log) = film_app(&dir, true, true);
        let original = cinema(&app, "c.pkg", codec, &TITLES);
        let copies = festival(&app, &original, &["Ran", "Jaws"]);
        let headers = [&copies, &original].map(|file| parsed(file).summary().header_len());
        let place = place(&original, "Jaws", 1);
        put(&dir, "world/festival.pkg", copies);
        put(&dir, "world/c.pkg", original);
        let request = BulkRequest::new("world/festival.pkg#c.pkg#Jaws", 1);
        let load = wait(&mut app, request.clone());
        assert_eq!(bytes(&load), frames(102, 200_000));
        let expected = [
            read("world/festival.pkg", 0..headers[0]),
            read("world/c.pkg", 0..headers[1]),
            read("world/c.pkg", place),
        ];
        assert_eq!(log.reads(), expected);
        let range = Some(10..300);
        let part = wait(&mut app, BulkRequest { range, ..request });
        assert_eq!(bytes(&part), &frames(102, 200_000)[10..300]);
    }
}

/// A request for a payload that is not in `festival.pkg`.
pub(super) fn jaws() -> BulkRequest {
    BulkRequest::new("festival.pkg#c.pkg#Jaws", 1)
}

#[track_caller]
fn is_stale(error: &LoadError) {
    let text = error.to_string();
    let LoadErrorKind::Package(error @ PackageError::StaleBulk { package, origin, .. }) = &error.kind else {
        panic!("{text}")
    };
    assert_eq!((package.as_str(), origin.as_str()), ("festival.pkg", "c.pkg"));
    assert_eq!(error.fault(), Fault::Stale);
    assert!(text.starts_with("festival.pkg#c.pkg#Jaws"), "{text}");
    assert!(text.contains("cook both again, together"), "{text}");
}

#[test]
fn a_stale_reference_into_another_package_is_told() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    let original = cinema(&app, "c.pkg", Codec::None, &TITLES);
    put(&dir, "festival.pkg", festival(&app, &original, &["Jaws"]));
    let error = failure(&mut app, jaws());
    assert!(
        matches!(&error.kind, LoadErrorKind::Dependency { package, .. } if package == "c.pkg"),
        "{error}"
    );
    // Written anew, with the payload elsewhere; without the object; with other bytes at the same place.
    let moved = cinema(&app, "c.pkg", Codec::None, &["Jaws", "Heat"]);
    let gone = cinema(&app, "c.pkg", Codec::None, &["Heat", "Ran"]);
    let changed = cinema(&app, "c.pkg", Codec::None, &["Heat", "Jaws", "Tron"]);
    for other in [moved, gone, changed] {
        put(&dir, "c.pkg", other);
        is_stale(&failure(&mut app, jaws()));
    }
    // The tables say what they said, and the bytes are others.
    let mut damaged = original.clone();
    damaged[place(&original, "Jaws", 1).start as usize] ^= 1;
    put(&dir, "c.pkg", damaged);
    is_stale(&failure(&mut app, jaws()));
    // Another package, and the payload is where it was.
    put(
        &dir,
        "c.pkg",
        cinema(&app, "c.pkg", Codec::None, &["Hers", "Ran", "Jaws"]),
    );
    let load = wait(&mut app, jaws());
    assert_eq!(bytes(&load), frames(102, 200_000));
    put(&dir, "c.pkg", cinema(&app, "x.pkg", Codec::None, &TITLES));
    let error = failure(&mut app, jaws());
    assert!(matches!(
        &error.kind,
        LoadErrorKind::Package(PackageError::WrongOrigin { .. })
    ));
}

/// A forged copy, whose payload would be the other package's tables.
#[test]
fn a_payload_never_lies_in_tables() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    let original = cinema(&app, "c.pkg", Codec::None, &TITLES);
    let package = parsed(&original);
    let index = package.find_name("Jaws").unwrap();
    let mut bulk = package.bulk(index).to_vec();
    bulk[1].offset = 0;
    let mut writer = new_package(&app, "festival.pkg");
    let class = film_class(&app, &mut writer);
    let from = ForcedOrigin {
        package: "c.pkg",
        content_hash: package.summary().content_hash,
        index: index as u32,
    };
    let copy = NewExport {
        bulk: bulk.into_iter().map(NewBulk::External).collect(),
        ..new_export("Jaws", class, vec![], vec![])
    };
    writer.forced(from, copy).unwrap();
    put(&dir, "festival.pkg", writer.finish().unwrap());
    put(&dir, "c.pkg", original);
    for range in [None, Some(0..100)] {
        is_stale(&failure(&mut app, BulkRequest { range, ..jaws() }));
    }
}

#[test]
fn copies_are_loaded_without_the_payloads_that_stayed_behind() {
    let dir = Dir::default();
    let (mut app, log) = film_app(&dir, true, true);
    let original = cinema(&app, "c.pkg", Codec::Lz4, &TITLES);
    put(&dir, "festival.pkg", festival(&app, &original, &["Ran"]));
    put(&dir, "c.pkg", original);
    let copy = ask(&mut app, ObjectRequest::new(["festival.pkg"]));
    finish(&mut app, &copy);
    assert_eq!(log.opened(), ["festival.pkg"]);
    assert_eq!(films(&app).len(), 1);
    let handle = |load: &crate::ObjectLoad| -> Vec<UntypedHandle> { load.result().unwrap().unwrap().to_vec() };
    let original = ask(&mut app, ObjectRequest::new(["c.pkg#Ran"]));
    finish(&mut app, &original);
    assert_eq!(handle(&copy), handle(&original));
    assert_eq!(films(&app).len(), 1);
}

#[test]
fn an_asset_that_needs_its_payloads_must_have_them_in_its_package() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, false, true);
    let original = cinema(&app, "c.pkg", Codec::Lz4, &TITLES);
    put(&dir, "festival.pkg", festival(&app, &original, &["Ran"]));
    put(&dir, "c.pkg", original);
    let load = ask(&mut app, ObjectRequest::new(["festival.pkg"]));
    finish(&mut app, &load);
    let error = load.result().unwrap().unwrap_err();
    assert!(
        matches!(&error.kind, LoadErrorKind::ExternalBulk { payload: 0, origin, .. } if origin == "c.pkg"),
        "{error}"
    );
    for part in ["festival.pkg#Ran", Film::type_path(), "`c.pkg`", "OnDemand"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}
