//! Assets that are cooked without a level, each as the content of a package. See [`encode`].

use bevy::asset::UntypedHandle;
use bevy::prelude::*;
use seamless_asset::codec::Codecs;

use super::{EncodedLevel, LevelEncoder, NewLevel};
use crate::assets::{AssetStore, AssetWalk};
use crate::plan::PlannedLevel;
use crate::report::ContentError;
use crate::startup::concrete;

/// Encodes an asset that is loaded, and all that it refers to, into `store`. `None` when it has errors, which are then in `errors`.
pub(super) fn encode(
    encoder: &LevelEncoder,
    world: &World,
    unit: &str,
    asset: &PlannedLevel,
    root: &UntypedHandle,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
) -> Option<NewLevel> {
    let handle = concrete(world, root);
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().clone();
    let codecs = codecs.read();
    let found = codecs.asset(handle.type_id()).map(|codec| codec.type_path);
    let reason = || {
        let asked = asset.asked.as_ref();
        asked.map(|asked| asked.reason(&asset.source)).unwrap_or_default()
    };
    let wanted = asset.asked.as_ref().and_then(|asked| asked.type_path.as_deref());
    if let (Some(wanted), Some(found)) = (wanted.filter(|wanted| !wanted.is_empty()), found)
        && wanted != found
    {
        let message = format!(
            "is a `{found}`, and a `{wanted}` is expected; correct the path, or the type of the handle ({})",
            reason()
        );
        errors.push(ContentError::at(&asset.source, message));
        return None;
    }
    let before = errors.len();
    // Not changed by the walk, which changes the store.
    let clips = core::mem::take(&mut store.clips);
    let walk = AssetWalk {
        world,
        registry: &registry,
        codecs: &codecs,
        unit,
        clips: &clips,
        recorder: &encoder.recorder,
        source: &asset.source,
    };
    store.begin_unit();
    let key = store.add(&walk, &handle, &reason, errors);
    store.clips = clips;
    (errors.len() == before).then(|| NewLevel {
        level: EncodedLevel {
            references: vec![key],
            ..EncodedLevel::default()
        },
        contents: None,
        drawn: Default::default(),
        labelled: Vec::new(),
        warnings: Vec::new(),
        soft: Vec::new(),
    })
}
