use proptest::prelude::*;

use super::*;

fn stored<T: Value>(values: &[T]) -> Vec<u8> {
    let mut arrays = vec![0xAA];
    push(values, &mut arrays);
    assert_eq!(arrays.remove(0), 0xAA);
    arrays
}

fn read<T: Value>(bytes: &[u8], count: usize) -> Vec<T> {
    let mut arrays = Arrays::of(bytes);
    let read = values(&mut arrays, count as u32).unwrap();
    arrays.finish().unwrap();
    read
}

#[test]
fn lane_after_lane_and_byte_after_byte() {
    // Differences of the first lane: 1, 256 and -2; of the second: 0, -1 and 1.
    let values: [[u16; 2]; 3] = [[1, 0], [257, 0xFFFF], [255, 0]];
    let bytes = [2, 0, 3, 0, 2, 0, 0, 1, 2, 0, 0, 0];
    assert_eq!(stored(&values), bytes);
    assert_eq!(read::<[u16; 2]>(&bytes, 3), values);
}

#[test]
fn what_is_not_there_is_not_read() {
    let bytes = stored(&[[1.0f32, 2.0, 3.0]]);
    let error = values::<[f32; 3]>(&mut Arrays::of(&bytes), u32::MAX).unwrap_err();
    let needed = u64::from(u32::MAX) * 12;
    assert_eq!(
        error.to_string(),
        DecodeError::Malformed(format!("an array needs {needed} bytes, 12 are left")).to_string()
    );
}

/// Floats of all kinds come back bit by bit.
fn same<T: Value + PartialEq + core::fmt::Debug>(bytes: &[u8]) {
    let whole = bytes.len() / size_of::<T>();
    let values: Vec<T> = bytemuck::pod_collect_to_vec(&bytes[..whole * size_of::<T>()]);
    let there_and_back = read::<T>(&stored(&values), whole);
    assert_eq!(
        bytemuck::cast_slice::<T, u8>(&there_and_back),
        bytemuck::cast_slice::<T, u8>(&values)
    );
}

proptest! {
    #[test]
    fn there_and_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        same::<u8>(&bytes);
        same::<[i8; 4]>(&bytes);
        same::<u16>(&bytes);
        same::<[u16; 2]>(&bytes);
        same::<u32>(&bytes);
        same::<[f32; 3]>(&bytes);
        same::<[i32; 4]>(&bytes);
        same::<[f64; 3]>(&bytes);
        same::<[f16; 2]>(&bytes);
        same::<MorphAttributes>(&bytes);
    }
}
