use bevy_asset::AssetId;
use bevy_ecs::system::RunSystemOnce;
use bevy_mesh::Mesh;
use bevy_pbr::StandardMaterial;
use bevy_reflect::{FromReflect, tuple_struct::DynamicTupleStruct};

use super::*;

pub(crate) fn instance(number: u64) -> InstanceId {
    let mut fields = DynamicTupleStruct::default();
    fields.insert(number);
    InstanceId::from_reflect(&fields).expect("it is a number")
}

/// What is drawn with assets that are not there.
pub(super) fn set() -> DrawnSet {
    DrawnSet {
        mesh: AssetId::<Mesh>::invalid(),
        material: AssetId::<StandardMaterial>::invalid().untyped(),
        casts_shadows: false,
        lightmap: None,
        crossfades: false,
        skinned: false,
    }
}

fn level(sets: Vec<DrawnSet>) -> Watched {
    Watched {
        is_ready: true,
        drawn: Arc::new(Drawn {
            sets,
            lights: OwnLights::default(),
        }),
        scans: Weak::new(),
    }
}

#[test]
fn on_another_device_no_pipeline_is_compiled() {
    let set = set();
    let [drawn, bare] = [1, 2].map(instance);
    let gate = PipelineGate::default();
    gate.lock().levels.insert(drawn, level(vec![set]));
    gate.lock().levels.insert(bare, level(vec![]));
    let mut world = World::new();
    world.insert_resource(gate.clone());
    world.insert_resource(Warming {
        levels: HashMap::from_iter([(drawn, LevelWarmth::default())]),
        ..Warming::default()
    });
    world.run_system_once(start_over).expect("it has its resources");
    assert!(!gate.is_level_open(drawn), "its pipelines were the last device's");
    assert!(gate.is_level_open(bare), "it needs none");
    assert!(world.resource::<Warming>().levels.is_empty());
}

fn lit(lights: OwnLights) -> Arc<Drawn> {
    let sets = Vec::new();
    Arc::new(Drawn { sets, lights })
}

/// What came without is asked for when the next one of its kind comes; what is about to come counts for all.
#[test]
fn only_what_was_ready_is_there() {
    let points = OwnLights {
        points: true,
        ..OwnLights::default()
    };
    let [reflections, irradiance] = [true, false].map(|is_first| OwnLights {
        reflections: is_first,
        irradiance: !is_first,
        ..OwnLights::default()
    });
    let other = |lights, was_ready| Other {
        drawn: lit(lights),
        was_ready,
    };
    let waiting = vec![(instance(1), lit(points)), (instance(2), lit(OwnLights::default()))];
    let others = vec![
        (instance(3), other(reflections, true)),
        (instance(4), other(irradiance, false)),
    ];
    let all = points.and(reflections).and(irradiance);
    assert_eq!(lights_of(&waiting, &others), (reflections, all));
}
