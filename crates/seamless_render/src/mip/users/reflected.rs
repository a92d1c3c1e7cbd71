//! Images of materials that nobody has described. See [`images_of`].

#[cfg(test)]
mod tests;

use bevy_asset::{Handle, UntypedHandle};
use bevy_image::Image;
use bevy_pbr::StandardMaterial;
use bevy_reflect::{PartialReflect, ReflectRef};

use super::{MipImage, standard};

/// Tells all images that a value refers to, wherever in it: a field that reflection does not see is not found. A [`StandardMaterial`] in it, as that which
/// `ExtendedMaterial`s have for their base, tells of its images more exactly.
pub(super) fn images_of(value: &dyn PartialReflect, found: &mut dyn FnMut(MipImage)) {
    if let Some(material) = value.try_downcast_ref::<StandardMaterial>() {
        return standard::images_of(material, found);
    }
    if let Some(image) = value.try_downcast_ref::<Handle<Image>>() {
        return found(MipImage::new(image.id()));
    }
    if let Some(handle) = value.try_downcast_ref::<UntypedHandle>() {
        return handle.id().try_typed().map(MipImage::new).map_or((), found);
    }
    match value.reflect_ref() {
        ReflectRef::Struct(fields) => images_of_all((0..fields.field_len()).map(|at| fields.field_at(at)), found),
        ReflectRef::TupleStruct(fields) => images_of_all((0..fields.field_len()).map(|at| fields.field(at)), found),
        ReflectRef::Tuple(fields) => images_of_all((0..fields.field_len()).map(|at| fields.field(at)), found),
        ReflectRef::Enum(fields) => images_of_all((0..fields.field_len()).map(|at| fields.field_at(at)), found),
        ReflectRef::List(items) => images_of_items(items.iter(), found),
        ReflectRef::Array(items) => images_of_items(items.iter(), found),
        ReflectRef::Set(items) => images_of_all(items.iter().map(Some), found),
        ReflectRef::Map(entries) => {
            for (key, value) in entries.iter() {
                images_of(key, found);
                images_of(value, found);
            }
        }
        // Numbers and the like.
        _ => {}
    }
}

/// Bevy's material, if a value is one or has one within, as `ExtendedMaterial`s have.
pub(super) fn standard_in(value: &dyn PartialReflect) -> Option<&StandardMaterial> {
    if let Some(material) = value.try_downcast_ref::<StandardMaterial>() {
        return Some(material);
    }
    let ReflectRef::Struct(fields) = value.reflect_ref() else {
        return None;
    };
    (0..fields.field_len()).find_map(|at| standard_in(fields.field_at(at)?))
}

fn images_of_all<'a>(values: impl Iterator<Item = Option<&'a dyn PartialReflect>>, found: &mut dyn FnMut(MipImage)) {
    values.flatten().for_each(|value| images_of(value, found));
}

/// Items are alike: if the first is a number, a long table of them is not looked through.
fn images_of_items<'a>(items: impl Iterator<Item = &'a dyn PartialReflect>, found: &mut dyn FnMut(MipImage)) {
    for item in items {
        if matches!(item.reflect_ref(), ReflectRef::Opaque(_)) {
            return;
        }
        images_of(item, found);
    }
}
