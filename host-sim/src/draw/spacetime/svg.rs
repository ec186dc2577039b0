//! A picture as SVG: a line for each node, time to the right.
//!
//! Times are not to scale: simultaneous events are drawn apart, and long pauses are shortened.

use super::{Action, Crossing, Message, Moment, Picture};
use ::svg::Document;
use ::svg::node::element::{
    Circle, Definitions, Group, Line, Marker, Path, Polyline, Rectangle, SVG, Style, Text, Title,
};
use std::cell::RefCell;

/// The styles, for light and dark backgrounds.
const STYLE: &str = include_str!("style.css");

/// The margins.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 98.0;
const BOTTOM: f64 = 92.0;
/// The distance between the nodes' lines.
const LANE: f64 = 72.0;
/// The distance between two events.
const STEP_MIN: f64 = 18.0;
const STEP_MAX: f64 = 52.0;
const STEP_USUAL: f64 = 28.0;
/// The least distance between the times below.
const TICK: f64 = 110.0;
/// The least width: the legend needs it.
const WIDTH_MIN: f64 = 960.0;
const CUT_COLOURS: usize = 4;

/// The class of a message, by its position relative to the cut.
fn class(crossing: Crossing) -> &'static str {
    match crossing {
        Crossing::None => "plain",
        Crossing::Forward => "across",
        Crossing::Missed => "missed",
        Crossing::Backward => "back",
    }
}

fn cut_class(cut: usize) -> String {
    format!("cut{}", cut % CUT_COLOURS + 1)
}

fn text(x: f64, y: f64, class: &str, content: impl Into<String>) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y)).set("class", class)
}

/// A text with a halo, legible over lines.
fn label(x: f64, y: f64, class: &str, content: &str) -> Group {
    Group::new().add(text(x, y, &format!("{class} halo"), content)).add(text(x, y, class, content))
}

/// The width of a character, and the height of a line, of the smallest text.
const CHARACTER: f64 = 6.4;
const HEIGHT: f64 = 12.0;

/// The labels drawn so far, each from left to right and from top to bottom.
#[derive(Default)]
struct Labels(RefCell<Vec<[f64; 4]>>);

impl Labels {
    /// Returns the first of these places, each the centre of the label's lower edge, at which it covers no other; if there is
    /// none, the first.
    fn place(&self, content: &str, places: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
        let width = CHARACTER * content.chars().count() as f64;
        let area = |(x, y): (f64, f64)| [x - width / 2.0, x + width / 2.0, y - HEIGHT, y];
        let covers = |a: &[f64; 4], b: &[f64; 4]| a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];
        let mut taken = self.0.borrow_mut();
        let mut places = places.into_iter().peekable();
        let first = places.peek().copied();
        let place = places.find(|&place| !taken.iter().any(|other| covers(&area(place), other))).or(first)?;
        taken.push(area(place));
        Some(place)
    }
}

fn line(from: (f64, f64), to: (f64, f64), class: &str) -> Line {
    let line = Line::new().set("x1", round(from.0)).set("y1", round(from.1));
    line.set("x2", round(to.0)).set("y2", round(to.1)).set("class", class)
}

/// The height of a node's line.
fn lane(node: u32) -> f64 {
    TOP + LANE * f64::from(node)
}

fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn seconds(at: u64) -> String {
    format!("{:.4} s", at as f64 / 1e6)
}

impl Picture<'_> {
    /// Returns the picture as an SVG document.
    pub(crate) fn svg(&self) -> String {
        Drawing::new(self).document().to_string() + "\n"
    }
}

struct Drawing<'a> {
    picture: &'a Picture<'a>,
    /// The x coordinate of each event shown.
    columns: Vec<f64>,
    labels: Labels,
}

impl<'a> Drawing<'a> {
    fn new(picture: &'a Picture<'a>) -> Self {
        let events = &picture.history.events[picture.window()];
        let mut gaps: Vec<u64> = events.windows(2).map(|pair| pair[1].at - pair[0].at).filter(|gap| *gap > 0).collect();
        gaps.sort_unstable();
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(1) as f64;
        let mut columns = Vec::with_capacity(events.len());
        let mut at = LEFT + 2.0 * STEP_MIN;
        for (index, event) in events.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).map(|before| events[before]) {
                let joined = before.at == event.at && before.node == event.node && event.action == Action::Busy;
                let step = (event.at - before.at) as f64 / usual * STEP_USUAL;
                at += if joined { 0.0 } else { step.clamp(STEP_MIN, STEP_MAX) };
            }
            columns.push(at);
        }
        Self { picture, columns, labels: Labels::default() }
    }

    /// The right end of the nodes' lines.
    fn end(&self) -> f64 {
        self.columns.last().map_or(LEFT, |last| last + 2.0 * STEP_MIN).max(WIDTH_MIN - RIGHT)
    }

    fn bottom(&self) -> f64 {
        lane(self.picture.nodes.saturating_sub(1))
    }

    fn column(&self, order: usize) -> Option<f64> {
        self.columns.get(order.checked_sub(self.picture.earlier)?).copied()
    }

    fn document(&self) -> SVG {
        let (width, height) = (self.end() + RIGHT, self.bottom() + BOTTOM);
        let ground = Rectangle::new().set("width", width).set("height", height).set("rx", 8).set("class", "ground");
        let heads = [Crossing::None, Crossing::Forward, Crossing::Missed, Crossing::Backward].map(|crossing| {
            let shape = Path::new().set("d", "M0,0 L10,4 L0,8 z").set("class", format!("head {}", class(crossing)));
            let marker = Marker::new().set("id", format!("head-{}", class(crossing))).set("viewBox", "0 0 10 8");
            let marker = marker.set("refX", 10).set("refY", 4).set("markerWidth", 10).set("markerHeight", 8);
            marker.set("markerUnits", "userSpaceOnUse").set("orient", "auto").add(shape)
        });
        let heads = heads.into_iter().fold(Definitions::new(), Definitions::add);
        let cuts = self.cuts(); // their labels have their places, messages' find theirs
        let document = Document::new().set("viewBox", format!("0 0 {} {}", round(width), round(height)));
        document
            .set("width", round(width))
            .set("height", round(height))
            .set("role", "img")
            .add(Title::new(self.picture.title.clone()))
            .add(Style::new(STYLE))
            .add(heads)
            .add(ground)
            .add(text(LEFT - 60.0, 32.0, "title", self.picture.title.clone()))
            .add(self.nodes())
            .add(self.busy_spans())
            .add(self.marks())
            .add(cuts)
            .add(self.messages())
            .add(self.times())
            .add(self.legend())
    }

    fn nodes(&self) -> Group {
        (0..self.picture.nodes).fold(Group::new(), |group, node| {
            let y = lane(node);
            let name = text(LEFT - 14.0, y + 5.0, "name", format!("node {node}"));
            group.add(line((LEFT, y), (self.end(), y), "node")).add(name)
        })
    }

    /// The times when nodes were busy.
    fn busy_spans(&self) -> Group {
        let mut group = Group::new();
        if self.picture.cut.is_some() {
            return group; // in a bank all nodes are always busy
        }
        for node in 0..self.picture.nodes {
            let mut since = None;
            for (order, event) in self.picture.history.events.iter().enumerate() {
                let x = self.column(order).unwrap_or(if order < self.picture.earlier { LEFT } else { self.end() });
                match event.action {
                    Action::Busy if event.node == node => since = Some(x),
                    Action::Idle if event.node == node => {
                        group = group.add(Self::busy_span(node, since.take(), x));
                    }
                    _ => {}
                }
            }
            if since.is_some() {
                group = group.add(Self::busy_span(node, since, self.end()));
            }
        }
        group
    }

    fn busy_span(node: u32, since: Option<f64>, until: f64) -> Line {
        let y = lane(node);
        line((since.unwrap_or(LEFT), y), (until, y), "busy")
    }

    /// Waves, the end of the job, and the nodes that know of it.
    fn marks(&self) -> Group {
        let mut group = Group::new();
        let through = |x: f64, class: &str| line((x, TOP - 18.0), (x, self.bottom() + 14.0), class);
        for order in self.picture.window() {
            let event = self.picture.history.events[order];
            let Some(x) = self.column(order) else { continue };
            match event.action {
                Action::Wave(number) => {
                    let name = format!("wave {number}");
                    let high = self.labels.place(&name, [24.0, 38.0, 12.0].map(|up| (x, TOP - up)));
                    let (x_name, y_name) = high.unwrap_or((x, TOP - 24.0));
                    let name = text(x_name, y_name, "small middle", name);
                    let dot = Circle::new().set("cx", round(x)).set("cy", lane(event.node)).set("r", 3);
                    group = group.add(through(x, "wave")).add(name).add(dot.set("class", "wave"));
                }
                Action::Terminated => {
                    let y = lane(event.node);
                    let sign = Rectangle::new().set("x", round(x - 6.0)).set("y", y - 6.0).set("width", 12);
                    let title = Title::new(format!("node {} knows at {}", event.node, seconds(event.at)));
                    group = group.add(sign.set("height", 12).set("class", "over").add(title));
                    if self.picture.history.announced().is_some_and(|(_, first)| first.order == order) {
                        let _ = self.labels.place("TERMINATE", [(x, y - 12.0)]);
                        group = group.add(label(x, y - 12.0, "small middle", "TERMINATE"));
                    }
                }
                Action::Start(units) => {
                    let name = format!("{units} units");
                    group = group.add(label(x, lane(event.node) - 12.0, "small", &name));
                }
                _ => {} // drawn by other functions
            }
        }
        let is_job = self.picture.rows.contains(&super::Row::End);
        if let Some((end, x)) = self.picture.history.ended.and_then(|end| Some((end, self.column(end.order)?)))
            && is_job
        {
            let name = format!("the true end, {}", seconds(end.at));
            let name = text(x, TOP - 52.0, "middle", name);
            group = group.add(through(x, "end")).add(name);
        }
        group
    }

    fn messages(&self) -> Group {
        let drawn = self.picture.history.messages.iter().filter_map(|message| self.message(message));
        drawn.fold(Group::new(), Group::add)
    }

    /// A message, if an end of it is shown. One with only one end shown is drawn half the way.
    fn message(&self, message: &Message) -> Option<Group> {
        let x = |moment: Option<Moment>| moment.and_then(|moment| self.column(moment.order));
        let (sent, received) = (x(message.sent), x(message.received));
        if (sent.is_none() && received.is_none())
            || message.from >= self.picture.nodes
            || message.to >= self.picture.nodes
        {
            return None;
        }
        let (from, to) = (lane(message.from), lane(message.to));
        let half = f64::midpoint(from, to);
        let start = sent.map_or((LEFT, half), |x| (x, from));
        let end = received.map_or((self.end(), half), |x| (x, to));
        let crossing = self.picture.crossing(message);
        let mut arrow = line(start, end, &format!("message {}", class(crossing)));
        if received.is_some() {
            arrow = arrow.set("marker-end", format!("url(#head-{})", class(crossing)));
        }
        let when = |moment: Option<Moment>| moment.map_or("never".to_owned(), |moment| seconds(moment.at));
        let title = format!(
            "{} from node {} to node {}, sent {}, received {}",
            message.amount,
            message.from,
            message.to,
            when(message.sent),
            when(message.received)
        );
        let parts = if sent.is_some() { [0.3, 0.4, 0.5, 0.2, 0.6, 0.7] } else { [0.6, 0.5, 0.7, 0.4, 0.8, 0.3] };
        let along = |part: f64| (start.0 + (end.0 - start.0) * part, start.1 + (end.1 - start.1) * part + 4.0);
        let amount = message.amount.to_string();
        let at = self.labels.place(&amount, parts.map(along)).unwrap_or(along(parts[0]));
        let amount = label(at.0, at.1, "small middle", &amount);
        Some(Group::new().add(Title::new(title)).add(arrow).add(amount))
    }

    /// The cuts, each a line through the points where it passes the nodes.
    fn cuts(&self) -> Group {
        let mut group = Group::new();
        for (number, cut) in self.picture.history.cuts.iter().enumerate() {
            let points: Vec<(u32, f64, u32)> = cut
                .records
                .iter()
                .filter_map(|(&node, &(moment, amount))| Some((node, self.column(moment.order)?, amount)))
                .collect();
            let (Some(&(_, first, _)), Some(&(_, last, _))) = (points.first(), points.last()) else { continue };
            let middle = points.iter().map(|&(node, x, _)| (x, lane(node)));
            let ends = [(first, TOP - 30.0)].into_iter().chain(middle).chain([(last, self.bottom() + 26.0)]);
            let corners: Vec<String> = ends.map(|(x, y)| format!("{},{}", round(x), round(y))).collect();
            let class = cut_class(number);
            let line = Polyline::new().set("points", corners.join(" ")).set("class", format!("cut {class}"));
            group = group.add(line);
            for (node, x, amount) in points {
                let dot = Circle::new().set("cx", round(x)).set("cy", lane(node)).set("r", 6);
                let title = Title::new(format!("node {node} has {amount} here"));
                group = group.add(dot.set("class", format!("record {class}")).add(title));
                let amount = amount.to_string();
                let middle = x + 9.0 + CHARACTER * amount.len() as f64 / 2.0;
                let _ = self.labels.place(&amount, [(middle, lane(node) - 9.0)]);
                group = group.add(label(x + 9.0, lane(node) - 9.0, "state", &amount));
            }
        }
        group
    }

    fn times(&self) -> Group {
        let mut group = Group::new();
        let mut free = LEFT;
        for (order, event) in self.picture.window().zip(&self.picture.history.events[self.picture.window()]) {
            let Some(x) = self.column(order).filter(|x| *x >= free) else { continue };
            free = x + TICK;
            let y = self.bottom() + 30.0;
            group = group.add(line((x, y - 8.0), (x, y), "node"));
            group = group.add(text(x, y + 13.0, "small middle", seconds(event.at)));
        }
        group
    }

    fn legend(&self) -> Group {
        let mut entries: Vec<(String, String)> = Vec::new();
        let mut explain = |class: &str, words: &str| entries.push((class.to_owned(), words.to_owned()));
        if let Some(cut) = self.picture.main_cut() {
            let cuts = &self.picture.history.cuts;
            for (number, cut) in cuts.iter().enumerate() {
                let class = format!("cut {}", cut_class(number));
                let name = if cuts.len() == 1 { "the cut".to_owned() } else { format!("cut {}", number + 1) };
                explain(&class, &format!("{name}, begun by node {}", cut.id.initiator.0));
            }
            let first = if cuts.len() == 1 { "it" } else { "cut 1" };
            explain("message across", &format!("in flight across {first}"));
            let any = |crossing| self.picture.history.messages.iter().any(|message| cut.crossing(message) == crossing);
            if any(Crossing::Missed) {
                explain("message missed", "in flight and not in the snapshot: its marker overtook it");
            }
            if any(Crossing::Backward) {
                explain("message back", &format!("received before {first}, sent after it"));
            }
        } else {
            explain("busy", "busy");
            if self.picture.history.events.iter().any(|event| matches!(event.action, Action::Wave(_))) {
                explain("wave", "a wave queries all nodes");
            }
            explain("end", "the true end");
        }
        explain("", "Times are not to scale.");
        explain("", &self.picture.omitted().unwrap_or_default());
        let y = self.bottom() + 70.0;
        let mut x = LEFT;
        let mut group = Group::new();
        for (class, words) in &entries {
            if !class.is_empty() {
                group = group.add(line((x, y - 4.0), (x + 26.0, y - 4.0), class));
                x += 32.0;
            }
            group = group.add(text(x, y, "small", words.as_str()));
            x += 20.0 + 5.8 * words.len() as f64;
        }
        group
    }
}

#[cfg(test)]
mod tests;
