//! The report of a network measurement: its shape is the contract with readers of the agent's
//! events.

use serde::Serialize;

use super::sockets::SocketFacts;
use super::wire::PeerReport;
use crate::stats::Spread;

/// Label of a measurement without a network between the peers.
pub const LOOPBACK_LABEL: &str = "loopback: memory copying, not a network";
/// Label of a measurement over a network.
pub const NETWORK_LABEL: &str = "network";

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each peer to the next, one pair after the other: the baseline.
    Pairwise,
    /// Each peer to each other, one pair after the other, or concurrent pairs without a common
    /// peer.
    EveryPair,
    /// Each peer to all others concurrently, every message to a random one: the shuffle.
    AllToAll,
}

impl Pattern {
    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pairwise => "pairwise",
            Self::EveryPair => "every_pair",
            Self::AllToAll => "all_to_all",
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`LOOPBACK_LABEL`] or [`NETWORK_LABEL`].
    pub label: &'static str,
    /// Whether every measurement is valid.
    pub valid: bool,
    /// Rates.
    pub measurements: Vec<Measurement>,
    /// How the connections of each peer were set up, in their order; `None`: it sent nothing.
    pub sockets: Vec<Option<SocketFacts>>,
}

/// One pattern at one number of peers.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Who sent to whom.
    pub pattern: Pattern,
    /// Peers that took part.
    pub peers: usize,
    /// Connections from each sender to each receiver.
    pub sockets_per_peer: usize,
    /// Length of a message, header included.
    pub message_bytes: usize,
    /// Decimal bytes per second of a pair (pairwise) or a peer (all-to-all: the slower of sending
    /// and receiving), averaged over pairs or peers, for each iteration.
    pub bytes_per_s: Spread,
    /// The slowest pair or peer, which is the figure of a shuffle.
    pub slowest_peer: Slowest,
    /// Mean bytes per second from the peer of the row to the peer of the column; `None`: nothing was
    /// to be sent.
    pub matrix: Vec<Vec<Option<f64>>>,
    /// Sum over all senders.
    pub messages_sent: u64,
    /// Sum over all receivers.
    pub messages_received: u64,
    /// Sum over all senders.
    pub bytes_sent: u64,
    /// Sum over all receivers.
    pub bytes_received: u64,
    /// Whether everything that was sent was received.
    pub valid: bool,
    /// Why not, in words.
    pub invalid_reason: Option<String>,
    /// The result of each pair in each iteration.
    pub flows: Vec<PairFlow>,
    /// Peers that did not receive at a steady rate, and why.
    pub unsteady: Vec<String>,
}

/// Data that one peer received from another in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairFlow {
    /// From zero.
    pub iteration: usize,
    /// The sender's place among the peers.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
    /// Bytes received.
    pub bytes: u64,
    /// From its first byte to its last, on the receiver's clock.
    pub elapsed_s: Option<f64>,
}

/// The slowest pair or peer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowest {
    /// Its address; of a pair `sender -> receiver`.
    pub name: String,
    /// Its mean over the iterations.
    pub bytes_per_s: f64,
}

/// The result of one iteration.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// Bytes per second from row to column.
    pub(crate) matrix: Vec<Vec<Option<f64>>>,
    pub(crate) messages_sent: u64,
    pub(crate) messages_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) problems: Vec<String>,
    pub(crate) flows: Vec<PairFlow>,
    pub(crate) unsteady: Vec<String>,
}

impl Round {
    pub(crate) fn new(peers: usize) -> Self {
        Self {
            matrix: vec![vec![None; peers]; peers],
            messages_sent: 0,
            messages_received: 0,
            bytes_sent: 0,
            bytes_received: 0,
            problems: Vec::new(),
            flows: Vec::new(),
            unsteady: Vec::new(),
        }
    }

    /// Adds the reports of the peers that took part: compares sent and received data pair by pair.
    /// `reports` are (index of the peer, its report).
    pub(crate) fn add(&mut self, peers: &[String], reports: &[(usize, PeerReport)]) {
        let (mut sent, mut received) = (
            vec![vec![None; peers.len()]; peers.len()],
            vec![vec![None; peers.len()]; peers.len()],
        );
        for (index, report) in reports {
            self.problems.extend(report.problems.iter().cloned());
            let unsteady = report.unsteady.iter().map(|why| format!("{}: {why}", peers[*index]));
            self.unsteady.extend(unsteady);
            for flow in &report.sent {
                if let Some(place) = sent[*index].get_mut(flow.peer) {
                    *place = Some((flow.messages, flow.bytes));
                }
                self.messages_sent += flow.messages;
                self.bytes_sent += flow.bytes;
            }
            for flow in &report.received {
                if let Some(row) = received.get_mut(flow.peer) {
                    row[*index] = Some((flow.messages, flow.bytes));
                }
                self.messages_received += flow.messages;
                self.bytes_received += flow.bytes;
                let (bytes, elapsed_s) = (flow.bytes, flow.elapsed_s);
                let pair = PairFlow { iteration: 0, from: flow.peer, to: *index, bytes, elapsed_s };
                self.flows.push(pair);
                let seconds = report.receiving_s.filter(|s| *s > 0.0);
                if let (Some(row), Some(seconds)) = (self.matrix.get_mut(flow.peer), seconds) {
                    row[*index] = Some(flow.bytes as f64 / seconds);
                }
            }
        }
        for (from, (sent, received)) in sent.iter().zip(&received).enumerate() {
            for (to, (sent, received)) in sent.iter().zip(received).enumerate() {
                if sent != received {
                    let text = |flow: &Option<(u64, u64)>| {
                        flow.map_or_else(
                            || "nothing".to_owned(),
                            |(m, b)| format!("{m} messages, {b} bytes"),
                        )
                    };
                    self.problems.push(format!(
                        "{} sent {} to {}, which received {}",
                        peers[from],
                        text(sent),
                        peers[to],
                        text(received)
                    ));
                }
            }
        }
    }

    /// (name, bytes per second) of each pair or peer that took part.
    fn rates(&self, pattern: Pattern, peers: &[String]) -> Vec<(String, f64)> {
        let mut rates = Vec::new();
        for (index, row) in self.matrix.iter().enumerate() {
            match pattern {
                Pattern::Pairwise | Pattern::EveryPair => {
                    rates.extend(row.iter().enumerate().filter_map(|(to, rate)| {
                        Some((format!("{} -> {}", peers[index], peers[to]), (*rate)?))
                    }));
                }
                Pattern::AllToAll => {
                    let sent: f64 = row.iter().flatten().sum();
                    let received: f64 = self.matrix.iter().filter_map(|row| row[index]).sum();
                    rates.push((peers[index].clone(), sent.min(received)));
                }
            }
        }
        rates
    }
}

/// The summary of the iterations; `None` if nothing at all was moved.
pub(crate) fn measurement(
    pattern: Pattern,
    peers: &[String],
    sockets_per_peer: usize,
    message_bytes: usize,
    rounds: &[Round],
) -> Option<Measurement> {
    let rates: Vec<Vec<(String, f64)>> =
        rounds.iter().map(|round| round.rates(pattern, peers)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = rates
        .iter()
        .map(|round| mean(&round.iter().map(|(_, rate)| *rate).collect::<Vec<_>>()))
        .collect();
    let slowest_peer = rates
        .first()?
        .iter()
        .map(|(name, _)| {
            let of_name: Vec<f64> = rates
                .iter()
                .map(|round| round.iter().find(|(n, _)| n == name).map_or(0.0, |(_, rate)| *rate))
                .collect();
            Slowest { name: name.clone(), bytes_per_s: mean(&of_name) }
        })
        .min_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))?;
    let cell = |from: usize, to: usize| {
        let seen: Vec<f64> = rounds.iter().filter_map(|round| round.matrix[from][to]).collect();
        (!seen.is_empty()).then(|| mean(&seen))
    };
    let count = |value: fn(&Round) -> u64| rounds.iter().map(value).sum();
    let problems: Vec<&str> =
        rounds.iter().flat_map(|round| round.problems.iter().map(String::as_str)).collect();
    let more = problems.len().saturating_sub(3);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(Measurement {
        pattern,
        peers: peers.len(),
        sockets_per_peer,
        message_bytes,
        bytes_per_s: Spread::of(&means)?,
        slowest_peer,
        matrix: (0..peers.len())
            .map(|from| (0..peers.len()).map(|to| cell(from, to)).collect())
            .collect(),
        messages_sent: count(|round| round.messages_sent),
        messages_received: count(|round| round.messages_received),
        bytes_sent: count(|round| round.bytes_sent),
        bytes_received: count(|round| round.bytes_received),
        valid: problems.is_empty(),
        invalid_reason: (!problems.is_empty())
            .then(|| problems[..problems.len() - more].join("; ") + &rest),
        flows: rounds
            .iter()
            .enumerate()
            .flat_map(|(iteration, round)| {
                round.flows.iter().map(move |flow| PairFlow { iteration, ..*flow })
            })
            .collect(),
        unsteady: rounds.iter().flat_map(|round| round.unsteady.iter().cloned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::wire::Flow;
    use super::*;

    fn flow(peer: usize, messages: u64) -> Flow {
        Flow { peer, messages, bytes: messages * 100, elapsed_s: Some(1.0) }
    }

    fn report(sent: Vec<Flow>, received: Vec<Flow>) -> PeerReport {
        PeerReport { sent, received, receiving_s: Some(2.0), ..PeerReport::default() }
    }

    fn peers() -> Vec<String> {
        ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_slowest_peer_is_named_and_the_matrix_is_who_to_whom() {
        let mut round = Round::new(3);
        round.add(
            &peers(),
            &[
                (0, report(vec![flow(1, 10), flow(2, 30)], vec![flow(1, 20), flow(2, 20)])),
                (1, report(vec![flow(0, 20), flow(2, 4)], vec![flow(0, 10), flow(2, 10)])),
                (2, report(vec![flow(0, 20), flow(1, 10)], vec![flow(0, 30), flow(1, 4)])),
            ],
        );
        let found = measurement(Pattern::AllToAll, &peers(), 1, 100, &[round]).unwrap();
        assert!(found.valid && found.invalid_reason.is_none());
        assert_eq!(found.matrix[0], [None, Some(500.0), Some(1500.0)]);
        assert_eq!(found.matrix[1], [Some(1000.0), None, Some(200.0)]);
        // a: sends 2000, receives 2000; b: 1200, 1000; c: 1500, 1700.
        assert_eq!(found.slowest_peer, Slowest { name: "b:1".to_owned(), bytes_per_s: 1000.0 });
        assert!((found.bytes_per_s.mean - 1500.0).abs() < 1e-9);
        assert_eq!((found.messages_sent, found.bytes_received), (94, 9400));
    }

    #[test]
    fn what_was_sent_and_not_received_makes_it_invalid() {
        let mut round = Round::new(3);
        round.add(
            &peers(),
            &[(0, report(vec![flow(1, 10)], vec![])), (1, report(vec![], vec![flow(0, 9)]))],
        );
        let found = measurement(Pattern::Pairwise, &peers(), 1, 100, &[round]).unwrap();
        assert!(!found.valid);
        let reason = found.invalid_reason.unwrap();
        assert!(reason.contains("a:1 sent 10 messages") && reason.contains("received 9 messages"));
    }

    #[test]
    fn a_receiver_that_heard_nothing_is_told() {
        let mut round = Round::new(3);
        round.add(&peers(), &[(0, report(vec![flow(1, 10)], vec![])), (1, report(vec![], vec![]))]);
        assert!(round.problems[0].contains("received nothing"));
        assert!(measurement(Pattern::Pairwise, &peers(), 1, 100, &[round]).is_none());
    }
}
