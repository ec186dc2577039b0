//! Plots as SVG: points and lines on two axes, bars. Series differ by colour and by the shape of their points.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
/// Colours that the colour-blind tell apart, after Okabe and Ito.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#777777"];

/// Points of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// Points joined by lines.
    #[default]
    Line,
    /// A dashed line without points, in the colour of the series before: what a formula says of it.
    Formula,
    /// A line that keeps its height until the next point.
    Steps,
    /// Points alone.
    Points,
    /// A bar to each point, which stands at a whole number.
    Bars,
}

/// A picture of several series.
#[derive(Clone, Debug, Default)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    /// Whether an axis is logarithmic.
    pub(super) log: (bool, bool),
    pub(super) series: Vec<Series>,
}

/// One axis, from values to pixels.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, log: bool, from: f64, to: f64) -> Self {
        let values = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let high = values.clone().fold(0.0, f64::max);
        let high = if high > 0.0 { high } else { 1.0 };
        // A linear axis begins at zero: no difference looks larger than it is.
        let low = if log { values.fold(high, f64::min).min(high / 2.0) } else { 0.0 };
        Self { low, high, log, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.log { value.max(self.low).ln() } else { value };
        let share = (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low));
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
            let decades: Vec<f64> = (first..=last).map(|power| 10_f64.powi(power)).collect();
            if decades.len() > 2 || self.high >= 50.0 * self.low {
                return decades;
            }
            // Few decades: doublings, as sizes of networks are, of a whole number or of a power of two.
            let first = if self.low.fract().abs() < 1e-9 { self.low } else { self.low.log2().ceil().exp2() };
            let doublings = std::iter::successors(Some(first), |tick| Some(tick * 2.0));
            return doublings.take_while(|tick| *tick <= self.high * 1.001).take(8).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough).unwrap_or(rough);
        (0..=6).map(|count| f64::from(count) * step).take_while(|tick| *tick <= self.high * 1.001).collect()
    }
}

/// Returns a number in at most three places.
fn short(number: f64) -> String {
    let text = if number.abs() >= 100.0 || number.fract().abs() < 1e-9 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Plot {
    pub(super) fn svg(&self) -> String {
        // Points alone stay away from the edges, where a logarithmic axis would cut them.
        let room: &[f64] =
            if self.series.iter().all(|series| series.style == Style::Points) { &[0.8, 1.25] } else { &[1.0] };
        let with_room = |(x, y): (f64, f64)| room.iter().map(move |times| (x * times, y * times));
        let points = || self.series.iter().flat_map(|series| &series.points).copied().flat_map(with_room);
        let x = Axis::new(points().map(|point| point.0), self.log.0, LEFT, WIDTH - RIGHT);
        let y = Axis::new(points().map(|point| point.1), self.log.1, HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" font-size=\"11\" fill=\"currentColor\">",
            escaped(&self.title)
        );
        let (left, right, top, bottom) = (x.from, x.to, y.to, y.from);
        let named = |_: &f64| !self.x.is_empty();
        for tick in x.ticks().into_iter().filter(named) {
            let (at, text) = (x.at(tick), short(tick));
            let _ = write!(
                svg,
                "<path d=\"M{at:.1} {top}V{bottom}\" class=\"grid\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 15.0
            );
        }
        for tick in y.ticks() {
            let (at, text) = (y.at(tick), short(tick));
            let _ = write!(
                svg,
                "<path d=\"M{left} {at:.1}H{right}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 6.0,
                at + 4.0
            );
        }
        let middle = f64::midpoint(left, right);
        let _ = write!(
            svg,
            "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 8.0,
            escaped(self.x)
        );
        let height = f64::midpoint(top, bottom);
        let _ = write!(
            svg,
            "<text transform=\"translate(14 {height}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(self.y)
        );
        let mut number = 0;
        for (at, series) in self.series.iter().enumerate() {
            if at > 0 && series.style != Style::Formula {
                number += 1;
            }
            series.draw(&mut svg, number, &x, &y);
            let row = TOP + 12.0 + 16.0 * at as f64;
            let mark = if series.style == Style::Formula { "stroke-dasharray=\"5 3\"" } else { "" };
            let colour = COLOURS[number % COLOURS.len()];
            let _ = write!(
                svg,
                "<path d=\"M{:.1} {:.1}h18\" stroke=\"{colour}\" stroke-width=\"2\" {mark}/>",
                right + 10.0,
                row - 4.0
            );
            if series.style != Style::Formula {
                svg.push_str(&marker(number, right + 19.0, row - 4.0));
            }
            let _ = write!(svg, "<text x=\"{:.1}\" y=\"{row}\">{}</text>", right + 33.0, escaped(&series.name));
        }
        svg + "</svg>"
    }
}

impl Series {
    fn draw(&self, svg: &mut String, number: usize, x: &Axis, y: &Axis) {
        let mut path = String::new();
        for (at, &(px, py)) in self.points.iter().enumerate() {
            let (px, py) = (x.at(px), y.at(py));
            let _ = match (at, self.style) {
                (0, _) => write!(path, "M{px:.1} {py:.1}"),
                (_, Style::Steps) => write!(path, "H{px:.1}V{py:.1}"),
                _ => write!(path, "L{px:.1} {py:.1}"),
            };
        }
        let colour = COLOURS[number % COLOURS.len()];
        if self.style == Style::Bars {
            for &(px, py) in &self.points {
                let (from, to) = (x.at(px - 0.9), x.at(px - 0.1));
                let _ = write!(
                    svg,
                    "<path d=\"M{from:.1} {:.1}V{:.1}H{to:.1}V{:.1}z\" fill=\"{colour}\"/>",
                    y.from,
                    y.at(py),
                    y.from
                );
            }
            return;
        }
        if self.style != Style::Points {
            let dashes = if self.style == Style::Formula { " stroke-dasharray=\"5 3\"" } else { "" };
            let _ = write!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>");
        }
        if matches!(self.style, Style::Line | Style::Points) {
            self.points.iter().for_each(|&(px, py)| svg.push_str(&marker(number, x.at(px), y.at(py))));
        }
    }
}

/// A point in the shape of its series.
fn marker(number: usize, x: f64, y: f64) -> String {
    let colour = COLOURS[number % COLOURS.len()];
    let path = match number % 4 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l4.5 5l-4.5 5l-4.5 -5z", y - 5.0),
    };
    format!("<path d=\"{path}\" fill=\"{colour}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_point_for_each_value_and_a_line_for_each_series() {
        let line = |name: &str, style| Series { name: name.to_owned(), points: vec![(4.0, 8.0), (64.0, 128.0)], style };
        let series = vec![line("ring", Style::Line), line("2n", Style::Formula), line("a < b", Style::Points)];
        let svg = Plot { title: "t".to_owned(), x: "n", y: "messages", log: (true, true), series }.svg();
        assert_eq!(svg.matches("stroke-dasharray").count(), 2, "the formula and its legend");
        assert_eq!(svg.matches("<path d=\"M").count() - svg.matches("class=\"grid\"").count(), 2 + 3 + 2 + 4);
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>"));
    }

    #[test]
    fn points_alone_are_not_cut_by_the_edges() {
        let series = |points| vec![Series { name: "s".to_owned(), points, style: Style::Points }];
        let points = vec![(12.0, 0.7), (36.0, 128.0)];
        let svg = Plot { log: (true, true), series: series(points), ..Plot::default() }.svg();
        let circles: Vec<f64> = svg
            .split("<path d=\"M")
            .filter(|path| path.contains("a4 4"))
            .filter_map(|path| path.split(' ').next()?.parse().ok())
            .collect();
        assert!(circles.iter().all(|x| *x >= LEFT + 4.0) && circles.len() == 3, "{circles:?}");
    }

    #[test]
    fn an_axis_maps_its_ends_to_its_ends() {
        let linear = Axis::new([2.0, 10.0].into_iter(), false, 0.0, 100.0);
        assert_eq!(
            (linear.at(0.0), linear.at(10.0), linear.ticks()),
            (0.0, 100.0, vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
        );
        let log = Axis::new([1.0, 100.0].into_iter(), true, 100.0, 0.0);
        assert_eq!((log.at(1.0), log.at(10.0).round(), log.at(100.0)), (100.0, 50.0, 0.0));
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!(Axis::new([4.0, 64.0].into_iter(), true, 0.0, 1.0).ticks(), [4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(Axis::new([6.67, 30.0].into_iter(), true, 0.0, 1.0).ticks(), [8.0, 16.0]);
        assert_eq!([short(0.25), short(3.0), short(1_234.5)], ["0.25", "3", "1234"]);
        let empty = Axis::new(std::iter::empty(), false, 0.0, 1.0);
        assert!(empty.at(0.5).is_finite());
    }
}
