//! What codecs and post-loads know of where an object is, and leave to be done when its value is there.

use std::sync::{Arc, Mutex};

use bevy_asset::UntypedAssetId;

use super::*;
use crate::codec::DecodedPlace;

/// What was done, in order: who did it, where the film is, its id, and its title in `Assets` by then.
#[derive(Resource, Default)]
struct Done(Vec<(&'static str, DecodedPlace, UntypedAssetId, String)>);

impl Done {
    fn note(who: &'static str, place: DecodedPlace) -> impl FnOnce(&mut World, UntypedAssetId) + Send + Sync {
        move |world, id| {
            let films = world.resource::<Assets<Film>>();
            let film = films.get(id.typed::<Film>()).expect("it is there by now");
            let title = film.title.clone();
            world.resource_mut::<Self>().0.push((who, place, id, title));
        }
    }
}

/// Notes where its films are when they are there.
struct PlacedCodec;

impl AssetCodec for PlacedCodec {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = BulkUse::OnDemand;

    fn encode(film: &Film, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        FilmCodec::<true>::encode(film, context)
    }

    fn decode(data: &[u8], payloads: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Film, DecodeError> {
        let place = context.object().expect("it is an object of a package");
        context.when_inserted(Done::note("codec", place));
        FilmCodec::<true>::decode(data, payloads, context)
    }
}

fn placed_app(dir: &Dir, setup: impl FnOnce(&mut App)) -> App {
    let (app, _) = counting_app(dir, true, |app| {
        app.init_asset::<Film>()
            .init_resource::<Done>()
            .add_asset_codec::<PlacedCodec>();
        setup(app);
    });
    app
}

/// Who did something with which object, in order.
fn done(app: &App) -> Vec<(&'static str, String)> {
    let done = app.world().resource::<Done>().0.iter();
    done.map(|(who, place, ..)| (*who, place.path.clone())).collect()
}

#[test]
fn a_codec_hears_when_its_value_is_there_and_knows_where_the_payloads_are() {
    for folder in ["", "world/"] {
        let dir = Dir::default();
        let mut app = placed_app(&dir, |_| {});
        let original = cinema(&app, "c.pkg", Codec::Lz4, &TITLES);
        put(
            &dir,
            &format!("{folder}festival.pkg"),
            festival(&app, &original, &["Ran"]),
        );
        put(&dir, &format!("{folder}c.pkg"), original);
        // A copy, and the other two.
        let copy = ask(&mut app, ObjectRequest::new([format!("{folder}festival.pkg")]));
        finish(&mut app, &copy);
        let all = ask(&mut app, ObjectRequest::new([format!("{folder}c.pkg")]));
        finish(&mut app, &all);
        let paths = ["festival.pkg#c.pkg#Ran", "c.pkg#Heat", "c.pkg#Jaws"];
        assert_eq!(done(&app), paths.map(|path| ("codec", format!("{folder}{path}"))));
        let places = core::mem::take(&mut app.world_mut().resource_mut::<Done>().0);
        for (seed, (_, place, id, title)) in [1, 0, 2].into_iter().zip(places) {
            assert!(place.path.ends_with(&format!("#{title}")));
            assert_eq!(place.payloads, [5_000, 200_000]);
            assert!(all.result().unwrap().unwrap().iter().any(|handle| handle.id() == id));
            for (payload, frames) in [frames(seed, 5_000), frames(seed + 100, 200_000)].iter().enumerate() {
                let load = wait(&mut app, BulkRequest::new(&place.path, payload));
                assert_eq!(bytes(&load), frames);
            }
        }
        // What is live is not inserted again.
        let again = ask(&mut app, ObjectRequest::new([format!("{folder}c.pkg")]));
        finish(&mut app, &again);
        assert!(done(&app).is_empty());
    }
}

#[test]
fn post_loads_hear_of_it_after_the_codec() {
    let dir = Dir::default();
    let mut app = placed_app(&dir, |app| {
        app.add_post_load::<Film>(|film, context| {
            let place = context.object().ok_or("an asset has a place")?;
            if film.title == "Ran" {
                let payloads = Vec::new();
                let title = "Ran: the making of".into();
                context.create("Extra", Film { title, payloads })?;
            }
            context.when_inserted(Done::note("first", place.clone()));
            context.when_inserted(Done::note("second", place));
            Ok(())
        });
    });
    put(&dir, "c.pkg", cinema(&app, "c.pkg", Codec::Lz4, &["Ran"]));
    let _load = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new(["c.pkg"]))
        .unwrap();
    let path = |name: &str| format!("c.pkg#{name}");
    let expected = [
        ("codec", path("Ran")),
        ("first", path("Ran")),
        ("second", path("Ran")),
        ("first", path("Extra")),
        ("second", path("Extra")),
    ];
    assert_eq!(done(&app), expected);
    let done = &app.world().resource::<Done>().0;
    assert!(done[4].1.payloads.is_empty(), "what was created has none");
    assert_eq!(done[4].3, "Ran: the making of");
}

/// A reload puts a new value over the old one: that is inserted, too.
#[test]
fn a_reload_is_heard_of() {
    let dir = Dir::default();
    let mut app = placed_app(&dir, |_| {});
    put(&dir, "c.pkg", cinema(&app, "c.pkg", Codec::Lz4, &["Heat", "Ran"]));
    let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
    finish(&mut app, &load);
    app.world_mut().resource_mut::<Done>().0.clear();
    // The frames of Ran are others.
    put(
        &dir,
        "c.pkg",
        cinema(&app, "c.pkg", Codec::Lz4, &["Heat", "Jaws", "Ran"]),
    );
    let reload = crate::ReloadRequest::new("c.pkg");
    let reload = app.world_mut().resource_mut::<Streamer>().reload(reload);
    run_until(&mut app, |_| reload.is_finished());
    assert_eq!(reload.result().unwrap().unwrap().assets_replaced, 1);
    assert_eq!(done(&app), [("codec", "c.pkg#Ran".to_owned())]);
}

/// Leaves something to be done with what `alive` holds.
struct HeldCodec;

/// Held by all that is still to be done.
static ALIVE: Mutex<Option<Arc<()>>> = Mutex::new(None);

impl AssetCodec for HeldCodec {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = BulkUse::OnDemand;

    fn encode(film: &Film, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        FilmCodec::<true>::encode(film, context)
    }

    fn decode(data: &[u8], payloads: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Film, DecodeError> {
        let held = ALIVE.lock().unwrap().clone();
        context.when_inserted(move |_, _| drop(held));
        FilmCodec::<true>::decode(data, payloads, context)
    }
}

/// In whatever stage a load is given up, nothing of it waits for a value that never comes.
#[test]
fn what_is_never_inserted_is_let_go_of() {
    let alive = Arc::new(());
    *ALIVE.lock().unwrap() = Some(alive.clone());
    for frames in 0..12 {
        let dir = Dir::default();
        let (mut app, _) = app_with::<HeldCodec>(&dir, true);
        let titles: Vec<String> = (0..8).map(|film| format!("Film {film}")).collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        put(&dir, "c.pkg", cinema(&app, "c.pkg", Codec::Lz4, &titles));
        // One asset a frame.
        app.world_mut()
            .resource_mut::<StreamingSettings>()
            .upload_bytes_per_frame = 1;
        let load = ask(&mut app, ObjectRequest::new(["c.pkg"]));
        (0..frames).for_each(|_| app.update());
        drop(load);
        run_until(&mut app, |world| {
            Arc::strong_count(&alive) == 2 && world.resource::<Assets<Film>>().is_empty()
        });
    }
}
