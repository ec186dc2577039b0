//! Links, in flat arrays: one run of links per sender.

use super::{Area, Point};
use crate::base::rng::{Probability, mix};
use std::ops::Range;

/// A link to one receiver: 24 bits of slot, 8 bits of quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link(u32);

impl Link {
    /// The quality of a link on which every frame arrives.
    pub const QUALITY_MAX: u8 = u8::MAX;

    pub(crate) fn new(receiver: u32, quality: u8) -> Self {
        Self((receiver << 8) | u32::from(quality))
    }

    pub(crate) fn receiver(self) -> u32 {
        self.0 >> 8
    }

    /// Returns the share of frames that arrive, in 255ths.
    pub(crate) fn quality(self) -> u8 {
        (self.0 & 0xFF) as u8
    }
}

/// The radio range, in metres: every frame arrives up to `range`, then fewer and fewer up to `range_max`; frames of
/// nodes beyond it arrive nowhere, and still interfere with others up to `interference`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    pub(crate) range: f64,
    pub(crate) range_max: f64,
    pub(crate) interference: f64,
}

impl Reach {
    /// Returns a reach at whose end frames end: nothing is received or disturbed beyond `range`.
    pub(crate) const fn sharp(range: f64) -> Self {
        Self { range, range_max: range, interference: 0.0 }
    }

    /// Returns the distance beyond which a frame has no effect.
    fn end(self) -> f64 {
        self.range_max.max(self.interference)
    }

    /// Returns how strong a frame is at a distance, given by its square: 1 at the range, by a path loss of exponent 3.
    fn strength(self, distance_squared: f64) -> f32 {
        let ratio = self.range * self.range / distance_squared.max(f64::MIN_POSITIVE);
        (ratio * ratio.sqrt()).min(STRENGTH_MAX) as f32
    }

    /// Returns the link quality at a distance, given by its square.
    fn quality(self, distance_squared: f64) -> u8 {
        if distance_squared <= self.range * self.range {
            return Link::QUALITY_MAX;
        }
        let left = self.range_max - distance_squared.sqrt();
        (left / (self.range_max - self.range) * f64::from(Link::QUALITY_MAX)).max(0.0) as u8
    }
}

/// The strength of frames from the nearest nodes: those within a hundredth of the range.
const STRENGTH_MAX: f64 = 1e6;

/// The frames of a sender at one receiver: how strong they are, in parts of their strength at the range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Signal {
    pub(crate) receiver: u32,
    pub(crate) strength: f32,
}

/// Which links are one-way: drawn once per pair, so that movement does not change it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneWay {
    /// The probability that a pair has a dead direction.
    pub(crate) probability: Probability,
    pub(crate) seed: u64,
}

impl OneWay {
    /// Every link works in both directions.
    pub(crate) const NONE: Self = Self { probability: Probability::NEVER, seed: 0 };

    fn is_dead(&self, from: u32, to: u32) -> bool {
        if self.probability == Probability::NEVER {
            return false;
        }
        let (low, high) = (from.min(to), from.max(to));
        let draw = mix(self.seed ^ ((u64::from(low) << 32) | u64::from(high)));
        self.probability.includes(draw) && (draw & 1 == 1) == (from < to)
    }
}

/// All links: for each sender, its receivers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    starts: Vec<u32>,
    flat: Vec<Link>,
    /// The strength of frames, link by link.
    strengths: Vec<f32>,
    /// Where each sender's run of `interference` starts.
    interference_starts: Vec<u32>,
    /// Where frames are too weak to be received and still interfere.
    interference: Vec<Signal>,
    cells: Cells,
}

impl Links {
    pub(crate) fn by_distance(points: &[Point], reach: Reach, one_way: &OneWay) -> Self {
        let mut links = Self::default();
        links.rebuild(points, reach, one_way);
        links
    }

    /// Computes the links again after the nodes have moved; reuses the memory.
    pub(crate) fn rebuild(&mut self, points: &[Point], reach: Reach, one_way: &OneWay) {
        self.cells.sort(points, reach.end());
        self.starts.clear();
        self.flat.clear();
        self.strengths.clear();
        self.interference_starts.clear();
        self.interference.clear();
        for (sender, &point) in (0_u32..).zip(points) {
            self.starts.push(self.flat.len() as u32);
            self.interference_starts.push(self.interference.len() as u32);
            for cells in self.cells.around(point) {
                for &receiver in cells {
                    let distance_squared = point.distance_squared(points[receiver as usize]);
                    if distance_squared > reach.end() * reach.end() || receiver == sender {
                        continue;
                    }
                    if one_way.is_dead(sender, receiver) {
                        continue;
                    }
                    let (quality, strength) = (reach.quality(distance_squared), reach.strength(distance_squared));
                    if quality > 0 {
                        self.flat.push(Link::new(receiver, quality));
                        self.strengths.push(strength);
                    } else if distance_squared <= reach.interference * reach.interference {
                        self.interference.push(Signal { receiver, strength });
                    }
                }
            }
        }
        self.starts.push(self.flat.len() as u32);
        self.interference_starts.push(self.interference.len() as u32);
    }

    /// Creates links without loss from each sender to its `receivers`, all equally strong; frames interfere nowhere
    /// else.
    pub(crate) fn by_rule<I: IntoIterator<Item = u32>>(
        nodes: u32,
        one_way: &OneWay,
        mut receivers: impl FnMut(u32) -> I,
    ) -> Self {
        let mut links = Self::default();
        for sender in 0..nodes {
            links.starts.push(links.flat.len() as u32);
            let reached = receivers(sender).into_iter().filter(|&receiver| !one_way.is_dead(sender, receiver));
            links.flat.extend(reached.map(|receiver| Link::new(receiver, Link::QUALITY_MAX)));
        }
        links.starts.push(links.flat.len() as u32);
        links.strengths = vec![1.0; links.flat.len()];
        links.interference_starts = vec![0; nodes as usize + 1];
        links
    }

    /// Gives links that follow from a rule the strengths that follow from the nodes' positions.
    pub(crate) fn with_strengths(mut self, points: &[Point], reach: Reach) -> Self {
        for (sender, &point) in (0_u32..).zip(points) {
            for position in self.range(sender) {
                let receiver = points[self.flat[position].receiver() as usize];
                self.strengths[position] = reach.strength(point.distance_squared(receiver));
            }
        }
        self
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }
    pub(crate) fn of(&self, sender: u32) -> &[Link] {
        &self.flat[self.range(sender)]
    }

    /// Returns the positions of the links of `sender`, for loops that change the world as they go.
    pub(crate) fn range(&self, sender: u32) -> Range<usize> {
        self.starts[sender as usize] as usize..self.starts[sender as usize + 1] as usize
    }

    /// Returns the link at a position of [`Links::range`].
    pub(crate) fn at(&self, position: usize) -> Link {
        self.flat[position]
    }

    /// Returns how strong the frames of `sender` are at the receivers of its links.
    pub(crate) fn signals(&self, sender: u32) -> impl Iterator<Item = Signal> {
        let strengths = self.strengths[self.range(sender)].iter();
        self.of(sender).iter().zip(strengths).map(|(link, &strength)| Signal { receiver: link.receiver(), strength })
    }

    /// Returns where frames of `sender` are too weak to be received and still interfere, and how strong they are there.
    pub(crate) fn interference(&self, sender: u32) -> &[Signal] {
        let starts = &self.interference_starts;
        &self.interference[starts[sender as usize] as usize..starts[sender as usize + 1] as usize]
    }

    /// Returns the quality of the link from `from` to `to`; 0 if there is none.
    pub(crate) fn quality(&self, from: u32, to: u32) -> u8 {
        self.of(from).iter().find(|link| link.receiver() == to).map_or(0, |link| link.quality())
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.flat.len()
    }
}

/// Nodes sorted into square cells as wide as the range, so that receivers are in nine cells only.
#[derive(Clone, Debug, Default)]
struct Cells {
    area: Option<Area>,
    side: f64,
    columns: usize,
    rows: usize,
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Cells {
    fn sort(&mut self, points: &[Point], side: f64) {
        let area = Area::around(points);
        self.area = Some(area);
        self.side = side.max(f64::MIN_POSITIVE);
        // Nodes far apart would need more cells than nodes: coarser cells are slower to search and still right.
        let limit = 4.0 * points.len() as f64 + 16.0;
        while (area.width() / self.side + 1.0) * (area.height() / self.side + 1.0) > limit {
            self.side *= 2.0;
        }
        self.columns = (area.width() / self.side) as usize + 1;
        self.rows = (area.height() / self.side) as usize + 1;
        self.starts.clear();
        self.starts.resize(self.columns * self.rows + 1, 0);
        for &point in points {
            let cell = self.cell(point);
            self.starts[cell + 1] += 1;
        }
        for cell in 1..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.nodes.clear();
        self.nodes.resize(points.len(), 0);
        // Each start serves as its cell's cursor, which leaves it at the cell's end: the starts move up by one.
        for (node, &point) in (0..).zip(points) {
            let cell = self.cell(point);
            self.nodes[self.starts[cell] as usize] = node;
            self.starts[cell] += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    fn column_row(&self, point: Point) -> (usize, usize) {
        let low = self.area.map_or(Point::default(), |area| area.low);
        (((point.x - low.x) / self.side) as usize, ((point.y - low.y) / self.side) as usize)
    }

    fn cell(&self, point: Point) -> usize {
        let (column, row) = self.column_row(point);
        row * self.columns + column
    }

    /// Returns the nodes of the nine cells around a point, a row of up to three cells at a time.
    fn around(&self, point: Point) -> impl Iterator<Item = &[u32]> {
        let (column, row) = self.column_row(point);
        let (left, right) = (column.saturating_sub(1), (column + 1).min(self.columns - 1));
        (row.saturating_sub(1)..=(row + 1).min(self.rows - 1)).map(move |row| {
            let first = self.starts[row * self.columns + left] as usize;
            let last = self.starts[row * self.columns + right + 1] as usize;
            &self.nodes[first..last]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Rng, Stream};

    const REACH: Reach = Reach { range: 15.0, range_max: 19.0, interference: 30.0 };

    fn scattered(count: usize, side: f64) -> Vec<Point> {
        let mut rng = Rng::new(1, Stream::Placement);
        (0..count).map(|_| Point { x: rng.next_f64() * side, y: rng.next_f64() * side }).collect()
    }

    #[test]
    fn the_cells_find_exactly_the_links_a_full_search_finds() {
        for side in [1.0, 60.0, 400.0, 1e7] {
            let points = scattered(200, side);
            let links = Links::by_distance(&points, REACH, &OneWay::NONE);
            for (a, &from) in (0_u32..).zip(&points) {
                let mut found: Vec<Link> = links.of(a).to_vec();
                found.sort_unstable();
                let all = (0_u32..).zip(&points).filter(|&(b, _)| b != a);
                let expected = all
                    .clone()
                    .map(|(b, &to)| Link::new(b, REACH.quality(from.distance_squared(to))))
                    .filter(|link| link.quality() > 0);
                assert!(expected.eq(found), "node {a} in {side} m");
                let mut disturbed: Vec<u32> = links.interference(a).iter().map(|signal| signal.receiver).collect();
                disturbed.sort_unstable();
                let expected = all.filter(|&(b, &to)| {
                    let distance_squared = from.distance_squared(to);
                    links.quality(a, b) == 0 && distance_squared <= REACH.interference * REACH.interference
                });
                assert!(expected.map(|(b, _)| b).eq(disturbed), "around node {a} in {side} m");
            }
        }
    }

    #[test]
    fn quality_falls_to_zero_between_range_and_range_max() {
        let at = |distance: f64| REACH.quality(distance * distance);
        assert_eq!([at(0.0), at(15.0), at(17.0), at(19.0), at(30.0)], [255, 255, 127, 0, 0]);
        let sharp = Reach::sharp(15.0);
        assert_eq!([sharp.quality(225.0), sharp.quality(226.0)], [255, 0]);
    }

    #[test]
    fn strength_falls_with_the_third_power_of_the_distance() {
        let at = |distance: f64| Signal { receiver: 0, strength: REACH.strength(distance * distance) };
        let of = |strength: f32| Signal { receiver: 0, strength };
        assert_eq!([at(15.0), at(30.0), at(7.5), at(0.0)], [of(1.0), of(0.125), of(8.0), of(STRENGTH_MAX as f32)]);
        let points = [0.0, 15.0, 30.0].map(|x| Point { x, y: 0.0 });
        let links = Links::by_distance(&points, REACH, &OneWay::NONE);
        assert_eq!(links.signals(0).collect::<Vec<_>>(), [Signal { receiver: 1, strength: 1.0 }]);
        assert_eq!(links.interference(0), [Signal { receiver: 2, strength: 0.125 }]);
        let ring = Links::by_rule(3, &OneWay::NONE, |node| [(node + 1) % 3]).with_strengths(&points, REACH);
        assert_eq!(ring.signals(2).collect::<Vec<_>>(), [Signal { receiver: 0, strength: 0.125 }]);
        assert_eq!(ring.interference(2), []);
    }

    #[test]
    fn a_one_way_link_loses_one_direction_and_keeps_it_over_a_rebuild() {
        let points = scattered(100, 60.0);
        let one_way = OneWay { probability: Probability::new(0.3), seed: 5 };
        let both = Links::by_distance(&points, REACH, &OneWay::NONE);
        let mut links = Links::by_distance(&points, REACH, &one_way);
        let before = links.flat.clone();
        links.rebuild(&points, REACH, &one_way);
        assert_eq!(links.flat, before);
        let (pairs, dead) = (both.len() / 2, both.len() - links.len());
        assert!(dead * 10 > pairs * 2 && dead * 10 < pairs * 4, "{dead} of {pairs}");
        for a in 0..100 {
            for link in both.of(a) {
                let b = link.receiver();
                assert!(links.quality(a, b) > 0 || links.quality(b, a) > 0);
            }
        }
    }

    #[test]
    fn a_rule_makes_the_links_it_lists() {
        let ring = Links::by_rule(4, &OneWay::NONE, |node| [(node + 1) % 4, (node + 3) % 4]);
        assert_eq!(ring.of(0), [Link::new(1, 255), Link::new(3, 255)]);
        assert_eq!((ring.nodes(), ring.len()), (4, 8));
    }
}
