use super::*;
use crate::mip::{Demand, DemandRule, plan::tests::chain, random::Random};

fn texture(seen: f32, unseen: f32, forced: Option<u8>) -> Option<DemandedTexture> {
    Some(DemandedTexture {
        chain: chain(),
        demand: Demand {
            seen,
            unseen,
            area: 1.0,
            unseen_area: 1.0,
            expected: f32::INFINITY,
            expected_area: 0.0,
            last_seen: 0.0,
            rule: DemandRule {
                forced,
                ..DemandRule::default()
            },
        },
    })
}

const NONE: f32 = f32::INFINITY;

#[test]
fn bytes_are_counted_by_what_they_are_for() {
    // Seen at mip 2, unseen at mip 1 and so wanted at 2, forced, and wanted by nobody.
    let textures = [
        texture(2.0, NONE, None),
        texture(NONE, 1.0, None),
        texture(9.0, NONE, Some(1)),
        None,
        texture(NONE, NONE, None),
    ];
    let mut ledger = MipLedger::default();
    for number in [0, 1, 2, 4] {
        ledger.insert(number, &chain(), 1);
    }
    let wanting = Wanting {
        margin: 0.0,
        ..Wanting::default()
    };
    let mut tally = Tally::default();
    tally.count(&textures, &[], &ledger, &wanting, 0.0);
    let bytes = |top: u8| chain().bytes(top);
    assert_eq!(tally.visible, bytes(2));
    assert_eq!(tally.hidden, bytes(2) + bytes(chain().floor()));
    assert_eq!(tally.forced, bytes(1));
    assert_eq!(tally.cached, 3 * bytes(1) - 2 * bytes(2) - bytes(chain().floor()));
    assert_eq!(
        tally.visible + tally.hidden + tally.forced + tally.cached,
        ledger.sums().resident
    );
    assert_eq!((tally.under_resolved, tally.starving(9.0)), (0, 0));
}

#[test]
fn a_texture_that_waits_for_a_second_starves() {
    let textures = [texture(0.0, NONE, None), texture(0.0, NONE, None)];
    let mut ledger = MipLedger::default();
    ledger.insert(0, &chain(), 3);
    ledger.insert(1, &chain(), 3);
    let mut tally = Tally::default();
    tally.count(&textures, &[], &ledger, &Wanting::default(), 5.0);
    assert_eq!((tally.under_resolved, tally.starving(5.9)), (2, 0));
    assert_eq!(tally.starving(6.0), 2, "nothing has changed meanwhile");
    // One has got what it wants; the other waits on.
    ledger.remove(1);
    ledger.insert(1, &chain(), 0);
    tally.count(&textures, &[], &ledger, &Wanting::default(), 6.5);
    assert_eq!((tally.under_resolved, tally.starving(6.5)), (1, 1));
    tally.count(&textures[..1], &[], &ledger, &Wanting::default(), 6.6);
    assert_eq!(tally.starving(6.6), 1);
}

/// As if all were counted anew each time, whatever becomes of textures.
#[test]
fn what_was_counted_stays_right() {
    let mut random = Random(11);
    let mut ledger = MipLedger::default();
    let mut textures: Vec<Option<DemandedTexture>> = vec![None; 12];
    let mut tally = Tally::default();
    let mut found = [0; 5];
    for frame in 0..4000 {
        let mut changed = Vec::new();
        for _ in 0..random.below(3) {
            let number = random.below(12) as u32;
            let of = &mut textures[number as usize];
            match random.below(4) {
                0 => {
                    if of.take().is_some() {
                        ledger.remove(number);
                    }
                    changed.push(number);
                }
                1 if of.is_some() => {
                    // Another top, of which nobody tells.
                    ledger.remove(number);
                    ledger.insert(number, &chain(), random.below(5) as u8);
                }
                _ => {
                    let (seen, unseen) = (random.part() * 6.0, random.part() * 6.0);
                    let seen = if random.below(2) == 0 { seen } else { NONE };
                    let forced = (random.below(5) == 0).then_some(1);
                    if of.is_none() {
                        ledger.insert(number, &chain(), random.below(5) as u8);
                    }
                    *of = texture(seen, unseen, forced);
                    changed.push(number);
                }
            }
        }
        let wanting = Wanting {
            margin: if frame % 500 < 250 { 0.0 } else { 0.25 },
            ..Wanting::default()
        };
        tally.count(&textures, &changed, &ledger, &wanting, f64::from(frame));
        let mut anew = Tally::default();
        anew.count(&textures, &[], &ledger, &wanting, f64::from(frame));
        let sums = |of: &Tally| [of.visible, of.hidden, of.forced, of.cached, of.under_resolved];
        assert_eq!(sums(&tally), sums(&anew), "frame {frame}");
        assert_eq!(sums(&tally)[..4].iter().sum::<u64>(), ledger.sums().resident);
        found = core::array::from_fn(|part| found[part] + sums(&tally)[part]);
    }
    assert!(found.iter().all(|of| *of > 0), "{found:?}");
}
