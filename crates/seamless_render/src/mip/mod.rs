//! Mip streaming: textures sized by what the screen shows, within a pool.
//!
//! [`MipPlugin`] adds it. Its decisions are apart from all else: no `World`, no GPU, no clock and no file. Systems that have those feed them each frame:
//!
//! ```text
//! what is drawn, views ─► Watch ─► MipDemands ─► Fit ─► schedule ─► reads, swaps
//!                        lod of     mips of     tops       ▲  │
//!                        materials  textures               │  ▼
//!                                              reports ─► MipLedger
//! ```
//!
//! * [`need`]: how fine a mip a view needs of a surface, by its distance and its texture coordinates.
//! * [`Watch`] keeps that up to date for all that is drawn; [`MipDemands`] says what it means for textures.
//! * [`MipChain`]: what mips a texture has, at which of them it may begin, and what that takes.
//! * [`Fit`]: where each texture is to begin, so that all fit the pool, and the least is missing.
//! * [`schedule`]: what is read, and what is swapped, to get there; [`MipLedger`] counts each byte meanwhile, copies included.
//!
//! Same input, same plan: nothing depends on hash maps, addresses or time but the time that is given.
//!
//! A game adds its own materials, and what draws images as they are, by [`MipApp`], and views that are no cameras by [`MipViewpoint`]; [`MipForce`] makes textures fine whatever is seen, and
//! [`Mips`] and [`MipStats`] tell how it does. Materials with shaders of their own may have finer mips fade in, by a [`MipFadePlugin`].

mod alerts;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench_support;
mod chain;
mod demand;
mod error;
mod fade;
mod fit;
mod force;
mod groups;
mod ktx2;
mod ledger;
pub mod need;
#[cfg(feature = "overlay")]
mod overlay;
mod pace;
mod plan;
mod plugin;
#[cfg(test)]
mod random;
mod render;
mod report;
mod roads;
mod schedule;
mod scopes;
mod settings;
mod source;
mod stats;
#[cfg(test)]
mod tests;
mod textures;
mod truth;
mod users;
mod views;
mod watch;
mod work;
mod zstd;

pub use alerts::{MipPoolTooSmall, MipsOverBudget};
pub use chain::{Layout, MipChain, MipCopy};
pub use demand::{Demand, DemandRule, DemandedTexture, MipDemands, Wanting};
pub use error::{MipError, MipFailed, NotStreamed};
pub use fade::{MipFadePlugin, MipFades};
pub use fit::{Cut, Fit, FitInput};
pub use force::{MipForce, MipSize};
pub use groups::{MipGroup, MipGroups};
pub use ktx2::{
    StreamedImage, StreamedImageError, StreamedImageLoader, StreamedKtx2Loader, TexturePackage, TexturePackageLoader,
};
pub use ledger::{Change, ChangeId, LedgerSums, MipLedger, Phase, Resident};
#[cfg(feature = "overlay")]
pub use overlay::{MipOverlayPlugin, MipOverlaySettings};
pub use plugin::{MipPlugin, MipSystems};
pub use render::MipRenderSystems;
pub use report::{Mips, Offender, Residency};
#[doc(hidden)]
pub use roads::TouchAllMaterials;
pub use schedule::{MipChanges, MipLimits, MipRead, MipSwap, schedule};
pub use settings::{MipQuality, MipSettings};
pub use stats::MipStats;
pub use textures::{MipRecord, MipTextureNews, MipTextures, StreamedImageCodec};
pub use truth::{MipFeedback, MipFeedbackPlugin, MipTruth, TRUTH_TOLERANCE, TruthAccuracy, TruthPicture, TruthUse};
pub use users::{MipApp, MipImage};
pub use views::MipViewpoint;
pub use watch::{UserId, Watch};
pub use work::{MipCommand, MipPool, MipWork};
