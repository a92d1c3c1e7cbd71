//! Objects that are of use without their payloads, in apps that know how to do without and in others.

use super::{super::build::copy_object, *};
use crate::ReloadRequest;

/// Decodes marked films without their frames.
struct ReelCodec;

impl AssetCodec for ReelCodec {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = BulkUse::Marked;

    fn encode(film: &Film, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        FilmCodec::<true>::encode(film, context)
    }

    /// Long ones.
    fn marks(film: &Film, _: &EncodedAsset) -> bool {
        film.payloads.len() > 1
    }

    fn decode(data: &[u8], payloads: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Film, DecodeError> {
        FilmCodec::<true>::decode(data, payloads, context)
    }
}

fn film(title: &str, seed: u8, has_payloads: bool) -> Film {
    Film {
        title: title.into(),
        payloads: match has_payloads {
            true => vec![frames(seed, 5_000), frames(seed + 100, 200_000)],
            false => Vec::new(),
        },
    }
}

/// The film that is no mark's comes between two others: what is read ends with it.
#[test]
fn who_takes_marked_payloads_on_demand_reads_the_others_only() {
    for codec in [Codec::None, Codec::Lz4] {
        let dir = Dir::default();
        let (mut app, log) = app_with::<ReelCodec>(&dir, true);
        let file = marked_cinema(&app, "c.pkg", codec, &TITLES, &["Heat", "Jaws"]);
        let end = place(&file, "Ran", 1).end;
        assert!(end < file.len() as u64);
        put(&dir, "c.pkg", file);
        let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
        finish(&mut app, &load);
        let expected = [film("Heat", 0, false), film("Jaws", 2, false), film("Ran", 1, true)];
        assert_eq!(films(&app), expected);
        assert_eq!(log.reads(), [read("c.pkg", 0..end)]);
        // What was left is there when it is wanted, and so is what was not.
        for (title, seed) in [("Jaws", 102), ("Ran", 101)] {
            let load = wait(&mut app, BulkRequest::new(format!("c.pkg#{title}"), 1));
            assert_eq!(bytes(&load), frames(seed, 200_000));
        }
    }
}

#[test]
fn nothing_but_tables_and_data_is_read_where_all_are_marked() {
    let dir = Dir::default();
    let (mut app, log) = app_with::<ReelCodec>(&dir, true);
    let file = marked_cinema(&app, "c.pkg", Codec::Lz4, &TITLES, &TITLES);
    let bulk = parsed(&file).summary().bulk_offset;
    put(&dir, "c.pkg", file);
    let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
    finish(&mut app, &load);
    assert_eq!(log.reads(), [read("c.pkg", 0..bulk)]);
    assert!(films(&app).iter().all(|film| film.payloads.is_empty()));
}

/// Marks are nothing to codecs that do not ask for them: what is loaded, and read, is as if there were none.
#[test]
fn other_codecs_take_no_notice_of_marks() {
    for on_demand in [true, false] {
        let mut loaded = Vec::new();
        for marked in [&[][..], &TITLES] {
            let dir = Dir::default();
            let (mut app, log) = film_app(&dir, on_demand, true);
            put(&dir, "c.pkg", marked_cinema(&app, "c.pkg", Codec::Lz4, &TITLES, marked));
            let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
            finish(&mut app, &load);
            assert!(films(&app).iter().all(|film| film.payloads.is_empty() == on_demand));
            loaded.push((films(&app), log.reads()));
        }
        assert_eq!(loaded[0], loaded[1]);
    }
}

/// `festival.pkg` with copies of marked films, whose payloads stay at home.
fn marked_festival(dir: &Dir, app: &App) {
    let original = marked_cinema(app, "c.pkg", Codec::Lz4, &TITLES, &TITLES);
    put(dir, "festival.pkg", festival(app, &original, &["Ran"]));
    put(dir, "c.pkg", original);
}

#[test]
fn copies_of_marked_objects_may_leave_their_payloads_at_home() {
    let dir = Dir::default();
    let (mut app, log) = app_with::<ReelCodec>(&dir, true);
    marked_festival(&dir, &app);
    let load = ask(&mut app, ObjectRequest::new(["festival.pkg"]));
    finish(&mut app, &load);
    assert_eq!(
        (films(&app), log.opened()),
        (vec![film("Ran", 1, false)], vec!["festival.pkg".to_owned()])
    );
    let load = wait(&mut app, BulkRequest::new("festival.pkg#c.pkg#Ran", 1));
    assert_eq!(bytes(&load), frames(101, 200_000));
    // Who needs them all is told.
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, false, true);
    marked_festival(&dir, &app);
    let load = ask(&mut app, ObjectRequest::new(["festival.pkg"]));
    finish(&mut app, &load);
    let error = load.result().unwrap().unwrap_err().to_string();
    for part in ["festival.pkg#Ran", "`c.pkg`", "`BulkUse::Marked`"] {
        assert!(error.contains(part), "{error}");
    }
}

/// A copy brings the payloads along where its cooker's codec reads them: they are read from there.
#[test]
fn copies_of_marked_objects_may_bring_their_payloads() {
    for has_payloads in [true, false] {
        let dir = Dir::default();
        let (mut app, _) = match has_payloads {
            true => film_app(&dir, false, true),
            false => app_with::<ReelCodec>(&dir, true),
        };
        let original = marked_cinema(&app, "c.pkg", Codec::Lz4, &TITLES, &TITLES);
        let mut writer = new_package(&app, "festival.pkg");
        film_class(&app, &mut writer);
        copy_object(&mut writer, &original, "Ran", false);
        put(&dir, "festival.pkg", writer.finish().unwrap());
        let load = ask(&mut app, ObjectRequest::new(["festival.pkg"]));
        finish(&mut app, &load);
        assert_eq!(films(&app), [film("Ran", 1, has_payloads)]);
        let load = wait(&mut app, BulkRequest::new("festival.pkg#c.pkg#Ran", 0));
        assert_eq!(bytes(&load), frames(1, 5_000));
    }
}

/// The same film, marked by another cook: the value is another, though its bytes are not.
#[test]
fn a_reload_sees_a_mark_that_came_or_went() {
    let dir = Dir::default();
    let (mut app, _) = app_with::<ReelCodec>(&dir, true);
    let [plain, marked] = [&[][..], &["Ran"]].map(|marked| marked_cinema(&app, "c.pkg", Codec::Lz4, &["Ran"], marked));
    put(&dir, "c.pkg", plain.clone());
    let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
    finish(&mut app, &load);
    assert_eq!(films(&app), [film("Ran", 0, true)]);
    for (file, has_payloads, replaced) in [(&marked, false, 1), (&marked, false, 0), (&plain, true, 1)] {
        put(&dir, "c.pkg", file.clone());
        let reload = app
            .world_mut()
            .resource_mut::<Streamer>()
            .reload(ReloadRequest::new("c.pkg"));
        run_until(&mut app, |_| reload.is_finished());
        let report = reload.result().unwrap().unwrap();
        assert_eq!(report.assets_replaced, replaced);
        assert_eq!(films(&app), [film("Ran", 0, has_payloads)]);
    }
}

#[test]
fn a_codec_marks_what_has_payloads() {
    let codecs = [
        ErasedAssetCodec::new::<ReelCodec>(),
        ErasedAssetCodec::new::<FilmCodec<false>>(),
    ];
    let mut world = World::new();
    world.init_resource::<Assets<Film>>();
    let cases = [(film("Long", 1, true), true), (film("Short", 1, false), false)];
    for (film, is_marked) in cases {
        let bulk = film.payloads.clone();
        let id = world.resource_mut::<Assets<Film>>().add(film).id().untyped();
        let encoded = EncodedAsset { data: vec![], bulk };
        let marks = codecs.each_ref().map(|codec| codec.marks(&world, id, &encoded));
        assert_eq!(marks, [is_marked, false], "by default nothing is marked");
        let none = EncodedAsset::default();
        assert!(!codecs[0].marks(&world, id, &none), "there is nothing to leave");
    }
}

#[test]
fn what_a_use_comes_to_for_an_object() {
    let all = [BulkUse::Load, BulkUse::OnDemand, BulkUse::Marked];
    let uses = |is_marked| all.map(|bulk| bulk.of_object(is_marked));
    assert_eq!(uses(false), [BulkUse::Load, BulkUse::OnDemand, BulkUse::Load]);
    assert_eq!(uses(true), [BulkUse::Load, BulkUse::OnDemand, BulkUse::OnDemand]);
}
