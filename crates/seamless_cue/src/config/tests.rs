//! All 64 settings of the six controls against a table that is written out, not computed.

use super::{CueConfig, Load, Missing, Scan};

/// Bits: sync_scan, sync_load, async_load, defer_scan, sync_missing, async_missing, the first the highest.
pub(crate) fn config(bits: u8) -> CueConfig {
    let bit = |at: u8| bits >> (5 - at) & 1 == 1;
    CueConfig {
        sync_scan_libraries: bit(0),
        sync_load_libraries: bit(1),
        async_load_libraries: bit(2),
        defer_scan: bit(3),
        sync_load_missing: bit(4),
        async_load_missing: bit(5),
        ..CueConfig::default()
    }
}

/// A letter each: when it is scanned (`s`tart, `b`ackground, `c`omplete), when what is always loaded is loaded (`n`ow, `b`ackground, when it is `m`issed),
/// what becomes of a cue whose notify is missing (`l`oaded now, `w`aits, `d`ropped). In the order of the bits, from 000000 on.
pub(crate) const OUTCOMES: [&str; 64] = [
    "bmd", "bmw", "bml", "bml", "cmd", "cmw", "cml", "cml", // 000…
    "bbd", "bbw", "bbl", "bbl", "cbd", "cbw", "cbl", "cbl", // 001…
    "bnd", "bnw", "bnl", "bnl", "cnd", "cnw", "cnl", "cnl", // 010…
    "bnd", "bnw", "bnl", "bnl", "cnd", "cnw", "cnl", "cnl", // 011…
    "smd", "smw", "sml", "sml", "cmd", "cmw", "cml", "cml", // 100…
    "sbd", "sbw", "sbl", "sbl", "cbd", "cbw", "cbl", "cbl", // 101…
    "snd", "snw", "snl", "snl", "cnd", "cnw", "cnl", "cnl", // 110…
    "snd", "snw", "snl", "snl", "cnd", "cnw", "cnl", "cnl", // 111…
];

#[test]
fn every_combination_means_what_the_table_says() {
    for (bits, expected) in OUTCOMES.iter().enumerate() {
        let config = config(bits as u8);
        let scan = match config.scan() {
            Scan::AtStart => 's',
            Scan::InBackground => 'b',
            Scan::WhenComplete => 'c',
        };
        let load = match config.load() {
            Load::Now => 'n',
            Load::InBackground => 'b',
            Load::WhenNeeded => 'm',
        };
        let missing = match config.missing() {
            Missing::LoadNow => 'l',
            Missing::Wait => 'w',
            Missing::Drop => 'd',
        };
        assert_eq!(format!("{scan}{load}{missing}"), *expected, "{bits:06b}");
    }
}

#[test]
fn the_defaults_are_those_of_the_seed() {
    let default = CueConfig::default();
    let of_bits = config(0b101001);
    let controls = |config: &CueConfig| {
        [
            config.sync_scan_libraries,
            config.sync_load_libraries,
            config.async_load_libraries,
            config.defer_scan,
            config.sync_load_missing,
            config.async_load_missing,
        ]
    };
    assert_eq!(controls(&default), controls(&of_bits));
    assert_eq!(default.expire_after.as_millis(), 500);
}
