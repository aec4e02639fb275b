//! Finds the largest of many numbers that change one at a time.

/// A tree of winners over non-negative numbers. The lowest index wins ties.
pub(super) struct Tournament {
    keys: Vec<f64>,
    /// Node k has the children 2k and 2k + 1, node 1 is the root; the numbers
    /// themselves are the nodes from `keys.len()` on.
    winners: Vec<u32>,
}

impl Tournament {
    /// `n` zeros.
    pub fn new(n: usize) -> Self {
        let leaves = n.next_power_of_two();
        let mut winners = vec![0; leaves];
        winners.extend(0..leaves as u32);
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![0.0; leaves], winners }
    }

    /// Changes one number.
    pub fn set(&mut self, index: usize, key: f64) {
        self.keys[index] = key;
        let mut node = (self.keys.len() + index) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let winner = if self.keys[right as usize] > self.keys[left as usize] { right } else { left };
            // The same winner with the same number: nothing changes further up.
            if self.winners[node] == winner && winner as usize != index {
                break;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The index of the largest number, if it is positive.
    pub fn winner(&self) -> Option<usize> {
        let index = *self.winners.get(1)? as usize;
        (self.keys[index] > 0.0).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn the_winner_is_the_first_of_the_largest() {
        let mut stream = Stream::new(0, "tournament", [0, 0]);
        for n in [1, 2, 3, 7, 64, 100] {
            let mut tournament = Tournament::new(n);
            let mut numbers = vec![0.0; n];
            assert_eq!(tournament.winner(), None);
            for _ in 0..300 {
                let (at, key) = (stream.below(n), stream.below(6) as f64);
                numbers[at] = key;
                tournament.set(at, key);
                let best = numbers.iter().copied().fold(0.0, f64::max);
                let expected = numbers.iter().position(|&x| x == best).filter(|_| best > 0.0);
                assert_eq!(tournament.winner(), expected);
            }
        }
    }
}
