//! Sets of lines that say the same in other words. See [`DialogueVariants`].

mod codec;
mod loader;
#[cfg(test)]
mod tests;

pub use codec::DialogueVariantsCodec;
#[cfg(feature = "write")]
#[doc(hidden)]
pub use codec::write_variants;
#[doc(hidden)]
pub use codec::{StoredVariant, is_variants, read_variants, stores_variants};
pub use loader::{DIALOGUE_EXTENSION, DialogueLoadError, DialogueLoader, MAX_DIALOGUE_BYTES};

use core::fmt::{self, Debug, Formatter};
use core::hash::Hash;

use bevy_asset::{Asset, Handle, VisitAssetDependencies};
use bevy_platform::collections::HashSet;
use bevy_reflect::TypePath;

/// Sounds of which a speaker says one: the variants of one line of dialogue.
///
/// `S` is the type of the sounds: Bevy's `AudioSource`, for which the feature `audio` adds all of this, or that of another audio plugin, for
/// which [`add_dialogue`](crate::SeamlessAssetApp::add_dialogue) does. A component refers to a set by a handle, and so may an asset.
/// Authors write sets as `*.dialogue.ron` files; paths are relative to the file:
///
/// ```text
/// // guard/hello.dialogue.ron
/// (
///     variants: [
///         (sound: "hello_1.ogg"),
///         (sound: "hello_2.ogg", weight: 0.5), // half as often
///         (sound: "../any/hello.ogg"),
///     ],
/// )
/// ```
///
/// Sounds are large, and a level needs few variants of a line. The world file limits how many come with a level (`max_variants` of a level,
/// see `LevelSource` in `seamless_cook`): each level has others, so that the whole world has all of them, and each level holds few.
///
/// ```
/// use bevy_asset::{Asset, Assets, Handle};
/// use bevy_ecs::prelude::*;
/// use bevy_reflect::{Reflect, TypePath};
/// use seamless_asset::DialogueVariants;
/// # #[derive(Asset, TypePath)] struct AudioSource;
///
/// #[derive(Component, Reflect)]
/// #[reflect(Component)]
/// struct Greeting(Handle<DialogueVariants<AudioSource>>);
///
/// fn greet(greeting: &Greeting, sets: &Assets<DialogueVariants<AudioSource>>, random: f32) -> Option<Handle<AudioSource>> {
///     sets.get(&greeting.0)?.pick(random).cloned()
/// }
/// ```
#[derive(Asset, TypePath)]
pub struct DialogueVariants<S: Asset> {
    #[dependency]
    variants: Vec<DialogueVariant<S>>,
}

/// One sound of a [`DialogueVariants`].
#[derive(VisitAssetDependencies)]
pub struct DialogueVariant<S: Asset> {
    /// What is heard.
    #[dependency]
    pub sound: Handle<S>,
    /// How often, compared with the others: finite, and above zero.
    pub weight: f32,
}

/// How many variants a set may have.
pub const MAX_VARIANTS: usize = 1024;

/// Why sounds are no set of variants.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DialogueError {
    /// A weight that says nothing.
    #[error("variant {index} has the weight {weight}; write a finite number above zero, 1.0 is the usual one")]
    Weight {
        /// Which variant, from 0.
        index: usize,
        /// Its weight.
        weight: f32,
    },
    /// A sound is there more than once.
    #[error("variant {index} is the sound of an earlier one; remove it, or give that one a larger weight")]
    Twice {
        /// Which variant, from 0.
        index: usize,
    },
    /// More than [`MAX_VARIANTS`].
    #[error("{count} variants; {MAX_VARIANTS} are possible, make several sets")]
    TooMany {
        /// How many.
        count: usize,
    },
}

impl<S: Asset> DialogueVariants<S> {
    /// A set of these variants. Without any, it is silent.
    ///
    /// # Errors
    /// When a weight is no weight, a sound is there twice, or there are too many.
    pub fn new(variants: Vec<DialogueVariant<S>>) -> Result<Self, DialogueError> {
        check(variants.iter().map(|variant| (variant.sound.id(), variant.weight)))?;
        Ok(Self { variants })
    }

    /// The variants, in the order of the source.
    #[must_use]
    pub fn variants(&self) -> &[DialogueVariant<S>] {
        &self.variants
    }

    /// The sound at `at`, a random number from 0 to 1: one with twice the weight is there for twice as many numbers. `None` of a set
    /// without variants.
    #[must_use]
    pub fn pick(&self, at: f32) -> Option<&Handle<S>> {
        let weight = |variant: &DialogueVariant<S>| f64::from(variant.weight);
        let total: f64 = self.variants.iter().map(weight).sum();
        let mut rest = f64::from(at) * total;
        let found = self.variants.iter().find(|variant| {
            rest -= weight(variant);
            rest < 0.0
        });
        Some(&found.or(self.variants.last())?.sound)
    }
}

/// Whether these sounds and weights are those of a set.
fn check<S: Eq + Hash>(variants: impl ExactSizeIterator<Item = (S, f32)>) -> Result<(), DialogueError> {
    let count = variants.len();
    if count > MAX_VARIANTS {
        return Err(DialogueError::TooMany { count });
    }
    let mut seen = HashSet::new();
    for (index, (sound, weight)) in variants.enumerate() {
        if !is_weight(weight) {
            return Err(DialogueError::Weight { index, weight });
        }
        if !seen.insert(sound) {
            return Err(DialogueError::Twice { index });
        }
    }
    Ok(())
}

// By hand, because sounds need none of these.

impl<S: Asset> Debug for DialogueVariants<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DialogueVariants").field(&self.variants).finish()
    }
}

impl<S: Asset> Clone for DialogueVariants<S> {
    fn clone(&self) -> Self {
        Self {
            variants: self.variants.clone(),
        }
    }
}

/// A silent set.
impl<S: Asset> Default for DialogueVariants<S> {
    fn default() -> Self {
        Self { variants: Vec::new() }
    }
}

impl<S: Asset> Debug for DialogueVariant<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogueVariant")
            .field("sound", &self.sound)
            .field("weight", &self.weight)
            .finish()
    }
}

impl<S: Asset> Clone for DialogueVariant<S> {
    fn clone(&self) -> Self {
        Self {
            sound: self.sound.clone(),
            weight: self.weight,
        }
    }
}

/// No sound yet, with the usual weight.
impl<S: Asset> Default for DialogueVariant<S> {
    fn default() -> Self {
        Self {
            sound: Handle::default(),
            weight: 1.0,
        }
    }
}

fn is_weight(weight: f32) -> bool {
    weight.is_finite() && weight > 0.0
}
