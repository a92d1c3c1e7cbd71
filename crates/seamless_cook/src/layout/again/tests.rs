//! What a layout costs, told again.

use crate::assets::ObjectSize;
use crate::layout::cost::Cost;
use crate::layout::{LayoutCost, LayoutReport};
use crate::settings::LayoutSettings;

/// What is in memory in many places counts in each of them.
#[test]
fn prices_hold_where_little_is_in_memory_in_many_places() {
    let settings = LayoutSettings::default();
    let price = |disk, read| {
        let cost = Cost {
            disk,
            read,
            opens: 0,
            resident: 830,
        };
        cost.price(&settings)
    };
    let told = LayoutCost {
        disk_bytes: 100,
        read_bytes: 200,
        opens: 0.0,
        resident_bytes: 10,
        resident_bytes_sum: 830,
        price: price(100, 200),
    };
    let report = LayoutReport {
        share_everything: told,
        ..LayoutReport::default()
    };
    let size = |stored, read| ObjectSize {
        stored,
        read,
        ..ObjectSize::default()
    };
    let same = report.clone().resized(&settings, size(7, 9), size(7, 9));
    assert_eq!(same.share_everything, told);
    let larger = report.resized(&settings, size(7, 9), size(8, 11)).share_everything;
    assert_eq!((larger.disk_bytes, larger.read_bytes), (101, 202));
    assert_eq!(larger.price, price(101, 202));
}
