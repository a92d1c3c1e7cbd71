//! What a map, a handshake and a queue are willing to hold.

use std::time::Duration;

/// Numbers that a connection gives out in each direction. References to further objects travel in full each time.
///
/// A part of the protocol, and so no setting: both sides must hold the same. It bounds what a connection costs, about
/// 3 MiB on either side when every number is in use.
pub const NUMBERS: u32 = 1 << 16;

/// Numbers that may be on their way, not acknowledged yet, at one time. References to further objects travel in full, and
/// each carries one of these once more.
///
/// A part of the protocol, as [`NUMBERS`] is. It bounds an acknowledgement, and what one forged number can cost.
pub const UNACKNOWLEDGED: u32 = 1 << 10;

/// How often a peer may read the whole list after one offer. Once is enough on a good network; doubled messages and several
/// offers on their way at one time read parts of it again.
pub(super) const READINGS: u32 = 4;

/// Questions that a peer may have beyond [`READINGS`], for lists that are short or grow meanwhile.
pub(super) const SPARE_ASKS: u32 = 64;

/// Upper bounds of a [`PackageMap`](super::PackageMap) and of the messages of its handshake. The two sides of a
/// connection may have different ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLimits {
    /// Packages in the list, on either side. Default: 65 536.
    pub packages: u32,
    /// Objects that the map knows, of all packages together. Default: 4 194 304.
    pub objects: u32,
    /// Length of a package's path in bytes, on either side. Default: 1 024.
    pub path_bytes: u32,
    /// Length in bytes of a message of the handshake, in both directions; a message always has room for one package
    /// with a path of `path_bytes`, so it may be a little longer when this is set lower. Default: 8 192. A transport that
    /// does not split large messages needs about 1 100, with a `path_bytes` of about 1 000.
    pub message_bytes: u32,
}

impl MapLimits {
    /// Bytes of a message of the handshake besides the path of its only package.
    const FRAME: u32 = 64;

    /// Length in bytes of the longest message that is accepted.
    pub(super) fn longest_message(&self) -> u32 {
        self.message_bytes.max(self.path_bytes.saturating_add(Self::FRAME))
    }
}

impl Default for MapLimits {
    fn default() -> Self {
        Self {
            packages: 1 << 16,
            objects: 1 << 22,
            path_bytes: 1 << 10,
            message_bytes: 1 << 13,
        }
    }
}

/// Upper bounds of a [`PendingRefs`](super::PendingRefs), and so of what one peer can make wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingLimits {
    /// Values that wait. Default: 4 096.
    pub values: u32,
    /// Bytes of the values that wait, as their [`Incoming::bytes`](super::Incoming::bytes) say. Default: 4 MiB.
    pub bytes: u64,
    /// References of the values that wait. Default: 16 384.
    pub refs: u32,
    /// Objects that are wanted at one time. Default: 1 024.
    pub objects: u32,
    /// How long a value waits for its references at most. Default: 10 s.
    pub age: Duration,
}

impl Default for PendingLimits {
    fn default() -> Self {
        Self {
            values: 1 << 12,
            bytes: 4 << 20,
            refs: 1 << 14,
            objects: 1 << 10,
            age: Duration::from_secs(10),
        }
    }
}
