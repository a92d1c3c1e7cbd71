//! Objects that are of use without their payloads: which are marked, and where.

use bevy::image::Image;
use seamless_asset::{SeamlessAssetApp, StartupTable};

use super::*;
use crate::{Profile, verify};

/// Of films that are read whole, or of which long ones are read without their frames. It marks these either way.
struct ReelCodec<const WHOLE: bool>;

impl<const WHOLE: bool> AssetCodec for ReelCodec<WHOLE> {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = if WHOLE { BulkUse::Load } else { BulkUse::Marked };

    fn encode(film: &Film, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        FilmCodec::<WHOLE>::encode(film, context)
    }

    fn marks(film: &Film, _: &EncodedAsset) -> bool {
        film.0.len() > 1_000
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Film, DecodeError> {
        FilmCodec::<WHOLE>::decode(data, bulk, context)
    }
}

fn reels<const WHOLE: bool>() -> CookApp {
    CookApp::new().with(|app| {
        app.init_asset::<Film>()
            .register_asset_loader(BytesLoader::<Film>::default())
            .register_type::<Plays>()
            .add_asset_codec::<ReelCodec<WHOLE>>();
    })
}

const WORLD: &str = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron", seek_free: true)])"#;

fn cook(fixture: &Fixture, app: &CookApp, world: &str) {
    fixture.cook_with(app, world, &CookOptions::default()).unwrap();
}

/// Whether the film of a package is marked, and the package that its payload has stayed in.
fn film(fixture: &Fixture, file: &str) -> (bool, Option<String>) {
    let info = inspect(&fixture.out().join(file)).unwrap();
    let mut films = info.exports.iter().filter(|export| export.name == "heat.film");
    let film = films.next().expect("the film is there");
    (film.marked, film.bulk[0].package.clone())
}

/// How many objects are marked, in a folder that is sound.
fn marked(fixture: &Fixture) -> usize {
    let report = verify(&fixture.out(), None).unwrap();
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    report.marked
}

/// All packages, with their bytes.
fn packages(fixture: &Fixture) -> Vec<(String, Vec<u8>)> {
    let files = files(&fixture.out()).into_iter();
    files
        .map(|file| (file.clone(), std::fs::read(fixture.out().join(file)).unwrap()))
        .collect()
}

#[test]
fn an_object_is_marked_wherever_it_lies() {
    let (edited, fresh) = (two_players(), two_players());
    // Copies have what the cooker's codec reads with them.
    cook(&edited, &reels::<true>(), WORLD);
    assert_eq!(film(&edited, "shared_0.pkg"), (true, None));
    assert_eq!(film(&edited, "b.pkg"), (true, None));
    assert_eq!(marked(&edited), 2);
    cook(&edited, &reels::<false>(), WORLD);
    assert_eq!(film(&edited, "b.pkg"), (true, Some("shared_0.pkg".into())));
    assert_eq!(marked(&edited), 2);
    cook(&fresh, &reels::<false>(), WORLD);
    assert!(packages(&edited) == packages(&fresh), "cooked on, it is as cooked anew");
}

#[test]
fn a_mark_follows_its_object() {
    let (edited, fresh) = (two_players(), two_players());
    cook(&edited, &reels::<false>(), WORLD);
    for fixture in [&edited, &fresh] {
        fixture.write("heat.film", &frames()[..900]);
        cook(fixture, &reels::<false>(), WORLD);
        assert_eq!(film(fixture, "shared_0.pkg"), (false, None));
        assert_eq!(film(fixture, "b.pkg"), (false, None), "its frames come along");
        assert_eq!(marked(fixture), 0);
    }
    assert!(packages(&edited) == packages(&fresh));
}

/// Without marks, packages are what they are with a codec that knows of none.
#[test]
fn what_marks_nothing_changes_nothing() {
    let (plain, reel) = (two_players(), two_players());
    for (fixture, app) in [(&plain, films_of::<true>()), (&reel, reels::<true>())] {
        fixture.write("heat.film", &frames()[..900]);
        cook(fixture, &app, WORLD);
    }
    assert!(packages(&plain) == packages(&reel));
}

#[test]
fn startup_content_is_never_marked() {
    let world = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron", seek_free: true)], startup: ["heat.film"])"#;
    for app in [reels::<true>(), reels::<false>()] {
        let fixture = two_players();
        cook(&fixture, &app, world);
        assert_eq!(film(&fixture, "startup.pkg"), (false, None));
        assert_eq!(marked(&fixture), 0);
        let bytes = std::fs::read(fixture.out().join("startup.pkg")).unwrap();
        let package = Package::parse(&bytes, &Limits::default()).unwrap();
        let table = StartupTable::of(&package, &bytes, 0).unwrap();
        assert!(!table.is_on_demand(Film::type_path()), "it is read whole");
    }
}

/// A picture of one colour.
fn picture(side: u32) -> Vec<u8> {
    let texels = vec![[200, 40, 40]; (side * side) as usize];
    [format!("P6 {side} {side} 255\n").as_bytes(), texels.as_flattened()].concat()
}

#[test]
fn large_textures_are_marked_where_nobody_but_the_gpu_reads_them() {
    let fixture = two_scenes();
    let names = ["large", "small"];
    for (name, side) in names.into_iter().zip([256, 128]) {
        fixture.write(&format!("scenes/{name}.ppm"), picture(side));
    }
    fixture
        .write("scenes/a.gltf", gltf(&["Wheel"], "large.ppm"))
        .write("scenes/b.gltf", gltf(&["Door"], "small.ppm"));
    let cooked = |profile| {
        let options = CookOptions {
            profile,
            ..CookOptions::default()
        };
        fixture.cook_with(&CookApp::new(), TWO_LEVELS, &options).unwrap();
        marked(&fixture);
        let marked = |(file, name): (&str, &str)| {
            let info = inspect(&fixture.out().join(file)).unwrap();
            let mut images = info.exports.iter().filter(|export| export.class == Image::type_path());
            let image = images.next().unwrap_or_else(|| panic!("{name} is there"));
            (image.marked, image.bulk.len())
        };
        [("a.pkg", "large"), ("b.pkg", "small")].map(marked)
    };
    assert_eq!(
        cooked(Profile::Exact),
        [(false, 1), (false, 1)],
        "its one mip, also for the game"
    );
    assert_eq!(cooked(Profile::Dev), [(true, 2), (false, 1)]);
}
