//! Reports: what scenarios and comparisons measured, as plots in one page and as comma-separated values.

mod plot;
mod source;

pub(crate) use source::{Source, read};

use plot::{Plot, Series, Style, escaped};
use source::{Row, SeededRun};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Returns the page: one file that needs no other.
pub(crate) fn page(sources: &[Source]) -> String {
    let mut body = String::new();
    for source in sources {
        let (title, about) = source.title();
        let _ = write!(body, "<h2>{}</h2><p>{}</p>", escaped(title), escaped(about));
        body.extend(plots(source, OneSize::Bars).iter().map(figure));
    }
    if let Some(plot) = failover_against_frames(sources) {
        let _ = write!(body, "<h2>Failover against frames</h2>{}<p>{PEERS_NOTE}</p>", figure(&plot));
        for name in without_calm(sources) {
            let _ = write!(
                body,
                "<p>{} is not in the plot: its network was calm for less than ten seconds.</p>",
                escaped(name)
            );
        }
    }
    format!("{HEAD}{body}\n</body>\n</html>\n")
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Conclave: a report</title>\n<style>\n\
:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 1rem auto; padding: 0 1rem; }\n\
svg { width: 100%; height: auto; } .grid { stroke: currentColor; stroke-opacity: .15; } figure { margin: 1rem 0; }\n\
figcaption { font-weight: 600; }\n</style>\n</head>\n<body>\n<h1>Conclave: a report</h1>\n";

fn figure(plot: &Plot) -> String {
    format!("<figure><figcaption>{}</figcaption>{}</figure>\n", escaped(&plot.title), plot.svg())
}

/// Returns every point of every plot, as comma-separated values.
pub(crate) fn csv(sources: &[Source]) -> String {
    let mut lines = String::from("source,plot,series,x,y\n");
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut add = |source: &str, plot: &Plot| {
        for series in &plot.series {
            for (x, y) in &series.points {
                let (source, title, name) = (quoted(source), quoted(&plot.title), quoted(&series.name));
                let _ = writeln!(lines, "{source},{title},{name},{x},{y}");
            }
        }
    };
    for source in sources {
        for plot in &plots(source, OneSize::Points) {
            add(source.title().0, plot);
        }
    }
    if let Some(plot) = failover_against_frames(sources) {
        add("all", &plot);
    }
    lines
}

/// How a comparison at one number of nodes is plotted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OneSize {
    /// A bar for each algorithm, for people.
    Bars,
    /// As at many numbers, for programs.
    Points,
}

fn plots(source: &Source, one_size: OneSize) -> Vec<Plot> {
    match source {
        Source::Run(run) => run_plots(run),
        Source::Comparison { rows, .. } => comparison_plots(rows, one_size),
    }
}

/// Plots how times are distributed over the seeds, and what the frames are.
fn run_plots(run: &SeededRun) -> Vec<Plot> {
    let times = run.measures.iter().filter_map(|(name, measure)| {
        let name = name.strip_suffix("_us")?;
        let points: Vec<_> = measure.shares().map(|(value, share)| (value / 1e6, share * 100.0)).collect();
        Some(Series { name: name.replace('_', " "), points, style: Style::Steps })
            .filter(|series| !series.points.is_empty())
    });
    let times = Plot {
        title: format!("Times over {} seeds: share of runs that took at most so long", run.seeds),
        x: "seconds",
        y: "% of the measured times",
        series: times.collect(),
        ..Plot::default()
    };
    let sent = run.frames.iter().filter(|(_, frames)| **frames > 0.0);
    let frames = (1..).zip(sent).map(|(place, (kind, &frames))| bar(format!("{kind}: {frames:.0}"), place, frames));
    let frames =
        Plot { title: "Frames in a run, by kind".to_owned(), y: "frames", series: frames.collect(), ..Plot::default() };
    [times, frames].into_iter().filter(|plot| !plot.series.is_empty()).collect()
}

/// Plots messages and time against the number of nodes, with the formulas beside, one plot for each case.
fn comparison_plots(rows: &[Row], one_size: OneSize) -> Vec<Plot> {
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    cases.dedup();
    cases.sort_unstable();
    cases.dedup();
    let mut plots = Vec::new();
    for case in cases {
        let mut algorithms: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.case == case) {
            algorithms.entry(&row.algorithm).or_default().push(row);
        }
        if let ([nodes], OneSize::Bars) = (&sizes(rows)[..], one_size) {
            plots.extend(bars_of_one_size(case, *nodes, &algorithms));
            continue;
        }
        let points = |rows: &[&Row], of: fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
            rows.iter().filter_map(|row| Some((row.nodes, of(row)?))).collect()
        };
        let mut messages = Vec::new();
        for (&name, rows) in &algorithms {
            let measured =
                Series { name: name.to_owned(), points: points(rows, |row| Some(row.messages)), style: Style::Line };
            let formula = Series {
                name: format!("{name}, formula"),
                points: points(rows, |row| row.formula),
                style: Style::Formula,
            };
            messages.extend([measured, formula].into_iter().filter(|series| !series.points.is_empty()));
        }
        let times = algorithms.iter().map(|(&name, rows)| {
            let points = points(rows, |row| row.time);
            Series { name: name.to_owned(), points, style: Style::Line }
        });
        let times: Vec<_> = times.filter(|series| !series.points.is_empty()).collect();
        let plot = |title: String, y, log, series| Plot { title, x: "nodes", y, log, series };
        plots.push(plot(format!("Messages, case {case}"), "messages", (true, true), messages));
        plots.push(plot(format!("Time, case {case}"), "seconds", (true, false), times));
    }
    plots.retain(|plot| !plot.series.is_empty());
    plots
}

/// The numbers of nodes in a comparison, each once.
fn sizes(rows: &[Row]) -> Vec<f64> {
    let mut sizes: Vec<f64> = rows.iter().map(|row| row.nodes).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    sizes
}

/// Plots messages and time of one case where there is one number of nodes: a bar for each algorithm.
fn bars_of_one_size(case: &str, nodes: f64, algorithms: &BTreeMap<&str, Vec<&Row>>) -> [Plot; 2] {
    let bars = |of: fn(&Row) -> Option<f64>, label: fn(&Row) -> String| -> Vec<Series> {
        let rows = algorithms.iter().filter_map(|(name, rows)| rows.first().map(|row| (name, *row)));
        let measured = rows.filter_map(|(name, row)| Some((format!("{name}: {}", label(row)), of(row)?)));
        let placed = (1..).zip(measured);
        placed.map(|(place, (name, value))| bar(name, place, value)).collect()
    };
    let messages = bars(
        |row| Some(row.messages),
        |row| {
            let formula = row.formula.map_or_else(String::new, |formula| format!(" ({formula:.1})"));
            format!("{:.1}{formula}", row.messages)
        },
    );
    let times = bars(|row| row.time, |row| format!("{:.0} ms", row.time.unwrap_or(0.0) * 1e3));
    let plot = |title, y, series| Plot { title, y, series, ..Plot::default() };
    [
        plot(format!("Messages (formula), case {case}, {nodes} nodes"), "messages", messages),
        plot(format!("Time, case {case}, {nodes} nodes"), "seconds", times),
    ]
}

/// A series of one bar.
fn bar(name: String, place: u32, value: f64) -> Series {
    Series { name, points: vec![(f64::from(place), value)], style: Style::Bars }
}

/// What others take for the next leader: frames a node and minute, seconds. These are notes, which no command prints again.
const PEERS: [(&str, &[(f64, f64)]); 1] = [("OpenThread (from notes)", &[(12.0, 124.0), (12.0, 128.0)])];

/// Where the points of [`PEERS`] come from.
const PEERS_NOTE: &str = "The points of OpenThread are from notes, not from a command: two runs of five nodes with its \
    default timeout of 120 s, whose leader was switched off, and 11 to 13 frames a node and minute before that.";

/// Plots, for the scenarios that lose a leader, how long the next took against what a calm network sends.
fn failover_against_frames(sources: &[Source]) -> Option<Plot> {
    let point = |source: &Source| {
        let Source::Run(run) = source else { return None };
        let median = |name: &str| run.measures.get(name).filter(|measure| measure.count > 0).map(|measure| measure.p50);
        let (failover, frames) = (median("failover_us")?, median("calm_frames")?);
        Some(Series { name: run.name.clone(), points: vec![(frames, failover / 1e6)], style: Style::Points })
    };
    let own: Vec<_> = sources.iter().filter_map(point).collect();
    let peers = PEERS.iter().map(|(name, points)| Series {
        name: (*name).to_owned(),
        points: points.to_vec(),
        style: Style::Points,
    });
    (!own.is_empty()).then(|| Plot {
        title: "Medians: seconds to the next leader against frames of a node in a calm minute".to_owned(),
        x: "frames a node and minute",
        y: "seconds",
        log: (true, true),
        series: own.into_iter().chain(peers).collect(),
    })
}

/// Scenarios that lose a leader, and are never calm for long enough to count frames.
fn without_calm(sources: &[Source]) -> impl Iterator<Item = &str> {
    let counted = |run: &SeededRun, name: &str| run.measures.get(name).is_some_and(|measure| measure.count > 0);
    sources.iter().filter_map(move |source| {
        let Source::Run(run) = source else { return None };
        (counted(run, "failover_us") && !counted(run, "calm_frames")).then_some(run.name.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_at_one_size_is_bars_beside_each_other_and_one_of_many_is_lines() {
        let row = |algorithm: &str, nodes, formula| Row {
            algorithm: algorithm.to_owned(),
            nodes,
            case: "worst".to_owned(),
            messages: 12.0,
            formula,
            time: Some(0.5),
        };
        let one = [row("bully", 8.0, Some(12.0)), row("ring", 8.0, None)];
        let plots = comparison_plots(&one, OneSize::Bars);
        let names = |plot: &Plot| plot.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&plots[0]), ["bully: 12.0 (12.0)", "ring: 12.0"]);
        assert_eq!(names(&plots[1]), ["bully: 500 ms", "ring: 500 ms"]);
        assert!(plots.iter().all(|plot| plot.title.ends_with(", 8 nodes") && plot.x.is_empty()));
        assert!(plots.iter().flat_map(|plot| &plot.series).all(|series| series.style == Style::Bars));
        let many = comparison_plots(&[row("bully", 8.0, None), row("bully", 16.0, None)], OneSize::Bars);
        assert_eq!((many[0].x, many[0].series[0].style), ("nodes", Style::Line));
        let values = comparison_plots(&one, OneSize::Points);
        assert_eq!(values[0].series[0].points, [(8.0, 12.0)], "values keep the number of nodes");
    }

    #[test]
    fn a_scenario_that_is_never_calm_is_named_below_the_plot() {
        let report = |name: &str, calm: u32| {
            format!(
                r#"{{"scenario":"{name}","about":"a","seeds":1,"frames":{{}},"measures":{{
                "failover_us":{{"count":1,"p50":4e6,"p99":4e6,"p999":4e6,"max":4e6}},
                "calm_frames":{{"count":{calm},"p50":9,"p99":9,"p999":9,"max":9}}}}}}"#
            )
        };
        let sources = [("calm", 1), ("busy", 0)].map(|(name, calm)| source::of_json("x", &report(name, calm)).unwrap());
        let page = page(&sources);
        assert!(page.contains("<p>busy is not in the plot") && !page.contains("<p>calm is not"), "{page}");
    }

    #[test]
    fn a_point_that_no_command_prints_is_labelled_as_a_note() {
        let report = r#"{"scenario":"s","about":"a","seeds":1,"frames":{},"measures":{
            "failover_us":{"count":1,"p50":4e6,"p99":4e6,"p999":4e6,"max":4e6},
            "calm_frames":{"count":1,"p50":9,"p99":9,"p999":9,"max":9}}}"#;
        let sources = [source::of_json("s.json", report).unwrap()];
        let page = page(&sources);
        assert!(page.contains(">OpenThread (from notes)</text>") && page.contains(PEERS_NOTE), "{page}");
        assert_eq!(csv(&sources).lines().filter(|line| line.contains("\"OpenThread (from notes)\"")).count(), 2);
    }
}
