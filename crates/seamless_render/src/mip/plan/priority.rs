//! What is read first. See [`priority`].

use super::super::Demand;

/// That of a read of a texture that begins at this top, from 1 to 100: the more pixels lack the more mips, the more; what nobody sees less.
pub(super) fn priority(demand: &Demand, top: u8) -> f32 {
    let lacks = |mip: f32, area: f32| {
        let gap = (f32::from(top) - mip).clamp(0.0, 16.0);
        (1.0 + area.max(0.0) * gap).log2().clamp(0.0, 32.0)
    };
    if demand.rule.forced.is_some_and(|forced| forced < top) {
        return 100.0;
    }
    let seen = lacks(demand.seen, demand.area);
    if seen > 0.0 {
        return 34.0 + seen * 2.0;
    }
    1.0 + lacks(demand.unseen.max(-1.0), demand.unseen_area).max(lacks(demand.expected, demand.expected_area))
}
