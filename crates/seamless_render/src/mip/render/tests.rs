use bevy_image::{ImageSampler, ImageSamplerDescriptor};

use super::{reports::Report, sampler::for_top, *};

fn bounded(min: f32, max: f32) -> ImageSampler {
    ImageSampler::Descriptor(ImageSamplerDescriptor {
        lod_min_clamp: min,
        lod_max_clamp: max,
        ..ImageSamplerDescriptor::linear()
    })
}

fn bounds(sampler: &ImageSampler, top: u8) -> Option<(f32, f32)> {
    for_top(sampler, top, 9).map(|sampler| (sampler.lod_min_clamp, sampler.lod_max_clamp))
}

#[test]
fn bounds_of_samplers_count_from_what_is_there() {
    for whole in [ImageSampler::Default, ImageSampler::linear(), bounded(0.0, 8.0)] {
        assert_eq!(bounds(&whole, 3), None, "{whole:?} is one for all tops");
    }
    assert_eq!(bounds(&bounded(2.0, 32.0), 0), Some((2.0, 32.0)));
    assert_eq!(bounds(&bounded(2.0, 32.0), 1), Some((1.0, 31.0)));
    assert_eq!(bounds(&bounded(2.0, 5.0), 3), Some((0.0, 2.0)));
    assert_eq!(bounds(&bounded(0.0, 2.0), 4), Some((0.0, 0.0)));
}

#[test]
fn what_the_last_device_had_to_say_does_not_matter() {
    let reports = MipReports::default();
    let mut ledger = crate::mip::MipLedger::default();
    let record = crate::mip::textures::tests::record();
    ledger.insert(0, record.chain(), 2);
    let left = ledger.remove(0).unwrap();
    let old = reports.when_done(vec![left]);
    assert!(reports.is_awaited());
    reports.push(Report::Retired(vec![left]));
    reports.lost();
    old();
    assert!(!reports.is_awaited());
    assert_eq!((reports.epoch(), reports.take()), (1, vec![Report::Lost]));
    reports.when_done(vec![left])();
    assert_eq!(reports.take(), [Report::Retired(vec![left])]);
}
