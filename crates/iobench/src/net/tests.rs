//! Whole measurements over loopback.

use std::sync::Mutex;

use super::*;

#[derive(Default)]
struct Heard(Mutex<Vec<&'static str>>);

impl Observer for Heard {
    fn progress(&self, _phase: &str, _done: u64, _total: Option<u64>) {}
    fn phase(&self, _name: &str, _started: Instant, _elapsed: Duration) {}
    fn warning(&self, code: &'static str, _message: &str) {
        self.0.lock().unwrap().push(code);
    }
}

fn small() -> Options {
    Options {
        message_bytes: 64 << 10,
        bytes: Some(4 << 20),
        max_time: Duration::from_secs(20),
        iterations: 2,
        ..Options::default()
    }
}

fn loopback(count: usize, options: &Options) -> Result<Report, NetError> {
    run_loopback(count, options, &Heard::default(), &AtomicBool::new(false))
}

#[test]
fn every_byte_that_was_asked_for_arrives() {
    for sockets_per_peer in [1, 3] {
        let report = loopback(4, &Options { sockets_per_peer, ..small() }).unwrap();
        assert_eq!(report.label, LOOPBACK_LABEL);
        assert!(report.valid);
        let sizes: Vec<(Pattern, usize)> =
            report.measurements.iter().map(|m| (m.pattern, m.peers)).collect();
        assert_eq!(sizes, [(Pattern::Pairwise, 4), (Pattern::AllToAll, 2), (Pattern::AllToAll, 4)]);
        for m in &report.measurements {
            // Every peer sends 4 MiB in each of two iterations.
            let bytes = 2 * m.peers as u64 * (4 << 20);
            assert_eq!((m.bytes_sent, m.bytes_received), (bytes, bytes));
            assert_eq!(m.messages_received, bytes / (64 << 10));
            assert!(m.slowest_peer.bytes_per_s > 0.0);
            assert!(m.bytes_per_s.stdev.is_some());
            for (from, row) in m.matrix.iter().enumerate() {
                for (to, rate) in row.iter().enumerate() {
                    let wanted = match m.pattern {
                        Pattern::Pairwise => to == (from + 1) % m.peers,
                        Pattern::AllToAll | Pattern::EveryPair => to != from,
                    };
                    assert_eq!(rate.is_some(), wanted, "{from} -> {to}");
                }
            }
        }
    }
}

#[test]
fn time_ends_a_measurement_without_a_number_of_bytes() {
    let options = Options {
        bytes: None,
        max_time: Duration::from_millis(300),
        iterations: 1,
        scale: vec![3],
        ..small()
    };
    let report = loopback(3, &options).unwrap();
    assert!(report.valid);
    assert_eq!(report.measurements.len(), 2);
    assert!(
        report.measurements.iter().all(|m| m.bytes_received > 0 && m.bytes_per_s.stdev.is_none())
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let code = |count, options: Options| loopback(count, &options).unwrap_err().code();
    assert_eq!(code(1, small()), "VEN-NET-OPTION");
    assert_eq!(code(2, Options { scale: vec![4], ..small() }), "VEN-NET-OPTION");
    assert_eq!(code(2, Options { sockets_per_peer: 0, ..small() }), "VEN-NET-OPTION");
    assert_eq!(code(2, Options { message_bytes: 16, ..small() }), "VEN-NET-OPTION");
    assert_eq!(code(2, Options { bytes: Some(1), ..small() }), "VEN-NET-OPTION");
    assert_eq!(code(2, Options { iterations: 0, ..small() }), "VEN-NET-OPTION");
}

#[test]
fn a_listener_beyond_loopback_needs_a_token_and_refuses_others() {
    let open = Peer::bind("0.0.0.0:0", "").err().map(|error| error.code());
    assert_eq!(open, Some("VEN-NET-TOKEN"));
    assert!(Peer::bind("0.0.0.0:0", "secret").is_ok());

    let stop = AtomicBool::new(false);
    let peers: Vec<Peer> = (0..2).map(|_| Peer::bind("127.0.0.1:0", "secret").unwrap()).collect();
    let addresses: Vec<String> = peers.iter().map(|peer| peer.address().to_string()).collect();
    std::thread::scope(|scope| {
        for peer in &peers {
            scope.spawn(|| peer.serve(&stop));
        }
        let with = |token: &str| {
            let options = Options { token: token.to_owned(), ..small() };
            run(&addresses, &options, &Heard::default(), &stop).map_err(|error| error.code())
        };
        let wrong = with("guess");
        let right = with("secret");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(wrong.unwrap_err(), "VEN-NET-TOKEN");
        assert!(right.unwrap().valid);
    });
}

#[test]
fn nobody_there_is_told() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let peers = [closed.to_string(), "127.0.0.1:1".to_owned()];
    let error = run(&peers, &small(), &Heard::default(), &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.code(), "VEN-NET-CONNECT");
}

#[test]
fn a_cancelled_measurement_ends_soon() {
    let cancel = AtomicBool::new(false);
    let options = Options { bytes: None, max_time: Duration::from_mins(1), ..small() };
    let began = Instant::now();
    let error = std::thread::scope(|scope| {
        let worker = scope.spawn(|| run_loopback(2, &options, &Heard::default(), &cancel));
        std::thread::sleep(Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        worker.join().unwrap().unwrap_err()
    });
    assert_eq!(error.code(), "VEN-INTERRUPTED");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn peers_at_one_address_are_no_network() {
    let label = |peers: &[&str]| label(&peers.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
    assert_eq!(label(&["127.0.0.1:1", "127.0.0.2:1"]).unwrap(), LOOPBACK_LABEL);
    assert_eq!(label(&["10.0.0.1:1", "10.0.0.1:2"]).unwrap(), LOOPBACK_LABEL);
    assert_eq!(label(&["10.0.0.1:1", "10.0.0.2:1"]).unwrap(), NETWORK_LABEL);
    assert_eq!(label(&["127.0.0.1:1", "10.0.0.2:1"]).unwrap(), NETWORK_LABEL);
}

#[test]
fn every_pair_is_measured_alone_or_beside_pairs_that_share_no_peer() {
    for disjoint_pairs in [false, true] {
        let patterns = vec![Pattern::EveryPair];
        let report =
            loopback(3, &Options { patterns, disjoint_pairs, iterations: 2, ..small() }).unwrap();
        let [found] = &report.measurements[..] else { panic!("one measurement") };
        assert_eq!((found.pattern, found.bytes_received), (Pattern::EveryPair, 2 * 6 * (4 << 20)));
        for (from, row) in found.matrix.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(to, rate)| rate.is_some() == (from != to)));
        }
        assert_eq!(found.flows.len(), 2 * 6);
        assert!(found.flows.iter().all(|flow| flow.bytes == 4 << 20 && flow.elapsed_s.is_some()));
        let sockets = report.sockets.iter().map(Option::as_ref);
        assert!(
            sockets.into_iter().all(|s| s.is_some_and(|s| s.nodelay && !s.congestion.is_empty()))
        );
    }
}

/// A peer that obeys until `vanish_at`, and then disappears.
fn vanishing(listener: &std::net::TcpListener, vanish_at: &str) {
    let stop = AtomicBool::new(false);
    let patience = || Patience::new(Duration::from_secs(20), &stop);
    // A data connection that comes first is let go.
    let control = loop {
        let (stream, _) = listener.accept().unwrap();
        let hello: Hello = wire::receive(&stream, patience()).unwrap();
        if hello.data.is_none() {
            break stream;
        }
    };
    wire::send(&control, &Answer::Ready, patience()).unwrap();
    while let Ok(order) = wire::receive::<Order>(&control, patience()) {
        let name = format!("{order:?}");
        if name.starts_with(vanish_at) {
            return;
        }
        wire::send(&control, &Answer::Ready, patience()).unwrap();
    }
}

#[test]
fn who_vanishes_is_named_and_not_who_only_noticed() {
    for vanish_at in ["Prepare", "Connect"] {
        let stop = AtomicBool::new(false);
        let peers: Vec<Peer> = (0..2).map(|_| Peer::bind("127.0.0.1:0", "").unwrap()).collect();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut addresses: Vec<String> = peers.iter().map(|p| p.address().to_string()).collect();
        addresses.insert(1, listener.local_addr().unwrap().to_string());
        std::thread::scope(|scope| {
            for peer in &peers {
                scope.spawn(|| peer.serve(&stop));
            }
            scope.spawn(move || vanishing(&listener, vanish_at));
            let options = Options { patterns: vec![Pattern::AllToAll], scale: vec![3], ..small() };
            let error = run(&addresses, &options, &Heard::default(), &stop).unwrap_err();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(error.place()["address"], addresses[1].as_str(), "{error}");
        });
    }
}

/// Ends what serves until then, also where a test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_coordinator_that_has_just_gone_does_not_keep_the_next_one_out() {
    let stop = AtomicBool::new(false);
    let peers: Vec<Peer> = (0..2).map(|_| Peer::bind("127.0.0.1:0", "").unwrap()).collect();
    let addresses: Vec<String> = peers.iter().map(|p| p.address().to_string()).collect();
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        for peer in &peers {
            scope.spawn(|| peer.serve(&stop));
        }
        let before = || {
            let stream = std::net::TcpStream::connect(peers[0].address()).unwrap();
            let patience = Patience::new(Duration::from_secs(5), &stop);
            let hello = Hello { version: wire::VERSION, token: String::new(), data: None };
            wire::send(&stream, &hello, patience).unwrap();
            assert!(matches!(wire::receive(&stream, patience).unwrap(), Answer::Ready));
            stream
        };
        let next = || run(&addresses, &small(), &Heard::default(), &stop);
        let going = before();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            drop(going);
        });
        assert!(next().unwrap().valid);
        let _staying = before();
        let refused = next().unwrap_err().to_string();
        assert!(refused.contains("is busy with another coordinator"));
    });
}
