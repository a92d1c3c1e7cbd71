use proptest::{collection::vec, prelude::*};

use super::*;
use crate::mip::{MipLedger, MipRead, MipSwap, plan::tests::chain};

const FRAME: f64 = 1.0 / 60.0;

proptest! {
    /// However large what is sent, all frames together send no more than they may but for the last change; and what waits is never kept waiting for nothing.
    #[test]
    fn frames_make_up_for_what_was_too_much(sizes in vec(1_u64..4 << 20, 1..200), per_frame in 1_u64..2 << 20) {
        let (mut pace, mut sent, mut frames) = (Pace::default(), 0, 0);
        let count = sizes.len() as u64;
        let mut sizes = sizes.into_iter().peekable();
        let rate = per_frame.max(LEAST_BYTES);
        while sizes.peek().is_some() {
            let (mut left, mut now) = (pace.allowance(per_frame, 1), 0);
            while let Some(size) = sizes.next_if(|size| left > 0 && (now == 0 || *size <= left)) {
                left = left.saturating_sub(size);
                now += size;
            }
            pace.note(per_frame, now);
            (sent, frames) = (sent + now, frames + 1);
            prop_assert!(sent < frames * rate + (4 << 20), "{sent} in {frames} frames");
        }
        prop_assert!(frames <= count + sent / rate, "a frame sends nothing, and makes up for nothing");
    }
}

/// Frames in which nothing may be sent leave their bytes to the next that may.
#[test]
fn what_is_sent_now_and_then_is_as_much_as_what_is_sent_in_each_frame() {
    const RATE: u64 = 1 << 20;
    for interval in [1, 2, 4, 7] {
        let (mut pace, mut sent) = (Pace::default(), 0);
        for frame in 1..=28 {
            let now = if frame % interval == 0 {
                pace.allowance(RATE, interval)
            } else {
                0
            };
            pace.note(RATE, now);
            sent += now;
        }
        assert_eq!(sent, 28 * RATE, "each {interval}");
    }
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
