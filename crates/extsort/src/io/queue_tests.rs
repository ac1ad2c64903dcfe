//! The queue on real threads; `tests/queue_schedules.rs` chooses the schedules.

use std::time::Duration;

use crate::io::queue::ByteQueue;

#[test]
fn a_full_queue_blocks_until_something_is_taken() {
    let queue = ByteQueue::new(10, 1);
    queue.push(1, 8).unwrap();
    std::thread::scope(|scope| {
        let producer = scope.spawn(|| queue.push(2, 8));
        std::thread::sleep(Duration::from_millis(20));
        let mut waited = Duration::ZERO;
        assert_eq!(queue.pop(&mut waited), Some(1));
        assert!(producer.join().unwrap().unwrap() >= Duration::from_millis(5));
    });
    queue.finish();
    let mut waited = Duration::ZERO;
    assert_eq!(queue.pop(&mut waited), Some(2));
    assert_eq!(queue.pop(&mut waited), None);
}

#[test]
fn an_item_over_the_quota_passes_alone_and_abort_wakes_all() {
    let queue = ByteQueue::new(1, 1);
    assert!(queue.push(1, 100).is_some());
    std::thread::scope(|scope| {
        let producer = scope.spawn(|| queue.push(2, 100));
        std::thread::sleep(Duration::from_millis(10));
        queue.abort();
        assert!(producer.join().unwrap().is_none());
    });
    assert_eq!(queue.pop(&mut Duration::default()), None);
}
