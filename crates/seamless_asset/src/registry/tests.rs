//! What registries hold and find, and which files are refused.

use std::{path::Path, sync::Arc};

use bevy_asset::{AssetServer, io::memory::Dir};
use proptest::prelude::*;

use super::*;
use crate::load::tests::{app, app_after, run_until};

/// An object; `path` and `package#object`.
pub(crate) fn object(path: &str, at: &str, type_path: &str, bytes: u64) -> RegistryObject {
    let (package, object) = at.split_once('#').unwrap_or((at, ""));
    RegistryObject {
        path: path.into(),
        package: package.into(),
        object: object.into(),
        type_path: type_path.into(),
        bytes,
        ..RegistryObject::default()
    }
}

fn tagged(path: &str, type_path: &str, tags: &[(&str, &str)]) -> RegistryObject {
    let tag = |(key, value): &(&str, &str)| (Arc::from(*key), Arc::from(*value));
    RegistryObject {
        tags: tags.iter().map(tag).collect(),
        ..object(path, &format!("cues.pkg#{path}"), type_path, 10)
    }
}

fn cues() -> ObjectRegistry {
    let objects = vec![
        tagged("cues/core/hit.cue.ron", "Cue", &[("cue", "hit"), ("kind", "static")]),
        tagged("cues/core-old/hit.cue.ron", "Cue", &[("cue", "hit")]),
        tagged(
            "cues/core/fire.cue.ron",
            "Cue",
            &[("cue", "fire"), ("cue", "fire.small")],
        ),
        tagged("cues/core/fire.png", "Image", &[]),
        tagged("cues/core/deep/ice.cue.ron", "Cue", &[("cue", "ice")]),
        tagged("rock.glb#Mesh0", "Mesh", &[]),
        tagged("rock.glb#Material0", "Material", &[]),
    ];
    ObjectRegistry::new("world/", objects).unwrap()
}

fn names(registries: &ObjectRegistries, scan: &ObjectScan) -> Vec<String> {
    let found = registries.scan(scan).into_iter();
    found.map(|found| found.object.path.to_string()).collect()
}

fn with(registry: ObjectRegistry) -> ObjectRegistries {
    let mut registries = ObjectRegistries::default();
    registries.insert(registry);
    registries
}

#[test]
fn scans_by_folder_type_and_tag() {
    let registries = with(cues());
    let all = ObjectScan::new();
    assert_eq!(names(&registries, &all).len(), 7);
    let core = all.clone().under("cues/core");
    let expected = [
        "cues/core/deep/ice.cue.ron",
        "cues/core/fire.cue.ron",
        "cues/core/fire.png",
        "cues/core/hit.cue.ron",
    ];
    assert_eq!(names(&registries, &core), expected, "`core-old` is another folder");
    assert_eq!(names(&registries, &all.clone().under("cues/core/")), expected);
    let twice = core.clone().under("cues/core/deep").under("rock.glb");
    assert_eq!(names(&registries, &twice).len(), 6, "each once");
    assert_eq!(names(&registries, &core.clone().of_type("Cue")).len(), 3);
    assert_eq!(names(&registries, &core.clone().of_type("")), expected, "any type");
    assert_eq!(names(&registries, &all.clone().of_type("Cue").of_type("")).len(), 7);
    let hit = all.clone().tagged("cue", "hit");
    assert_eq!(
        names(&registries, &hit),
        ["cues/core-old/hit.cue.ron", "cues/core/hit.cue.ron"]
    );
    assert_eq!(names(&registries, &hit.with_tag("kind")), ["cues/core/hit.cue.ron"]);
    assert_eq!(
        names(&registries, &all.clone().tagged("cue", "fire.small")),
        ["cues/core/fire.cue.ron"]
    );
    assert!(names(&registries, &all.clone().tagged("cue", "water")).is_empty());
    assert!(names(&registries, &all.under("nothing")).is_empty());
}

#[test]
fn paths_lead_to_objects() {
    let mut registries = with(cues());
    let mesh = registries.find("rock.glb#Mesh0", Some("Mesh")).unwrap();
    assert_eq!(mesh.object_path(), "world/cues.pkg#rock.glb#Mesh0");
    assert_eq!(mesh.object.id(), ObjectId::new("cues.pkg", "rock.glb#Mesh0"));
    assert!(
        registries.find("rock.glb#Mesh0", Some("NewMesh")).is_some(),
        "it may have been renamed"
    );
    assert!(registries.find("rock.glb", None).is_none());
    // A later one goes before.
    let patch = object("rock.glb#Mesh0", "patch.pkg#rock", "Mesh", 1);
    registries.insert(ObjectRegistry::new("", vec![patch]).unwrap());
    assert_eq!(
        registries.find("rock.glb#Mesh0", None).unwrap().object_path(),
        "patch.pkg#rock"
    );
    let found = registries.scan(&ObjectScan::new().under("rock.glb"));
    let at: Vec<_> = found.iter().map(FoundObject::object_path).collect();
    assert_eq!(at, ["world/cues.pkg#rock.glb#Material0", "patch.pkg#rock"]);
}

#[test]
fn a_path_may_have_several_types() {
    let both = vec![object("a.ron", "p.pkg#a", "A", 1), object("a.ron", "p.pkg#b", "B", 1)];
    let registries = with(ObjectRegistry::new("", both).unwrap());
    let at = |type_path| {
        registries
            .find("a.ron", Some(type_path))
            .map(|found| found.object_path())
    };
    assert_eq!(at("A").as_deref(), Some("p.pkg#a"));
    assert_eq!(at("B").as_deref(), Some("p.pkg#b"));
    assert_eq!(at("C"), None);
    assert_eq!(at("").as_deref(), Some("p.pkg#a"), "any will do");
    let twice = vec![object("a.ron", "p.pkg#a", "A", 1), object("a.ron", "p.pkg#b", "A", 1)];
    let error = ObjectRegistry::new("", twice).unwrap_err();
    assert_eq!(error, RegistryError::Twice("a.ron".into()));
}

#[test]
fn deferred_scans_wait_for_what_is_on_its_way() {
    let dir = Dir::default();
    let plugin = crate::SeamlessAssetPlugin {
        registries: vec!["world/cues.registry".into()],
        ..Default::default()
    };
    dir.insert_asset(Path::new("world/cues.registry"), write_registry(&cues()).unwrap());
    let mut app = app_after(&dir, plugin, |_| {});
    let cues = ObjectScan::new().of_type("Cue");
    let registries = app.world().resource::<ObjectRegistries>();
    assert!(registries.scan(&cues).is_empty() && registries.scan_deferred(&cues).is_none());
    let before = registries.generation();
    run_until(&mut app, |world| !world.resource::<ObjectRegistries>().is_loading());
    let registries = app.world().resource::<ObjectRegistries>();
    assert_eq!(registries.scan_deferred(&cues).unwrap().len(), 4);
    assert!(registries.generation() > before);
    assert_eq!(registries.loaded().next().unwrap().folder(), "world/");
    // One that is not there does not hold anybody up for ever.
    let handle = app.world().resource::<AssetServer>().load("no.registry");
    let id = bevy_asset::AssetId::from(&handle);
    app.world_mut().resource_mut::<ObjectRegistries>().add(handle);
    assert!(app.world().resource::<ObjectRegistries>().is_loading());
    run_until(&mut app, |world| !world.resource::<ObjectRegistries>().is_loading());
    app.world_mut().resource_mut::<ObjectRegistries>().remove(id);
    assert_eq!(app.world().resource::<ObjectRegistries>().len(), 1);
}

#[test]
fn a_registry_that_changes_is_taken_anew() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let mut assets = app.world_mut().resource_mut::<bevy_asset::Assets<ObjectRegistry>>();
    let handle = assets.add(cues());
    app.world_mut().resource_mut::<ObjectRegistries>().add(handle.clone());
    app.update();
    let count = |app: &bevy_app::App| {
        app.world()
            .resource::<ObjectRegistries>()
            .scan(&ObjectScan::new())
            .len()
    };
    assert_eq!(count(&app), 7);
    let mut assets = app.world_mut().resource_mut::<bevy_asset::Assets<ObjectRegistry>>();
    assets.insert(&handle, ObjectRegistry::default()).unwrap();
    // The event comes at the end of the frame.
    app.update();
    app.update();
    assert_eq!(count(&app), 0);
}

#[test]
fn damaged_files_are_refused() {
    let limits = RegistryLimits::default();
    let bytes = write_registry(&cues()).unwrap();
    let read = |bytes: &[u8]| ObjectRegistry::from_bytes(bytes, "", &limits).map(drop);
    assert_eq!(read(&bytes), Ok(()));
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        assert!(read(&bytes).is_err(), "another byte at {at}");
    }
    let later = [&MAGIC_BYTES[..], &99_u32.to_le_bytes(), &[0; 8]].concat();
    let format = RegistryError::Format {
        found: 99,
        known: REGISTRY_FORMAT,
    };
    assert_eq!(read(&later), Err(format));
    assert_eq!(read(b"SEAMREG"), Err(RegistryError::NoRegistry));
    let few = RegistryLimits {
        objects: 3,
        ..limits.clone()
    };
    let error = ObjectRegistry::from_bytes(&bytes, "", &few).unwrap_err().to_string();
    assert!(
        error.contains("7 objects") && error.contains("RegistryLimits::objects"),
        "{error}"
    );
    let small = RegistryLimits { bytes: 30, ..limits };
    let error = ObjectRegistry::from_bytes(&bytes, "", &small).unwrap_err().to_string();
    assert!(error.contains("RegistryLimits::bytes"), "{error}");
}

const MAGIC_BYTES: [u8; 8] = REGISTRY_MAGIC;

/// With a checksum that fits.
#[test]
fn sizes_are_of_the_objects_that_are_there() {
    let limits = RegistryLimits::default();
    let bytes = write_registry(&cues()).unwrap();
    let told = |count: u32| {
        let content = [&count.to_le_bytes(), &bytes[24..]].concat();
        let hash = xxhash_rust::xxh3::xxh3_64(&content).to_le_bytes();
        let bytes = [&bytes[..12], &hash, &content].concat();
        ObjectRegistry::from_bytes(&bytes, "", &limits).map(|registry| registry.objects().len())
    };
    assert_eq!(told(7), Ok(7));
    for count in [0, 6, 8, 1 << 20, u32::MAX] {
        assert!(told(count).is_err(), "{count}");
    }
    assert!(
        resize_registry(bytes.clone(), 7, [(7, 1)]).is_err(),
        "there is no such object"
    );
    assert!(resize_registry(bytes.clone(), 8, []).is_err());
    assert!(resize_registry(bytes[..20].to_vec(), 7, []).is_err());
}

fn words() -> impl Strategy<Value = Vec<Arc<str>>> {
    prop::collection::vec("[a-z/]{1,6}".prop_map(|text| Arc::from(text.as_str())), 0..4)
}

fn any_object() -> impl Strategy<Value = RegistryObject> {
    let tags = prop::collection::vec((words(), words()), 0..3);
    let level = prop::option::of((words(), words(), any::<u32>()));
    ("[a-z#/]{1,9}", "[a-z]{1,3}.pkg", any::<u64>(), tags, words(), level).prop_map(
        |(path, package, bytes, tags, soft, level)| RegistryObject {
            bytes,
            tags: tags
                .iter()
                .flat_map(|(keys, values)| keys.iter().cloned().zip(values.iter().cloned()))
                .collect(),
            bundles: tags
                .into_iter()
                .filter_map(|(keys, paths)| Some((keys.first()?.clone(), paths)))
                .collect(),
            soft,
            level: level.map(|(dependencies, assets, entities)| {
                Box::new(RegistryLevel {
                    dependencies,
                    assets,
                    entities,
                })
            }),
            ..object(&path, &package, "T", 0)
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(mut objects in prop::collection::vec(any_object(), 0..20)) {
        objects.sort_by(|a, b| a.path.cmp(&b.path));
        objects.dedup_by(|a, b| a.path == b.path);
        let registry = ObjectRegistry::new("", objects.clone()).unwrap();
        let bytes = write_registry(&registry).unwrap();
        let read = ObjectRegistry::from_bytes(&bytes, "a/", &RegistryLimits::default()).unwrap();
        prop_assert_eq!(read.objects(), &objects[..]);
        prop_assert_eq!(write_registry(&read).unwrap(), &bytes[..]);
        // Other sizes are written over the old ones.
        let sizes: Vec<(usize, u64)> = (0..objects.len()).step_by(2).map(|place| (place, place as u64)).collect();
        let mut resized = objects.clone();
        sizes.iter().for_each(|(place, bytes)| resized[*place].bytes = *bytes);
        let all_anew = write_registry(&ObjectRegistry::new("", resized).unwrap()).unwrap();
        prop_assert_eq!(resize_registry(bytes, objects.len(), sizes).unwrap(), all_anew);
        for object in &objects {
            prop_assert_eq!(read.at(&object.path), core::slice::from_ref(object));
        }
    }
}
