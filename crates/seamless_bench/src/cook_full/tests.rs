//! What is said about quality.

use seamless_cook::texture::TextureReport;

use super::{
    quality::{angle_degrees, psnr_db},
    *,
};

#[test]
fn psnr_is_of_the_colours_alone() {
    let was = [10, 20, 30, 255, 40, 50, 60, 255];
    assert_eq!(psnr_db(&was, &was), 100.0);
    let mut alpha = was;
    alpha[3] = 0;
    assert_eq!(psnr_db(&was, &alpha), 100.0);
    // One of six values is off by 6: the mean square is 6.
    let mut red = was;
    red[0] = 16;
    assert!((psnr_db(&was, &red) - 10.0 * (65025.0_f64 / 6.0).log10()).abs() < 1e-9);
}

#[test]
fn angles_are_between_directions() {
    let (up, right) = ([128, 128, 255, 255], [255, 128, 128, 255]);
    assert!(angle_degrees(&up, &up) < 1e-5);
    assert!((angle_degrees(&up, &right) - 90.0).abs() < 1.0);
    let both = [up, up].concat();
    let half = [up, right].concat();
    assert!((angle_degrees(&both, &half) - 45.0).abs() < 0.5);
}

fn report(format: &str, psnr_db: Option<f64>, normal_error_degrees: Option<f64>) -> CookedTextureReport {
    CookedTextureReport {
        object: String::new(),
        texture: TextureReport {
            usage: "".into(),
            from_size: [4, 4, 1],
            to_size: [4, 4, 1],
            from_mips: 1,
            to_mips: 3,
            from_format: "rgba8unorm".into(),
            to_format: format.into(),
            bytes_before: 64,
            bytes_after: 24,
            psnr_db,
            psnr_alpha_db: None,
            psnr_log_db: None,
            normal_error_degrees,
            coverage_error: None,
            no_mips: None,
            no_compression: None,
        },
    }
}

#[test]
fn quality_is_the_mean_of_what_was_measured() {
    let textures = [
        report("bc7", Some(40.0), None),
        report("bc5", None, Some(0.5)),
        report("bc7", Some(42.0), None),
    ];
    let text = quality_of(&textures);
    assert_eq!(
        text,
        "bc5 and bc7, 72 bytes of texels; colours 41.0 dB, normals 0.50° off, over all mips"
    );
}

#[test]
fn a_note_says_how_to_turn_the_peer_on() {
    let side = |cpu: &[f64]| Side {
        cpu: cpu.to_vec(),
        quality: "fine".to_owned(),
    };
    let alone = note(10, 1, side(&[3.0]), Side::default());
    assert!(
        alone.contains("both with 4 threads") && alone.contains("--features bevy_processor"),
        "{alone}"
    );
    let both = note(10, 2, side(&[3.0]), side(&[6.0]));
    assert!(
        both.contains("both with 8 threads") && both.contains("peer: 6.0 s"),
        "{both}"
    );
}
