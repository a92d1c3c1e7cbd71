use core::{any::TypeId, time::Duration};
use std::collections::{BTreeMap, BTreeSet};

use bevy_app::Last;
use bevy_diagnostic::DiagnosticsStore;
use bevy_reflect::{GetPath, PartialReflect, ReflectMut, TypeInfo, Typed};

use super::*;

/// Gives all numbers below `value` numbers of their own, in order; their paths.
fn number(value: &mut dyn PartialReflect, path: &str, found: &mut Vec<String>) {
    let next = found.len() as u64 + 1;
    if let Some(time) = value.try_downcast_mut::<Duration>() {
        *time = Duration::from_millis(next);
    } else if let Some(count) = value.try_downcast_mut::<u64>() {
        *count = next;
    } else if let Some(count) = value.try_downcast_mut::<u32>() {
        *count = next as u32;
    } else if let Some(count) = value.try_downcast_mut::<usize>() {
        *count = next as usize;
    } else if let Some(amount) = value.try_downcast_mut::<f32>() {
        *amount = next as f32;
    } else if let Some(amount) = value.try_downcast_mut::<f64>() {
        *amount = next as f64;
    } else if let ReflectMut::Struct(fields) = value.reflect_mut() {
        for index in 0..fields.field_len() {
            let name = fields.name_at(index).unwrap().to_owned();
            let path = if path.is_empty() {
                name
            } else {
                format!("{path}.{name}")
            };
            number(fields.field_at_mut(index).unwrap(), &path, found);
        }
        return;
    } else {
        return;
    }
    found.push(path.to_owned());
}

#[test]
fn every_number_has_a_diagnostic() {
    let found = assert_complete(COUNTERS);
    assert!(found.iter().any(|path| path == "wasted_by_stage.staged"), "{found:?}");
    assert_complete(STREAMABLES);
}

/// Whether a table has all numbers of its statistics; their paths.
#[track_caller]
fn assert_complete<S: Default + PartialReflect>(counters: &[Counter<S>]) -> Vec<String> {
    let mut stats = S::default();
    let mut found = Vec::new();
    number(&mut stats, "", &mut found);
    let expected: BTreeMap<&str, f64> = found.iter().map(String::as_str).zip((1..).map(f64::from)).collect();
    let measured: BTreeMap<&str, f64> = counters
        .iter()
        .map(|counter| (counter.field, (counter.value)(&stats)))
        .collect();
    assert_eq!(measured, expected, "a table has all numbers");
    found
}

/// What is no number is known to be none.
#[test]
fn what_is_no_number_is_a_list() {
    let TypeInfo::Struct(info) = StreamingStats::type_info() else {
        panic!("a struct");
    };
    let lists = info
        .iter()
        .filter(|field| field.type_id() == TypeId::of::<Vec<crate::Overrun>>());
    assert_eq!(lists.map(|field| field.name()).collect::<Vec<_>>(), ["overruns"]);
    let stats = StreamingStats::default();
    // How near memory is to the ceiling is told by how often it was over it; for whom it is short is a name.
    let none = ["overruns", "memory_pressure", "memory_short_for"];
    for field in info.iter().filter(|field| !none.contains(&field.name())) {
        let name = field.name();
        let has = |counter: &&Counter<StreamingStats>| counter.field.split('.').next() == Some(name);
        assert!(
            COUNTERS.iter().any(|counter| has(&counter)),
            "`{name}` has no diagnostic"
        );
        assert!(stats.reflect_path(name).is_ok());
    }
}

#[test]
fn paths_follow_from_fields() {
    let mut paths = BTreeSet::new();
    for counter in COUNTERS {
        let expected = match counter.field {
            "last_frame" => "seamless/stream_ms".to_owned(),
            field => format!("seamless/{}", field.replace('.', "/")),
        };
        assert_eq!(counter.path.as_str(), expected);
        assert!(paths.insert(expected));
    }
    for counter in STREAMABLES {
        assert_eq!(counter.path.as_str(), format!("seamless/streamables/{}", counter.field));
    }
}

#[test]
fn an_app_measures_them() {
    let mut app = App::new();
    app.init_resource::<DiagnosticsStore>()
        .insert_resource(StreamingStats {
            live_entities: 7,
            ..StreamingStats::default()
        })
        .insert_resource(StreamableStats {
            held: 3,
            ..StreamableStats::default()
        })
        .init_resource::<StableIds>()
        .add_systems(Last, write_diagnostics);
    register(&mut app);
    app.update();
    let store = app.world().resource::<DiagnosticsStore>();
    let value = |path: &DiagnosticPath| store.get(path).and_then(Diagnostic::value);
    assert_eq!(value(&LIVE_ENTITIES), Some(7.0));
    assert_eq!(value(&REFUSED_PATHS), Some(0.0));
    let held = STREAMABLES.iter().find(|counter| counter.field == "held").unwrap();
    assert_eq!(value(&held.path), Some(3.0));
    let all = COUNTERS.iter().map(|counter| value(&counter.path));
    assert!(all.clone().count() > 20 && all.into_iter().all(|value| value.is_some()));
}
