use super::*;

#[test]
fn results_are_in_the_order_of_the_parts() {
    let parts: Vec<u32> = (0..100).collect();
    let doubled: Vec<u32> = parts.iter().map(|part| part * 2).collect();
    for threads in [1, 2, 7, 300] {
        let threads = NonZeroUsize::new(threads).unwrap();
        assert_eq!(in_parts(threads, &parts, |part| part * 2), doubled);
        assert!(in_parts(threads, &[], |part: &u32| *part).is_empty());
    }
}

#[test]
fn a_panic_of_any_thread_is_one_of_the_caller() {
    let parts: Vec<u32> = (0..100).collect();
    let done =
        std::panic::catch_unwind(|| in_parts(NonZeroUsize::MIN.saturating_add(3), &parts, |part| assert!(*part != 50)));
    assert!(done.is_err());
}
