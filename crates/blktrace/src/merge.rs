//! Many streams as one, in order of time: a tournament of the streams' next events, in which only
//! the matches of the stream that has just won are played again.

use crate::error::TraceError;
use crate::event::Event;
use crate::stream::{END, Stream};

/// Hands the events of all streams to `take` in order; `read` is told of bytes that were read.
pub fn merge(
    streams: &mut [Stream],
    mut take: impl FnMut(&Event) -> Result<(), TraceError>,
    mut read: impl FnMut(u64) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut tournament = Tournament::of(streams.iter().map(Stream::order));
    while let Some(winner) = tournament.winner() {
        let stream = &mut streams[winner];
        take(stream.event())?;
        tournament.replay(stream.advance(&mut read)?);
    }
    Ok(())
}

/// Who has the lowest order. Players are the leaves of a complete binary tree.
struct Tournament {
    /// A player's next order.
    orders: Vec<u64>,
    /// Who lost the match at a node; node 1 is the final, 0 has the winner of all.
    losers: Vec<u32>,
}

impl Tournament {
    fn of(orders: impl Iterator<Item = u64>) -> Self {
        let mut orders: Vec<u64> = orders.collect();
        orders.resize(orders.len().next_power_of_two(), END);
        let leaves = orders.len();
        let mut winners: Vec<u32> = vec![0; 2 * leaves];
        let mut losers = vec![0; leaves];
        for (player, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = player as u32;
        }
        for node in (1..leaves).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = orders[left as usize] <= orders[right as usize];
            (winners[node], losers[node]) = if left_wins { (left, right) } else { (right, left) };
        }
        losers[0] = winners[1];
        Self { orders, losers }
    }

    #[inline]
    fn winner(&self) -> Option<usize> {
        let winner = self.losers[0] as usize;
        (self.orders[winner] != END).then_some(winner)
    }

    /// The winner has a new order.
    #[inline]
    fn replay(&mut self, order: u64) {
        let mut winner = self.losers[0];
        let mut best = order;
        self.orders[winner as usize] = order;
        let leaf = winner as usize + self.orders.len();
        let mut node = leaf >> 1;
        while node > 0 {
            let loser = self.losers[node];
            let other = self.orders[loser as usize];
            // Without a branch: who wins is anybody's guess.
            let lost = other < best;
            self.losers[node] = if lost { winner } else { loser };
            winner = if lost { loser } else { winner };
            best = best.min(other);
            node >>= 1;
        }
        self.losers[0] = winner;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_comes_first_whoever_has_it(
            mut queues in prop::collection::vec(prop::collection::vec(0_u64..50, 0..20), 0..9)
        ) {
            for queue in &mut queues {
                queue.sort_unstable();
            }
            let mut places = vec![0; queues.len()];
            let first = |queue: &Vec<u64>| queue.first().copied().unwrap_or(END);
            let mut tournament = Tournament::of(queues.iter().map(first));
            let mut found = Vec::new();
            while let Some(winner) = tournament.winner() {
                found.push(queues[winner][places[winner]]);
                places[winner] += 1;
                tournament.replay(queues[winner].get(places[winner]).copied().unwrap_or(END));
            }
            let mut all = queues.concat();
            all.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }
}
