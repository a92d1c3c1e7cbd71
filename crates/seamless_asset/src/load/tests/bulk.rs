//! Bulk payloads, alone and with their objects: what is read for them, and what may be wrong with them.

mod copies;
mod files;
mod inserted;
mod marks;

use core::ops::Range;

use bevy_reflect::TypePath;
use seamless_package::{Fault, Limits, Package, PackageError, PayloadUse, SUMMARY_SIZE};

use copies::{festival, jaws};

use super::{
    counting::{FileRead, ReadLog, counting_app},
    objects::{ask, finish},
    *,
};
use crate::{
    BlockingLoads, BulkLoad, BulkRequest, Linker, LinkersResource, LoadError, ObjectRequest,
    codec::{AssetCodec, BulkUse, DecodeContext, EncodeError, EncodedAsset, ErasedAssetCodec},
};

/// An asset with a title, and with frames in its payloads.
#[derive(Asset, TypePath, Clone, Debug, PartialEq)]
pub(super) struct Film {
    pub title: String,
    pub payloads: Vec<Vec<u8>>,
}

/// Decodes films with all their frames, or without any.
pub(super) struct FilmCodec<const ON_DEMAND: bool>;

impl<const ON_DEMAND: bool> AssetCodec for FilmCodec<ON_DEMAND> {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = if ON_DEMAND { BulkUse::OnDemand } else { BulkUse::Load };

    fn encode(film: &Film, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        Ok(EncodedAsset {
            data: film.title.clone().into_bytes(),
            bulk: film.payloads.clone(),
        })
    }

    fn decode(data: &[u8], payloads: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Film, DecodeError> {
        let title = String::from_utf8_lossy(data).into_owned();
        Ok(Film { title, payloads })
    }
}

fn film_app(dir: &Dir, on_demand: bool, can_seek: bool) -> (App, ReadLog) {
    match on_demand {
        true => app_with::<FilmCodec<true>>(dir, can_seek),
        false => app_with::<FilmCodec<false>>(dir, can_seek),
    }
}

/// An app with this codec of films.
fn app_with<C: AssetCodec<Asset = Film>>(dir: &Dir, can_seek: bool) -> (App, ReadLog) {
    counting_app(dir, can_seek, |app| {
        app.init_asset::<Film>().add_asset_codec::<C>();
    })
}

/// Bytes that get smaller, and tell their position.
pub(super) fn frames(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 64) as u8 ^ seed).collect()
}

/// The package of a cinema: each film has two payloads.
fn cinema(app: &App, name: &str, codec: Codec, titles: &[&str]) -> Vec<u8> {
    marked_cinema(app, name, codec, titles, &[])
}

/// The same, with some of the films marked.
fn marked_cinema(app: &App, name: &str, codec: Codec, titles: &[&str], marked: &[&str]) -> Vec<u8> {
    let mut writer = new_package(app, name);
    let class = film_class(app, &mut writer);
    for (seed, title) in (0..).zip(titles) {
        let film = NewExport {
            bulk: vec![frames(seed, 5_000).into(), frames(seed + 100, 200_000).into()],
            bulk_use: PayloadUse::marked(marked.contains(title)),
            codec,
            ..new_export(title, class, title.as_bytes().to_vec(), vec![])
        };
        writer.export(film).unwrap();
    }
    writer.finish().unwrap()
}

pub(super) fn film_class(app: &App, writer: &mut PackageWriter) -> seamless_package::ClassIndex {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    writer
        .class(&ErasedAssetCodec::new::<FilmCodec<true>>().schema(&registry))
        .unwrap()
}

const TITLES: [&str; 3] = ["Heat", "Ran", "Jaws"];

fn parsed(bytes: &[u8]) -> Package {
    Package::parse(bytes, &Limits::default()).unwrap()
}

/// Where in the file a payload is.
fn place(bytes: &[u8], film: &str, payload: usize) -> Range<u64> {
    let package = parsed(bytes);
    let index = package.find_name(film).unwrap();
    package.bulk_location(index, payload).unwrap().range
}

fn start(app: &mut App, request: BulkRequest) -> BulkLoad {
    app.world_mut().resource_mut::<Streamer>().load_bulk(request)
}

fn wait(app: &mut App, request: BulkRequest) -> BulkLoad {
    let load = start(app, request);
    run_until(app, |_| load.is_finished());
    load
}

#[track_caller]
fn bytes(load: &BulkLoad) -> &[u8] {
    load.result().expect("it is finished").expect("it is good")
}

/// What went wrong with a request.
fn failure(app: &mut App, request: BulkRequest) -> std::sync::Arc<LoadError> {
    let load = wait(app, request);
    load.result().expect("it is finished").expect_err("it failed").clone()
}

fn read(path: &str, range: Range<u64>) -> FileRead {
    FileRead {
        path: path.into(),
        offset: range.start,
        length: range.end - range.start,
    }
}

#[test]
fn only_the_header_and_the_payload_are_read() {
    for can_seek in [true, false] {
        let dir = Dir::default();
        let (mut app, log) = film_app(&dir, true, can_seek);
        let file = cinema(&app, "c.pkg", Codec::Lz4, &TITLES);
        let (header, place) = (parsed(&file).summary().header_len(), place(&file, "Ran", 1));
        put(&dir, "c.pkg", file);
        let load = wait(&mut app, BulkRequest::new("c.pkg#Ran", 1));
        assert_eq!(bytes(&load), frames(101, 200_000));
        if can_seek {
            assert_eq!(log.reads(), [read("c.pkg", 0..header), read("c.pkg", place)]);
        } else {
            assert_eq!(log.reads(), [read("c.pkg", 0..place.end)]);
        }
        assert_eq!(log.opened(), ["c.pkg"]);
        assert_eq!(log.seeks(), usize::from(can_seek));
        assert_eq!(log.seeks_back(), []);
        let stats = app.world().resource::<StreamingStats>();
        assert_eq!((stats.bytes_read, stats.bytes_wasted), (log.bytes(), 0));
        assert!(app.world().resource::<Assets<Film>>().is_empty());
        assert!(app.world().resource::<LiveObjectsResource>().0.is_empty());
        assert!(app.world().resource::<LinkersResource>().0.is_empty());
    }
}

#[test]
fn the_tables_of_an_open_package_are_not_read_again() {
    let dir = Dir::default();
    let (mut app, log) = film_app(&dir, true, true);
    let file = cinema(&app, "world/c.pkg", Codec::None, &TITLES);
    let place = place(&file, "Heat", 0);
    let package = parsed(&file);
    let codecs = app.world().resource::<Codecs>().clone();
    let linker = Linker::open(AssetPath::from("world/c.pkg"), package, &codecs).unwrap();
    let _open = app.world().resource::<LinkersResource>().0.add(linker);
    put(&dir, "world/c.pkg", file);
    let load = wait(&mut app, BulkRequest::new("c#Heat", 0));
    assert_eq!(bytes(&load), frames(0, 5_000));
    let summary = 0..SUMMARY_SIZE as u64;
    assert_eq!(log.reads(), [read("world/c.pkg", summary), read("world/c.pkg", place)]);
    // The file was written over: it is found out, and the new one is read.
    let changed = cinema(&app, "world/c.pkg", Codec::None, &["Alien", "Heat"]);
    put(&dir, "world/c.pkg", changed);
    let load = wait(&mut app, BulkRequest::new("world/c.pkg#Heat", 0));
    assert_eq!(bytes(&load), frames(1, 5_000));
}

#[test]
fn ranges_of_payloads_in_every_codec() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let dir = Dir::default();
        let (mut app, log) = film_app(&dir, true, true);
        let file = cinema(&app, "c.pkg", codec, &TITLES);
        let stored = parsed(&file);
        assert_eq!(
            stored.bulk(stored.find_name("Jaws").unwrap()).get(1).unwrap().codec,
            codec
        );
        let (header, place) = (stored.summary().header_len(), place(&file, "Jaws", 1));
        put(&dir, "c.pkg", file);
        let whole = frames(102, 200_000);
        for range in [
            0..200_000,
            0..1,
            1_000..70_000,
            199_999..200_000,
            7..7,
            200_000..200_000,
        ] {
            log.clear();
            let request = BulkRequest {
                range: Some(range.clone()),
                ..BulkRequest::new("c.pkg#Jaws", 1)
            };
            let load = wait(&mut app, request);
            let expected = &whole[range.start as usize..range.end as usize];
            assert!(bytes(&load) == expected, "{codec:?} {range:?}");
            let is_part = codec == Codec::None && range != (0..200_000);
            let part = place.start + range.start..place.start + range.end;
            let read_of = if is_part { part } else { place.clone() };
            let mut expected = vec![read("c.pkg", 0..header), read("c.pkg", read_of)];
            expected.retain(|read| read.length > 0);
            assert_eq!(log.reads(), expected, "{codec:?} {range:?}");
        }
    }
}

fn between(start: u64, end: u64) -> Range<u64> {
    start..end
}

#[test]
fn wrong_requests_name_the_object_and_the_mend() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    put(&dir, "c.pkg", cinema(&app, "c.pkg", Codec::Zstd, &TITLES));
    type Check = fn(&LoadErrorKind) -> bool;
    let cases: [(&str, usize, Option<Range<u64>>, &str, Check); 9] = [
        ("c.pkg#Ran", 2, None, "has 2 bulk payloads", |kind| {
            matches!(kind, LoadErrorKind::NoSuchPayload { payload: 2, count: 2 })
        }),
        ("c.pkg#Tron", 0, None, "c.pkg#Tron: there is no such object", |kind| {
            matches!(kind, LoadErrorKind::NoSuchObject)
        }),
        ("c.pkg#d.pkg#Ran", 0, None, "no such object", |kind| {
            matches!(kind, LoadErrorKind::NoSuchObject)
        }),
        ("c.pkg#c.pkg#Ran", 0, None, "no such object", |kind| {
            matches!(kind, LoadErrorKind::NoSuchObject)
        }),
        ("c.pkg", 0, None, "write `file.pkg#Object`", |kind| {
            matches!(kind, LoadErrorKind::NoObjectNamed)
        }),
        ("d.pkg#Ran", 0, None, "d.pkg: cannot be read", |kind| {
            matches!(kind, LoadErrorKind::Io(_))
        }),
        ("c.pkg#Ran", 0, Some(0..5_001), "which has 5000 bytes", |kind| {
            matches!(kind, LoadErrorKind::BulkRange { size: 5_000, .. })
        }),
        ("c.pkg#Ran", 0, Some(between(9, 8)), "bytes 9..8 are no part", |kind| {
            matches!(kind, LoadErrorKind::BulkRange { payload: 0, .. })
        }),
        ("c.pkg#Ran", 0, Some(5_001..u64::MAX), "within those", |kind| {
            matches!(kind, LoadErrorKind::BulkRange { .. })
        }),
    ];
    let count = cases.len() as u64;
    for (path, payload, range, text, is_right) in cases {
        let request = BulkRequest {
            range,
            ..BulkRequest::new(path, payload)
        };
        let error = failure(&mut app, request);
        assert!(is_right(&error.kind), "{path}: {error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    let failed = app.world().resource::<StreamingStats>().failed;
    assert_eq!(failed, count - 1, "the one without an object was no load");
}

#[test]
fn payloads_beyond_the_limits_are_refused_before_they_are_read() {
    let dir = Dir::default();
    let plugin = SeamlessAssetPlugin {
        limits: Limits {
            raw_bytes_per_object: 100_000,
            ..Limits::default()
        },
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(&dir, plugin, |_| {});
    let file = cinema(&app, "c.pkg", Codec::Zstd, &TITLES);
    let header = parsed(&file).summary().header_len();
    put(&dir, "c.pkg", file);
    let error = failure(&mut app, BulkRequest::new("c.pkg#Ran", 1));
    let LoadErrorKind::Package(error) = &error.kind else {
        panic!("{error}")
    };
    assert_eq!(error.fault(), Fault::Limits, "{error}");
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, header);
}

#[test]
fn damaged_payloads() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    for codec in [Codec::None, Codec::Lz4] {
        let good = cinema(&app, "c.pkg", codec, &TITLES);
        let place = place(&good, "Jaws", 1);
        let mut damaged = good.clone();
        damaged[place.end as usize - 1] ^= 1;
        put(&dir, "c.pkg", damaged);
        let error = failure(&mut app, BulkRequest::new("c.pkg#Jaws", 1)).to_string();
        assert!(error.starts_with("c.pkg#Jaws") && error.contains("damaged"), "{error}");
        assert!(error.contains("bulk payload 1 of export"), "{error}");
        let other = wait(&mut app, BulkRequest::new("c.pkg#Jaws", 0));
        assert_eq!(bytes(&other), frames(2, 5_000));
        put(&dir, "c.pkg", good[..place.end as usize - 1].to_vec());
        for range in [None, Some(0..200_000), Some(199_990..200_000)] {
            let request = BulkRequest {
                range,
                ..BulkRequest::new("c.pkg#Jaws", 1)
            };
            let error = failure(&mut app, request);
            assert!(
                matches!(&error.kind, LoadErrorKind::Package(PackageError::Truncated { need, have, .. })
                    if (*need, *have) == (place.end, place.end - 1)),
                "{error}"
            );
        }
        // Too short to reach it.
        put(&dir, "c.pkg", good[..place.start as usize - 10].to_vec());
        let error = failure(&mut app, BulkRequest::new("c.pkg#Jaws", 1));
        assert!(matches!(
            &error.kind,
            LoadErrorKind::Package(PackageError::Truncated { .. })
        ));
    }
}

fn films(app: &App) -> Vec<Film> {
    let films = app.world().resource::<Assets<Film>>();
    let mut films: Vec<_> = films.iter().map(|(_, film)| film.clone()).collect();
    films.sort_by(|a, b| a.title.cmp(&b.title));
    films
}

#[test]
fn a_codec_gets_the_payloads_that_it_asks_for() {
    for on_demand in [true, false] {
        let dir = Dir::default();
        let (mut app, log) = film_app(&dir, on_demand, true);
        let file = cinema(&app, "c.pkg", Codec::Lz4, &TITLES);
        let length = file.len() as u64;
        let bulk = parsed(&file).summary().bulk_offset;
        put(&dir, "c.pkg", file);
        let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
        finish(&mut app, &load);
        let payloads = |seed| match on_demand {
            true => vec![],
            false => vec![frames(seed, 5_000), frames(seed + 100, 200_000)],
        };
        let film = |title: &str, seed| Film {
            title: title.into(),
            payloads: payloads(seed),
        };
        assert_eq!(films(&app), [film("Heat", 0), film("Jaws", 2), film("Ran", 1)]);
        // One forward read, and no payload in vain.
        assert_eq!(log.reads(), [read("c.pkg", 0..if on_demand { bulk } else { length })]);
        assert_eq!(log.seeks(), 0);
        let codec = app.world().resource::<Codecs>().read();
        let codec = codec.asset(core::any::TypeId::of::<Film>()).unwrap();
        assert_eq!(codec.bulk == BulkUse::OnDemand, on_demand, "the cooker knows it too");
    }
}

#[test]
fn what_nobody_waits_for_is_not_loaded() {
    let dir = Dir::default();
    let (mut app, log) = film_app(&dir, true, true);
    put(&dir, "c.pkg", cinema(&app, "c.pkg", Codec::None, &TITLES));
    drop(start(&mut app, BulkRequest::new("c.pkg#Ran", 1)));
    app.update();
    assert_eq!(log.opened().len(), 0);
    // Nothing may start, so this one waits.
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 0;
    let waiting = [(); 2].map(|()| start(&mut app, BulkRequest::new("c.pkg#Ran", 1)));
    app.update();
    let [first, second] = waiting;
    assert!(!first.is_finished() && first.result().is_none());
    drop(first);
    app.update();
    assert_eq!(app.world().resource::<StreamingStats>().cancelled, 1);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    // Under way, most likely.
    let third = start(&mut app, BulkRequest::new("c.pkg#Heat", 1));
    app.update();
    drop(third);
    run_until(&mut app, |world| {
        second.is_finished() && world.resource::<StreamingStats>().cancelled == 2
    });
    assert_eq!(bytes(&second), frames(101, 200_000));
    assert_eq!(app.world().resource::<StreamingStats>().failed, 0);
}

/// Whoever is more urgent comes first, among payloads and levels alike.
#[test]
fn payloads_come_by_priority() {
    let dir = Dir::default();
    let (mut app, log) = film_app(&dir, true, true);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 2, None));
    for name in ["low.pkg", "high.pkg"] {
        put(&dir, name, cinema(&app, name, Codec::None, &TITLES));
    }
    let request = |path, priority| BulkRequest {
        priority,
        ..BulkRequest::new(path, 0)
    };
    let low = start(&mut app, request("low.pkg#Ran", -1.0));
    let level = load(&mut app, "a.pkg", &[]);
    let high = start(&mut app, request("high.pkg#Ran", 1.0));
    run_until(&mut app, |world| {
        low.is_finished() && high.is_finished() && state(world, level) == Some(LoadState::Live)
    });
    assert_eq!(log.opened(), ["high.pkg", "a.pkg", "low.pkg"]);
}

#[test]
fn payloads_at_once() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    let original = cinema(&app, "c.pkg", Codec::Zstd, &TITLES);
    put(&dir, "festival.pkg", festival(&app, &original, &["Jaws"]));
    put(&dir, "c.pkg", original);
    // What others have asked for stays where it is.
    let other = start(&mut app, BulkRequest::new("c.pkg#Heat", 0));
    for request in [BulkRequest::new("c.pkg#Jaws", 1), jaws()] {
        let load = app.world_mut().load_bulk_blocking(request).unwrap();
        assert_eq!(bytes(&load), frames(102, 200_000));
    }
    assert!(!other.is_finished());
    for (path, text) in [("c.pkg#Tron", "no such object"), ("c.pkg", "names no object")] {
        let error = app.world_mut().load_bulk_blocking(BulkRequest::new(path, 0));
        assert!(error.unwrap_err().to_string().contains(text));
    }
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, 4);
    run_until(&mut app, |_| other.is_finished());
    assert_eq!(bytes(&other), frames(0, 5_000));
}
