//! What clips were made of. See [`ClipSources`].

use bevy_animation::{
    AnimationClip, AnimationTargetId, VariableCurve,
    animation_curves::{AnimationCurve, WeightsCurveSample},
};
use bevy_asset::AssetId;
use bevy_ecs::resource::Resource;
use bevy_math::{Quat, Vec3};
use bevy_platform::collections::HashMap;
use core::fmt::Write;

use super::{StoredClip, StoredCurve};

/// The curves of clips that were read from the files that Bevy loaded them from, for the clip codec to store.
///
/// The cooker fills it before it encodes. It is safe to offer too much: what is not the same as the live clip, because something
/// changed it after it was loaded, is not used.
#[derive(Resource, Default, Debug)]
pub struct ClipSources(HashMap<AssetId<AnimationClip>, StoredClip>);

impl ClipSources {
    /// Offers what the clip `id` was made of.
    pub fn insert(&mut self, id: AssetId<AnimationClip>, source: StoredClip) {
        self.0.insert(id, source);
    }

    /// What `clip`, the asset `id`, is made of; `None` when that is not known, or is not the same clip.
    #[must_use]
    pub fn of(&self, id: AssetId<AnimationClip>, clip: &AnimationClip) -> Option<&StoredClip> {
        let source = self.0.get(&id)?;
        is_same(source, clip).then_some(source)
    }
}

/// Whether `clip` has the curves of `source` and no others: the same targets, properties, domains, and values at every key and
/// between each two.
fn is_same(source: &StoredClip, clip: &AnimationClip) -> bool {
    let Ok(made) = source.to_clip() else { return false };
    let mut stored: HashMap<AnimationTargetId, Vec<&StoredCurve>> = HashMap::default();
    for curve in source.curves() {
        stored.entry(curve.target()).or_default().push(curve);
    }
    event_count(clip) == 0
        && made.duration().to_bits() == clip.duration().to_bits()
        && made.curves().len() == clip.curves().len()
        && clip.curves().iter().all(|(target, curves)| {
            let (Some(made), Some(stored)) = (made.curves_for_target(*target), stored.get(target)) else {
                return false;
            };
            made.len() == curves.len() && curves.iter().zip(made).zip(stored).all(is_same_curve)
        })
}

fn is_same_curve(((live, made), stored): ((&VariableCurve, &VariableCurve), &&StoredCurve)) -> bool {
    let (live, made) = (&*live.0, &*made.0);
    let (a, b) = (live.domain(), made.domain());
    if live.evaluator_id() != made.evaluator_id() || (a.start(), a.end()) != (b.start(), b.end()) {
        return false;
    }
    let is_same_at = |time: f32| {
        let live = sample(live, time);
        live.is_some() && live == sample(made, time)
    };
    let times = stored.times();
    let keys_are_same = panics_at_keys(live) || times.iter().all(|time| is_same_at(*time));
    let is_constant_same = !times.is_empty() || is_same_at(0.0);
    keys_are_same && is_constant_same && middles(times).all(is_same_at)
}

/// A time between each two keys that is neither of them.
fn middles(times: &[f32]) -> impl Iterator<Item = f32> {
    times.array_windows().filter_map(|[from, to]| {
        let middle = from + (to - from) / 2.0;
        (*from < middle && middle < *to).then_some(middle)
    })
}

/// The bits of a curve's value; `None` when it is of a type that no stored curve has.
fn sample(curve: &dyn AnimationCurve, time: f32) -> Option<Vec<u32>> {
    Some(values_at(curve, time)?.into_iter().map(f32::to_bits).collect())
}

/// A curve's value as numbers; `None` when it is of a type that no stored curve has.
pub(super) fn values_at(curve: &dyn AnimationCurve, time: f32) -> Option<Vec<f32>> {
    let value = curve.sample_clamped(time);
    if let Some(value) = value.downcast_ref::<Vec3>() {
        return Some(value.to_array().to_vec());
    }
    if let Some(value) = value.downcast_ref::<Quat>() {
        return Some(value.to_array().to_vec());
    }
    Some(value.downcast::<WeightsCurveSample>().ok()?.0)
}

/// How many events a clip has. They are private, so this asks by reflection.
pub(super) fn event_count(clip: &AnimationClip) -> usize {
    use bevy_reflect::{PartialReflect, ReflectRef};
    let ReflectRef::Struct(clip) = clip.reflect_ref() else {
        return 0;
    };
    let Some(ReflectRef::Map(events)) = clip.field("events").map(PartialReflect::reflect_ref) else {
        return 0;
    };
    let lists = events.iter().map(|(_, list)| match list.reflect_ref() {
        ReflectRef::List(list) => list.len(),
        _ => 1,
    });
    lists.sum()
}

/// Whether this is Bevy's curve of cubic weights, which must not be sampled at a key. A curve tells its type in no other way than by
/// its debug output, of which this reads the beginning only.
pub(super) fn panics_at_keys(curve: &dyn AnimationCurve) -> bool {
    const NAME: &str = "WeightsCurve(WideCubicKeyframeCurve";
    struct Beginning(String);
    impl Write for Beginning {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            self.0.push_str(text);
            // An error ends the output.
            if self.0.len() < NAME.len() {
                Ok(())
            } else {
                Err(core::fmt::Error)
            }
        }
    }
    let mut beginning = Beginning(String::new());
    let _ = write!(beginning, "{curve:?}");
    beginning.0.starts_with(NAME)
}
