//! What goes wrong between two nodes, whatever the medium: the one place that decides a frame's fate.

use crate::queue::Micros;
use crate::random::{Chance, Random};
use crate::topology::Link;

/// The longest a second copy of a frame comes after the first.
const ECHO_MAX: Micros = 20_000;

/// What becomes of a frame at one hearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not heard.
    Lost,
    /// It is heard after this long, and perhaps once more after that long.
    Heard {
        /// How much later than the medium alone would deliver it.
        after: Micros,
        /// When a second copy comes.
        again: Option<Micros>,
    },
}

/// Times of deafness at one hearer: a two-state chain after Gilbert and Elliott, its states as long as an
/// exponential draw says.
#[derive(Clone, Copy, Debug)]
struct Ear {
    deaf: bool,
    until: Micros,
}

/// What is wrong at present.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The medium's own loss, to go back to.
    own_loss: Chance,
    /// The chance to hear a frame, by the quality of the link; loss included.
    hears: Vec<Chance>,
    burst: Option<(Micros, Micros)>,
    ears: Vec<Ear>,
    duplicate: Chance,
    reorder: (Chance, Micros),
    delay: (Micros, Micros),
    corrupt: Chance,
    /// Which set of a partition each node is in.
    sides: Vec<u16>,
    /// Pairs of which the second does not hear the first.
    cut: Vec<(u32, u32)>,
    /// Nothing but loss is wrong: the common case, decided fast.
    plain: bool,
}

impl Faults {
    /// Nothing wrong but the medium's own loss.
    #[must_use]
    pub fn new(nodes: u32, own_loss: Chance) -> Self {
        let mut faults = Self {
            own_loss,
            hears: Vec::new(),
            burst: None,
            ears: Vec::new(),
            duplicate: Chance::NEVER,
            reorder: (Chance::NEVER, 0),
            delay: (0, 0),
            corrupt: Chance::NEVER,
            sides: vec![0; nodes as usize],
            cut: Vec::new(),
            plain: true,
        };
        faults.set_loss(None);
        faults
    }

    /// Frames are lost with this chance; `None` for the medium's own.
    pub fn set_loss(&mut self, loss: Option<Chance>) {
        let kept = loss.unwrap_or(self.own_loss).complement();
        let by_distance = |quality: u8| Chance::new(f64::from(quality) / f64::from(Link::SURE));
        self.hears = (0..=u8::MAX).map(|quality| by_distance(quality).and(kept)).collect();
    }

    /// Hearers are deaf now and then: mean length of good and bad times.
    pub fn set_burst(&mut self, burst: Option<(Micros, Micros)>, now: Micros) {
        self.burst = burst;
        self.ears = burst.map_or(Vec::new(), |_| vec![Ear { deaf: true, until: now }; self.sides.len()]);
        self.refresh();
    }

    /// Frames arrive twice with this chance.
    pub fn set_duplicate(&mut self, chance: Chance) {
        self.duplicate = chance;
        self.refresh();
    }

    /// Frames are held back with this chance, for up to this long.
    pub fn set_reorder(&mut self, chance: Chance, longest: Micros) {
        self.reorder = (chance, longest);
        self.refresh();
    }

    /// Frames take this much longer.
    pub fn set_delay(&mut self, least: Micros, most: Micros) {
        self.delay = (least, most);
        self.refresh();
    }

    /// Frames arrive broken with this chance.
    pub fn set_corrupt(&mut self, chance: Chance) {
        self.corrupt = chance;
    }

    /// Puts each node in a set; nodes of different sets do not hear each other.
    pub fn partition(&mut self, side_of: impl Fn(u32) -> u16) {
        for (node, side) in (0..).zip(&mut self.sides) {
            *side = side_of(node);
        }
    }

    /// Puts all nodes in one set.
    pub fn heal(&mut self) {
        self.sides.fill(0);
    }

    /// What `from` says does not reach `to` any more.
    pub fn cut(&mut self, from: u32, to: u32) {
        self.cut.push((from, to));
    }

    /// Links cut in one direction work again.
    pub fn mend(&mut self) {
        self.cut.clear();
    }

    /// Whether anything `from` says can reach `to`: where not, it does not even disturb.
    #[must_use]
    pub fn open(&self, from: u32, to: u32) -> bool {
        self.sides[from as usize] == self.sides[to as usize] && (self.cut.is_empty() || !self.cut.contains(&(from, to)))
    }

    /// What becomes of a frame that reaches `hearer` over a link of this quality.
    pub fn fate(&mut self, now: Micros, hearer: u32, quality: u8, random: &mut Random) -> Fate {
        if !random.happens(self.hears[usize::from(quality)]) {
            return Fate::Lost;
        }
        if self.plain {
            return Fate::Heard { after: 0, again: None };
        }
        if self.is_deaf(now, hearer, random) {
            return Fate::Lost;
        }
        let mut after = random.between(self.delay.0, self.delay.1);
        if random.happens(self.reorder.0) {
            after += random.between(1, self.reorder.1.max(1));
        }
        let again = random.happens(self.duplicate).then(|| after + random.between(1, ECHO_MAX));
        Fate::Heard { after, again }
    }

    /// Breaks a frame, if it is to be broken: one to three bits change.
    pub fn corrupt(&self, bytes: &mut [u8], random: &mut Random) -> bool {
        if bytes.is_empty() || !random.happens(self.corrupt) {
            return false;
        }
        for _ in 0..random.between(1, 3) {
            let bit = random.below(bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        true
    }

    /// Whether frames can arrive broken.
    #[must_use]
    pub fn corrupts(&self) -> bool {
        self.corrupt > Chance::NEVER
    }

    fn is_deaf(&mut self, now: Micros, hearer: u32, random: &mut Random) -> bool {
        let Some((good, bad)) = self.burst else { return false };
        let ear = &mut self.ears[hearer as usize];
        while now >= ear.until {
            ear.deaf = !ear.deaf;
            let mean = if ear.deaf { bad } else { good };
            ear.until += random.exponential(mean).max(1);
        }
        ear.deaf
    }

    fn refresh(&mut self) {
        self.plain = self.burst.is_none()
            && self.duplicate == Chance::NEVER
            && self.reorder.0 == Chance::NEVER
            && self.delay.1 == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn fates(faults: &mut Faults, quality: u8) -> Vec<Fate> {
        let mut random = Random::new(1, Stream::Network);
        (0..10_000).map(|time| faults.fate(time * 1_000, 0, quality, &mut random)).collect()
    }

    fn heard(faults: &mut Faults, quality: u8) -> usize {
        fates(faults, quality).into_iter().filter(|&fate| fate != Fate::Lost).count()
    }

    #[test]
    fn distance_and_loss_multiply() {
        let mut faults = Faults::new(2, Chance::new(0.1));
        assert!((8_800..9_200).contains(&heard(&mut faults, 255)));
        assert!((4_300..4_700).contains(&heard(&mut faults, 128)));
        faults.set_loss(Some(Chance::ALWAYS));
        assert_eq!(heard(&mut faults, 255), 0);
        faults.set_loss(None);
        assert!(heard(&mut faults, 255) > 8_800);
    }

    #[test]
    fn a_burst_loses_frames_in_a_row_and_as_many_as_its_times_say() {
        let mut faults = Faults::new(2, Chance::NEVER);
        faults.set_burst(Some((180_000, 20_000)), 0);
        let fates = fates(&mut faults, 255);
        let lost = fates.iter().filter(|&&fate| fate == Fate::Lost).count();
        let after_lost = fates.windows(2).filter(|pair| pair[0] == Fate::Lost && pair[1] == Fate::Lost).count();
        assert!((500..2_000).contains(&lost), "{lost}");
        assert!(after_lost * 10 > lost * 8, "losses come in rows");
        faults.set_burst(None, 0);
        assert_eq!(heard(&mut faults, 255), 10_000);
    }

    #[test]
    fn frames_are_doubled_held_back_and_delayed_as_told() {
        let mut faults = Faults::new(2, Chance::NEVER);
        faults.set_delay(5, 9);
        assert!(fates(&mut faults, 255).iter().all(|fate| matches!(fate, Fate::Heard { after: 5..=9, again: None })));
        faults.set_delay(0, 0);
        faults.set_duplicate(Chance::ALWAYS);
        assert!(fates(&mut faults, 255).iter().all(|fate| matches!(fate, Fate::Heard { after: 0, again: Some(1..) })));
        faults.set_duplicate(Chance::NEVER);
        faults.set_reorder(Chance::ALWAYS, 50);
        assert!(fates(&mut faults, 255).iter().all(|fate| matches!(fate, Fate::Heard { after: 1..=50, .. })));
    }

    #[test]
    fn a_partition_parts_and_a_cut_is_one_way() {
        let mut faults = Faults::new(4, Chance::NEVER);
        faults.partition(|node| u16::from(node >= 2));
        assert_eq!([faults.open(0, 1), faults.open(1, 2), faults.open(2, 3)], [true, false, true]);
        faults.heal();
        faults.cut(0, 1);
        assert_eq!([faults.open(0, 1), faults.open(1, 0), faults.open(1, 2)], [false, true, true]);
        faults.mend();
        assert!(faults.open(0, 1));
    }

    #[test]
    fn corruption_flips_bits_in_place() {
        let mut faults = Faults::new(1, Chance::NEVER);
        let mut random = Random::new(1, Stream::Network);
        let mut bytes = [0_u8; 20];
        assert!(!faults.corrupt(&mut bytes, &mut random));
        faults.set_corrupt(Chance::ALWAYS);
        assert!(faults.corrupts() && faults.corrupt(&mut bytes, &mut random));
        let flipped: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        assert!((1..=3).contains(&flipped));
        assert!(!faults.corrupt(&mut [], &mut random));
    }
}
