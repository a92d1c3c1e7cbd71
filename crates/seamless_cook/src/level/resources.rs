//! Resources of a scene: refused, left out, or kept for ever, as the world file says.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy::prelude::*;
use seamless_asset::codec::{EncodeContext, EntityRows, encode_reflected, resource_schema};

use super::{EncodedResource, Job, LevelEncoder, StoredSchema};
use crate::assets::{AssetStore, AssetWalk};
use crate::report::ContentError;
use crate::source::Scene;
use crate::world_file::ResourcePolicy;

impl LevelEncoder {
    pub(super) fn encode_resources(
        &self,
        job: &mut Job,
        scene: &Scene,
        walk: &AssetWalk,
        store: &mut AssetStore,
        warnings: &mut Vec<ContentError>,
    ) -> Vec<EncodedResource> {
        let names = scene.resources.iter().map(|value| value.reflect_type_path());
        let names: Vec<&str> = names.chain(scene.opaque_resources.iter().map(String::as_str)).collect();
        match self.policy {
            ResourcePolicy::Error => {
                for name in names {
                    job.error(
                        format!("resource `{name}`"),
                        "a level holds no resources, they are global; remove it from the scene, or write `resources: Ignore` \
                         or `resources: Persistent` in the world file",
                    );
                }
                Vec::new()
            }
            ResourcePolicy::Ignore => {
                for name in names {
                    let message = "is left out, as the world file says";
                    warnings.push(ContentError::new(
                        job.level.source.as_str(),
                        format!("resource `{name}`"),
                        message,
                    ));
                }
                Vec::new()
            }
            ResourcePolicy::Persistent => {
                for name in &scene.opaque_resources {
                    job.error(
                        format!("resource `{name}`"),
                        "is not registered for reflection; add `app.register_type::<…>()`",
                    );
                }
                let values: BTreeMap<&str, &dyn Reflect> = scene
                    .resources
                    .iter()
                    .map(|value| (value.reflect_type_path(), *value))
                    .collect();
                values
                    .into_values()
                    .filter_map(|value| encode_resource(job, value, walk, store))
                    .collect()
            }
        }
    }
}

fn encode_resource(
    job: &mut Job,
    value: &dyn Reflect,
    walk: &AssetWalk,
    store: &mut AssetStore,
) -> Option<EncodedResource> {
    let type_path = value.reflect_type_path().to_owned();
    let object = format!("resource `{type_path}`");
    let Some(info) = job.registry.get_type_info(value.as_any().type_id()) else {
        job.error(
            object,
            "its type is not registered; register it in the cooker".to_owned(),
        );
        return None;
    };
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(job.registry, &rows);
    let mut data = Vec::new();
    let result = encode_reflected(value, &mut context, &mut data);
    job.soft.extend(context.take_told().soft);
    let handles = context.into_references();
    if let Err(error) = result {
        job.error(object, error.to_string());
        return None;
    }
    Some(EncodedResource {
        schema: StoredSchema(Arc::new(resource_schema(info, job.registry))),
        references: handles
            .iter()
            .map(|handle| store.add(walk, handle, &|| object.clone(), &mut job.errors))
            .collect(),
        data,
    })
}
