//! Statistics, and the form of a row.

use super::*;

#[test]
fn quantiles_are_the_nearest_values() {
    let mut values = [5.0, 1.0, 4.0, 2.0, 3.0];
    assert_eq!(quantile(&mut values, 0.5), 3.0);
    assert_eq!(quantile(&mut values, 0.0), 1.0);
    assert_eq!(quantile(&mut values, 1.0), 5.0);
    assert!(quantile(&mut [], 0.5).is_nan());
}

#[test]
fn a_row_has_medians_and_nulls() {
    let samples = Samples {
        ours: vec![2.0, 4.0, 3.0],
        peer: vec![9.0],
        limit: vec![],
    };
    let row = samples.row(
        "a/b",
        "ns/entity",
        Some("Bevy"),
        None,
        Targets {
            first: 2.0,
            aim: 4.0,
            of_limit: None,
        },
    );
    assert_eq!((row.ours, row.peer, row.limit), (3.0, Some(9.0), None));
    let json = serde_json::to_value(&row).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "name",
        "unit",
        "higher_is_better",
        "ours",
        "peer_name",
        "peer",
        "limit_name",
        "limit",
        "samples",
        "spread",
    ];
    let mut found = keys.clone();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(json["limit"].is_null() && json["limit_name"].is_null());
    assert!(table(&[row]).contains("first"));
}

#[test]
fn of_a_rate_the_larger_is_the_better() {
    let row = |ours| {
        let samples = Samples {
            ours: vec![ours],
            peer: vec![2.0],
            limit: vec![10.0],
        };
        let targets = Targets {
            first: 2.0,
            aim: 4.0,
            of_limit: Some(0.5),
        };
        samples
            .row("a", "GB/s", Some("Bevy"), Some("memcpy"), targets)
            .higher_is_better()
    };
    assert!(row(6.0).higher_is_better);
    assert_eq!((row(6.0).gain(), row(6.0).near()), (Some(3.0), "0.60".to_owned()));
    assert_eq!(row(4.0).near(), "0.40 < 0.5");
    assert!(table(&[row(6.0)]).contains("first") && table(&[row(8.0)]).contains("aim"));
    assert!(table(&[row(1.0)]).contains("below"));
}

/// As of allocations at rest, of which there are to be none.
#[test]
fn nothing_is_as_much_as_nothing() {
    let samples = |ours: f64| Samples {
        ours: vec![ours],
        peer: vec![0.0],
        limit: vec![0.0],
    };
    let targets = Targets {
        of_limit: Some(1.0),
        ..Targets::default()
    };
    let row = |ours| samples(ours).row("a", "allocations", Some("the same"), Some("nothing"), targets);
    assert_eq!((row(0.0).gain(), row(0.0).near()), (Some(1.0), "1.00".to_owned()));
    assert_eq!(row(2.0).near(), "inf > 1");
}
