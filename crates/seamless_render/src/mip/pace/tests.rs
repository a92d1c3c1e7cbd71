use proptest::{collection::vec, prelude::*};

use super::*;
use crate::mip::{MipLedger, MipRead, MipSwap, plan::tests::chain};

const FRAME: f64 = 1.0 / 60.0;

fn rate(bytes: u64, interval: u32) -> Rate {
    Rate {
        interval,
        bytes,
        swaps: 8,
    }
}

fn sent(bytes: u64) -> Turn {
    Turn { bytes, swaps: 1 }
}

proptest! {
    /// However large what is sent, all frames together send no more than they may but for the last change; and what waits is never kept waiting for nothing.
    #[test]
    fn frames_make_up_for_what_was_too_much(sizes in vec(1_u64..4 << 20, 1..200), bytes in 64_u64 << 10..2 << 20) {
        let (mut pace, mut all, mut frames) = (Pace::default(), 0, 0);
        let (count, rate) = (sizes.len() as u64, rate(bytes, 1));
        let mut sizes = sizes.into_iter().peekable();
        while sizes.peek().is_some() {
            let (mut left, mut now) = (pace.turn(&rate).bytes, 0);
            while let Some(size) = sizes.next_if(|size| left > 0 && (now == 0 || *size <= left)) {
                left = left.saturating_sub(size);
                now += size;
            }
            pace.note(&rate, sent(now));
            (all, frames) = (all + now, frames + 1);
            prop_assert!(all < frames * bytes + (4 << 20), "{all} in {frames} frames");
        }
        prop_assert!(frames <= count + all / bytes, "a frame sends nothing, and makes up for nothing");
    }

    /// Whenever anything comes, and however much: no frames in a row have more than two turns beside those that their number has, nor send more than they may,
    /// but for what the frames of an interval before them may.
    #[test]
    fn turns_are_as_many_as_is_said(waits in vec(any::<bool>(), 1..200), interval in 1_u32..7) {
        let (mut pace, rate) = (Pace::default(), rate(1 << 20, interval));
        let mut turns = Vec::new();
        for waits in waits {
            let turn = if waits { pace.turn(&rate) } else { Turn::default() };
            pace.note(&rate, turn);
            turns.push(turn);
        }
        let interval = interval as usize;
        for from in 0..turns.len() {
            let (mut count, mut bytes, mut swaps) = (0, 0, 0);
            for (frames, turn) in (1..).zip(&turns[from..]) {
                count += usize::from(turn.swaps > 0);
                bytes += turn.bytes;
                swaps += turn.swaps;
                prop_assert!(count <= frames / interval + 2, "{count} turns in {frames} frames");
                let most = (frames + interval - 1) as u64;
                prop_assert!(bytes <= most << 20 && swaps <= most * 8);
            }
        }
    }
}

/// Frames in which nothing may be sent leave their bytes to the next that may.
#[test]
fn what_is_sent_now_and_then_is_as_much_as_what_is_sent_in_each_frame() {
    const RATE: u64 = 1 << 20;
    for interval in [1, 2, 4, 7] {
        let (mut pace, rate, mut all) = (Pace::default(), rate(RATE, interval), 0);
        for _ in 1..=28 {
            let now = pace.turn(&rate);
            pace.note(&rate, now);
            all += now.bytes;
        }
        assert_eq!(all, 28 * RATE, "each {interval}");
    }
}

#[test]
fn who_sets_no_limit_has_none() {
    let (mut pace, rate) = (Pace::default(), rate(u64::MAX, 4));
    (0..20).for_each(|_| pace.note(&rate, Turn::default()));
    assert_eq!(pace.turn(&rate).bytes, u64::MAX);
}

#[test]
fn after_a_while_without_any_two_turns_come_in_a_row_and_share_what_is_left() {
    let (mut pace, rate) = (Pace::default(), rate(100, 4));
    (0..20).for_each(|_| pace.note(&rate, Turn::default()));
    assert_eq!(pace.turn(&rate), Turn { bytes: 400, swaps: 32 });
    pace.note(&rate, sent(150));
    assert_eq!(pace.turn(&rate), Turn { bytes: 350, swaps: 32 });
    pace.note(&rate, sent(350));
    let mut then = (0..3).map(|_| {
        let turn = pace.turn(&rate);
        pace.note(&rate, Turn::default());
        turn.bytes
    });
    assert!(then.all(|bytes| bytes == 0));
    assert_eq!(pace.turn(&rate).bytes, 400);
}

/// A change that is read, and takes so many frames until it is sent.
fn change(lead: &mut Lead, ledger: &mut MipLedger, at: f64, frames: u32) -> f64 {
    ledger.insert(0, &chain(), 4);
    let id = ledger.begin(0, &chain(), 0).expect("it can begin").id;
    let mut changes = MipChanges::default();
    changes.reads.push(MipRead {
        id,
        texture: 0,
        mips: 0..4,
    });
    lead.note(&changes, at);
    changes.reads.clear();
    for frame in 1..frames {
        lead.note(&changes, at + f64::from(frame) * FRAME);
    }
    changes.swaps.push(MipSwap {
        id,
        texture: 0,
        from: 4,
        to: 0,
    });
    let end = at + f64::from(frames) * FRAME;
    lead.note(&changes, end);
    end
}

#[test]
fn views_look_as_far_ahead_as_changes_take() {
    let (mut lead, mut ledger) = (Lead::default(), MipLedger::default());
    assert_eq!(lead.seconds(0.5), 0.5, "nothing is known");
    // Seven frames until they are sent, and one until they are drawn.
    let mut now = change(&mut lead, &mut ledger, 0.0, 7);
    assert_eq!(lead.seconds(0.5), 0.15);
    now = change(&mut lead, &mut ledger, now, 22);
    assert_eq!(lead.seconds(0.5), 0.4, "a slow one counts at once");
    assert_eq!(lead.seconds(0.2), 0.2);
    for _ in 0..100 {
        now = change(&mut lead, &mut ledger, now, 4);
    }
    assert_eq!(lead.seconds(0.5), 0.1, "and is forgotten by and by");
}

#[test]
fn what_ends_otherwise_tells_nothing() {
    let (mut lead, mut ledger) = (Lead::default(), MipLedger::default());
    ledger.insert(0, &chain(), 4);
    let id = ledger.begin(0, &chain(), 0).expect("it can begin").id;
    let mut changes = MipChanges::default();
    changes.reads.push(MipRead {
        id,
        texture: 0,
        mips: 0..4,
    });
    lead.note(&changes, 0.0);
    changes.reads.clear();
    changes.cancels.push((0, id));
    lead.note(&changes, 1.0);
    assert!(lead.begun.is_empty());
    changes.reads.push(MipRead {
        id,
        texture: 0,
        mips: 0..4,
    });
    changes.cancels.clear();
    lead.note(&changes, 2.0);
    changes.reads.clear();
    lead.note(&changes, 13.0);
    assert!(lead.begun.is_empty(), "it could not be read");
    assert_eq!(lead.seconds(0.5), 0.5);
}
