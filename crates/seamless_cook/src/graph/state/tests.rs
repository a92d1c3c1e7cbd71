//! What is remembered comes back, and nothing else does.

use seamless_asset::codec::BulkUse;
use seamless_package::Role;

use super::memory::{FOOT, PARTS};
use super::*;
use crate::CookReport;
use crate::assets::{AssetName, AssetStore};
use crate::texture::{TextureReport, TextureUse};

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
        is_asset: false,
        is_soft: true,
        blob: Digest::of(b"level"),
        seconds: 0.25,
        entities: 7,
        references: vec![key("a.gltf#Mesh0")],
        labelled: vec![key("b.ogg")],
        drawn: BTreeSet::from([(key("a.gltf#Mesh0"), None)]),
        contents: Some(FileContents::default()),
        warnings: vec![ContentError::new("a.gltf", "", "is odd")],
        soft: vec![("fire.spell".into(), "Spell".into())],
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
    let files = vec![("a.gltf", file)];
    let kept = Kept::new(&units, &files, &[("a.bin", seen), ("b.bin", seen)]);
    let report = CookReport {
        world: "w".to_owned(),
        ..CookReport::default()
    };
    let outcome = Outcome {
        bounds: BTreeMap::from([("level".to_owned(), (Digest::of(b"bounds"), None))]),
        packages: BTreeMap::new(),
        layout: None,
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
        memory.records().is_some(),
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

/// A texture of which something is told in words that nobody has used before.
fn texture() -> ObjectRecord {
    let report = TextureReport {
        usage: "what it always was".into(),
        from_size: [4, 4, 1],
        to_size: [4, 4, 1],
        from_mips: 1,
        to_mips: 3,
        from_format: "rgba8unormsrgb".into(),
        to_format: "never seen before".into(),
        bytes_before: 64,
        bytes_after: 24,
        psnr_db: Some(31.5),
        psnr_alpha_db: None,
        psnr_log_db: None,
        normal_error_degrees: None,
        coverage_error: None,
        no_mips: None,
        no_compression: None,
    };
    ObjectRecord {
        blob: Digest::of(b"painted anew"),
        texture: Some(Box::new((TextureUse::Unknown, report))),
        warnings: vec!["is longer than it was".to_owned()],
        ..object(Vec::new())
    }
}

/// Any object may be another one, also the first, the last, and all of them.
#[test]
fn an_object_is_put_in_the_place_of_another() {
    let (objects, memory) = remembered();
    let other = texture();
    for changed in [vec![0], vec![1], vec![0, 1], vec![]] {
        let places: BTreeMap<usize, &ObjectRecord> = changed.iter().map(|place| (*place, &other)).collect();
        let seen = SeenFile {
            stamp: None,
            digest: None,
        };
        let kept = Kept::patched(&memory, &places, &Vec::new(), &[("c.bin", seen)]).unwrap();
        let patched = Memory::new(kept, &Outcome::default(), &CookReport::default(), &Seen::default());
        let mut expected = objects.clone();
        changed.iter().for_each(|place| expected[*place].1 = other.clone());
        let check = |memory: &Memory, expected: &[(AssetKey, ObjectRecord)]| {
            let units = memory.units().unwrap();
            assert_eq!(units.objects.into_iter().collect::<Vec<_>>(), expected);
            assert_eq!(format!("{:?}", units.levels["level"]), format!("{:?}", level()));
            assert_eq!(units.startup.root, Some(key("b.ogg")));
        };
        check(&patched, &expected);
        assert_eq!(patched.files().unwrap().find("c.bin"), Some(0));
        // And once more, with another length.
        let back: BTreeMap<usize, &ObjectRecord> = changed.iter().map(|place| (*place, &objects[1].1)).collect();
        let kept = Kept::patched(&patched, &back, &Vec::new(), &[]).unwrap();
        let twice = Memory::new(kept, &Outcome::default(), &CookReport::default(), &Seen::default());
        changed
            .iter()
            .for_each(|place| expected[*place].1 = objects[1].1.clone());
        check(&twice, &expected);
    }
}

/// What is not there cannot be another one, and of a damaged memory nothing is taken.
#[test]
fn what_is_not_there_is_not_replaced() {
    let (_, memory) = remembered();
    let other = texture();
    let places = BTreeMap::from([(2, &other)]);
    assert!(Kept::patched(&memory, &places, &Vec::new(), &[]).is_none());
    let mut damaged = memory.bytes().to_vec();
    damaged[5] ^= 1;
    let places = BTreeMap::from([(0, &other)]);
    assert!(Kept::patched(&Memory::of(damaged), &places, &Vec::new(), &[]).is_none());
}
