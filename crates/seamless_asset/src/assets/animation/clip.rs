//! An animation clip as plain columns. See [`StoredClip`].

use bevy_animation::AnimationTargetId;
use serde::{Deserialize, Serialize};

/// What a curve animates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CurveProperty {
    /// `Transform::translation`, three values a key.
    Translation,
    /// `Transform::rotation`, a quaternion x, y, z, w.
    Rotation,
    /// `Transform::scale`, three values a key.
    Scale,
    /// The weights of `MorphWeights`: as many values a key as there are morph targets.
    Weights,
}

impl CurveProperty {
    /// Values of one sample; `None` where the clip decides.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Translation | Self::Scale => Some(3),
            Self::Rotation => Some(4),
            Self::Weights => None,
        }
    }
}

/// What a curve does between its keys; glTF's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Interpolation {
    /// One value for ever; there are no key times.
    Constant,
    /// The value of the key before.
    Step,
    /// Linear; spherical for rotations.
    Linear,
    /// A cubic Hermite spline. Each key has its in-tangent, its value and its out-tangent, in this order; of weights, all in-tangents
    /// come first.
    CubicSpline,
}

/// Why columns are no curve, or a clip cannot be carried over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClipError {
    /// A curve that moves needs two keys.
    #[error(
        "a {property:?} curve of {keys} key times; a {interpolation:?} curve needs two or more, a constant one none"
    )]
    KeyCount {
        /// What the curve animates.
        property: CurveProperty,
        /// What it does between its keys.
        interpolation: Interpolation,
        /// How many key times there are.
        keys: usize,
    },
    /// Key times must be finite, and each later than the one before.
    #[error(
        "key {key} of a {property:?} curve is at {time} s, not after the one before; sort the keys, and keep one of each time"
    )]
    KeyTime {
        /// What the curve animates.
        property: CurveProperty,
        /// Index of the key.
        key: usize,
        /// Its time in seconds.
        time: f32,
    },
    /// The values do not fill the keys.
    #[error(
        "{values} values are not a {interpolation:?} {property:?} curve of {keys} keys; export the animation again"
    )]
    ValueCount {
        /// What the curve animates.
        property: CurveProperty,
        /// What it does between its keys.
        interpolation: Interpolation,
        /// How many keys there are.
        keys: usize,
        /// How many numbers there are.
        values: usize,
    },
    /// A clip lasts a finite time.
    #[error("a clip of {0} s; a clip lasts a finite number of seconds, zero or more")]
    Duration(f32),
    /// Events of a clip are closures.
    #[error(
        "the clip has {0} events, which are code and cannot be stored; add them when the clip is loaded \
         (`app.add_post_load::<AnimationClip>(…)`), and not before it is cooked"
    )]
    Events(usize),
    /// A curve animates what no stored curve can.
    #[error(
        "the clip animates something other than a transform or morph weights of target {target}; \
         give `AnimationClip` a codec of the game's own (`app.add_asset_codec`), or add that curve when the clip is loaded"
    )]
    Property {
        /// UUID of the animation target.
        target: String,
    },
    /// A curve that Bevy cannot sample at its keys.
    #[error(
        "the clip has morph weights with cubic splines, which Bevy 0.19 cannot sample, and there is no glTF file to read them from; \
         make them linear"
    )]
    CubicWeights,
}

/// One curve of a clip: checked when it is made, so that Bevy's curve of it always exists.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCurve {
    target: AnimationTargetId,
    property: CurveProperty,
    interpolation: Interpolation,
    times: Vec<f32>,
    values: Vec<f32>,
}

impl StoredCurve {
    /// A curve of `target` with keys at `times`, in seconds, and their `values`, one key after the other.
    ///
    /// ```
    /// # use bevy_animation::AnimationTargetId;
    /// # use bevy_ecs::name::Name;
    /// # use seamless_asset::assets::animation::{CurveProperty, Interpolation, StoredCurve};
    /// let door = AnimationTargetId::from_names([Name::new("Door")].iter());
    /// let up = vec![0.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    /// StoredCurve::new(door, CurveProperty::Translation, Interpolation::Linear, vec![0.0, 1.5], up)?;
    /// # Ok::<(), seamless_asset::assets::animation::ClipError>(())
    /// ```
    ///
    /// # Errors
    /// When the columns do not fit each other.
    pub fn new(
        target: AnimationTargetId,
        property: CurveProperty,
        interpolation: Interpolation,
        times: Vec<f32>,
        values: Vec<f32>,
    ) -> Result<Self, ClipError> {
        let this = Self {
            target,
            property,
            interpolation,
            times,
            values,
        };
        this.check_times()?;
        if this.fits() { Ok(this) } else { Err(this.value_count()) }
    }

    fn check_times(&self) -> Result<(), ClipError> {
        let keys = self.times.len();
        let property = self.property;
        let is_constant = self.interpolation == Interpolation::Constant;
        if (is_constant && keys > 0) || (!is_constant && keys < 2) {
            let interpolation = self.interpolation;
            return Err(ClipError::KeyCount {
                property,
                interpolation,
                keys,
            });
        }
        let before = core::iter::once(f32::NEG_INFINITY).chain(self.times.iter().copied());
        let wrong = before
            .zip(&self.times)
            .position(|(before, time)| !(time.is_finite() && before < *time));
        match wrong.and_then(|key| Some((key, *self.times.get(key)?))) {
            None => Ok(()),
            Some((key, time)) => Err(ClipError::KeyTime { property, key, time }),
        }
    }

    fn fits(&self) -> bool {
        let samples = self.keys() * self.values_per_key();
        match self.property.width() {
            Some(width) => samples.checked_mul(width) == Some(self.values.len()),
            None => !self.values.is_empty() && self.values.len().is_multiple_of(samples),
        }
    }

    fn values_per_key(&self) -> usize {
        match self.interpolation {
            Interpolation::CubicSpline => 3,
            Interpolation::Constant | Interpolation::Step | Interpolation::Linear => 1,
        }
    }

    pub(super) fn value_count(&self) -> ClipError {
        ClipError::ValueCount {
            property: self.property,
            interpolation: self.interpolation,
            keys: self.keys(),
            values: self.values.len(),
        }
    }

    /// How many keys there are; a constant is one.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.times.len().max(1)
    }

    /// What the curve animates the property of.
    #[must_use]
    pub fn target(&self) -> AnimationTargetId {
        self.target
    }

    /// What the curve animates.
    #[must_use]
    pub fn property(&self) -> CurveProperty {
        self.property
    }

    /// What it does between its keys.
    #[must_use]
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// The times of its keys in seconds, ascending; none of a constant.
    #[must_use]
    pub fn times(&self) -> &[f32] {
        &self.times
    }

    /// The numbers of its keys, one key after the other.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// An animation clip as it is stored: curves as plain columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredClip {
    duration: f32,
    curves: Vec<StoredCurve>,
}

impl StoredClip {
    /// A clip of `duration` seconds. Curves of one target keep their order.
    ///
    /// # Errors
    /// When the duration is no time.
    pub fn new(duration: f32, curves: Vec<StoredCurve>) -> Result<Self, ClipError> {
        if !(duration.is_finite() && duration >= 0.0) {
            return Err(ClipError::Duration(duration));
        }
        Ok(Self { duration, curves })
    }

    /// A clip that lasts until its last key, as Bevy's glTF loader makes them.
    #[must_use]
    pub fn of_curves(curves: Vec<StoredCurve>) -> Self {
        let ends = curves.iter().filter_map(|curve| curve.times().last());
        let duration = ends.fold(0.0, |latest: f32, end| latest.max(*end));
        Self { duration, curves }
    }

    /// How long it lasts, in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.duration
    }

    /// Its curves.
    #[must_use]
    pub fn curves(&self) -> &[StoredCurve] {
        &self.curves
    }
}
