//! What cannot be loaded: typed, told, and nothing of it is left behind. The app goes on.

use super::*;
use crate::{LoadError, StartupContentError as Error};
use seamless_package::PackageError;

/// An app that starts with these bytes.
fn starting(bytes: Option<Vec<u8>>, more: impl FnOnce(&mut App)) -> App {
    let dir = Dir::default();
    if let Some(bytes) = bytes {
        put(&dir, "startup.pkg", bytes);
    }
    app_with(&dir, |app| {
        game(app);
        register(app);
        more(app);
        app.add_plugins(plugin(1 << 10));
    })
}

/// The error of an app that goes on without its startup content.
#[track_caller]
fn failing(mut app: App) -> std::sync::Arc<LoadError> {
    app.update();
    let error = content(&app).error().expect("it fails").clone();
    assert!(!content(&app).is_loaded());
    assert_eq!(error.package, "startup.pkg");
    let told = content(&app).get::<Recipe>("soup.txt#soup").unwrap_err();
    assert!(
        matches!(&told, Error::Failed { path, .. } if path == "soup.txt#soup"),
        "{told}"
    );
    assert!(!app.world().contains_resource::<StartupReport>());
    assert!(
        app.world().resource::<Assets<Recipe>>().is_empty(),
        "nothing is half there"
    );
    assert!(app.world().resource::<Assets<Film>>().is_empty());
    assert!(app.world().resource::<LiveObjectsResource>().0.is_empty());
    assert_eq!(app.world().resource::<StreamingStats>().failed, 1);
    error
}

fn good() -> Vec<u8> {
    let dir = Dir::default();
    put_startup(&dir);
    let bytes = dir.get_asset(Path::new("startup.pkg")).unwrap();
    bytes.value().to_vec()
}

#[test]
fn what_is_no_startup_package_is_refused() {
    let cook = cook();
    let missing = failing(starting(None, |_| {}));
    assert!(matches!(missing.kind, LoadErrorKind::Io(_)), "{missing}");
    let other = failing(starting(Some(shared_package(&cook, "startup.pkg")), |_| {}));
    assert!(matches!(other.kind, LoadErrorKind::NoStartupIndex), "{other}");
    let unknown = Pack::new(&cook)
        .pantry("pantry", 10)
        .entry::<Kitchen>("pantry", "pantry")
        .finish();
    let unknown = failing(starting(Some(unknown), |_| {}));
    assert!(
        matches!(unknown.kind, LoadErrorKind::Decode(DecodeError::UnknownType(_))),
        "{unknown}"
    );
    assert_eq!(unknown.object.as_deref(), Some("pantry"));
}

#[test]
fn truncations_and_flipped_bits_are_errors() {
    let good = good();
    // The first windows, some in the middle, and the last.
    let lengths = (0..good.len()).step_by(good.len() / 29).chain([good.len() - 1]);
    for length in lengths {
        let error = failing(starting(Some(good[..length].to_vec()), |_| {}));
        assert!(matches!(error.kind, LoadErrorKind::Package(_)), "{length}: {error}");
    }
    for bit in (0..good.len() * 8).step_by(good.len() * 8 / 31) {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let error = failing(starting(Some(flipped), |_| {}));
        assert!(matches!(error.kind, LoadErrorKind::Package(_)), "bit {bit}: {error}");
    }
}

#[test]
fn an_index_that_is_wrong_is_an_error() {
    let cook = cook();
    let entry = |reference: u8| [&[1, 1, b'o', 1, b'p'][..], &[reference, 0]].concat();
    let refs = |pack: &Pack| vec![pack.reference("soup")];
    let indices: [(Vec<u8>, &str); 3] = [
        (vec![], "startup index"),
        ([entry(0), vec![0]].concat(), "left over"),
        (entry(1), "at reference 1, of 1"),
    ];
    for (data, message) in indices {
        let pack = Pack::new(&cook).recipe("soup", &[]);
        let refs = refs(&pack);
        let error = failing(starting(Some(pack.index(data, refs)), |_| {}));
        assert!(
            matches!(error.kind, LoadErrorKind::Decode(DecodeError::Malformed(_))),
            "{error}"
        );
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Nothing but the package is read, so nothing else may be needed.
#[test]
fn what_needs_another_file_is_refused() {
    let cook = cook();
    let pack = Pack::new(&cook).recipe("soup", &["basics.pkg#water"]);
    let error = failing(starting(
        Some(pack.entry::<Kitchen>("soup.txt#soup", "soup").finish()),
        |_| {},
    ));
    let needs = |error: &LoadError, object: &str| match &error.kind {
        LoadErrorKind::NotSelfContained { package, object: found } => package == "basics.pkg" && found == object,
        _ => false,
    };
    assert!(needs(&error, "water"), "{error}");
    let error = failing(starting(Some(good()), |app| {
        app.add_post_load::<Recipe>(|_, context| context.request::<Recipe>("basics.pkg#salt").map(drop));
    }));
    assert!(needs(&error, "salt"), "{error}");
}

#[test]
fn a_post_load_may_use_what_is_there() {
    let app = starting(Some(good()), |app| {
        app.add_post_load::<Recipe>(|recipe, context| {
            if recipe.title == "how to soup" {
                recipe.before.push(context.request("startup.pkg#stock")?);
                let pinch = Recipe {
                    title: "how to pinch".into(),
                    before: Vec::new(),
                };
                recipe.before.push(context.create("pinch", pinch)?);
            }
            Ok(())
        });
    });
    assert!(content(&app).is_loaded(), "{:?}", content(&app).error());
    let soup = content(&app).get::<Recipe>("soup.txt#soup").unwrap();
    let recipes = app.world().resource::<Assets<Recipe>>();
    let before = &recipes.get(&soup).unwrap().before;
    let before: Vec<_> = before
        .iter()
        .map(|before| recipes.get(before).unwrap().title.as_str())
        .collect();
    assert_eq!(before, ["how to stock", "how to stock", "how to pinch"]);
}

#[test]
fn panics_of_the_game_are_errors() {
    let error = failing(starting(Some(good()), |app| {
        app.add_post_load::<Recipe>(|_, _| panic!("no salt"));
    }));
    assert!(
        matches!(&error.kind, LoadErrorKind::Panicked(message) if message == "no salt"),
        "{error}"
    );
    let dir = Dir::default();
    let app = app_reading(
        move || Haunted(MemoryAssetReader { root: dir.clone() }),
        SeamlessAssetPlugin::default(),
        |app| {
            game(app);
            app.add_plugins(plugin(1 << 10));
        },
    );
    let error = failing(app);
    assert!(
        matches!(&error.kind, LoadErrorKind::Panicked(message) if message == "a ghost"),
        "{error}"
    );
}

/// A source that panics when it is read.
struct Haunted(MemoryAssetReader);

impl AssetReader for Haunted {
    async fn read<'a>(
        &'a self,
        _: &'a Path,
    ) -> Result<impl bevy_asset::io::Reader + 'a, bevy_asset::io::AssetReaderError> {
        if true {
            panic!("a ghost");
        }
        Ok(bevy_asset::io::VecReader::new(Vec::new()))
    }

    async fn read_meta<'a>(
        &'a self,
        path: &'a Path,
    ) -> Result<impl bevy_asset::io::Reader + 'a, bevy_asset::io::AssetReaderError> {
        self.0.read_meta(path).await
    }

    async fn read_directory<'a>(
        &'a self,
        path: &'a Path,
    ) -> Result<Box<bevy_asset::io::PathStream>, bevy_asset::io::AssetReaderError> {
        self.0.read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, bevy_asset::io::AssetReaderError> {
        self.0.is_directory(path).await
    }
}

#[test]
fn a_handle_that_is_not_there_says_why() {
    // Without the plugin.
    let mut app = app_with(&Dir::default(), |app| {
        game(app);
        register(app);
    });
    app.update();
    let error = content(&app).get::<Recipe>("soup.txt#soup").unwrap_err();
    assert!(
        matches!(&error, Error::NotLoaded { path } if path == "soup.txt#soup"),
        "{error}"
    );

    let app = starting(Some(good()), |_| {});
    let error = content(&app).get::<Recipe>("stew.txt").unwrap_err();
    assert!(
        matches!(&error, Error::NotCooked { path } if path == "stew.txt"),
        "{error}"
    );
    let error = content(&app).get::<Film>("soup.txt#soup").unwrap_err();
    assert!(
        matches!(&error, Error::WrongType { wanted, .. } if wanted.ends_with("Film")),
        "{error}"
    );

    let cook = cook();
    let client = Pack::new(&cook).film_of("jaws", 1, Role::CLIENT);
    let dir = Dir::default();
    put(
        &dir,
        "startup.pkg",
        client.entry::<Cinema>("jaws.film", "jaws").finish(),
    );
    let server = SeamlessAssetPlugin {
        role: Role::SERVER,
        ..SeamlessAssetPlugin::default()
    };
    let app = app_after(&dir, server, |app| {
        game(app);
        app.add_startup_content::<Cinema, Film>(["jaws.film"]);
        app.add_plugins(plugin(1 << 20));
    });
    let error = content(&app).get::<Film>("jaws.film").unwrap_err();
    assert!(
        matches!(&error, Error::OtherRole { path } if path == "jaws.film"),
        "{error}"
    );
    assert!(app.world().resource::<Assets<Film>>().is_empty());
    assert_eq!(app.world().resource::<StartupReport>().missing, []);
}

#[test]
fn damage_names_the_object() {
    let mut bytes = good();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let error = failing(starting(Some(bytes), |_| {}));
    let checksum = |kind: &LoadErrorKind| matches!(kind, LoadErrorKind::Package(PackageError::Checksum { .. }));
    assert!(checksum(&error.kind), "{error}");
    assert_eq!(error.object.as_deref(), Some("jaws"));
}

#[test]
fn an_index_is_never_cooked_as_an_asset() {
    let app = starting(Some(good()), |_| {});
    let world = app.world();
    let registry = world.resource::<AppTypeRegistry>().read();
    let index = world.resource::<Assets<crate::StartupIndex>>().iter().next().unwrap().1;
    let rows = EntityRows::default();
    let error = crate::StartupIndexCodec::encode(index, &mut EncodeContext::new(&registry, &rows)).unwrap_err();
    assert!(
        matches!(&error, EncodeError::Other(message) if message.contains("startup package")),
        "{error}"
    );
}
