//! Names that would lead elsewhere, on some system: in world files, sources and the output folder. Each is an error, or means what
//! it says; outside of the output folder, nothing is ever written.

mod links;
mod random;

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use seamless_cook::{CookApp, CookError, CookOptions, CookReport};
use seamless_tests::{cooked::describe, fixtures::write_animated_gltf};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    Link(PathBuf),
    File(u64),
}

/// All that is in a folder, but for one folder in it.
fn tree(folder: &Path, except: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path == except {
                continue;
            }
            let kind = path.symlink_metadata().expect("it is there").file_type();
            let entry = if kind.is_symlink() {
                Entry::Link(fs::read_link(&path).expect("the link can be read"))
            } else if kind.is_dir() {
                open.push(path.clone());
                Entry::Folder
            } else {
                let mut hasher = DefaultHasher::new();
                fs::read(&path).expect("the file can be read").hash(&mut hasher);
                Entry::File(hasher.finish())
            };
            found.insert(path, entry);
        }
    }
    found
}

/// A project two folders deep, with files around it that are nobody's business.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary directory"));
        for folder in ["other", "project/inner"] {
            fs::create_dir_all(place.path(folder)).expect("a folder is made");
        }
        for file in [
            "canary",
            "other/canary",
            "project/canary.pkg",
            "project/inner/canary",
            "canary.seamless",
        ] {
            fs::write(place.path(file), file).expect("a canary is written");
        }
        write_animated_gltf(&place.path("project"));
        write_animated_gltf(&place.path("other"));
        place
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn out(&self) -> PathBuf {
        self.path("project/out")
    }

    /// Cooks a world, and looks whether all else is as it was.
    fn cook(&self, world: &str) -> Result<CookReport, CookError> {
        self.cook_as("test.world.ron", world, &CookOptions::default())
    }

    fn cook_as(&self, file: &str, world: &str, options: &CookOptions) -> Result<CookReport, CookError> {
        let file = self.path("project").join(file);
        fs::write(&file, world).expect("the world file is written");
        let before = tree(self.0.path(), &self.out());
        let result = CookApp::new().cook(&file, &self.out(), options, &());
        assert_eq!(
            before,
            tree(self.0.path(), &self.out()),
            "something else was changed by\n{world}"
        );
        result
    }

    /// Writes a glTF file with something in its document changed; returns its name.
    fn write_changed(&self, at: usize, change: impl FnOnce(&mut Value)) -> String {
        let text = fs::read(self.path("project/animated.gltf")).expect("the file is there");
        let mut document: Value = serde_json::from_slice(&text).expect("it is JSON");
        change(&mut document);
        let name = format!("changed{at}.gltf");
        fs::write(self.path("project").join(&name), document.to_string()).expect("the file is written");
        name
    }

    /// As [`write_changed`](Self::write_changed); its triangle shows an image.
    fn write_showing(&self, at: usize, image: &str) -> String {
        self.write_changed(at, |document| {
            document["images"] = json!([{ "uri": image }]);
            document["textures"] = json!([{ "source": 0 }]);
            document["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
            document["meshes"][0]["primitives"][0]["material"] = json!(0);
        })
    }
}

/// A world file of these levels.
fn levels<'a>(levels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let levels: Vec<String> = levels
        .into_iter()
        .map(|(name, source)| format!("(name: {name:?}, source: {source:?})"))
        .collect();
    format!("(levels: [{}])", levels.join(", "))
}

/// A world file of one level. RON reads Rust's own escapes.
fn one_level(name: &str, source: &str) -> String {
    levels([(name, source)])
}

/// The result is an error about content, which says this.
#[track_caller]
fn assert_refused(result: Result<CookReport, CookError>, name: &str, says: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{name:?} was cooked"));
    assert!(!error.content_errors().is_empty(), "{name:?}: {error}");
    let text = describe(&error);
    assert!(text.contains(says), "{name:?}: {text}");
}

/// What is no name of a file on one system or another.
fn bad_names() -> Vec<String> {
    let devices = [
        "CON", "con", "Nul", "aux.txt", "COM1", "lpt9.a.b", "COM²", "conout$", "prn ",
    ];
    let ways = [
        "..",
        ".",
        "",
        "../up",
        "a/../../up",
        "/abs",
        "\\\\server\\share",
        "C:\\x",
        "C:x",
        "a/b",
        "a\\b",
    ];
    let marks = [
        "a\0b", "a\nb", "\u{7f}", "a.", "a ", ".hidden", "a:stream", "a*", "a?", "a|b", "a#b", "<a>", "shared_0",
    ];
    let mut all: Vec<String> = devices
        .iter()
        .chain(&ways)
        .chain(&marks)
        .map(|name| (*name).to_owned())
        .collect();
    all.push("x".repeat(64 << 10));
    all
}

/// What looks like a separator, and is none; and what only begins like a device.
const GOOD_NAMES: [&str; 12] = [
    "a∕b",
    "a⁄b",
    "a／b",
    "a＼b",
    "․․",
    "a：b",
    "console",
    "COM10",
    "lpt",
    "日本 ünï",
    "\u{202e}txt",
    "~$%&'()-@^{}!",
];

#[test]
fn names_of_levels() {
    let place = Place::new();
    for name in bad_names() {
        let result = place.cook(&one_level(&name, "animated.gltf"));
        assert_refused(result, &name, "its name");
    }
    assert!(!place.out().exists(), "nothing was written");
    let world = levels(GOOD_NAMES.map(|name| (name, "animated.gltf")));
    place
        .cook(&world)
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    for name in GOOD_NAMES {
        assert!(place.out().join(format!("{name}.pkg")).is_file(), "{name:?}");
    }
}

#[test]
fn names_that_differ_by_case_only() {
    let place = Place::new();
    for (one, two) in [("level", "LEVEL"), ("ünï", "ÜNÏ"), ("k", "\u{212a}")] {
        let world = levels([(one, "animated.gltf"), (two, "animated.gltf")]);
        assert_refused(place.cook(&world), two, "two levels of this name");
    }
}

#[test]
fn names_of_world_files() {
    let place = Place::new();
    let world = one_level("level", "animated.gltf");
    for name in ["", ".", "..", "con", "a\\b", "a:b", "a\n", "a.", "nul.b"] {
        let file = format!("{name}.world.ron");
        let result = place.cook_as(&file, &world, &CookOptions::default());
        assert_refused(result, &file, "its name");
    }
    let file = "日本 ∕.world.ron";
    place
        .cook_as(file, &world, &CookOptions::default())
        .expect("it is an ordinary name");
    assert!(place.out().join("日本 ∕.seamless").is_file());
}

/// Paths that lead nowhere, or where no path of a project may lead.
fn bad_paths() -> Vec<String> {
    let paths = [
        "/etc/passwd.gltf",
        "\\etc\\passwd.gltf",
        "C:\\a.gltf",
        "a\0.gltf",
        "../../../../../../../../nowhere.gltf",
        "..",
        ".",
        "",
        "animated.gltf/",
        "animated.gltf/../x.gltf",
        "NUL.gltf",
        "∕animated.gltf",
        "http://a.b/c.gltf",
        "embedded://x.gltf",
        "animated.gltf\n",
        " animated.gltf",
        "inner",
        "animated.bin",
        "%2e%2e/other/animated.gltf",
    ];
    let mut all: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    all.push(format!("{}.gltf", "x/".repeat(32 << 10)));
    all
}

#[test]
fn sources_and_startup_content() {
    let place = Place::new();
    for path in bad_paths() {
        assert_refused(place.cook(&one_level("level", &path)), &path, "level `level`");
        // A system may read it as a path to a file that is there, and is no startup content.
        let world = format!("(levels: [(source: \"animated.gltf\")], startup: [{path:?}])");
        assert_refused(place.cook(&world), &path, "");
    }
    let roundabout = [
        "../other/animated.gltf",
        "./inner/../animated.gltf",
        "inner/.././/animated.gltf",
    ];
    let world = levels(["a", "b", "c"].into_iter().zip(roundabout));
    let report = place
        .cook(&world)
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    for level in &report.levels {
        assert!(
            level.entities > 0 && place.out().join(format!("{}.pkg", level.name)).is_file(),
            "{level:?}"
        );
    }
}

#[test]
fn labels_of_parts() {
    let place = Place::new();
    let long = "x".repeat(64 << 10);
    let labels = ["../../x", "/x", "C:\\x", "\0", "", "Mesh0/../../../x", "Mesh99", &long];
    let paths = labels.map(|label| format!("animated.gltf#{label}"));
    for (path, label) in paths.iter().zip(labels) {
        assert_refused(place.cook(&one_level("level", path)), label, "level `level`");
    }
    let startup = |paths: &[String]| format!("(levels: [(source: \"animated.gltf\")], startup: {paths:?})");
    assert_refused(place.cook(&startup(&paths)), "", "startup `animated.gltf#`");
    let others: Vec<String> = paths.iter().filter(|path| !path.ends_with('#')).cloned().collect();
    let error = place.cook(&startup(&others)).expect_err("there are no such parts");
    assert_eq!(error.content_errors().len(), others.len(), "{}", describe(&error));
}

#[test]
fn maps_to_cook() {
    let place = Place::new();
    let world = one_level("level", "animated.gltf");
    for name in bad_names() {
        let options = CookOptions {
            maps: vec![name.clone()],
            ..CookOptions::default()
        };
        assert_refused(
            place.cook_as("test.world.ron", &world, &options),
            &name,
            "is no level of this world",
        );
    }
    assert!(!place.out().exists(), "nothing was written");
}

/// Places that a glTF file may name, and where nothing is.
fn uris() -> Vec<String> {
    let uris = [
        "../../../../../../../../nowhere/x",
        "/nowhere/x",
        "file:///nowhere/x",
        "C:\\windows\\x",
        "%00",
        "a%00b",
        "..",
        "%2e%2e%2f%2e%2e%2fnowhere",
        "\\\\server\\share\\x",
        "NUL",
        "http://a.b/c",
        "//a/b",
        "embedded://a/b",
        "a∕b",
        "x.bin#label",
        "x.bin?query",
        "#",
        "\u{202e}nib",
    ];
    let mut all: Vec<String> = uris.iter().map(|uri| (*uri).to_owned()).collect();
    all.push("x".repeat(64 << 10));
    all
}

#[test]
fn buffers_of_gltf_files() {
    let place = Place::new();
    let uris = uris();
    let file =
        |(at, uri): (usize, &String)| place.write_changed(at, |document| document["buffers"][0]["uri"] = json!(uri));
    let files: Vec<String> = uris.iter().enumerate().map(file).collect();
    let error = place
        .cook(&levels(files.iter().map(|file| (&file[..], &file[..]))))
        .expect_err("there are no such files");
    // Nothing but a label is the file itself.
    for (file, uri) in files.iter().zip(&uris).filter(|(_, uri)| *uri != "#") {
        assert!(
            error.content_errors().iter().any(|error| error.file == *file),
            "{uri:?} in {}",
            describe(&error)
        );
    }
    let way = place.write_changed(0, |document| {
        document["buffers"][0]["uri"] = json!("../other/%61nimated.bin")
    });
    place
        .cook(&one_level("level", &way))
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
}

#[test]
fn images_of_gltf_files() {
    let place = Place::new();
    let uris = uris();
    let files: Vec<String> = uris
        .iter()
        .enumerate()
        .map(|(at, uri)| place.write_showing(at, uri))
        .collect();
    let error = place
        .cook(&levels(files.iter().map(|file| (&file[..], &file[..]))))
        .expect_err("there are no such images");
    for (file, uri) in files.iter().zip(&uris) {
        let is_told = error
            .content_errors()
            .iter()
            .any(|error| error.to_string().contains(file));
        // Bevy shows white for what names nothing at all.
        assert!(is_told || uri == "..", "{uri:?} in {}", describe(&error));
    }
}

#[test]
fn names_of_nodes() {
    let place = Place::new();
    let names = bad_names()
        .into_iter()
        .chain(GOOD_NAMES.map(str::to_owned))
        .filter(|name| name.len() < 1000);
    let names: Vec<String> = names.collect();
    let file = place.write_changed(0, |document| {
        let named = names.iter().map(|name| json!({ "name": name }));
        let nodes = document["nodes"].as_array_mut().expect("there are nodes");
        nodes.extend(named);
        document["scenes"][0]["nodes"] = [0].into_iter().chain(2..names.len() + 2).collect();
    });
    let report = place
        .cook(&one_level("level", &file))
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    assert!(report.levels[0].entities as usize > names.len());
    let long = place.write_changed(0, |document| document["nodes"][0]["name"] = json!("x".repeat(64 << 10)));
    let report = place
        .cook(&one_level("level", &long))
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    assert!(report.levels[0].entities > 1);
}
