use proptest::{collection::vec, prelude::*};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{cut::Error, *};
use crate::mip::{
    chain::MipChain,
    demand::{Demand, DemandRule},
};

impl Fit {
    /// One that looks at all that is cached one by one: what it finds is the same, and takes longer.
    pub(in crate::mip) fn one_by_one() -> Self {
        Self {
            one_by_one: true,
            ..Self::default()
        }
    }

    pub(super) fn is_one_by_one(&self) -> bool {
        self.one_by_one
    }
}

/// By so much a view trembles, in mips: from one end to the other a little less than what makes no difference, as sums are rounded.
const SHAKE: f32 = TREMBLE * 0.49;

fn chain(side: u32, tail: u32) -> MipChain {
    let size = Extent3d {
        width: side,
        height: side,
        depth_or_array_layers: 1,
    };
    let mips = side.ilog2() + 1;
    MipChain::new(size, TextureDimension::D2, 1, TextureFormat::Bc7RgbaUnorm, mips, tail).unwrap()
}

fn texture(chain: MipChain, seen: f32, area: f32) -> DemandedTexture {
    DemandedTexture {
        chain,
        demand: Demand {
            seen,
            unseen: f32::INFINITY,
            area,
            unseen_area: 0.0,
            expected: f32::INFINITY,
            expected_area: 0.0,
            last_seen: 0.0,
            rule: DemandRule::default(),
        },
    }
}

/// A room of which nothing is kept for changes but what they need.
fn input(textures: &[Option<DemandedTexture>], room: u64) -> FitInput<'_> {
    FitInput {
        textures,
        changed: None,
        resident: &[],
        room,
        headroom: 0,
        cached: 0.0,
        wanting: Wanting::default(),
        now: 0.0,
    }
}

fn any_texture() -> impl Strategy<Value = DemandedTexture> {
    let chain = prop_oneof![
        (6..12_u32, 1..6_u32).prop_map(|(bits, tail)| chain(1 << bits, tail)),
        Just(chain(2056, 6)),
        Just(chain(1000, 5)),
    ];
    let mip = || prop_oneof![-1.0..8.0_f32, Just(f32::INFINITY)];
    let rule = (
        prop_oneof![4 => Just(None), 1 => (0..4_u8).prop_map(Some)],
        0..3_u8,
        2..12_u8,
        0.1..4.0_f32,
    );
    let sampled = (mip(), mip(), prop_oneof![1 => mip(), 3 => Just(f32::INFINITY)]);
    let areas = (0.0..1e6_f32, 0.0..1e6_f32, 0.0..1e6_f32);
    (chain, sampled, areas, 0.0..9.0_f64, rule).prop_map(
        |(chain, (seen, unseen, expected), areas, last_seen, (forced, finest, coarsest, weight))| DemandedTexture {
            chain,
            demand: Demand {
                seen,
                unseen,
                expected,
                area: areas.0,
                unseen_area: areas.1,
                expected_area: areas.2,
                last_seen,
                rule: DemandRule {
                    forced,
                    finest,
                    coarsest,
                    bias: 0.0,
                    weight,
                },
            },
        },
    )
}

fn any_textures(most: usize) -> impl Strategy<Value = Vec<Option<DemandedTexture>>> {
    vec(prop_oneof![9 => any_texture().prop_map(Some), 1 => Just(None)], 1..most)
}

fn bytes(textures: &[Option<DemandedTexture>], tops: &[u8]) -> u64 {
    let both = textures.iter().zip(tops);
    both.filter_map(|(of, top)| Some(of.as_ref()?.chain.bytes(*top))).sum()
}

fn error(input: &FitInput, tops: &[u8]) -> f64 {
    let both = input.textures.iter().zip(tops);
    both.filter_map(|(of, top)| {
        let demand = &of.as_ref()?.demand;
        Some(f64::from(Error::new(demand, demand.sampled(), input).at(*top)))
    })
    .sum()
}

/// The least error of all ways to have no more than `budget`, and nothing that is finer than `finest`.
fn optimum(input: &FitInput, finest: &[u8], budget: u64) -> Option<f64> {
    let mut best = None;
    let mut tops: Vec<u8> = vec![];
    search(input, finest, budget, &mut tops, &mut best);
    best
}

fn search(input: &FitInput, finest: &[u8], budget: u64, tops: &mut Vec<u8>, best: &mut Option<f64>) {
    let Some(of) = input.textures.get(tops.len()) else {
        if bytes(input.textures, tops) <= budget {
            let error = error(input, tops);
            *best = Some(best.map_or(error, |best| best.min(error)));
        }
        return;
    };
    let possible: Vec<u8> = match of {
        None => vec![0],
        Some(of) => {
            let range = finest[tops.len()]..=of.floor();
            of.chain.tops().filter(|top| range.contains(top)).collect()
        }
    };
    for top in possible {
        tops.push(top);
        search(input, finest, budget, tops, best);
        tops.pop();
    }
}

proptest! {
    /// However it is found: of changes alone or of all, of all that is cached at once or one by one, with other terms than before.
    #[test]
    fn what_has_room_is_found_in_any_way(
        frames in vec((any_textures(30), vec(0..8_u8, 0..40), 0.0..3.0_f64, prop_oneof![Just(0.0), Just(2.0), Just(5.0_f32)]), 1..8),
        part in 0.5..3.0_f64,
    ) {
        let (mut fit, mut other) = (Fit::default(), Fit::one_by_one());
        let whole: u64 = frames[0].0.iter().flatten().map(|of| of.chain.bytes(0)).sum();
        let (mut now, mut before, mut cached) = (0.0, vec![], 5.0);
        for (textures, resident, later, next) in &frames {
            now += later;
            let mut textures = textures.clone();
            textures.resize(30, None);
            // Some of them as they were.
            let differs = |index: &u32| textures[*index as usize].as_ref().map(|of| of.demand) != before.get(*index as usize).cloned().flatten();
            let changed: Vec<u32> = (0..30).filter(differs).collect();
            let changed = if before.is_empty() { None } else { Some(&changed[..]) };
            before = textures.iter().map(|of| of.as_ref().map(|of| of.demand)).collect();
            let input = FitInput { resident, cached, now, ..input(&textures, (whole as f64 * part) as u64) };
            fit.update(&FitInput { changed, ..input });
            other.update(&input);
            prop_assert_eq!((&fit.tops, fit.used, fit.perfect), (&other.tops, other.used, other.perfect));
            prop_assert_eq!((fit.budget, &fit.cut, fit.until), (other.budget, &other.cut, other.until));
            cached = *next;
        }
    }

    #[test]
    fn never_more_than_the_budget(
        textures in any_textures(40), part in 0.0..1.5_f64, headroom in 0..4_000_000_u64,
        resident in vec(0..8_u8, 0..50), cached in prop_oneof![Just(0.0), Just(5.0_f32)],
    ) {
        let whole: u64 = textures.iter().flatten().map(|of| of.chain.bytes(0)).sum();
        let room = (whole as f64 * part) as u64;
        let input = FitInput { headroom, resident: &resident, cached, ..input(&textures, room) };
        let (mut fit, mut again) = (Fit::default(), Fit::default());
        for _ in 0..3 {
            fit.update(&input);
            again.update(&input);
            prop_assert_eq!(&fit.tops, &again.tops, "same input, same plan");
            prop_assert_eq!(fit.used, bytes(&textures, &fit.tops));
            prop_assert!(fit.used <= fit.budget || fit.is_short);
            prop_assert!(fit.budget <= room && (headroom > room / 2 || fit.budget <= room - headroom));
            prop_assert_eq!(fit.is_short, fit.used > fit.budget);
            for (of, top) in textures.iter().zip(&fit.tops) {
                let Some(of) = of else { continue };
                prop_assert!(of.chain.tops().any(|possible| possible == *top));
                prop_assert!(*top >= of.demand.rule.finest || *top == of.chain.floor());
                prop_assert!(*top <= of.floor());
                prop_assert!(!fit.is_short || *top == of.floor());
            }
        }
        // What is resident as planned needs no more: the plan stays.
        let tops = fit.tops.clone();
        let input = FitInput { resident: &tops, ..input };
        fit.update(&input);
        prop_assert!(fit.used <= fit.budget || fit.is_short);
    }

    /// Greedy, with keys that are a sixteenth coarse, and whole mips: so much worse than the best, and no more.
    #[test]
    fn the_error_is_nearly_the_least(textures in any_textures(7), part in 0.2..1.1_f64) {
        let mut textures = textures;
        for of in textures.iter_mut().flatten() {
            of.demand.rule.forced = None;
        }
        let wanting = Wanting::default();
        // All is there, so nothing but the way back is kept free.
        let resident: Vec<u8> = textures.iter().map(|of| of.as_ref().map_or(0, |of| of.wanted(&wanting))).collect();
        let room = (bytes(&textures, &resident) as f64 * part) as u64;
        let input = FitInput { resident: &resident, ..input(&textures, room) };
        let mut fit = Fit::default();
        fit.update(&input);
        if fit.is_short {
            return Ok(());
        }
        let finest: Vec<u8> = fit.found.iter().map(|found| found.possible).collect();
        let steps = textures.iter().zip(&finest).filter_map(|(of, top)| {
            let of = of.as_ref()?;
            Some(of.chain.bytes(*top) - of.chain.bytes(of.chain.coarser(*top)?))
        });
        let largest = steps.max().unwrap_or_default();
        if let Some(best) = optimum(&input, &finest, fit.budget.saturating_sub(largest)) {
            let found = error(&input, &fit.tops);
            prop_assert!(found <= best * 1.07 + 1e-3, "{found}, and {best} is possible");
        }
    }

    /// Where no two are alike, it does not matter in which order they are.
    #[test]
    fn the_order_does_not_matter(textures in any_textures(20), part in 0.0..1.0_f64, turn in 0..20_usize) {
        let mut textures = textures;
        for (bit, of) in textures.iter_mut().flatten().enumerate() {
            // Each is a power of two apart from the others, whatever its sizes are.
            of.demand.rule.weight = 64_f32.powi(bit as i32 - 10);
            (of.demand.area, of.demand.unseen_area) = (1.0, 0.0);
            (of.demand.seen, of.demand.unseen) = (0.5, f32::INFINITY);
            // An area that is expected would bring two of them together again.
            (of.demand.expected, of.demand.expected_area) = (f32::INFINITY, 0.0);
            of.chain = chain(1024, 5);
        }
        let whole: u64 = textures.iter().flatten().map(|of| of.chain.bytes(0)).sum();
        let room = (whole as f64 * part) as u64;
        let mut fit = Fit::default();
        fit.update(&input(&textures, room));
        let turn = turn % textures.len();
        let mut expected = fit.tops;
        expected.rotate_left(turn);
        textures.rotate_left(turn);
        let mut turned = Fit::default();
        turned.update(&input(&textures, room));
        prop_assert_eq!(turned.tops, expected);
    }

    /// Views tremble by a quarter of a mip: once each texture was at its finest, nothing changes any more, however full the pool is.
    #[test]
    fn trembling_changes_nothing(
        textures in any_textures(30), part in 0.05..1.2_f64,
        jitter in vec(vec(prop_oneof![Just(-SHAKE), Just(0.0), Just(SHAKE)], 30), 30),
    ) {
        let whole: u64 = textures.iter().flatten().map(|of| of.chain.bytes(0)).sum();
        let room = (whole as f64 * part) as u64;
        let mut fit = Fit::default();
        let mut resident: Vec<u8> = textures.iter().map(|of| of.as_ref().map_or(0, |of| of.floor())).collect();
        let mut settled = None;
        for (frame, jitter) in jitter.iter().enumerate() {
            let mut shaken = textures.clone();
            for (of, by) in shaken.iter_mut().zip(jitter) {
                let Some(of) = of else { continue };
                let by = if frame == 0 { -SHAKE } else { *by };
                of.demand.seen += by;
                of.demand.unseen += by;
                // What nobody sees counts less from frame to frame, which does change something.
                of.demand.last_seen = f64::from(u16::MAX);
            }
            let input = FitInput { cached: 5.0, resident: &resident, now: frame as f64 / 60.0, ..input(&shaken, room) };
            fit.update(&input);
            // The second fit is the first with what was planned: less has to be kept free for changes.
            if frame >= 2 {
                let settled = settled.get_or_insert_with(|| fit.tops.clone());
                prop_assert_eq!(&*settled, &fit.tops, "frame {}", frame);
            }
            resident.copy_from_slice(&fit.tops);
        }
    }
}

#[test]
fn what_fits_is_had() {
    let textures = [
        Some(texture(chain(1024, 5), 0.5, 1.0)),
        None,
        Some(texture(chain(512, 4), 2.5, 9.0)),
    ];
    let mut fit = Fit::default();
    fit.update(&input(&textures, 64 << 20));
    assert_eq!(fit.tops, [0, 0, 2]);
    assert_eq!((fit.used, fit.is_short, fit.cut.len()), (fit.perfect, false, 0));
    assert_eq!(fit.until, f64::INFINITY);
}

#[test]
fn the_least_error_goes_first_and_forced_last() {
    let mut textures = [8.0, 1.0, 2.0].map(|area| Some(texture(chain(1024, 5), 0.0, area)));
    let whole = chain(1024, 5).bytes(0);
    // Room for two and a quarter, and a change.
    let room = whole * 23 / 10 + chain(1024, 5).change_bytes(5, 0);
    let mut fit = Fit::default();
    fit.update(&input(&textures, room));
    assert_eq!(fit.tops, [0, 1, 0]);
    assert_eq!(
        fit.cut,
        [Cut {
            texture: 1,
            wanted: 0,
            top: 1
        }]
    );
    assert_eq!(fit.perfect, 3 * whole);
    if let Some(of) = &mut textures[1] {
        of.demand.rule.forced = Some(0);
    }
    fit.update(&input(&textures, room));
    assert_eq!(fit.tops, [0, 0, 1]);
    // What nobody sees goes before what somebody does, and the longer, the sooner.
    if let Some(of) = &mut textures[0] {
        (of.demand.unseen, of.demand.unseen_area) = (-1.0, of.demand.area);
        (of.demand.seen, of.demand.area) = (f32::INFINITY, 0.0);
    }
    fit = Fit::default();
    fit.update(&input(&textures, room));
    assert_eq!(fit.tops, [1, 0, 0]);
}

#[test]
fn what_was_kept_goes_for_what_is_worth_much_more() {
    let chain = chain(1024, 5);
    // Room for two and a quarter, and a change; the first is worth more than both others.
    let room = chain.bytes(0) * 23 / 10 + chain.change_bytes(5, 0);
    let mut fit = Fit::default();
    let mut tops = |areas: [f32; 2]| {
        let textures = [9.0, areas[0], areas[1]].map(|area| Some(texture(chain.clone(), 0.0, area)));
        fit.update(&input(&textures, room));
        fit.tops.clone()
    };
    assert_eq!(tops([1.2, 1.0]), [0, 0, 1]);
    assert_eq!(tops([1.0, 1.1]), [0, 0, 1], "they do not take turns");
    assert_eq!(tops([1.0, 1.5]), [0, 1, 0]);
    assert_eq!(tops([1.1, 1.0]), [0, 1, 0]);
}

#[test]
fn what_is_cached_stays_while_there_is_room() {
    let seen = |mip| {
        [
            Some(texture(chain(1024, 5), mip, 1.0)),
            Some(texture(chain(1024, 5), 0.0, 1.0)),
        ]
    };
    let (near, far) = (seen(0.0), seen(4.5));
    let mut fit = Fit::default();
    let resident = [0, 0];
    let whole = chain(1024, 5).bytes(0);
    let at = |textures, now, room| FitInput {
        cached: 5.0,
        now,
        resident: &resident,
        ..input(textures, room)
    };
    fit.update(&at(&near, 0.0, whole * 4));
    assert_eq!((&fit.tops[..], fit.until), (&[0, 0][..], f64::INFINITY));
    fit.update(&at(&far, 1.0, whole * 4));
    assert_eq!((&fit.tops[..], fit.until), (&[0, 0][..], 6.0));
    // Room for one and a half.
    fit.update(&at(&far, 2.0, whole * 7 / 4));
    assert_eq!(fit.tops, [1, 0]);
    fit.update(&at(&far, 6.1, whole * 4));
    assert_eq!((&fit.tops[..], fit.until), (&[4, 0][..], f64::INFINITY));
}

#[test]
fn what_no_change_could_bring_is_not_planned() {
    let huge = chain(4096, 6);
    let textures = [Some(texture(huge.clone(), 0.0, 1.0))];
    let mut fit = Fit::default();
    fit.update(&input(&textures, huge.change_bytes(6, 0) * 3 / 2));
    assert_eq!(fit.tops, [1]);
    assert_eq!(
        fit.cut,
        [Cut {
            texture: 0,
            wanted: 0,
            top: 1
        }]
    );
    fit.update(&input(&textures, 0));
    assert_eq!((fit.tops[0], fit.is_short), (6, true));
}

#[test]
fn what_is_expected_is_not_forgotten_as_what_was_seen_once() {
    let mut of = texture(chain(1024, 5), f32::INFINITY, 0.0).demand;
    (of.unseen, of.unseen_area) = (-1.0, 100.0);
    let error = |of: &Demand, now: f64| {
        let input = FitInput { now, ..input(&[], 0) };
        Error::new(of, of.sampled(), &input).at(2)
    };
    assert!(error(&of, 10.0) < error(&of, 0.0) / 1000.0);
    of.unseen = f32::INFINITY;
    (of.expected, of.expected_area) = (0.0, 100.0);
    assert_eq!(error(&of, 10.0), error(&of, 0.0));
    assert!(error(&of, 0.0) > 0.0);
}
