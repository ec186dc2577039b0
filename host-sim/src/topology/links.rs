//! Who hears whom, in flat arrays: one run of links per speaker.

use super::{Area, Point};
use crate::random::{Chance, mix};
use std::ops::Range;

/// One hearer and how well it hears: 24 bits of place, 8 bits of quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link(u32);

impl Link {
    /// The quality of a link on which every frame arrives.
    pub const SURE: u8 = u8::MAX;

    /// A link to `hearer`.
    #[must_use]
    pub fn new(hearer: u32, quality: u8) -> Self {
        Self((hearer << 8) | u32::from(quality))
    }

    /// Who hears, by place.
    #[must_use]
    pub fn hearer(self) -> u32 {
        self.0 >> 8
    }

    /// The share of frames that arrive, in 255ths.
    #[must_use]
    pub fn quality(self) -> u8 {
        (self.0 & 0xFF) as u8
    }
}

/// How far frames carry: surely up to `range`, then less and less surely up to `grey`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Where reception begins to fail, in metres.
    pub range: f64,
    /// Where nothing is heard any more, in metres.
    pub grey: f64,
}

impl Reach {
    /// How well a frame is heard at a distance, given by its square.
    fn quality(self, distance_squared: f64) -> u8 {
        if distance_squared <= self.range * self.range {
            return Link::SURE;
        }
        let left = self.grey - distance_squared.sqrt();
        (left / (self.grey - self.range) * f64::from(Link::SURE)).max(0.0) as u8
    }
}

/// Which links work in one direction only: drawn once per pair, so that moving does not change it.
#[derive(Clone, Copy, Debug)]
pub struct OneWay {
    /// The share of pairs with one direction dead.
    pub share: Chance,
    /// What the draws come from.
    pub seed: u64,
}

impl OneWay {
    /// Whether nothing `from` says reaches `to`.
    fn is_dead(&self, from: u32, to: u32) -> bool {
        if self.share == Chance::NEVER {
            return false;
        }
        let (low, high) = (from.min(to), from.max(to));
        let draw = mix(self.seed ^ ((u64::from(low) << 32) | u64::from(high)));
        self.share.covers(draw) && (draw & 1 == 1) == (from < to)
    }
}

/// All links: for each speaker, its hearers.
#[derive(Clone, Debug, Default)]
pub struct Links {
    starts: Vec<u32>,
    hearers: Vec<Link>,
    cells: Cells,
}

impl Links {
    /// The links between nodes at these positions.
    #[must_use]
    pub fn by_distance(points: &[Point], reach: Reach, one_way: &OneWay) -> Self {
        let mut links = Self::default();
        links.rebuild(points, reach, one_way);
        links
    }

    /// The links after the nodes have moved; reuses the memory of the old ones.
    pub fn rebuild(&mut self, points: &[Point], reach: Reach, one_way: &OneWay) {
        self.cells.sort(points, reach.grey);
        self.starts.clear();
        self.hearers.clear();
        for (speaker, &point) in (0_u32..).zip(points) {
            self.starts.push(self.hearers.len() as u32);
            for cells in self.cells.around(point) {
                for &hearer in cells {
                    let quality = reach.quality(point.distance_squared(points[hearer as usize]));
                    if quality > 0 && hearer != speaker && !one_way.is_dead(speaker, hearer) {
                        self.hearers.push(Link::new(hearer, quality));
                    }
                }
            }
        }
        self.starts.push(self.hearers.len() as u32);
    }

    /// Links given by name: `hearers(speaker)` lists who hears it, all surely.
    pub fn by_rule<I: IntoIterator<Item = u32>>(
        nodes: u32,
        one_way: &OneWay,
        mut hearers: impl FnMut(u32) -> I,
    ) -> Self {
        let mut links = Self::default();
        for speaker in 0..nodes {
            links.starts.push(links.hearers.len() as u32);
            let heard = hearers(speaker).into_iter().filter(|&hearer| !one_way.is_dead(speaker, hearer));
            links.hearers.extend(heard.map(|hearer| Link::new(hearer, Link::SURE)));
        }
        links.starts.push(links.hearers.len() as u32);
        links
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Who hears `speaker`.
    #[must_use]
    pub fn of(&self, speaker: u32) -> &[Link] {
        &self.hearers[self.range(speaker)]
    }

    /// Where the links of `speaker` are: for loops that change the world as they go.
    #[must_use]
    pub fn range(&self, speaker: u32) -> Range<usize> {
        self.starts[speaker as usize] as usize..self.starts[speaker as usize + 1] as usize
    }

    /// The link at a position of [`Links::range`].
    #[must_use]
    pub fn at(&self, position: usize) -> Link {
        self.hearers[position]
    }

    /// How well `to` hears `from`: 0 where it does not.
    #[must_use]
    pub fn quality(&self, from: u32, to: u32) -> u8 {
        self.of(from).iter().find(|link| link.hearer() == to).map_or(0, |link| link.quality())
    }

    /// All links together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hearers.len()
    }

    /// Whether nobody hears anybody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hearers.is_empty()
    }
}

/// Nodes sorted into square cells as wide as the reach, so that hearers are looked for in nine cells only.
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
    fn sort(&mut self, points: &[Point], reach: f64) {
        let area = Area::around(points);
        self.area = Some(area);
        self.side = reach.max(f64::MIN_POSITIVE);
        // Nodes far apart would make more cells than nodes: coarser cells are slower to search and still right.
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

    /// The nodes of the nine cells around a point, a row of up to three cells at a time.
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
    use crate::random::{Random, Stream};

    const REACH: Reach = Reach { range: 15.0, grey: 19.0 };
    const BOTH_WAYS: OneWay = OneWay { share: Chance::NEVER, seed: 0 };

    fn scattered(count: usize, side: f64) -> Vec<Point> {
        let mut random = Random::new(1, Stream::Placement);
        (0..count).map(|_| Point { x: random.unit() * side, y: random.unit() * side }).collect()
    }

    #[test]
    fn the_cells_find_exactly_the_links_a_full_search_finds() {
        for side in [1.0, 60.0, 400.0, 1e7] {
            let points = scattered(200, side);
            let links = Links::by_distance(&points, REACH, &BOTH_WAYS);
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
    fn quality_falls_from_sure_to_nothing_over_the_grey_zone() {
        let at = |distance: f64| REACH.quality(distance * distance);
        assert_eq!([at(0.0), at(15.0), at(17.0), at(19.0), at(30.0)], [255, 255, 127, 0, 0]);
        let sharp = Reach { range: 15.0, grey: 15.0 };
        assert_eq!([sharp.quality(225.0), sharp.quality(226.0)], [255, 0]);
    }

    #[test]
    fn a_one_way_link_loses_one_direction_and_keeps_it_over_a_rebuild() {
        let points = scattered(100, 60.0);
        let one_way = OneWay { share: Chance::new(0.3), seed: 5 };
        let both = Links::by_distance(&points, REACH, &BOTH_WAYS);
        let mut links = Links::by_distance(&points, REACH, &one_way);
        let before = links.hearers.clone();
        links.rebuild(&points, REACH, &one_way);
        assert_eq!(links.hearers, before);
        let pairs = both.len() / 2;
        let dead = both.len() - links.len();
        assert!(dead * 10 > pairs * 2 && dead * 10 < pairs * 4, "{dead} of {pairs}");
        for a in 0..100 {
            for link in both.of(a) {
                let b = link.hearer();
                assert!(links.quality(a, b) > 0 || links.quality(b, a) > 0);
            }
        }
    }

    #[test]
    fn a_rule_makes_the_links_it_names() {
        let ring = Links::by_rule(4, &BOTH_WAYS, |node| [(node + 1) % 4, (node + 3) % 4]);
        assert_eq!(ring.of(0), [Link::new(1, 255), Link::new(3, 255)]);
        assert_eq!((ring.nodes(), ring.len()), (4, 8));
    }
}
