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

/// The radio range, in metres: every frame arrives up to `range`, then fewer and fewer up to `range_max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    pub(crate) range: f64,
    pub(crate) range_max: f64,
}

impl Reach {
    /// Returns the link quality at a distance, given by its square.
    fn quality(self, distance_squared: f64) -> u8 {
        if distance_squared <= self.range * self.range {
            return Link::QUALITY_MAX;
        }
        let left = self.range_max - distance_squared.sqrt();
        (left / (self.range_max - self.range) * f64::from(Link::QUALITY_MAX)).max(0.0) as u8
    }
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
        self.cells.sort(points, reach.range_max);
        self.starts.clear();
        self.flat.clear();
        for (sender, &point) in (0_u32..).zip(points) {
            self.starts.push(self.flat.len() as u32);
            for cells in self.cells.around(point) {
                for &receiver in cells {
                    let quality = reach.quality(point.distance_squared(points[receiver as usize]));
                    if quality > 0 && receiver != sender && !one_way.is_dead(sender, receiver) {
                        self.flat.push(Link::new(receiver, quality));
                    }
                }
            }
        }
        self.starts.push(self.flat.len() as u32);
    }

    /// Creates links without loss from each sender to its `receivers`.
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
        links
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

    const REACH: Reach = Reach { range: 15.0, range_max: 19.0 };

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
                    .map(|(b, &to)| Link::new(b, REACH.quality(from.distance_squared(to))))
                    .filter(|link| link.quality() > 0);
                assert!(expected.eq(found), "node {a} in {side} m");
            }
        }
    }

    #[test]
    fn quality_falls_to_zero_between_range_and_range_max() {
        let at = |distance: f64| REACH.quality(distance * distance);
        assert_eq!([at(0.0), at(15.0), at(17.0), at(19.0), at(30.0)], [255, 255, 127, 0, 0]);
        let sharp = Reach { range: 15.0, range_max: 15.0 };
        assert_eq!([sharp.quality(225.0), sharp.quality(226.0)], [255, 0]);
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
