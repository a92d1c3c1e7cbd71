//! Files that are damaged: a typed error, or a channel that is named and left out.

use super::{builder::*, *};

fn one_channel(input: impl Fn(&mut Builder) -> usize, output: impl Fn(&mut Builder) -> usize) -> Vec<GltfClip> {
    let mut builder = Builder::default();
    let (input, output) = (input(&mut builder), output(&mut builder));
    builder.animation(None, &[(1, "translation", "LINEAR", input, output)]);
    clips(&builder.gltf())
}

fn times(builder: &mut Builder) -> usize {
    builder.times(&[0.0, 1.0])
}

fn values(builder: &mut Builder) -> usize {
    builder.values("translation", &[0.0; 6])
}

#[test]
fn accessors_that_do_not_fit_are_named() {
    assert_eq!(one_channel(times, values)[0].skipped, []);
    let wrong: [fn(&mut Builder) -> usize; 5] = [
        // Of another type, of another dimension, longer than its view, behind its view, and behind its buffer.
        |builder| builder.accessor(&[0; 24], U32, "VEC3", 2),
        |builder| builder.accessor(&[0; 24], F32, "VEC2", 2),
        |builder| builder.accessor(&[0; 24], F32, "VEC3", 3),
        |builder| {
            let view = builder.view(&[0; 24]);
            builder.raw_accessor(&format!(
                r#""bufferView":{view},"byteOffset":18446744073709551612,"componentType":{F32},"type":"VEC3","count":2"#
            ))
        },
        |builder| {
            let view = builder.raw_view(1 << 20, 24);
            builder.raw_accessor(&format!(
                r#""bufferView":{view},"componentType":{F32},"type":"VEC3","count":2"#
            ))
        },
    ];
    for (index, wrong) in wrong.into_iter().enumerate() {
        let skipped = &one_channel(times, wrong)[0].skipped;
        assert!(
            matches!(
                skipped.as_slice(),
                [SkippedChannel {
                    reason: SkipReason::Accessor("values"),
                    ..
                }]
            ),
            "{index}: {skipped:?}"
        );
    }
    let skipped = &one_channel(values, values)[0].skipped;
    assert!(
        matches!(
            skipped.as_slice(),
            [SkippedChannel {
                reason: SkipReason::Accessor("key times"),
                ..
            }]
        ),
        "{skipped:?}"
    );
}

/// A sparse accessor without a base takes no bytes, and could ask for all memory.
#[test]
fn a_huge_sparse_accessor_is_refused() {
    let skipped = one_channel(times, |builder| {
        let (places, instead) = (builder.view(&[0]), builder.view(&[0; 12]));
        builder.raw_accessor(&format!(
            r#""componentType":{F32},"type":"VEC3","count":4000000000,"sparse":{{"count":1,"indices":{{"bufferView":{places},"componentType":{U8}}},"values":{{"bufferView":{instead}}}}}"#
        ))
    });
    assert!(matches!(
        skipped[0].skipped.as_slice(),
        [SkippedChannel {
            reason: SkipReason::Accessor(_),
            ..
        }]
    ));
}

#[test]
fn every_error_of_a_file() {
    let error = clips_of_gltf(b"glTF or not", no_file).unwrap_err();
    assert!(matches!(error, ClipFileError::Gltf(_)), "{error}");

    let mut builder = Builder::default();
    let (input, output) = (times(&mut builder), values(&mut builder));
    builder.animation(None, &[(1, "translation", "LINEAR", input, output)]);
    let error = clips_of_gltf(&builder.without_uri(), no_file).unwrap_err();
    assert!(matches!(error, ClipFileError::NoBinary(0)), "{error}");
    for uri in ["data:application/octet-stream;base64,?", "data:no comma", "%ff.bin"] {
        let error = clips_of_gltf(&builder.with_uri(uri), no_file).unwrap_err();
        assert!(matches!(error, ClipFileError::Encoding(0)), "{uri}: {error}");
    }
    let error = clips_of_gltf(&builder.with_uri("gone.bin"), no_file).unwrap_err();
    assert!(
        matches!(&error, ClipFileError::Read { buffer: 0, path, .. } if path == "gone.bin"),
        "{error}"
    );
}

/// The `gltf` crate checks neither.
#[test]
fn channels_of_no_node_or_property() {
    for (node, path) in [(99, "translation"), (1, "pointer")] {
        let mut builder = Builder::default();
        let (input, output) = (times(&mut builder), values(&mut builder));
        builder.animation(
            None,
            &[
                (1, "scale", "STEP", input, output),
                (node, path, "LINEAR", input, output),
            ],
        );
        let error = clips_of_gltf(&builder.gltf(), no_file).unwrap_err();
        assert!(
            matches!(
                error,
                ClipFileError::Target {
                    animation: 0,
                    channel: 1
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn files_without_animations_are_not_read() {
    let clips = clips_of_gltf(&Builder::default().with_uri("gone.bin"), no_file).unwrap();
    assert_eq!(clips, []);
}

/// Cut off, or with any byte changed: never a panic.
#[test]
fn damage_does_no_harm() {
    let mut builder = Builder::default();
    let (input, output) = (times(&mut builder), values(&mut builder));
    builder.animation(None, &[(1, "translation", "LINEAR", input, output)]);
    let gltf = builder.glb();
    for index in 0..gltf.len() {
        let _ = clips_of_gltf(&gltf[..index], no_file);
        for change in [0x01, 0x02, 0x04, 0x10] {
            let mut damaged = gltf.clone();
            damaged[index] ^= change;
            if let Ok(clips) = clips_of_gltf(&damaged, no_file) {
                assert!(clips.len() <= 1);
            }
        }
    }
}
