//! How far texels are from what they were: both pure, on RGBA with 8 bits a channel.

/// Peak signal-to-noise ratio of red, green and blue, in dB; 100 at most.
pub fn psnr_db(was: &[u8], is: &[u8]) -> f64 {
    let colors = |texels: &'_ [u8]| -> Vec<u8> {
        texels
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|texel| [texel[0], texel[1], texel[2]])
            .collect()
    };
    let (was, is) = (colors(was), colors(is));
    let square = |(was, is): (&u8, &u8)| f64::from(was.abs_diff(*is)).powi(2);
    let total: f64 = was.iter().zip(&is).map(square).sum();
    let mean = total / was.len() as f64;
    (10.0 * (255.0 * 255.0 / mean).log10()).min(100.0)
}

/// The mean angle between the normals that texels stand for, in degrees.
pub fn angle_degrees(was: &[u8], is: &[u8]) -> f64 {
    let (was, is) = (was.as_chunks::<4>().0, is.as_chunks::<4>().0);
    let total: f64 = was.iter().zip(is).map(|(was, is)| angle(normal(was), normal(is))).sum();
    (total / was.len() as f64).to_degrees()
}

fn normal(texel: &[u8; 4]) -> [f64; 3] {
    let [x, y, z, _] = texel.map(|byte| f64::from(byte) / 127.5 - 1.0);
    let length = (x * x + y * y + z * z).sqrt().max(1e-9);
    [x / length, y / length, z / length]
}

fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    dot.clamp(-1.0, 1.0).acos()
}
