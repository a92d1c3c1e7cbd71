//! What shapes a cook beside its sources. See [`identity`] and [`of_app`].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::Path;

use bevy::ecs::reflect::{ReflectComponent, ReflectResource};
use bevy::prelude::*;
use seamless_asset::codec::{BulkUse, Codecs, resource_schema};
use seamless_package::ZSTD_LEVEL;

use super::Order;
use crate::app::CookOptions;
use crate::graph::digest::{Digest, Parts};
use crate::graph::storage::Stamp;
use crate::plan::listing;
use crate::settings::{MOST_SETTINGS_BYTES, settings_file};
use crate::texture_step;

/// Raised with every change of what the cooker makes of what was loaded.
const STEP: u64 = 9;

/// Of the program, and what shapes its app: where these are the same, so is [`of_app`]. `None` where that cannot be told.
pub(super) fn program(order: &Order) -> Option<Digest> {
    let program = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let mut parts = Parts::default();
    parts.number(STEP).value(&Stamp::of(&program));
    for setup in &order.cooker.setup {
        // A closure that captures nothing always does the same.
        let mut hasher = DefaultHasher::new();
        setup.identity?.hash(&mut hasher);
        parts.number(hasher.finish());
    }
    parts.value(&order.cooker.importers).value(&shaping(order.options));
    Some(parts.finish())
}

/// Of the program, its options, the world file and the settings beside it: where these are the same, so is what is cooked of the same sources. `None` where that
/// cannot be told.
pub(super) fn identity(order: &Order, program: Option<Digest>) -> Option<Digest> {
    let mut parts = Parts::default();
    parts.digest(&program?);
    // Which packages there are, and what goes into them; not what is made of a source.
    parts
        .value(&order.options.maps)
        .number(order.options.target.roles.bits().into());
    parts.value(&std::path::absolute(order.world_file).ok()?);
    parts.bytes(&std::fs::read(order.world_file).ok()?);
    parts.value(&settings_bytes(&settings_file(order.world_file))?);
    parts.value(&listing(order.world_file)?);
    Some(parts.finish())
}

/// The bytes of `cook.ron`, if it is there. `None` where it cannot be used: the cook says why.
fn settings_bytes(file: &Path) -> Option<Option<Vec<u8>>> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(None),
        Ok(metadata) if metadata.len() <= MOST_SETTINGS_BYTES => std::fs::read(file).ok().map(Some),
        _ => None,
    }
}

/// The options that shape what is cooked.
fn shaping(options: &CookOptions) -> String {
    let textures = texture_step::settings(options);
    format!("{:?} {textures:?} {}", options.profile, texture_step::ENCODER.id())
}

/// Of all that the app makes of a source: its types, codecs, versions and importers.
pub(super) fn of_app(world: &World, order: &Order) -> Digest {
    let mut parts = Parts::default();
    parts
        .number(STEP)
        // What is packed is kept.
        .number(ZSTD_LEVEL as u64)
        .text(env!("CARGO_PKG_VERSION"))
        .text(&shaping(order.options));
    parts.value(&order.cooker.importers);
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().read();
    let assets = codecs.assets().map(|codec| {
        let use_of_bulk = match codec.bulk {
            BulkUse::Load => 0,
            BulkUse::OnDemand => 1,
            BulkUse::Marked => 2,
        };
        [codec.schema(&registry).encode(), vec![codec.role.bits(), use_of_bulk]].concat()
    });
    let mut schemas: Vec<Vec<u8>> = assets.collect();
    for registration in registry.iter() {
        if registration.data::<ReflectComponent>().is_some()
            && let Ok(codec) = codecs.component(registration.type_id(), &registry)
        {
            schemas.push([codec.schema(&registry).encode(), vec![codec.role().bits()]].concat());
        }
        if registration.data::<ReflectResource>().is_some() {
            schemas.push(resource_schema(registration.type_info(), &registry).encode());
        }
    }
    schemas.sort_unstable();
    schemas.iter().for_each(|schema| {
        parts.bytes(schema);
    });
    for list in codecs.migrations().versions() {
        parts.text(&format!("{list:?}"));
    }
    parts.finish()
}
