//! What is remembered comes back, and nothing else does.

use seamless_asset::codec::BulkUse;
use seamless_package::Role;

use super::*;
use crate::assets::{AssetName, AssetStore};

fn key(path: &str) -> AssetKey {
    AssetKey::new(AssetName::Path {
        path: path.to_owned(),
        type_path: "game::Sound".into(),
    })
}

fn object(references: Vec<AssetKey>) -> ObjectRecord {
    AssetStore::record(Role::CLIENT, BulkUse::OnDemand, references)
}

fn level() -> LevelUnit {
    LevelUnit {
        file: "a.gltf".to_owned(),
        blob: Digest::of(b"level"),
        seconds: 0.25,
        entities: 7,
        references: vec![key("a.gltf#Mesh0")],
        labelled: vec![key("b.ogg")],
        drawn: BTreeSet::from([(key("a.gltf#Mesh0"), None)]),
        contents: Some(FileContents::default()),
        warnings: vec![ContentError::new("a.gltf", "", "is odd")],
    }
}

/// A world of one level, and what is remembered of it.
fn remembered() -> (Vec<(AssetKey, ObjectRecord)>, Memory) {
    let objects = vec![
        (key("a.gltf#Mesh0"), object(vec![key("b.ogg")])),
        (key("b.ogg"), object(Vec::new())),
    ];
    let startup = StartupUnit {
        root: Some(key("b.ogg")),
        ..StartupUnit::default()
    };
    let loading = Loading {
        settings: Settings::Given("(1)".into()),
        owner: "a".into(),
    };
    let file = FileUnitOf {
        dependencies: Cow::Owned(vec![(1, None)]),
        loading: Cow::Owned(loading),
    };
    let level = level();
    let units = UnitsOf {
        program: Some(Digest::of(b"program")),
        fingerprint: None,
        levels: BTreeMap::from([("level", &level)]),
        startup: &startup,
        objects: objects.iter().map(|(key, object)| (key, object)).collect(),
    };
    let seen = SeenFile {
        stamp: None,
        digest: Some(Digest::of(b"bin")),
    };
    let files = BTreeMap::from([("a.gltf", file)]);
    let kept = Kept::new(&units, &files, &[("a.bin", seen), ("b.bin", seen)]);
    let report = CookReport {
        world: "w".to_owned(),
        ..CookReport::default()
    };
    let outcome = Outcome {
        bounds: BTreeMap::from([("level".to_owned(), (Digest::of(b"bounds"), None))]),
        packages: BTreeMap::new(),
    };
    let seen = Seen {
        began: 77,
        ..Seen::default()
    };
    (objects, Memory::new(kept, &outcome, &report, &seen))
}

#[test]
fn what_is_remembered_comes_back() {
    let (objects, memory) = remembered();
    let units = memory.units().unwrap();
    assert_eq!(units.program, Some(Digest::of(b"program")));
    assert_eq!(units.fingerprint, None);
    assert_eq!(units.objects.into_iter().collect::<Vec<_>>(), objects);
    assert_eq!(format!("{:?}", units.levels["level"]), format!("{:?}", level()));
    assert_eq!(units.startup.root, Some(key("b.ogg")));
    assert!(units.files.is_empty());
    let file = &memory.file_units().unwrap()["a.gltf"];
    assert_eq!(file.loading.settings, Settings::Given("(1)".into()));
    assert_eq!(file.dependencies, [(1, None)]);
    let files = memory.files().unwrap();
    assert_eq!(files.all().len(), 2);
    assert_eq!(files.find("b.bin"), Some(1));
    assert_eq!(files.all()[1].1.digest, Some(Digest::of(b"bin")));
    assert!(files.find("c.bin").is_none());
    assert_eq!(memory.outcome().unwrap().bounds["level"].0, Digest::of(b"bounds"));
    assert_eq!(memory.report().unwrap().world, "w");
    assert_eq!(memory.seen().unwrap().began, 77);
}

/// How many parts are sound.
fn sound(memory: &Memory) -> usize {
    let parts = [
        memory.units().is_some(),
        memory.file_units().is_some(),
        memory.files().is_some(),
        memory.outcome().is_some(),
        memory.report().is_some(),
        memory.seen().is_some(),
    ];
    parts.into_iter().filter(|sound| *sound).count()
}

/// A part that is damaged is none; damage in front of the parts' hashes leaves all others as they are.
#[test]
fn no_byte_may_be_another_one() {
    let (_, memory) = remembered();
    assert_eq!(sound(&memory), PARTS);
    let bytes = memory.bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x55;
        let left = sound(&Memory::of(damaged));
        match at < bytes.len() - FOOT {
            true => assert_eq!(left, PARTS - 1, "byte {at}"),
            false => assert!(left < PARTS, "byte {at}"),
        }
    }
    for len in 0..bytes.len() {
        assert_eq!(sound(&Memory::of(bytes[..len].to_vec())), 0, "{len} bytes");
    }
}
