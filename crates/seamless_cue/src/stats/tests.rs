use std::collections::BTreeSet;

use bevy_reflect::structs::Struct;

use super::*;

#[test]
fn every_number_is_a_diagnostic() {
    let stats = CueStats::default();
    let stats: &dyn Struct = &stats;
    let fields = (0..stats.field_len()).filter_map(|index| stats.name_at(index));
    let counted = all().map(|counter| counter.field);
    assert_eq!(counted.collect::<BTreeSet<_>>(), fields.collect::<BTreeSet<_>>());
    assert_eq!(all().count(), stats.field_len(), "each once");
    for Counter { field, path, .. } in all() {
        assert_eq!(path.as_str(), format!("seamless/cues/{field}"));
    }
}

/// Each tells its own field.
#[test]
fn no_number_is_told_in_place_of_another() {
    let mut stats = CueStats::default();
    let names: Vec<String> = {
        let stats: &dyn Struct = &stats;
        (0..stats.field_len())
            .filter_map(|index| Some(stats.name_at(index)?.to_owned()))
            .collect()
    };
    for (number, name) in names.iter().enumerate() {
        let field = stats.field_mut(name).expect("it is there");
        if let Some(count) = field.try_downcast_mut::<u64>() {
            *count = number as u64;
        } else {
            stats.longest_wait = Duration::from_millis(number as u64);
        }
    }
    for Counter { field, value, .. } in all() {
        let number = names.iter().position(|name| name == field);
        assert_eq!(Some(value(&stats)), number.map(|number| number as f64), "{field}");
    }
}
