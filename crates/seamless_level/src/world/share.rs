//! What several worlds have of one memory: pure. See [`fair_share`].

/// The most bytes that each world may have of `all`: whoever asks for less has what it asks for, and the others have equal parts of what that
/// leaves. `asked` has what each world asks for; its order does not matter, and is lost.
///
/// Where all of it fits, a world may have what nobody asks for, too.
pub(super) fn fair_share(all: u64, asked: &mut [u64]) -> u64 {
    asked.sort_unstable();
    let mut left = all;
    let mut most = 0;
    for (at, &bytes) in asked.iter().enumerate() {
        let part = left / (asked.len() - at) as u64;
        if bytes > part {
            return part;
        }
        left -= bytes;
        most = bytes;
    }
    most.saturating_add(left)
}

#[cfg(test)]
mod tests {
    use super::fair_share;

    #[test]
    fn whoever_asks_for_little_has_it_and_the_others_share_the_rest() {
        assert_eq!(fair_share(600, &mut []), 600);
        assert_eq!(fair_share(600, &mut [900]), 600, "a world alone has all");
        assert_eq!(fair_share(600, &mut [900, 100, 800]), 250);
        assert_eq!(fair_share(600, &mut [900, 900, 900]), 200);
        assert_eq!(
            fair_share(600, &mut [200, 100]),
            500,
            "what nobody asks for may be asked for"
        );
        assert_eq!(fair_share(u64::MAX, &mut [u64::MAX, 1]), u64::MAX - 1);
        assert_eq!(fair_share(0, &mut [0, 1]), 0);
    }

    #[test]
    fn what_worlds_have_fits_and_nothing_is_left_that_one_asks_for() {
        for case in 0..8_u64.pow(4) {
            let [all, asked @ ..] = [1, 8, 64, 512].map(|place| case / place % 8);
            let all = all * 2;
            let most = fair_share(all, &mut asked.clone());
            let had = |most: u64| asked.iter().map(|asked| *asked.min(&most)).sum::<u64>();
            assert!(had(most) <= all, "{most} of {all} for {asked:?}");
            if asked.iter().sum::<u64>() > all {
                assert!(had(most + 1) > all, "{most} of {all} for {asked:?}");
            } else {
                assert_eq!(had(most), asked.iter().sum::<u64>());
            }
        }
    }
}
