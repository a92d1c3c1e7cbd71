//! What the list and the objects accept.

use super::*;

#[test]
fn an_object_has_a_place_and_a_place_an_object() {
    let map = full(3);
    assert_eq!((map.len(), map.is_empty()), (3, false));
    for package in 0..3 {
        assert_eq!(map.position(&path(package)), Some(package));
        assert_eq!(map.package(package), Some(&info(package)));
        for export in 0..EXPORTS {
            let (id, place) = (object(package, export), index(package, export));
            assert_eq!(map.index_of(id), Some(place));
            assert_eq!(map.object_at(place), Some(id));
        }
    }
    assert_eq!(map.index_of(object(3, 0)), None);
    assert_eq!(map.object_at(index(0, EXPORTS)), None);
    assert_eq!((map.package(3), map.position("no.pkg")), (None, None));
}

#[test]
fn objects_of_a_copy_have_the_place_of_their_original() {
    // The original was never opened: a seek-free copy brought two of its objects.
    let mut map = list(2);
    map.add_objects(0, [(7, object(0, 7)), (3, object(0, 3))]).unwrap();
    assert_eq!(map.index_of(object(0, 7)), full(2).index_of(object(0, 7)));
    // Another copy, then the original itself.
    map.add_objects(0, [(7, object(0, 7))]).unwrap();
    learn(&mut map, 0);
    assert_eq!(map.object_at(index(0, 3)), Some(object(0, 3)));
}

#[test]
fn bad_paths_are_refused() {
    for bad in ["", "a\0b.pkg"] {
        let error = list(0).add_package(PackageInfo::new(bad, 1, 1)).unwrap_err();
        assert_eq!(error, MapError::BadPath { path: bad.into() });
        has_a_mend(&error);
    }
}

#[test]
fn a_package_is_listed_once() {
    let mut map = list(3);
    let again = PackageInfo::new(path(1), 9, 9);
    let error = map.add_package(again).unwrap_err();
    assert_eq!(error, MapError::PackageTwice { path: path(1).into() });
    has_a_mend(&error);
    assert_eq!(map.package(1), Some(&info(1)));
    assert_eq!(map.len(), 3);
}

#[test]
fn the_map_keeps_its_limits() {
    let limits = MapLimits {
        packages: 2,
        objects: 3,
        path_bytes: 20,
        ..MapLimits::default()
    };
    let mut map = of([info(0), info(1)], limits.clone());
    assert_eq!(map.limits(), &limits);
    let packages = map.add_package(info(2)).unwrap_err();
    map.add_objects(0, (0..3).map(|export| (export, object(0, export))))
        .unwrap();
    let objects = map.add_objects(1, [(0, object(1, 0))]).unwrap_err();
    let long = "x".repeat(21);
    let path = map.add_package(PackageInfo::new(long, 1, 1)).unwrap_err();
    for (error, expected) in [
        (packages, ("packages", 2, 3)),
        (objects, ("objects", 3, 4)),
        (path, ("path_bytes", 20, 21)),
    ] {
        let (field, limit, found) = expected;
        assert_eq!(error, MapError::Limit { field, limit, found });
        has_a_mend(&error);
    }
    assert_eq!(map.index_of(object(1, 0)), None);
}

#[test]
fn objects_need_a_place_in_the_list() {
    let mut map = list(2);
    let package = map.add_objects(2, [(0, object(2, 0))]).unwrap_err();
    assert_eq!(package, MapError::NoSuchPackage { package: 2, count: 2 });
    let export = map.add_objects(1, [(EXPORTS, object(1, EXPORTS))]).unwrap_err();
    let expected = MapError::NoSuchExport {
        path: path(1).into(),
        index: EXPORTS,
        count: EXPORTS,
    };
    assert_eq!(export, expected);
    has_a_mend(&package);
    has_a_mend(&export);
}

#[test]
fn contradictions_are_refused() {
    let mut map = full(2);
    let id = object(0, 1);
    let moved = map.add_objects(1, [(5, id)]).unwrap_err();
    let expected = MapError::IndexTwice {
        index: index(1, 5),
        first: object(1, 5),
        second: id,
    };
    assert_eq!(moved, expected);
    has_a_mend(&moved);
    let mut map = list(2);
    map.add_objects(0, [(1, id)]).unwrap();
    let twice = map.add_objects(1, [(5, id)]).unwrap_err();
    let (first, second) = (index(0, 1), index(1, 5));
    assert_eq!(twice, MapError::ObjectTwice { id, first, second });
    has_a_mend(&twice);
    assert_eq!(map.object_at(second), None);
}
