// What both locks that ask everybody are put through, on whole nodes.

/// The letters of one entry and exit by a node that does not lead.
fn uncontended<M: protocol::mutex::Mutex + Clone + 'static>(mut locks: Locks<M>) -> usize {
    locks.acquire(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(1));
    locks.release(1, DOOR);
    locks.run(Span::from_secs(1));
    locks.letters()
}

/// The letters of an entry and exit by everybody, who all asked at once. They enter in the order of their stamps.
fn contended<M: protocol::mutex::Mutex + Clone + 'static>(mut locks: Locks<M>) -> usize {
    let count = locks.net.nodes.len();
    for index in 0..count {
        locks.acquire(index, DOOR);
    }
    let mut entered = Vec::new();
    while entered.len() < count {
        locks.run(Span::from_millis(1));
        let Some(holder) = locks.holder(DOOR) else { continue };
        entered.push((locks.fence(DOOR).unwrap(), holder));
        locks.run(Span::from_millis(20));
        locks.release(holder, DOOR);
    }
    assert!(entered.is_sorted());
    entered.sort_by_key(|&(_, holder)| holder);
    assert!(entered.iter().map(|&(_, holder)| holder).eq(0..count), "{entered:?}");
    locks.run(Span::from_secs(1));
    locks.letters()
}
