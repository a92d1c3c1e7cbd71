//! `level_commit`: the main thread's part of a load, renderable entities with a hierarchy.

use crate::{
    app::Plugins,
    bed::Bed,
    row::{Row, Samples, Targets},
    scene::Scene,
};

/// Measures levels of `entities`.
pub fn run(name: &'static str, entities: usize, plugins: Plugins, samples: Option<usize>) -> Row {
    let mut bed = Bed::new(Scene::Renderable(entities), plugins);
    let dynamic = bed.parse();
    let mut result = Samples::default();
    let per_entity = 1.0 / entities as f64;
    for round in 0..samples.unwrap_or(31) + 2 {
        let decoded = bed.decode();
        let (ours, live) = bed.reveal(decoded);
        bed.leave(&live);
        let (peer, root) = bed.write(&dynamic);
        bed.despawn(root);
        let (root, bundles) = bed.bundles();
        let limit = bed.spawn(bundles);
        bed.despawn(root);
        // The first rounds warm the storage, for all three alike.
        if round >= 2 {
            result.ours.push(ours * per_entity);
            result.peer.push(peer * per_entity);
            result.limit.push(limit * per_entity);
        }
    }
    let targets = Targets {
        first: 4.0,
        aim: 8.0,
        of_limit: Some(1.3),
    };
    result.row(
        name,
        "ns/entity",
        Some("DynamicWorld::write_to_world"),
        Some("spawn_empty_at + typed insert"),
        targets,
    )
}
