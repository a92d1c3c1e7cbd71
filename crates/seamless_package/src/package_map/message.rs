//! The messages of the handshake, to bytes and back.
//!
//! | message | bytes: a kind, then |
//! |---|---|
//! | offer | 1, version, count, digest |
//! | accept | 2, count, digest |
//! | ask | 3, from, room |
//! | list | 4, from, digest of those before, total, then to the end: length of the path, path, content hash, export count |
//!
//! Digests and hashes are eight bytes, little-endian; a kind is one byte; all other numbers are as in `varint.rs`.

use super::error::HandshakeError;
use super::limits::MapLimits;
use super::map::{PackageInfo, PackageMap};
use super::varint;
use crate::cursor::{Cursor, CursorError};

/// Version of the protocol, sent with every offer.
pub(super) const VERSION: u32 = 1;

const OFFER: u8 = 1;
const ACCEPT: u8 = 2;
const ASK: u8 = 3;
const LIST: u8 = 4;

/// A message of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// The sender lists `count` packages with this digest.
    Offer { count: u32, digest: u64 },
    /// The sender lists the same first `count` packages.
    Accept { count: u32, digest: u64 },
    /// The sender wants the packages from here on, in a message of at most `room` bytes.
    Ask { from: u32, room: u32 },
    /// Packages of the sender's list.
    List {
        /// Position of the first of them.
        from: u32,
        /// Digest of those before.
        digest: u64,
        /// Length of the whole list.
        total: u32,
        packages: Vec<PackageInfo>,
    },
}

impl Message {
    pub(super) fn parse(bytes: &[u8], limits: &MapLimits) -> Result<Self, HandshakeError> {
        let limit = limits.longest_message().into();
        let found = bytes.len() as u64;
        if found > limit {
            return Err(HandshakeError::TooLong { found, limit });
        }
        let mut cursor = Cursor::new(bytes);
        let message = match cursor.u8()? {
            OFFER => parse_offer(&mut cursor)?,
            ACCEPT => Self::Accept {
                count: varint::read(&mut cursor)?,
                digest: cursor.u64()?,
            },
            ASK => Self::Ask {
                from: varint::read(&mut cursor)?,
                room: varint::read(&mut cursor)?,
            },
            LIST => parse_list(&mut cursor, limits)?,
            kind => return Err(value("kind of message", 0, kind.into()).into()),
        };
        cursor.finish()?;
        Ok(message)
    }
}

fn parse_offer(cursor: &mut Cursor<'_>) -> Result<Message, HandshakeError> {
    let found = varint::read(cursor)?;
    if found != VERSION {
        let supported = VERSION;
        return Err(HandshakeError::Version { found, supported });
    }
    Ok(Message::Offer {
        count: varint::read(cursor)?,
        digest: cursor.u64()?,
    })
}

fn parse_list(cursor: &mut Cursor<'_>, limits: &MapLimits) -> Result<Message, HandshakeError> {
    let from = varint::read(cursor)?;
    let digest = cursor.u64()?;
    let offset = cursor.offset();
    let total = varint::read(cursor)?;
    let mut packages = Vec::new();
    // One by one, without memory reserved: their number is that of the bytes that are really there.
    while cursor.remaining() > 0 {
        packages.push(parse_package(cursor, limits)?);
    }
    let end = (packages.len() as u64).saturating_add(from.into());
    let stops_short = packages.is_empty() && from < total;
    if end > total.into() || stops_short {
        return Err(value("length of a list with these packages", offset, total.into()).into());
    }
    Ok(Message::List {
        from,
        digest,
        total,
        packages,
    })
}

fn parse_package(cursor: &mut Cursor<'_>, limits: &MapLimits) -> Result<PackageInfo, HandshakeError> {
    let len = varint::read(cursor)?;
    check("path_bytes", limits.path_bytes, len)?;
    let offset = cursor.offset();
    // Lossless where `usize` has 32 bits or more; Bevy needs that too.
    let path = cursor.bytes(len as usize)?;
    let path = std::str::from_utf8(path).map_err(|_| CursorError::Utf8 { offset })?;
    Ok(PackageInfo {
        path: path.into(),
        content_hash: cursor.u64()?,
        export_count: varint::read(cursor)?,
    })
}

/// Refuses `found` when it is more than the field `field` of the limits.
pub(super) fn check(field: &'static str, limit: u32, found: u32) -> Result<(), HandshakeError> {
    if found > limit {
        let (limit, found) = (limit.into(), found.into());
        return Err(HandshakeError::Limit { field, limit, found });
    }
    Ok(())
}

fn value(what: &'static str, offset: usize, found: u64) -> CursorError {
    CursorError::Value { what, offset, found }
}

pub(super) fn write_offer(out: &mut Vec<u8>, count: u32, digest: u64) {
    out.push(OFFER);
    varint::write(out, VERSION);
    varint::write(out, count);
    out.extend_from_slice(&digest.to_le_bytes());
}

pub(super) fn write_accept(out: &mut Vec<u8>, count: u32, digest: u64) {
    out.push(ACCEPT);
    varint::write(out, count);
    out.extend_from_slice(&digest.to_le_bytes());
}

pub(super) fn write_ask(out: &mut Vec<u8>, from: u32, room: u32) {
    out.push(ASK);
    varint::write(out, from);
    varint::write(out, room);
}

/// Writes as many packages as there is room for, but at least one, and says how many. `from` is at most the length of the
/// list.
pub(super) fn write_list(out: &mut Vec<u8>, map: &PackageMap, from: u32, digest: u64, room: u32) -> u32 {
    let room = room.min(map.limits().longest_message()) as usize;
    let start = out.len();
    out.push(LIST);
    varint::write(out, from);
    out.extend_from_slice(&digest.to_le_bytes());
    varint::write(out, map.len());
    let mut written = 0_u32;
    for info in map.packages_from(from) {
        let before = out.len();
        write_package(out, info);
        if out.len().saturating_sub(start) > room && written > 0 {
            out.truncate(before);
            break;
        }
        written = written.saturating_add(1);
    }
    written
}

fn write_package(out: &mut Vec<u8>, info: &PackageInfo) {
    // Cannot saturate: the map has compared it with a limit of 32 bits.
    varint::write(out, u32::try_from(info.path.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(info.path.as_bytes());
    out.extend_from_slice(&info.content_hash.to_le_bytes());
    varint::write(out, info.export_count);
}
