//! `level_unload`: a level out of the world, beside Bevy's recursive despawn of the same entities.

use crate::{
    app::Plugins,
    bed::Bed,
    row::{Row, Samples, Targets},
    scene::Scene,
};

/// Measures levels of `entities`.
pub fn run(name: &'static str, entities: usize, samples: Option<usize>) -> Row {
    let mut bed = Bed::new(Scene::Renderable(entities), Plugins::Game);
    let mut result = Samples::default();
    let per_entity = 1.0 / entities as f64;
    for round in 0..samples.unwrap_or(31) + 2 {
        let decoded = bed.decode();
        let (_, live) = bed.reveal(decoded);
        let ours = bed.leave(&live);
        let decoded = bed.decode();
        let (_, live) = bed.reveal(decoded);
        let peer = bed.despawn(live.root);
        if round >= 2 {
            result.ours.push(ours * per_entity);
            result.peer.push(peer * per_entity);
        }
    }
    let targets = Targets { first: 1.0, aim: 1.5, of_limit: None };
    result.row(name, "ns/entity", "despawn of the root", None, targets)
}
