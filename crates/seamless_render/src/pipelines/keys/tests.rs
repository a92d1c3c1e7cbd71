use super::*;

/// A view has those of a kind while it sees one; what it sees now says nothing of later.
#[test]
fn views_are_asked_for_with_each_kind_of_probes_and_without() {
    let view = MeshPipelineKey::DEPTH_PREPASS;
    let [map, volume] = [MeshPipelineKey::ENVIRONMENT_MAP, MeshPipelineKey::IRRADIANCE_VOLUME];
    let lights = |reflections, irradiance| OwnLights {
        reflections,
        irradiance,
        ..OwnLights::default()
    };
    let passes = |seen, lights| {
        let views = Views {
            main: vec![seen],
            ..Views::default()
        };
        let passes = views.passes(lights).into_iter();
        let mut bits: Vec<_> = passes
            .map(|pass| match pass {
                PassKey::Main(key) => key.bits(),
                other => panic!("{other:?}"),
            })
            .collect();
        bits.sort_unstable();
        bits
    };
    let keys = |keys: &[MeshPipelineKey]| {
        let mut bits: Vec<_> = keys.iter().map(MeshPipelineKey::bits).collect();
        bits.sort_unstable();
        bits
    };
    assert_eq!(passes(view, lights(false, false)), keys(&[view]));
    for seen in [view, view | map] {
        assert_eq!(passes(seen, lights(true, false)), keys(&[view, view | map]));
    }
    let all = [view, view | map, view | volume, view | map | volume];
    for seen in all {
        assert_eq!(passes(seen, lights(true, true)), keys(&all));
    }
}
