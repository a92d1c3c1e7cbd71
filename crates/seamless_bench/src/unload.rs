//! `level_unload`: a level out of the world, beside Bevy's recursive despawn of the same entities.

use std::collections::VecDeque;

use crate::{
    app::Plugins,
    bed::Bed,
    row::{Row, Samples, Targets},
    scene::Scene,
};

/// Measures levels of `entities`. Others came after the level that leaves, so many that `live` levels are in the world:
/// with one, the level's rows are the last of their tables; with more, they lie before those of others, as in a game.
pub fn run(name: &'static str, entities: usize, live: usize, samples: Option<usize>) -> Row {
    let mut bed = Bed::new(Scene::Renderable(entities), Plugins::Game);
    let mut result = Samples::default();
    let per_entity = 1.0 / entities as f64;
    let mut levels = VecDeque::new();
    for round in 0..2 * (samples.unwrap_or(31) + live + 1) {
        let decoded = bed.decode();
        levels.push_back(bed.reveal(decoded).1);
        if levels.len() < live {
            continue;
        }
        let Some(oldest) = levels.pop_front() else { continue };
        let is_ours = round % 2 == 0;
        let took = if is_ours {
            bed.leave(&oldest)
        } else {
            bed.despawn(oldest.root)
        };
        // The first rounds warm the storage.
        if round >= 2 * (live + 1) {
            let times = if is_ours { &mut result.ours } else { &mut result.peer };
            times.push(took * per_entity);
        }
    }
    let targets = Targets {
        first: 1.0,
        aim: 1.5,
        of_limit: None,
    };
    result.row(name, "ns/entity", Some("despawn of the root"), None, targets)
}
