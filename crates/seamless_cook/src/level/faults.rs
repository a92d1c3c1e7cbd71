//! What is wrong with a level, entity by entity.

use std::collections::BTreeMap;

use bevy::prelude::*;
use seamless_asset::codec::{ComponentCodec, EncodeContext, EncodeError, EntityRows};

use super::Job;
use crate::hierarchy::Hierarchy;
use crate::source::Scene;

/// What keeps the entities from being a forest.
pub(super) fn list_misfits(job: &mut Job, scene: &Scene, hierarchy: &Hierarchy) {
    for &index in &hierarchy.circles {
        let number = scene.entities[index].entity;
        job.error(format!("entity {number}"), "is its own ancestor; correct its `ChildOf`");
    }
    for &(parent, child) in &hierarchy.misplaced {
        let [parent, child] = [parent, child].map(|index| scene.entities[index].entity);
        let message = format!(
            "its `Children` list entity {child}, whose `ChildOf` is another, or list it twice; correct one of the two"
        );
        job.error(format!("entity {parent}"), message);
    }
}

/// Components that cannot be read, each once, with the first entity that has it.
pub(super) fn list_problems(job: &mut Job, scene: &Scene) {
    let mut by_message: BTreeMap<&str, Vec<Entity>> = BTreeMap::new();
    for (entity, message) in &scene.problems {
        by_message.entry(message).or_default().push(*entity);
    }
    for (message, entities) in by_message {
        let index = scene
            .entities
            .iter()
            .position(|entity| entities.contains(&entity.entity));
        let object = match (index, entities.len()) {
            (None, _) => "resources".to_owned(),
            (Some(index), 1) => format!("entity `{}`", job.names[index]),
            (Some(index), count) => format!("entity `{}` and {} more", job.names[index], count - 1),
        };
        job.error(object, message);
    }
}

/// A column could not be encoded: finds out for which entities.
pub(super) fn list_culprits(
    job: &mut Job,
    codec: &dyn ComponentCodec,
    values: &[(usize, &dyn Reflect)],
    rows: &EntityRows,
    error: &EncodeError,
) {
    let before = job.errors.len();
    for (index, value) in values {
        let mut context = EncodeContext::new(job.registry, rows);
        if let Err(error) = codec.encode(&[*value], &mut context, &mut Vec::new()) {
            let object = format!("entity `{}`, `{}`", job.names[*index], codec.type_path());
            job.error(object, error.to_string());
        }
    }
    if job.errors.len() == before {
        job.error(format!("`{}`", codec.type_path()), error.to_string());
    }
}
