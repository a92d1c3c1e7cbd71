//! `level_load_cpu`: from bytes in memory to live entities, all work of all threads, one after the other on one.

use crate::{
    app::{Plugins, cpu_ns},
    bed::Bed,
    row::{Row, Samples, Targets},
    scene::Scene,
};

const ENTITIES: usize = 2000;

/// What the entities hold.
#[derive(Clone, Copy)]
pub enum Variant {
    /// What Bevy draws: components with codecs.
    Renderable,
    /// A game's own component, by reflection.
    Reflected,
}

/// Measures one variant.
pub fn run(variant: Variant, samples: Option<usize>) -> Row {
    let (name, scene) = match variant {
        Variant::Renderable => ("level_load_cpu/renderable", Scene::Renderable(ENTITIES)),
        Variant::Reflected => ("level_load_cpu/reflected", Scene::Reflected(ENTITIES)),
    };
    let mut bed = Bed::new(scene, Plugins::Game);
    let mut result = Samples::default();
    let per_entity = 1.0 / ENTITIES as f64;
    for round in 0..samples.unwrap_or(21) + 2 {
        let (decode, decoded) = cpu_ns(|| bed.decode());
        let (reveal, live) = bed.reveal(decoded);
        bed.leave(&live);
        let (parse, dynamic) = cpu_ns(|| bed.parse());
        let (write, root) = bed.write(&dynamic);
        bed.despawn(root);
        // The first rounds warm the storage.
        if round >= 2 {
            result.ours.push((decode + reveal) * per_entity);
            result.peer.push((parse + write) * per_entity);
        }
    }
    let targets = Targets {
        first: 20.0,
        aim: 60.0,
        of_limit: None,
    };
    result.row(name, "ns/entity", Some("DynamicWorld from RON"), None, targets)
}
