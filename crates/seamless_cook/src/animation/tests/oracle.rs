//! Bevy's own loader, and the same file read by ours: equal at every key and between.

use std::time::{Duration, Instant};

use bevy::animation::animation_curves::{AnimationCurve, WeightsCurveSample};
use bevy::animation::{AnimationClip, AnimationPlugin};
use bevy::app::TaskPoolPlugin;
use bevy::asset::{AssetPlugin, Assets, LoadState};
use bevy::gltf::{Gltf, GltfPlugin};
use bevy::image::ImagePlugin;
use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use bevy::time::TimePlugin;
use bevy::world_serialization::WorldSerializationPlugin;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use seamless_asset::assets::animation::{AnimationClipCodec, ClipSources, CurveProperty, Interpolation, StoredCurve};
use seamless_asset::codec::{AssetCodec, DecodeContext, EncodeContext, EntityRows, ErasedAssetCodec};

use super::{builder::*, *};

const PATHS: [&str; 4] = ["translation", "rotation", "scale", "weights"];
const MODES: [&str; 3] = ["STEP", "LINEAR", "CUBICSPLINE"];

/// Bevy with its glTF loader and nothing that draws.
pub(super) struct Loaded {
    pub app: App,
    gltf: Handle<Gltf>,
}

impl Loaded {
    pub fn new(file: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let file_path = folder.path().to_str().unwrap().to_owned();
        let mut app = App::new();
        app.add_plugins((
            TaskPoolPlugin::default(),
            TimePlugin,
            AssetPlugin { file_path, ..default() },
            WorldSerializationPlugin,
            MeshPlugin,
            ImagePlugin::default(),
            AnimationPlugin,
            GltfPlugin::default(),
        ));
        app.finish();
        app.cleanup();
        let gltf: Handle<Gltf> = app.world().resource::<AssetServer>().load(file.to_owned());
        let start = Instant::now();
        loop {
            app.update();
            match app.world().resource::<AssetServer>().load_state(gltf.id()) {
                LoadState::Loaded => break,
                LoadState::Failed(error) => panic!("{error}"),
                _ => assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "Bevy does not come to an end"
                ),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        app.update();
        Self { app, gltf }
    }

    pub fn handles(&self) -> &[Handle<AnimationClip>] {
        &self
            .app
            .world()
            .resource::<Assets<Gltf>>()
            .get(&self.gltf)
            .unwrap()
            .animations
    }

    fn clip(&self, handle: &Handle<AnimationClip>) -> &AnimationClip {
        self.app
            .world()
            .resource::<Assets<AnimationClip>>()
            .get(handle)
            .unwrap()
    }

    /// The clip as a package has it, encoded by the codec that was told of `clip`; with the number of warnings.
    pub fn cooked(&mut self, handle: &Handle<AnimationClip>, clip: &StoredClip) -> (AnimationClip, usize) {
        let world = self.app.world_mut();
        world.init_resource::<ClipSources>();
        world.resource_mut::<ClipSources>().insert(handle.id(), clip.clone());
        let registry = TypeRegistry::default();
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&registry, &rows);
        let codec = ErasedAssetCodec::new::<AnimationClipCodec>();
        let encoded = codec
            .encode(world, handle.id().untyped(), &mut context)
            .unwrap()
            .unwrap();
        let decoding = DecodeContext {
            registry: &registry,
            entities: &[],
            handles: &[],
            mesh_attributes: &[],
            object: None,
        };
        let clip = AnimationClipCodec::decode(&encoded.data, vec![], &decoding).unwrap();
        (clip, context.take_warnings().len())
    }
}

fn bits(curve: &dyn AnimationCurve, time: f32) -> Vec<u32> {
    let value = curve.sample_clamped(time);
    let value = match value.downcast::<Vec3>() {
        Ok(value) => return value.to_array().map(f32::to_bits).to_vec(),
        Err(other) => other,
    };
    let value = match value.downcast::<Quat>() {
        Ok(value) => return value.to_array().map(f32::to_bits).to_vec(),
        Err(other) => other,
    };
    let weights = value
        .downcast::<WeightsCurveSample>()
        .expect("nothing else is in a glTF file");
    weights.0.iter().map(|weight| weight.to_bits()).collect()
}

/// Where a curve is looked at: its keys, the times between them, and some beyond both ends.
fn probes(curve: &StoredCurve) -> Vec<f32> {
    let times = curve.times();
    let between = times
        .array_windows()
        .flat_map(|[a, b]| [0.25, 0.5, 0.75].map(|part| a + (b - a) * part));
    let between: Vec<f32> = between.filter(|time| !times.contains(time)).collect();
    // Bevy's own curve panics everywhere else.
    let is_cubic = curve.interpolation() == Interpolation::CubicSpline && curve.property() == CurveProperty::Weights;
    if is_cubic {
        between
    } else {
        [between, times.to_vec(), vec![-1.0, 0.0, 1e4]].concat()
    }
}

/// `ours` has the targets, curves and values of `bevys`.
#[track_caller]
fn assert_same(ours: &AnimationClip, bevys: &AnimationClip, stored: &StoredClip) {
    assert_eq!(ours.duration(), bevys.duration());
    assert_eq!(ours.curves().len(), bevys.curves().len());
    for (target, list) in bevys.curves() {
        let of_target: Vec<_> = stored
            .curves()
            .iter()
            .filter(|curve| curve.target() == *target)
            .collect();
        let same = ours.curves_for_target(*target).expect("the same targets");
        assert_eq!((same.len(), of_target.len()), (list.len(), list.len()));
        for ((ours, bevys), stored) in same.iter().zip(list).zip(of_target) {
            assert!(ours.0.evaluator_id() == bevys.0.evaluator_id(), "{stored:?}");
            assert_eq!(ours.0.domain(), bevys.0.domain());
            for time in probes(stored) {
                assert_eq!(bits(&*ours.0, time), bits(&*bevys.0, time), "at {time} s of {stored:?}");
            }
        }
    }
}

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|index| f32::sin((index * 7 + seed * 3) as f32))
        .collect()
}

/// Numbers of one key; there are two morph targets.
fn width(path: &str) -> usize {
    match path {
        "rotation" => 4,
        "weights" => 2,
        _ => 3,
    }
}

/// One animation with every property and interpolation, with three keys and with one.
pub(super) fn everything() -> Builder {
    let mut builder = Builder::default();
    let times = [builder.times(&[0.25, 0.5, 1.75]), builder.times(&[0.5])];
    let mut channels = Vec::new();
    for path in PATHS {
        for mode in MODES {
            for (count, input) in [3, 1].into_iter().zip(times) {
                let per_key = if mode == "CUBICSPLINE" { 3 } else { 1 };
                let values = numbers(count * per_key * width(path), channels.len());
                let output = builder.values(path, &values);
                channels.push((channels.len() % 4, path, mode, input, output));
            }
        }
    }
    builder.animation(Some("All"), &channels);
    builder
}

#[track_caller]
fn check(file: &str, files: &[(&str, &[u8])], ours: &[GltfClip]) {
    let mut loaded = Loaded::new(file, files);
    let handles = loaded.handles().to_vec();
    assert_eq!(ours.len(), handles.len());
    for (ours, handle) in ours.iter().zip(&handles) {
        assert_eq!(handle.path().unwrap().label(), Some(ours.label.as_str()));
        let (cooked, warnings) = loaded.cooked(handle, &ours.clip);
        assert_eq!(warnings, 0, "{} was sampled", ours.label);
        assert_same(&cooked, loaded.clip(handle), &ours.clip);
    }
}

#[test]
fn every_kind_of_channel_is_bevys() {
    let builder = everything();
    let gltf = builder.gltf();
    let ours = clips(&gltf);
    assert_eq!(
        (ours[0].label.as_str(), ours[0].name.as_deref()),
        ("Animation0", Some("All"))
    );
    assert_eq!((ours[0].clip.curves().len(), ours[0].skipped.len()), (24, 0));
    check("a.gltf", &[("a.gltf", &gltf)], &ours);
}

#[test]
fn buffers_may_be_anywhere() {
    let builder = everything();
    let of_data = clips(&builder.gltf());
    let glb = builder.glb();
    assert_eq!(clips(&glb), of_data);
    check("a.glb", &[("a.glb", &glb)], &of_data);

    let gltf = builder.with_uri("walk%20cycle.bin");
    let mut asked = Vec::new();
    let of_file = clips_of_gltf(&gltf, |path| {
        asked.push(path.to_owned());
        io::Result::Ok(builder.bytes.clone())
    });
    assert_eq!(of_file.unwrap(), of_data);
    assert_eq!(asked, ["walk cycle.bin"]);
    check(
        "a.gltf",
        &[("a.gltf", &gltf), ("walk cycle.bin", &builder.bytes)],
        &of_data,
    );
}

/// Rotations and weights may be whole numbers, and values may be sparse.
#[test]
fn every_form_of_number_is_bevys() {
    let mut builder = Builder::default();
    let times = builder.times(&[0.0, 1.0]);
    let bytes: Vec<u8> = (0..16_u8).map(|value| value.wrapping_mul(37)).collect();
    for (component, size) in [(I8, 1), (U8, 1), (I16, 2), (U16, 2)] {
        let rotation = builder.accessor(&bytes[..8 * size], component, "VEC4", 2);
        let weights = builder.accessor(&bytes[..2 * size], component, "SCALAR", 2);
        builder.animation(
            None,
            &[
                (1, "rotation", "LINEAR", times, rotation),
                (1, "weights", "LINEAR", times, weights),
            ],
        );
    }
    let base = builder.view(&floats(&numbers(6, 1)));
    let places = builder.view(&[1]);
    let instead = builder.view(&floats(&[7.0, 8.0, 9.0]));
    let sparse = format!(
        r#""sparse":{{"count":1,"indices":{{"bufferView":{places},"componentType":{U8}}},"values":{{"bufferView":{instead}}}}}"#
    );
    let form = format!(r#""componentType":{F32},"type":"VEC3","count":2"#);
    let with_base = builder.raw_accessor(&format!(r#""bufferView":{base},{form},{sparse}"#));
    let without = builder.raw_accessor(&format!("{form},{sparse}"));
    builder.animation(
        None,
        &[
            (0, "scale", "STEP", times, with_base),
            (3, "translation", "LINEAR", times, without),
        ],
    );
    let gltf = builder.gltf();
    let ours = clips(&gltf);
    assert_eq!(ours.len(), 5);
    assert!(ours.iter().all(|clip| clip.clip.curves().len() == 2), "{ours:#?}");
    check("a.gltf", &[("a.gltf", &gltf)], &ours);
}

#[test]
fn what_bevy_skips_is_skipped() {
    let mut builder = Builder::default();
    let times = builder.times(&[0.0, 1.0]);
    let values = builder.values("scale", &numbers(6, 1));
    let twice = builder.times(&[1.0, 1.0]);
    let view = builder.view(&floats(&[0.5]));
    let places = builder.view(&[1]);
    let sparse = builder.raw_accessor(&format!(
        r#""componentType":{F32},"type":"SCALAR","count":2,"sparse":{{"count":1,"indices":{{"bufferView":{places},"componentType":{U8}}},"values":{{"bufferView":{view}}}}}"#
    ));
    let channels = [
        (1, "scale", "LINEAR", times, values),
        (4, "scale", "LINEAR", times, values),
        (1, "scale", "LINEAR", twice, values),
        (1, "scale", "LINEAR", sparse, values),
    ];
    builder.animation(None, &channels);
    let gltf = builder.gltf();
    let ours = clips(&gltf);
    let reasons: Vec<_> = ours[0]
        .skipped
        .iter()
        .map(|skipped| (skipped.channel, skipped.node, &skipped.reason))
        .collect();
    assert!(
        matches!(
            reasons.as_slice(),
            [
                (1, 4, SkipReason::NodeInNoScene),
                (2, 1, SkipReason::Curve(_)),
                (3, 1, SkipReason::SparseTimes)
            ]
        ),
        "{reasons:?}"
    );
    check("a.gltf", &[("a.gltf", &gltf)], &ours);
}

/// Key times of all sorts: in no order, twice, not finite; and too few or too many values.
#[test]
fn odd_channels_are_bevys() {
    let mut runner = TestRunner::deterministic();
    let time = proptest::prop_oneof![
        8 => (0..8_u8).prop_map(|time| f32::from(time) / 4.0),
        1 => proptest::sample::select(vec![f32::NAN, f32::INFINITY, -0.0, 1e30, 1e-30]),
    ];
    let channel = (
        proptest::collection::vec(time, 1..8),
        proptest::sample::select(PATHS.to_vec()),
        proptest::sample::select(MODES.to_vec()),
        proptest::sample::select(vec![0_i32, 0, 0, 1, -1]),
    );
    let mut builder = Builder::default();
    for index in 0..400 {
        let (times, path, mode, surplus) = channel.new_tree(&mut runner).unwrap().current();
        let keys = (times.len() as i32 + surplus).max(1) as usize;
        let per_key = if mode == "CUBICSPLINE" { 3 } else { 1 };
        let input = builder.times(&times);
        let output = builder.values(path, &numbers(keys * per_key * width(path), index));
        builder.animation(None, &[(index % 4, path, mode, input, output)]);
    }
    let gltf = builder.gltf();
    let ours = clips(&gltf);
    let mut loaded = Loaded::new("a.gltf", &[("a.gltf", &gltf)]);
    let handles = loaded.handles().to_vec();
    let mut skipped = 0;
    for (ours, handle) in ours.iter().zip(&handles) {
        let bevys_is_empty = loaded.clip(handle).curves().is_empty();
        skipped += usize::from(bevys_is_empty);
        if !bevys_is_empty && let [skipped] = ours.skipped.as_slice() {
            // Bevy makes curves of cubic weights whose values do not fill the keys; what they show means nothing.
            let is_weights = matches!(&skipped.reason, SkipReason::Curve(error) if error.to_string().contains("CubicSpline Weights"));
            assert!(is_weights, "{skipped:?}");
            continue;
        }
        let (cooked, warnings) = loaded.cooked(handle, &ours.clip);
        assert_eq!(warnings, 0, "{ours:?}");
        assert_same(&cooked, loaded.clip(handle), &ours.clip);
    }
    assert!((20..200).contains(&skipped), "{skipped} of 400 are no curves");
}
