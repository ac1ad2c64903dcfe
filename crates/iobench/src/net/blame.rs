//! Finds pairs that run together, and the peer responsible for missing connections.

use std::collections::{BTreeMap, BTreeSet};

use super::wire::Gap;

/// Every ordered pair of `peers` peers once, in rounds of pairs that have no peer in common: a round
/// robin by the circle method, each round in one direction and then in the other.
pub(crate) fn tournament(peers: usize) -> Vec<Vec<(usize, usize)>> {
    let seats = peers.next_multiple_of(2);
    let mut rounds = Vec::with_capacity(2 * seats);
    for turn in 0..seats.saturating_sub(1) {
        // The last seat stays, the others move on by one each turn.
        let at = |seat: usize| (turn + seat) % (seats - 1);
        let pairs = (0..seats / 2).map(|seat| match seat {
            0 => (at(0), seats - 1),
            _ => (at(seat), at(seats - 1 - seat)),
        });
        let there: Vec<(usize, usize)> = pairs.filter(|(a, b)| *a < peers && *b < peers).collect();
        let back = there.iter().map(|(a, b)| (*b, *a)).collect();
        rounds.extend([there, back]);
    }
    rounds
}

/// The peer that lacks connections with the most others, and its error; of two with equally many,
/// the connection's target. `None` without gaps.
pub(crate) fn blamed(gaps: impl Iterator<Item = Gap>) -> Option<(usize, String)> {
    let gaps: Vec<Gap> = gaps.collect();
    let mut others: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for gap in &gaps {
        others.entry(gap.from).or_default().insert(gap.to);
        others.entry(gap.to).or_default().insert(gap.from);
    }
    let most = others.values().map(BTreeSet::len).max()?;
    let suspects = gaps.iter().flat_map(|gap| [gap.to, gap.from]);
    let peer = suspects.into_iter().find(|peer| others[peer].len() == most)?;
    let mut said: Vec<&str> = gaps
        .iter()
        .filter(|gap| gap.from == peer || gap.to == peer)
        .map(|gap| gap.problem.as_str())
        .collect();
    let more = said.len().saturating_sub(3);
    said.truncate(3);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some((peer, said.join("; ") + &rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_ordered_pair_meets_once_and_nobody_is_in_two_at_once(peers in 2..40_usize) {
            let rounds = tournament(peers);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for (from, to) in round {
                    prop_assert!(from != to && busy.insert(*from) && busy.insert(*to));
                    prop_assert!(met.insert((*from, *to)));
                }
            }
            prop_assert_eq!(met.len(), peers * (peers - 1));
            prop_assert_eq!(rounds.len(), 2 * (peers.next_multiple_of(2) - 1));
        }
    }

    fn gap(from: usize, to: usize) -> Gap {
        Gap { from, to, problem: format!("{from} to {to}") }
    }

    #[test]
    fn who_is_missing_everywhere_is_blamed() {
        assert_eq!(blamed(std::iter::empty()), None);
        let (peer, said) = blamed([gap(0, 2), gap(1, 2), gap(2, 0)].into_iter()).unwrap();
        assert_eq!((peer, said.as_str()), (2, "0 to 2; 1 to 2; 2 to 0"));
        assert_eq!(blamed([gap(3, 1)].into_iter()).unwrap().0, 1);
        assert_eq!(blamed([gap(3, 1), gap(3, 0)].into_iter()).unwrap().0, 3);
    }
}
