use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::*;

fn chain(side: u32) -> MipChain {
    let size = Extent3d {
        width: side,
        height: side,
        depth_or_array_layers: 1,
    };
    let mips = side.ilog2() + 1;
    MipChain::new(size, TextureDimension::D2, 1, TextureFormat::Rgba8Unorm, mips, mips - 2).unwrap()
}

#[test]
fn both_textures_count_until_the_old_one_is_free() {
    let mut ledger = MipLedger::default();
    let chain = chain(64);
    ledger.set_not_streamed(1000);
    ledger.insert(2, &chain, 3);
    let floor = chain.bytes(3);
    assert_eq!(ledger.sums().total(), 1000 + floor);
    let change = ledger.begin(2, &chain, 1).unwrap();
    assert_eq!((change.phase, ledger.begin(2, &chain, 0)), (Phase::Reading, None));
    let (copy, buffers) = (chain.bytes(1), chain.staging_bytes(3, 1));
    let going = LedgerSums {
        resident: floor,
        reserved: copy + buffers,
        not_streamed: 1000,
        ..LedgerSums::default()
    };
    assert_eq!((ledger.sums(), ledger.destined()), (going, copy));
    ledger.filling(2, change.id);
    let filling = LedgerSums {
        staging: buffers,
        reserved: copy,
        ..going
    };
    assert_eq!(ledger.sums(), filling);
    ledger.staged(2, change.id);
    assert_eq!(ledger.sums(), filling);
    ledger.sent(2, change.id);
    let sent = LedgerSums {
        copies: copy,
        reserved: 0,
        ..filling
    };
    assert_eq!(ledger.sums(), sent);
    assert_eq!([going, filling, sent].map(|sums| sums.total()), [sent.held(); 3]);
    ledger.swapped(2, change.id);
    let after = LedgerSums {
        resident: copy,
        retiring: floor + buffers,
        not_streamed: 1000,
        ..LedgerSums::default()
    };
    assert_eq!(ledger.sums(), after);
    ledger.retired(change.id);
    assert_eq!((ledger.sums().total(), ledger.stray()), (1000 + copy, 0));
    assert_eq!(ledger.get(2).map(|of| (of.top, of.target())), Some((1, 1)));
    // To leave mips out, nothing is read.
    assert_eq!(ledger.begin(2, &chain, 3).unwrap().phase, Phase::Staged);
}

#[test]
fn reports_that_fit_nothing_change_nothing() {
    let mut ledger = MipLedger::default();
    let chain = chain(64);
    ledger.insert(0, &chain, 4);
    let change = ledger.begin(0, &chain, 0).unwrap();
    let before = ledger.sums();
    ledger.swapped(0, change.id);
    ledger.failed(0, change.id);
    ledger.sent(0, change.id);
    ledger.staged(1, change.id);
    ledger.staged(0, ChangeId(77));
    ledger.retired(change.id);
    assert_eq!((ledger.sums(), ledger.stray()), (before, 6));
    ledger.staged(0, change.id);
    ledger.sent(0, change.id);
    let sent = ledger.sums();
    ledger.filling(0, change.id);
    ledger.cancelled(0, change.id);
    assert_eq!((ledger.sums(), ledger.stray()), (sent, 8), "too late");
    ledger.failed(0, change.id);
    assert_eq!(
        (ledger.sums().total(), ledger.destined()),
        (chain.bytes(4), chain.bytes(4))
    );
    // A texture that goes while the renderer is told: all of it counts until the report.
    let change = ledger.begin(0, &chain, 0).unwrap();
    ledger.staged(0, change.id);
    ledger.sent(0, change.id);
    let total = ledger.sums().total();
    let removal = ledger.remove(0).unwrap();
    assert_eq!((ledger.sums().retiring, ledger.sums().total()), (total, total));
    assert_eq!((ledger.remove(0), ledger.changing()), (None, &[][..]));
    ledger.swapped(0, change.id);
    ledger.retired(removal);
    assert_eq!((ledger.sums(), ledger.destined()), (LedgerSums::default(), 0));
}

#[test]
fn after_a_loss_each_texture_begins_at_its_floor() {
    let mut ledger = MipLedger::default();
    let chain = chain(64);
    ledger.set_not_streamed(5);
    for texture in 0..3 {
        ledger.insert(texture, &chain, 2);
    }
    let change = ledger.begin(0, &chain, 0).unwrap();
    ledger.remove(1);
    ledger.lost(|texture| (texture != 2).then(|| (4, chain.bytes(4))));
    let sums = LedgerSums {
        resident: chain.bytes(4),
        not_streamed: 5,
        ..LedgerSums::default()
    };
    assert_eq!(
        (ledger.sums(), ledger.destined(), ledger.retiring()),
        (sums, chain.bytes(4), 0)
    );
    ledger.staged(0, change.id);
    assert_eq!(
        (ledger.stray(), ledger.get(0).map(|of| of.top), ledger.get(2)),
        (1, Some(4), None)
    );
    let mut targets = vec![];
    ledger.targets(&mut targets);
    assert_eq!(targets, [4, 255, 255]);
}

proptest! {
    /// Whatever is reported in whatever order: the sums are those of what there is.
    #[test]
    fn sums_are_those_of_what_there_is(steps in vec((0..10_u8, 0..4_u32, 0..5_u8, 0..6_usize), 1..400)) {
        let chains: Vec<MipChain> = (6..10).map(|bits| chain(1 << bits)).collect();
        let mut ledger = MipLedger::default();
        // What the GPU has beside what is drawn with, by the report that frees it.
        let mut left = BTreeMap::<ChangeId, u64>::new();
        let mut changes = vec![];
        for (what, texture, top, place) in steps {
            let chain = &chains[texture as usize];
            let change: Option<(u32, ChangeId)> = changes.get(place).copied();
            let before = ledger.get(texture);
            match what {
                0 if before.is_none() => ledger.insert(texture, chain, top.min(chain.floor())),
                1 if place == 0 => {
                    if let Some(id) = ledger.remove(texture) {
                        let Resident { bytes, change, .. } = before.unwrap();
                        let sent = change.map_or(0, |of| match of.phase {
                            Phase::Reading => 0,
                            Phase::Filling | Phase::Staged => of.staging,
                            Phase::Sent => of.staging + of.bytes,
                        });
                        left.insert(id, bytes + sent);
                    }
                }
                2 | 3 => {
                    let begun = ledger.begin(texture, chain, top.min(chain.floor()));
                    changes.extend(begun.map(|change| (texture, change.id)));
                }
                4 => change.into_iter().for_each(|(texture, id)| ledger.staged(texture, id)),
                5 => change.into_iter().for_each(|(texture, id)| ledger.sent(texture, id)),
                6 => change.into_iter().for_each(|(texture, id)| {
                    let before = ledger.get(texture);
                    ledger.swapped(texture, id);
                    if before != ledger.get(texture) {
                        let Resident { bytes, change, .. } = before.unwrap();
                        left.insert(id, bytes + change.unwrap().staging);
                    }
                }),
                7 => change.into_iter().for_each(|(texture, id)| {
                    ledger.cancelled(texture, id);
                    ledger.failed(texture, id);
                }),
                8 => change.into_iter().for_each(|(texture, id)| ledger.filling(texture, id)),
                _ => {
                    if let Some(id) = left.keys().nth(place).copied() {
                        left.remove(&id);
                        ledger.retired(id);
                    }
                }
            }
            changes.truncate(6);
            changes.retain(|(texture, id)| {
                ledger.get(*texture).is_some_and(|of| of.change.is_some_and(|change| change.id == *id))
            });
            let all = (0..4).filter_map(|texture| Some((texture, ledger.get(texture)?)));
            let (mut sums, mut destined) = (LedgerSums::default(), 0);
            for (texture, of) in all {
                let chain = &chains[texture as usize];
                prop_assert_eq!(of.bytes, chain.bytes(of.top));
                sums.resident += of.bytes;
                destined += chain.bytes(of.target());
                prop_assert_eq!(ledger.changing().contains(&texture), of.change.is_some());
                if let Some(change) = of.change {
                    let (copy, staging) = (chain.bytes(change.to), chain.staging_bytes(of.top, change.to));
                    sums.copies += if change.phase == Phase::Sent { copy } else { 0 };
                    sums.staging += if change.phase == Phase::Reading { 0 } else { staging };
                    sums.reserved += copy + staging;
                }
            }
            sums.reserved -= sums.copies + sums.staging;
            sums.retiring = left.values().sum();
            prop_assert_eq!(ledger.sums(), sums);
            prop_assert_eq!((ledger.destined(), ledger.retiring()), (destined, left.len()));
        }
    }
}
