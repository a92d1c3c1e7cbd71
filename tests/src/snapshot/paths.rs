//! Addresses of entities: names from the root down, the same in every world.

use std::collections::{HashMap, HashSet};

use bevy::prelude::*;

/// The entities of a subtree and their paths.
#[derive(Default)]
pub(super) struct Paths {
    order: Vec<(String, Entity)>,
    by_entity: HashMap<Entity, usize>,
}

impl Paths {
    /// Walks down from `root` by `Children`, in order.
    pub(super) fn below(world: &World, root: Entity) -> Self {
        assert!(world.get_entity(root).is_ok(), "the root {root} is alive");
        let mut paths = Self::default();
        paths.visit(world, root, "/".to_owned());
        paths
    }

    /// All entities, parents first.
    pub(super) fn in_order(&self) -> &[(String, Entity)] {
        &self.order
    }

    /// The path of `entity`, or what else it is: `<outside>` the subtree, `<dead>`, or the `<placeholder>`.
    pub(super) fn name(&self, world: &World, entity: Entity) -> String {
        if let Some(at) = self.by_entity.get(&entity) {
            return self.order[*at].0.clone();
        }
        if entity == Entity::PLACEHOLDER {
            return "<placeholder>".to_owned();
        }
        let alive = world.get_entity(entity).is_ok();
        if alive { "<outside>" } else { "<dead>" }.to_owned()
    }

    fn visit(&mut self, world: &World, entity: Entity, path: String) {
        if self.by_entity.contains_key(&entity) {
            return;
        }
        let prefix = path.trim_end_matches('/').to_owned();
        self.by_entity.insert(entity, self.order.len());
        self.order.push((path, entity));
        let Some(children) = world.get::<Children>(entity) else {
            return;
        };
        let mut taken = HashSet::new();
        for (index, child) in children.iter().enumerate() {
            let base = segment(world, child, index);
            let mut name = base.clone();
            let mut copy = 0;
            while !taken.insert(name.clone()) {
                copy += 1;
                name = format!("{base}~{copy}");
            }
            self.visit(world, child, format!("{prefix}/{name}"));
        }
    }
}

/// The name of a child, or `#index` for one without; signs with a meaning in paths are escaped, so that no name can
/// look like another's path.
fn segment(world: &World, entity: Entity, index: usize) -> String {
    match world.get::<Name>(entity) {
        None => format!("#{index}"),
        Some(name) if name.is_empty() => "%empty".to_owned(),
        Some(name) => name
            .replace('%', "%25")
            .replace('/', "%2f")
            .replace('~', "%7e")
            .replace('#', "%23"),
    }
}
