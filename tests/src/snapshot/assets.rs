//! The content of assets: by hand where reflection does not see everything, else by reflection.

use std::any::{TypeId, type_name};

use bevy::{
    asset::{Asset, ReflectAsset, UntypedAssetId},
    image::Image,
    mesh::{Indices, MeshVertexAttribute, skinning::SkinnedMeshInverseBindposes},
    prelude::*,
};

use super::{
    plain::float32,
    record::{AssetRecord, Fields, Leaf},
    triangles,
    walk::Walker,
};

/// The content of the asset `id`; `None` when there is none.
pub(super) fn read(walker: &mut Walker, id: UntypedAssetId) -> Option<AssetRecord> {
    if let Some(found) = typed::<Mesh>(walker, id, mesh) {
        return found;
    }
    if let Some(found) = typed::<Image>(walker, id, image) {
        return found;
    }
    if let Some(found) = typed::<StandardMaterial>(walker, id, material) {
        return found;
    }
    if let Some(found) = typed::<SkinnedMeshInverseBindposes>(walker, id, bindposes) {
        return found;
    }
    if let Some(found) = typed::<AnimationClip>(walker, id, clip) {
        return found;
    }
    if let Some(found) = typed::<WorldAsset>(walker, id, spawned) {
        return found;
    }
    if let Some(found) = typed::<DynamicWorld>(walker, id, spawned) {
        return found;
    }
    let kind = walker.type_name(id.type_id());
    let mut fields = Fields::new();
    match walker.type_data::<ReflectAsset>(id.type_id()) {
        Some(data) => {
            let value = data.get(walker.world, id)?;
            walker.value("", value.as_partial_reflect(), &mut fields);
        }
        None => {
            fields.insert(String::new(), Leaf::text(format!("<opaque asset {kind}>")));
        }
    }
    Some(AssetRecord { kind, fields })
}

/// `None` when `id` is of another type; `Some(None)` when the asset is missing.
fn typed<A: Asset>(
    walker: &mut Walker,
    id: UntypedAssetId,
    read: fn(&mut Walker, &A, &mut Fields),
) -> Option<Option<AssetRecord>> {
    if id.type_id() != TypeId::of::<A>() {
        return None;
    }
    let assets = walker.world.get_resource::<Assets<A>>();
    let asset = assets.and_then(|assets| assets.get(id.typed::<A>()));
    Some(asset.map(|asset| {
        let mut fields = Fields::new();
        read(walker, asset, &mut fields);
        let kind = type_name::<A>().to_owned();
        AssetRecord { kind, fields }
    }))
}

fn put(fields: &mut Fields, name: &str, value: impl std::fmt::Debug) {
    fields.insert(name.to_owned(), Leaf::Text(format!("{value:?}")));
}

fn mesh(walker: &mut Walker, mesh: &Mesh, fields: &mut Fields) {
    put(fields, "topology", mesh.primitive_topology());
    put(fields, "asset_usage", mesh.asset_usage);
    put(fields, "enable_raytracing", mesh.enable_raytracing);
    if walker.is_shipped
        && let Some(triangles) = triangles::in_any_order(mesh)
    {
        fields.insert("triangles".to_owned(), Leaf::blob(&triangles));
    } else {
        vertices(mesh, fields);
    }
    put(fields, "morph_target_names", mesh.morph_target_names());
    match mesh.skinned_mesh_bounds() {
        None => put(fields, "skinned_mesh_bounds", "none"),
        Some(bounds) => walker.value("skinned_mesh_bounds", bounds, fields),
    }
    walker.value("final_aabb", &mesh.final_aabb, fields);
}

fn vertices(mesh: &Mesh, fields: &mut Fields) {
    attributes(mesh, fields);
    match mesh.try_indices_option() {
        Ok(None) => put(fields, "indices", "none"),
        Ok(Some(indices)) => {
            let format = match indices {
                Indices::U16(_) => "u16",
                Indices::U32(_) => "u32",
            };
            put(fields, "indices.format", format);
            let bytes = mesh.get_index_buffer_bytes().unwrap_or_default();
            fields.insert("indices".to_owned(), Leaf::blob(bytes));
        }
        Err(error) => put(fields, "indices", error),
    }
    morph_targets(mesh, fields);
}

fn attributes(mesh: &Mesh, fields: &mut Fields) {
    let attributes = match mesh.try_attributes() {
        Ok(attributes) => attributes,
        Err(error) => return put(fields, "attributes", error),
    };
    let mut order = Vec::new();
    for (MeshVertexAttribute { id, name, format }, values) in attributes {
        let at = format!("attributes.{name}");
        put(fields, &format!("{at}.id"), id);
        put(fields, &format!("{at}.format"), format);
        put(fields, &format!("{at}.len"), values.len());
        fields.insert(format!("{at}.values"), Leaf::blob(values.get_bytes()));
        order.push(*name);
    }
    put(fields, "attributes", order);
}

fn morph_targets(mesh: &Mesh, fields: &mut Fields) {
    match mesh.try_has_morph_targets() {
        Ok(false) => put(fields, "morph_targets", "none"),
        Err(error) => put(fields, "morph_targets", error),
        Ok(true) => {
            let bytes: Vec<u8> = mesh
                .morph_targets()
                .into_iter()
                .flatten()
                .flat_map(|m| [m.position, m.normal, m.tangent])
                .flat_map(|v| v.to_array())
                .flat_map(f32::to_le_bytes)
                .collect();
            fields.insert("morph_targets".to_owned(), Leaf::blob(&bytes));
        }
    }
}

fn image(walker: &mut Walker, image: &Image, fields: &mut Fields) {
    let descriptor = &image.texture_descriptor;
    put(fields, "descriptor.label", descriptor.label);
    put(fields, "descriptor.size", descriptor.size);
    put(fields, "descriptor.sample_count", descriptor.sample_count);
    put(fields, "descriptor.dimension", descriptor.dimension);
    put(fields, "descriptor.format.is_srgb", descriptor.format.is_srgb());
    put(fields, "descriptor.usage", descriptor.usage);
    put(fields, "descriptor.view_formats", descriptor.view_formats);
    put(fields, "sampler", &image.sampler);
    put(fields, "view_descriptor", &image.texture_view_descriptor);
    put(fields, "copy_on_resize", image.copy_on_resize);
    if !walker.is_shipped {
        pixels(image, fields);
    }
}

fn pixels(image: &Image, fields: &mut Fields) {
    match &image.data {
        None => put(fields, "data", "none"),
        Some(data) => {
            fields.insert("data".to_owned(), Leaf::blob(data));
        }
    }
    put(fields, "data_order", image.data_order);
    let descriptor = &image.texture_descriptor;
    put(fields, "descriptor.mip_level_count", descriptor.mip_level_count);
    put(fields, "descriptor.format", descriptor.format);
    put(fields, "asset_usage", image.asset_usage);
}

fn material(walker: &mut Walker, material: &StandardMaterial, fields: &mut Fields) {
    walker.value("", material, fields);
    // The one field that its reflection leaves out.
    put(fields, "cull_mode", material.cull_mode);
}

fn bindposes(_: &mut Walker, poses: &SkinnedMeshInverseBindposes, fields: &mut Fields) {
    put(fields, "len", poses.len());
    for (index, pose) in poses.iter().enumerate() {
        let columns: Vec<_> = pose.to_cols_array().into_iter().map(float32).collect();
        fields.insert(format!("[{index}]"), Leaf::Text(columns.join(" ")));
    }
}

/// Curves are behind a trait that shows only their domain; what they do is seen by playing them.
fn clip(walker: &mut Walker, clip: &AnimationClip, fields: &mut Fields) {
    walker.value("", clip, fields);
    put(fields, "duration", clip.duration());
    let mut targets: Vec<_> = clip.curves().iter().collect();
    targets.sort_by_key(|(target, _)| target.0);
    for (target, curves) in targets {
        let domains: Vec<_> = curves.iter().map(|curve| curve.0.domain()).collect();
        put(fields, &format!("curves{{{}}}", target.0), domains);
    }
}

/// A world's content is compared by the entities that it spawns into the tree.
fn spawned<A>(_: &mut Walker, _: &A, fields: &mut Fields) {
    put(fields, "content", "see the entities below");
}
