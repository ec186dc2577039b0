//! Link faults: loss, bursts, duplicates, reordering, delay, corruption, attacks, partitions and one-way links, whatever the
//! medium.

use crate::base::Micros;
use crate::base::rng::{Probability, Rng};
use crate::sim::attacker::{Attack, Attacker};
use crate::sim::topology::Link;

/// The longest delay of a duplicate after the first copy.
const DUPLICATE_DELAY_MAX: Micros = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Lost,
    Received { delay: Micros, duplicate: Option<Micros> }, // delays on top of the medium's own
}

/// A link fault of a fault plan, or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LinkFault {
    /// Frames are lost with this probability; `None` for the medium's own.
    Loss(Option<Probability>),
    /// Receivers lose all frames in bad times: mean lengths of good and bad times; `None` to end it.
    Burst(Option<(Micros, Micros)>),
    /// Frames arrive twice with this probability.
    Duplicate(Probability),
    /// Frames are held back with this probability, for up to this long.
    Reorder(Probability, Micros),
    /// Every frame takes longer, by a time from a range.
    Delay(Micros, Micros),
    /// Frames arrive corrupted with this probability.
    Corrupt(Probability),
    /// An attacker sends after each frame that arrives.
    Attack(Attack),
    /// Frames of the nodes `from` do not reach the nodes `to`.
    OneWay { from: Vec<u32>, to: Vec<u32> },
    /// One-way links work in both directions again.
    BothWays,
}

impl LinkFault {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Loss(_) => "loss",
            Self::Burst(_) => "burst",
            Self::Duplicate(_) => "duplicate",
            Self::Reorder(..) => "reorder",
            Self::Delay(..) => "delay",
            Self::Corrupt(_) => "corrupt",
            Self::Attack(_) => "attack",
            Self::OneWay { .. } => "one-way",
            Self::BothWays => "both-ways",
        }
    }

    pub(crate) fn end(&self) -> Self {
        match self {
            Self::Loss(_) => Self::Loss(None),
            Self::Burst(_) => Self::Burst(None),
            Self::Duplicate(_) => Self::Duplicate(Probability::NEVER),
            Self::Reorder(..) => Self::Reorder(Probability::NEVER, 0),
            Self::Delay(..) => Self::Delay(0, 0),
            Self::Corrupt(_) => Self::Corrupt(Probability::NEVER),
            Self::Attack(_) => Self::Attack(Attack::default()),
            Self::OneWay { .. } | Self::BothWays => Self::BothWays,
        }
    }
}

/// The burst state of one receiver: a two-state chain after Gilbert and Elliott with exponential holding times.
#[derive(Clone, Copy, Debug)]
struct BurstState {
    bad: bool,
    until: Micros,
}

/// The link faults in effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkFaults {
    /// The medium's own loss, restored when a loss fault ends.
    medium_loss: Probability,
    /// The probability that a frame arrives, by link quality; loss included.
    arrives: Vec<Probability>,
    burst: Option<(Micros, Micros)>,
    burst_states: Vec<BurstState>,
    duplicate: Probability,
    reorder: (Probability, Micros),
    delay: (Micros, Micros),
    corrupt: Probability,
    attacker: Attacker,
    /// The side of a partition each node is on.
    sides: Vec<u16>,
    /// Pairs of a sender and a receiver that it does not reach.
    blocked: Vec<(u32, u32)>,
    /// No fault but loss is in effect: the common case, decided fast.
    only_loss: bool,
}

impl LinkFaults {
    /// Creates faults with no effect but the medium's own loss.
    pub(crate) fn new(nodes: u32, medium_loss: Probability) -> Self {
        let sides = vec![0; nodes as usize];
        let mut faults = Self { medium_loss, sides, only_loss: true, ..Self::default() };
        faults.set_loss(None);
        faults
    }

    /// Puts a fault into effect; `slot_of` maps ids to slots.
    pub(crate) fn apply(&mut self, fault: &LinkFault, now: Micros, slot_of: impl Fn(u32) -> u32) {
        match *fault {
            LinkFault::Loss(loss) => self.set_loss(loss),
            LinkFault::Burst(burst) => {
                self.burst = burst;
                let state = BurstState { bad: true, until: now };
                self.burst_states = burst.map_or(Vec::new(), |_| vec![state; self.sides.len()]);
            }
            LinkFault::Duplicate(probability) => self.duplicate = probability,
            LinkFault::Reorder(probability, delay_max) => self.reorder = (probability, delay_max),
            LinkFault::Delay(min, max) => self.delay = (min, max),
            LinkFault::Corrupt(probability) => self.corrupt = probability,
            LinkFault::Attack(attack) => self.attacker.attack = attack,
            LinkFault::OneWay { ref from, ref to } => {
                let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
                self.blocked.extend(pairs.map(|(from, to)| (slot_of(from), slot_of(to))));
            }
            LinkFault::BothWays => self.blocked.clear(),
        }
        self.only_loss = self.burst.is_none()
            && self.duplicate == Probability::NEVER
            && self.reorder.0 == Probability::NEVER
            && self.delay.1 == 0;
    }

    fn set_loss(&mut self, loss: Option<Probability>) {
        let kept = loss.unwrap_or(self.medium_loss).complement();
        let by_quality = |quality: u8| Probability::new(f64::from(quality) / f64::from(Link::QUALITY_MAX));
        self.arrives = (0..=u8::MAX).map(|quality| by_quality(quality).and(kept)).collect();
    }

    /// Partitions the network: frames do not cross from one side to another.
    pub(crate) fn partition(&mut self, side_of: impl Fn(u32) -> u16) {
        for (slot, side) in (0..).zip(&mut self.sides) {
            *side = side_of(slot);
        }
    }
    pub(crate) fn heal(&mut self) {
        self.sides.fill(0);
    }

    /// Returns whether frames of `from` reach `to` at all: if not, they do not even collide there.
    pub(crate) fn connects(&self, from: u32, to: u32) -> bool {
        self.sides[from as usize] == self.sides[to as usize]
            && (self.blocked.is_empty() || !self.blocked.contains(&(from, to)))
    }

    /// Draws the delivery of a frame to `receiver` over a link of this quality.
    pub(crate) fn deliver(&mut self, now: Micros, receiver: u32, quality: u8, rng: &mut Rng) -> Delivery {
        if !rng.happens(self.arrives[usize::from(quality)]) {
            return Delivery::Lost;
        }
        if self.only_loss {
            return Delivery::Received { delay: 0, duplicate: None };
        }
        if self.in_bad_time(now, receiver, rng) {
            return Delivery::Lost;
        }
        let mut delay = rng.between(self.delay.0, self.delay.1);
        if rng.happens(self.reorder.0) {
            delay += rng.between(1, self.reorder.1.max(1));
        }
        let duplicate = rng.happens(self.duplicate).then(|| delay + rng.between(1, DUPLICATE_DELAY_MAX));
        Delivery::Received { delay, duplicate }
    }

    /// Flips one to three bits of a frame, if the draw says so; returns whether it did.
    pub(crate) fn corrupt(&self, bytes: &mut [u8], rng: &mut Rng) -> bool {
        if bytes.is_empty() || !rng.happens(self.corrupt) {
            return false;
        }
        for _ in 0..rng.between(1, 3) {
            let bit = rng.below(bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        true
    }
    pub(crate) fn corrupts(&self) -> bool {
        self.corrupt > Probability::NEVER
    }

    /// Returns the attacker, while there is one.
    pub(crate) fn attacker(&mut self) -> Option<&mut Attacker> {
        let attacker = &mut self.attacker;
        (attacker.attack != Attack::default()).then_some(attacker)
    }

    fn in_bad_time(&mut self, now: Micros, receiver: u32, rng: &mut Rng) -> bool {
        let Some((good, bad)) = self.burst else { return false };
        let state = &mut self.burst_states[receiver as usize];
        while now >= state.until {
            state.bad = !state.bad;
            let mean = if state.bad { bad } else { good };
            state.until += rng.exponential(mean).max(1);
        }
        state.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    fn deliveries(faults: &mut LinkFaults, quality: u8) -> Vec<Delivery> {
        let mut rng = Rng::new(1, Stream::Network);
        (0..10_000).map(|time| faults.deliver(time * 1_000, 0, quality, &mut rng)).collect()
    }

    fn received(faults: &mut LinkFaults, quality: u8) -> usize {
        deliveries(faults, quality).into_iter().filter(|&delivery| delivery != Delivery::Lost).count()
    }

    fn apply(faults: &mut LinkFaults, fault: &LinkFault) {
        faults.apply(fault, 0, |id| id);
    }

    #[test]
    fn quality_and_loss_multiply() {
        let mut faults = LinkFaults::new(2, Probability::new(0.1));
        assert!((8_800..9_200).contains(&received(&mut faults, 255)));
        assert!((4_300..4_700).contains(&received(&mut faults, 128)));
        apply(&mut faults, &LinkFault::Loss(Some(Probability::ALWAYS)));
        assert_eq!(received(&mut faults, 255), 0);
        apply(&mut faults, &LinkFault::Loss(None));
        assert!(received(&mut faults, 255) > 8_800);
    }

    #[test]
    fn a_burst_loses_frames_in_a_row_and_as_many_as_its_mean_times_say() {
        let mut faults = LinkFaults::new(2, Probability::NEVER);
        apply(&mut faults, &LinkFault::Burst(Some((180_000, 20_000))));
        let deliveries = deliveries(&mut faults, 255);
        let lost = deliveries.iter().filter(|&&delivery| delivery == Delivery::Lost).count();
        let in_a_row = deliveries.windows(2).filter(|pair| pair == &[Delivery::Lost; 2]).count();
        assert!((500..2_000).contains(&lost), "{lost}");
        assert!(in_a_row * 10 > lost * 8, "losses come in rows");
        apply(&mut faults, &LinkFault::Burst(None));
        assert_eq!(received(&mut faults, 255), 10_000);
    }

    #[test]
    fn frames_are_duplicated_reordered_and_delayed_as_set() {
        let mut faults = LinkFaults::new(2, Probability::NEVER);
        for (fault, expected) in [
            (LinkFault::Delay(5, 9), (5..=9, 0)),
            (LinkFault::Duplicate(Probability::ALWAYS), (0..=0, 10_000)),
            (LinkFault::Reorder(Probability::ALWAYS, 50), (1..=50, 0)),
        ] {
            apply(&mut faults, &fault);
            let received = deliveries(&mut faults, 255).into_iter().filter_map(|delivery| match delivery {
                Delivery::Received { delay, duplicate } => Some((delay, duplicate.is_some_and(|after| after > delay))),
                Delivery::Lost => None,
            });
            let (delays, duplicates): (Vec<Micros>, Vec<bool>) = received.unzip();
            assert!(delays.len() == 10_000 && delays.iter().all(|delay| expected.0.contains(delay)), "{fault:?}");
            assert_eq!(duplicates.into_iter().filter(|&twice| twice).count(), expected.1, "{fault:?}");
            apply(&mut faults, &fault.end());
        }
    }

    #[test]
    fn a_partition_separates_and_a_blocked_direction_is_one_way() {
        let mut faults = LinkFaults::new(4, Probability::NEVER);
        faults.partition(|slot| u16::from(slot >= 2));
        assert_eq!([faults.connects(0, 1), faults.connects(1, 2), faults.connects(2, 3)], [true, false, true]);
        faults.heal();
        apply(&mut faults, &LinkFault::OneWay { from: vec![0], to: vec![1] });
        assert_eq!([faults.connects(0, 1), faults.connects(1, 0), faults.connects(1, 2)], [false, true, true]);
        apply(&mut faults, &LinkFault::BothWays);
        assert!(faults.connects(0, 1));
    }

    #[test]
    fn corruption_flips_one_to_three_bits() {
        let mut faults = LinkFaults::new(1, Probability::NEVER);
        let mut rng = Rng::new(1, Stream::Network);
        let mut bytes = [0_u8; 20];
        assert!(!faults.corrupt(&mut bytes, &mut rng));
        apply(&mut faults, &LinkFault::Corrupt(Probability::ALWAYS));
        assert!(faults.corrupts() && faults.corrupt(&mut bytes, &mut rng));
        let flipped: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        assert!((1..=3).contains(&flipped));
        assert!(!faults.corrupt(&mut [], &mut rng));
    }
}
