//! Animation: clips, graphs, and what the cooker knows of clips that Bevy does not tell.
//!
//! A Bevy [`AnimationClip`](bevy_animation::AnimationClip) cannot be taken apart: its curves are closures behind a trait that only
//! samples. So a package stores a [`StoredClip`], which the cooker reads from the glTF file that the clip was loaded from, and offers
//! to the codec through `ClipSources`. Every other clip is sampled anew (`resampled`), and the largest error is reported. Loading makes
//! curves of Bevy's own types again, of the same kinds that its glTF loader makes.

mod clip;
mod codec;
mod curve;
mod graph;
mod graph_codec;
#[cfg(feature = "write")]
mod resample;
#[cfg(feature = "write")]
mod source;
#[cfg(test)]
mod tests;

pub use clip::{ClipError, CurveProperty, Interpolation, StoredClip, StoredCurve};
pub use codec::AnimationClipCodec;
pub use curve::CubicWeights;
pub use graph::{GraphError, MAX_GRAPH_DEPTH, MAX_GRAPH_VISITS};
pub use graph_codec::AnimationGraphCodec;
#[cfg(feature = "write")]
pub use resample::{Resampled, resampled};
#[cfg(feature = "write")]
pub use source::ClipSources;
