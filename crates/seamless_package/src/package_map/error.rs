//! Everything that can go wrong between two package maps; each text says how to mend it.

use super::map::ObjectIndex;
use crate::cursor::CursorError;
use crate::id::ObjectId;
use std::sync::Arc;
use std::time::Duration;

/// Why a package or an object could not be added to a [`PackageMap`](super::PackageMap).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The path is empty or holds a NUL character.
    #[error("package path {path:?} is empty or holds a NUL character; give the path that the package was cooked with")]
    BadPath {
        /// The path.
        path: Arc<str>,
    },
    /// The package is in the list already.
    #[error("package `{path}` is listed twice; add each package once")]
    PackageTwice {
        /// Its path.
        path: Arc<str>,
    },
    /// There is more than the map may hold.
    #[error(
        "{found} is more than MapLimits::{field} = {limit}; raise MapLimits::{field}, on both sides where it matters"
    )]
    Limit {
        /// Name of the field of [`MapLimits`](super::MapLimits).
        field: &'static str,
        /// Its value.
        limit: u64,
        /// What was to be added.
        found: u64,
    },
    /// Objects were added to a package that is not in the list.
    #[error("there is no package {package}, the list has {count}; add the package first")]
    NoSuchPackage {
        /// The index given.
        package: u32,
        /// Packages in the list.
        count: u32,
    },
    /// An object's index is not one of its package.
    #[error("`{path}` has {count} objects, so none with index {index}; give the indices of the original package")]
    NoSuchExport {
        /// The package.
        path: Arc<str>,
        /// The index given.
        index: u32,
        /// Objects of the package.
        count: u32,
    },
    /// One object was added at two places. If the places are in different packages, two objects may have the same hash.
    #[error("object {id} is {first} and {second}; an object has one place: give that of its original package")]
    ObjectTwice {
        /// The object.
        id: ObjectId,
        /// The place that is known.
        first: ObjectIndex,
        /// The other one.
        second: ObjectIndex,
    },
    /// Two objects were added at one place.
    #[error("{index} is object {first} and object {second}; cook again what was cooked from another version of it")]
    IndexTwice {
        /// The place.
        index: ObjectIndex,
        /// The object that is known.
        first: ObjectId,
        /// The other one.
        second: ObjectId,
    },
}

/// The first difference between the package lists of two peers. *Here* is the side that has the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The package has other content.
    #[error(
        "package `{path}` has content {here:016x} here and {there:016x} at the peer; give both sides the same cooked file"
    )]
    Content {
        /// Its path.
        path: Arc<str>,
        /// Content hash here.
        here: u64,
        /// Content hash at the peer.
        there: u64,
    },
    /// The package has the same content, but another number of objects.
    #[error(
        "package `{path}` (content {content_hash:016x}) has {here} objects here and {there} at the peer; run the same build on both sides"
    )]
    ExportCount {
        /// Its path.
        path: Arc<str>,
        /// Its content hash, the same on both sides.
        content_hash: u64,
        /// Objects here.
        here: u32,
        /// Objects at the peer.
        there: u32,
    },
    /// Only the peer lists the package.
    #[error("package `{path}` (content {content_hash:016x}) is listed by the peer only; install it here, and list it")]
    MissingHere {
        /// Its path.
        path: Arc<str>,
        /// Content hash at the peer.
        content_hash: u64,
    },
    /// Only this side lists the package.
    #[error("package `{path}` (content {content_hash:016x}) is not listed by the peer; install it there, and list it")]
    MissingThere {
        /// Its path.
        path: Arc<str>,
        /// Content hash here.
        content_hash: u64,
    },
    /// Both sides list both packages, but in another order.
    #[error(
        "package {position} of the list is `{here}` here and `{there}` at the peer; list them in one order, such as by path"
    )]
    Order {
        /// Position of the first difference.
        position: u32,
        /// The package that is here.
        here: Arc<str>,
        /// The package that is there.
        there: Arc<str>,
    },
}

/// Why a message of the handshake was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The lists differ. It stays so: lists only grow.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The message is longer than accepted.
    #[error(
        "a handshake message of {found} bytes, at most {limit} are accepted; raise MapLimits::message_bytes, or disconnect"
    )]
    TooLong {
        /// Its length in bytes.
        found: u64,
        /// The longest accepted.
        limit: u64,
    },
    /// The message cannot be decoded.
    #[error("not a handshake message: {0}; disconnect, the peer is damaged or hostile")]
    Record(#[from] CursorError),
    /// The peer speaks another version of the protocol.
    #[error(
        "the peer speaks version {found} of the package map's protocol, this is {supported}; run the same build on both sides"
    )]
    Version {
        /// The peer's version.
        found: u32,
        /// The version that is known here.
        supported: u32,
    },
    /// The peer's list is larger than accepted.
    #[error("the peer lists {found}, more than MapLimits::{field} = {limit}; raise MapLimits::{field}, or disconnect")]
    Limit {
        /// Name of the field of [`MapLimits`](super::MapLimits).
        field: &'static str,
        /// Its value.
        limit: u64,
        /// What the peer has.
        found: u64,
    },
    /// The peer asks for packages behind the end of the list.
    #[error("the peer asks for package {from} of a list of {count}; disconnect, the peer is damaged or hostile")]
    AskBeyond {
        /// What it asks for.
        from: u32,
        /// Packages in the list here.
        count: u32,
    },
    /// The peer asks for the list again and again, or asks before there was an offer.
    #[error(
        "the peer asks for package {from} of a list of {count}, and has been told all that an offer lets it ask for; disconnect, the peer is damaged or hostile"
    )]
    AskTooOften {
        /// What it asks for.
        from: u32,
        /// Packages in the list here.
        count: u32,
    },
    /// The peer accepts a list that was never offered.
    #[error(
        "the peer accepts {count} packages with digest {digest:016x}, which is not the list here; disconnect, the peer is damaged or hostile"
    )]
    FalseAccept {
        /// Packages that it accepts.
        count: u32,
        /// The digest of the list that it accepts.
        digest: u64,
    },
    /// The digest of the peer's list differs, its packages do not.
    #[error(
        "the peer's digest differs within the first {end} packages, but its list does not; disconnect, the peer is damaged or hostile"
    )]
    Contradiction {
        /// Number of packages that have another digest.
        end: u32,
    },
}

/// Why a reference could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The map does not know the object.
    #[error("object {id} is not in the package map; add the objects of its package when the package is opened")]
    UnknownObject {
        /// The object.
        id: ObjectId,
    },
    /// The peer has not accepted the object's package yet.
    #[error(
        "the peer has accepted {accepted} packages, `{path}` is number {package}; finish the handshake first, or send the reference later"
    )]
    NotAccepted {
        /// The object's package.
        path: Arc<str>,
        /// Its index in the list.
        package: u32,
        /// Packages that the peer has accepted.
        accepted: u32,
    },
}

/// Why a reference of a peer was refused. An honest peer causes none of these, on whatever transport: disconnect it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are no reference.
    #[error("not a reference: {0}; disconnect, the peer is damaged or hostile")]
    Record(#[from] CursorError),
    /// A number was used that was never exported, at least not to this decoder.
    #[error("reference number {number} was never exported; keep one decoder per connection, or disconnect the peer")]
    UnknownNumber {
        /// The number.
        number: u32,
    },
    /// A number lies too far ahead of those that have arrived.
    #[error("reference number {number} is exported, those below {end} may be by now; disconnect the peer")]
    NumberTooHigh {
        /// The number.
        number: u32,
        /// The first number that may not be in use yet.
        end: u32,
    },
    /// One number was exported for two objects.
    #[error("reference number {number} is {first} and {second}; disconnect the peer")]
    NumberTwice {
        /// The number.
        number: u32,
        /// The object that it was first.
        first: ObjectIndex,
        /// The other one.
        second: ObjectIndex,
    },
    /// One object was exported with two numbers.
    #[error("{object} has reference numbers {first} and {second}; disconnect the peer")]
    ObjectTwice {
        /// The object.
        object: ObjectIndex,
        /// The number that it had first.
        first: u32,
        /// The other one.
        second: u32,
    },
    /// The package is not one that this side has accepted.
    #[error("a reference into package {package}, {verified} are agreed; disconnect the peer")]
    UnknownPackage {
        /// Its index.
        package: u32,
        /// Packages that this side has accepted.
        verified: u32,
    },
    /// The package has no such object.
    #[error("a reference to object {export} of `{path}`, which has {count}; disconnect the peer")]
    UnknownExport {
        /// The package.
        path: Arc<str>,
        /// The index.
        export: u32,
        /// Objects of the package.
        count: u32,
    },
}

/// Why an acknowledgement was refused. An honest peer causes none of these: disconnect it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AckError {
    /// The bytes are no acknowledgement.
    #[error("not an acknowledgement: {0}; disconnect, the peer is damaged or hostile")]
    Record(#[from] CursorError),
    /// A number is acknowledged that was never sent.
    #[error("reference number {number} is acknowledged, {sent} were sent; disconnect, the peer is damaged or hostile")]
    Unsent {
        /// The number.
        number: u32,
        /// Numbers sent.
        sent: u32,
    },
}

/// Why a packet of a peer was refused. But for a [`Mismatch`], an honest peer causes none of these: disconnect it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The bytes are no packet.
    #[error("not a packet of the package map: {0}; disconnect, the peer is damaged or hostile")]
    Record(#[from] CursorError),
    /// A message of the handshake was refused.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// A reference was refused.
    #[error(transparent)]
    Reference(#[from] DecodeError),
    /// An acknowledgement was refused.
    #[error(transparent)]
    Acknowledgement(#[from] AckError),
}

/// Why a value with references could not be taken. The value is dropped, nothing else has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PendingError {
    /// More would wait than may.
    #[error(
        "{found} is more than PendingLimits::{field} = {limit}; disconnect the peer, or raise PendingLimits::{field}"
    )]
    Limit {
        /// Name of the field of [`PendingLimits`](super::PendingLimits).
        field: &'static str,
        /// Its value.
        limit: u64,
        /// What it would have been.
        found: u64,
    },
    /// The reference leads into no package of the map.
    #[error(
        "{object} does not exist, the list has {packages} packages; resolve with the map that the reference was decoded with"
    )]
    UnknownPackage {
        /// The reference.
        object: ObjectIndex,
        /// Packages in the list.
        packages: u32,
    },
}

/// Why a reference came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefError {
    /// The object was not loaded in time.
    #[error("object {export} of `{path}` was not loaded within {age:?}; load it earlier, or raise PendingLimits::age", export = object.export)]
    TimedOut {
        /// The object.
        object: ObjectIndex,
        /// Its package.
        path: Arc<str>,
        /// How long the value has waited at most.
        age: Duration,
    },
    /// The object could not be loaded.
    #[error("object {export} of `{path}` could not be loaded: {why}", export = object.export)]
    LoadFailed {
        /// The object.
        object: ObjectIndex,
        /// Its package.
        path: Arc<str>,
        /// What the loader said, the mend included.
        why: Arc<str>,
    },
}
