//! `conclave serve`, and the page in a real browser.

use crate::browser::{Browser, program};
use crate::emulator::{Share, image};
use crate::support::file;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of the page, ended with its owner.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts it; `None`, and a loud line, where the page cannot be compiled on this machine.
    pub(crate) fn start(more: &[&str]) -> Option<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_conclave"))
            .args(["serve", "--port", "0"])
            .args(more)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if let Some((address, _)) = line.split_once(" has ") {
            return Some(Self { child, address: address.to_owned() });
        }
        let errors = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert!(errors.contains("is missing; run this and try again"), "{errors}");
        eprintln!("THE PAGE WAS NOT TESTED: {errors}");
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends its boards.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Keeps a picture of the page, where `CONCLAVE_SCREENSHOTS` names a folder for them.
pub(crate) fn picture(browser: &mut Browser, name: &str) {
    if let Some(folder) = std::env::var_os("CONCLAVE_SCREENSHOTS") {
        let picture = decoded(&browser.screenshot());
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), picture).unwrap();
    }
}

/// Decodes base64.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|letter| LETTERS.iter().position(|known| *known == letter)) {
        (bits, count) = (bits << 6 | u32::try_from(digit).unwrap(), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff).try_into().unwrap());
        }
    }
    bytes
}

/// The place of a node in the window.
pub(crate) fn place(browser: &mut Browser, node: u64) -> [f64; 2] {
    let place = browser.value(&format!(
        "(() => {{ const canvas = document.getElementById('network'); canvas.scrollIntoView({{ block: 'center' }});
         const box = canvas.getBoundingClientRect(), [x, y] = conclave.pixel({node}); return [box.x + x, box.y + y]; }})()"
    ));
    [place[0].as_f64().unwrap(), place[1].as_f64().unwrap()]
}

pub(crate) fn set(browser: &mut Browser, id: &str, value: &str) {
    browser.value(&format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = '{value}';
         field.dispatchEvent(new Event('change')); }})()"
    ));
}

/// Plays until a condition holds, and pauses at once: the page looks after every picture, however slow the machine is,
/// and from before the click that lets it play.
pub(crate) fn play_until(browser: &mut Browser, condition: &str) {
    browser.value(&format!(
        "window.held = null; window.played = false;
         (function look() {{
           played ||= conclave.run.playing;
           if (played && ({condition})) {{ conclave.play(false); held = true; }}
           else if (played && !conclave.run.playing) held = false;
           else requestAnimationFrame(look);
         }})(), null"
    ));
    browser.click("#play");
    browser.wait_for("held !== null");
    assert_eq!(browser.value("held"), true, "{condition}: not before the end of the run; {:?}", browser.complaints);
}

/// Gives the page a file, as its reader would.
pub(crate) fn drop_file(browser: &mut Browser, name: &str, text: &str) {
    browser.value(&format!(
        "(() => {{ const files = new DataTransfer(); files.items.add(new File([{}], '{name}'));
         const field = document.getElementById('file'); field.files = files.files;
         field.dispatchEvent(new Event('change')); }})()",
        serde_json::Value::from(text)
    ));
}

pub(crate) const ONE_LEADS: &str = "conclave.run.state.agrees && conclave.run.state.leaders.length === 1";

#[test]
fn the_page_shows_an_election_is_broken_by_hand_and_replays_natively() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: THE PAGE WAS NOT TESTED. Install it with `apt install chromium`.");
        return;
    };
    let Some(server) = Server::start(&[]) else { return };
    let mut browser = Browser::start(program);
    browser.open(&format!("{}#s=grid64-cold-start&seed=2&t=0", server.address));

    // A leader appears, is crashed by a click, and the next one appears.
    set(&mut browser, "speed", "3");
    play_until(&mut browser, ONE_LEADS);
    let leader = browser.value("conclave.run.state.leaders[0]").as_u64().unwrap();
    picture(&mut browser, "page-leader");
    let there = place(&mut browser, leader);
    browser.drag(&[there]);
    assert_eq!(browser.value("document.getElementById('node-name').textContent"), leader.to_string());
    browser.click("[data-act=crash]");
    assert_eq!(browser.value(&format!("conclave.run.state.nodes[{leader}][2]")), 0, "it is down");
    play_until(&mut browser, &format!("{ONE_LEADS} && conclave.run.state.leaders[0] !== {leader}"));

    // A node is dragged out of range.
    (0..3).for_each(|_| browser.click("#zoom-out"));
    let from = place(&mut browser, 7);
    let to = [from[0] + 150.0, from[1] - 40.0];
    browser.drag(&[from, [from[0] + 60.0, from[1]], to]);
    let reached = browser.value("conclave.run.links.filter(([from, to]) => from === 7 || to === 7).length");
    assert_eq!(reached, 0, "nobody is in range of it");

    // A partition is drawn around the left half, and healed.
    browser.click("[data-tool=partition]");
    let (first, last) = (place(&mut browser, 0), place(&mut browser, 59));
    let (left, right) = (first[0] - 20.0, last[0] + (place(&mut browser, 60)[0] - last[0]) / 2.0);
    let (top, bottom) = (first[1] - 20.0, last[1] + 20.0);
    browser.drag(&[[left, top], [right, top], [right, bottom], [left, bottom]]);
    assert_eq!(browser.value("/partition/.test(conclave.run.acts.at(-1).fault)"), true);
    // The node that was carried away leads itself.
    let of_sides = |sides: u32| {
        format!("conclave.run.state.agrees && conclave.run.state.leaders.filter((id) => id !== 7).length === {sides}")
    };
    play_until(&mut browser, &of_sides(2));
    browser.value("window.scrollTo(0, 0)");
    picture(&mut browser, "page-partition");
    browser.click("#heal");
    play_until(&mut browser, &of_sides(1));

    // The link opens the same run at the same moment.
    let [now, hash] = ["conclave.run.state.now", "conclave.run.state.hash"].map(|field| browser.value(field));
    browser.click("#link");
    browser.wait_for("location.hash.length > 40");
    let link = browser.value("location.href").as_str().unwrap().to_owned();
    browser.open(&link);
    assert_eq!(browser.value("conclave.run.state.now"), now);
    assert_eq!(browser.value("conclave.run.state.hash"), hash);
    assert_eq!(browser.value("conclave.run.playing"), false);

    // Back in time and forth again is the same run.
    browser.click("#back");
    browser.wait_for("conclave.settled()");
    assert_ne!(browser.value("conclave.run.state.hash"), hash);
    browser.value(&format!("conclave.seek({now})"));
    browser.wait_for("conclave.settled()");
    assert_eq!(browser.value("conclave.run.state.hash"), hash);

    // The saved scenario replays natively to the hash of the end.
    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    let saved = file("saved-by-the-page.toml");
    std::fs::write(&saved, browser.value("conclave.savedText()").as_str().unwrap()).unwrap();
    let (_, report, _) = crate::support::conclave(&["run", saved.to_str().unwrap(), "--seed", "2", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["trace_hash"], browser.value("conclave.run.state.hash"));

    assert_eq!(browser.complaints, Vec::<String>::new());
    let elsewhere =
        "performance.getEntriesByType('resource').filter((entry) => !entry.name.startsWith(location.origin)).length";
    assert_eq!(browser.value(elsewhere), 0, "no request to another host");
}

#[test]
fn an_address_that_cannot_be_had_is_refused_before_anything_is_built() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refusal = crate::support::refused(&["serve", "--no-open", "--port", &port]);
    assert_eq!(refusal, format!("127.0.0.1:{port} is in use: choose another --port, or 0 for any that is free\n"));
    let refusal = crate::support::refused(&["serve", "--no-open", "--listen", "192.0.2.1"]);
    assert_eq!(refusal, "192.0.2.1 is no address of this machine\n");
}

#[test]
fn every_lesson_runs_through() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: THE LESSONS WERE NOT TESTED. Install it with `apt install chromium`.");
        return;
    };
    let Some(server) = Server::start(&[]) else { return };
    let mut browser = Browser::start(program);
    browser.open(&server.address);
    let lessons = browser.value("document.getElementById('lesson').options.length - 1").as_u64().unwrap();
    assert_eq!(lessons, 6);
    let mut captions = Vec::new();
    for lesson in 0..lessons {
        set(&mut browser, "lesson", &lesson.to_string());
        for step in 0.. {
            browser.wait_for("!document.getElementById('caption').hidden");
            captions.push(browser.value("document.getElementById('caption-text').textContent").to_string());
            if let (0, 1) | (4, 2) | (5, 3) = (lesson, step) {
                if lesson == 5 {
                    browser.value("document.getElementById('spacetime').scrollIntoView({ block: 'end' })");
                }
                picture(&mut browser, &format!("lesson-{}", lesson + 1));
            }
            browser.click("#caption-next");
            if browser.value("conclave.lesson() === null") == true {
                break;
            }
            // Faster than it is read.
            browser.value("conclave.run.speed = 20");
        }
        assert_eq!(browser.value("document.getElementById('problem').textContent"), "");
    }

    // The sleeper's write is refused, and messages cross the cut: what a lesson shows does not depend on the machine.
    assert!(captions.iter().any(|caption| caption.contains("A late write of node")), "{captions:?}");
    let sum = captions.iter().find_map(|caption| caption.split_once("The recorded states hold ")).map(|(_, sum)| sum);
    let numbers = sum.unwrap_or_default().split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    let numbers: Vec<u32> = numbers.take(3).collect();
    let [recorded, 400, crossed] = numbers[..] else { panic!("{captions:?}") };
    assert!(crossed > 0 && recorded + crossed == 400, "{captions:?}");

    // A lesson whose run ends early comes to its end all the same.
    set(&mut browser, "lesson", "1");
    browser.click("#caption-next");
    browser.value("conclave.seek(conclave.run.about.duration - 1000); conclave.play(true)");
    for _ in 0..3 {
        browser.wait_for("!document.getElementById('caption').hidden");
        browser.click("#caption-next");
    }
    assert_eq!(browser.value("conclave.lesson()"), serde_json::Value::Null);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn recordings_keys_votes_and_small_dark_windows() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: THE PAGE WAS NOT TESTED. Install it with `apt install chromium`.");
        return;
    };
    let Some(server) = Server::start(&[]) else { return };
    let mut browser = Browser::start(program);
    browser.open(&server.address);

    // A trace plays to the leader that the run ended with; other files are refused in a sentence.
    let trace = file("played-by-the-page.jsonl");
    let (_, report, _) =
        crate::support::conclave(&["run", "demo", "--seed", "1", "--trace", trace.to_str().unwrap(), "--json"]);
    let frames = serde_json::from_str::<serde_json::Value>(&report).unwrap()["frames"]["report"].as_f64();
    drop_file(&mut browser, "demo.jsonl", &std::fs::read_to_string(trace).unwrap());
    browser.wait_for("conclave.run.about.name === 'demo.jsonl'");
    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    assert_eq!(browser.value(ONE_LEADS), true);
    assert_eq!(browser.value("conclave.run.state.sent[conclave.run.state.kinds.indexOf('report')]").as_f64(), frames);
    browser.click("#crash-leader");
    assert_eq!(browser.value("/a recording/.test(document.getElementById('problem').textContent)"), true);
    for (name, text, sentence) in
        [("x.jsonl", "{}", "x.jsonl:1: this line is no event"), ("x.toml", "nodes = 3", "the key \"name\" is missing")]
    {
        drop_file(&mut browser, name, text);
        browser.wait_for(&format!("document.getElementById('problem').textContent.includes({sentence:?})"));
    }

    // A node is selected, crashed, rebooted, paused and carried with keys alone.
    browser.open(&format!("{}#s=demo&seed=1&t=5000000", server.address));
    browser.value("document.getElementById('network').focus()");
    let power = "conclave.run.state.nodes[Number(document.getElementById('node-name').textContent)][2]";
    for (key, expected) in [("ArrowRight", 1), ("k", 0), ("r", 1), ("p", 2), ("p", 1)] {
        browser.key(key);
        assert_eq!(browser.value(power), expected, "{key}");
    }
    browser.key(" ");
    assert_eq!(browser.value("conclave.run.playing"), true);
    browser.key(" ");

    // Votes, waves and clusters are shown.
    browser.open(&format!("{}#s=lock-storm&seed=1&t=9000000", server.address));
    assert_eq!(browser.value("conclave.run.state.voting"), serde_json::Value::Null);
    set(&mut browser, "mutex", "maekawa");
    browser.wait_for("conclave.settled() && conclave.run.state.voting !== null");
    let meet =
        "conclave.run.state.voting.every((one, _, all) => all.every((other) => one.some((id) => other.includes(id))))";
    assert_eq!(browser.value(meet), true, "any two sets have a member in common");
    browser.value("document.getElementById('voting').open = true; conclave.select(0)");
    assert_eq!(browser.value("document.querySelectorAll('#voting-list li').length"), 5);
    assert_eq!(
        browser.value("/node \\d leads \\d of 5/.test(document.getElementById('clusters-list').textContent)"),
        true
    );
    picture(&mut browser, "page-votes");
    browser.open(&format!("{}#s=terminate-demo&seed=1&t=0", server.address));
    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    for word in ["busy", "idle", "wave", "terminated"] {
        assert_eq!(
            browser.value(&format!("conclave.run.state.app.some((mark) => mark[2] === '{word}')")),
            true,
            "{word}"
        );
    }
    browser.value("document.getElementById('spacetime').scrollIntoView({ block: 'end' })");
    picture(&mut browser, "page-waves");

    // Every shipped scenario opens; a small window has no sideways scroll; the dark page is dark.
    let opened = browser.value(
        "conclave.ask({ ask: 'catalogue' }).scenarios.filter((entry) => entry.nodes <= 1000).map((entry) =>
         conclave.ask({ ask: 'open', text: entry.text, seed: 0 }).name === entry.name).every(Boolean)",
    );
    assert_eq!(opened, true);
    browser.open(&format!("{}#s=demo&seed=1&t=20000000", server.address));
    browser.size(360, 740);
    browser.wait_for("innerWidth === 360 && document.scrollingElement.scrollWidth <= 360");
    picture(&mut browser, "page-small");
    browser.size(1_280, 900);
    browser.prefer("prefers-color-scheme", "dark");
    browser.wait_for("getComputedStyle(document.body).backgroundColor === 'rgb(22, 24, 27)'");
    browser.open(&format!("{}#s=demo&seed=1&t=30000000", server.address));
    picture(&mut browser, "page-dark");
    // Every kind of frame stands out from a light and from a dark ground, by the contrast that graphics need.
    let faint = browser.value(
        "(async () => {
           const { STYLES } = await import('./kinds.js');
           const light = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
             .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
             .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0.05);
           const contrast = (one, other) => Math.max(light(one) / light(other), light(other) / light(one));
           return Object.values(STYLES).filter(({ colour }) =>
             ['#ffffff', '#1a1d21'].some((ground) => contrast(colour, ground) < 3)).map(({ name, colour }) => `${name} ${colour}`);
         })()",
    );
    assert_eq!(faint, serde_json::json!([]));
    browser.prefer("prefers-reduced-motion", "reduce");
    browser.open(&server.address);
    assert_eq!(browser.value("conclave.run.playing"), false, "nothing moves by itself");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_swarm_is_followed_and_broken_by_those_who_know_its_token() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: NO SWARM WAS FOLLOWED. Install it with `apt install chromium`.");
        return;
    };
    if image().is_none() {
        return;
    }
    let _share = Share::take(1);
    let Some(server) = Server::start(&["--swarm", "--nodes", "4", "--desktops", "3"]) else { return };
    let mut browser = Browser::start(program);
    browser.open(&server.address);
    browser.wait_for(ONE_LEADS);
    let leader = browser.value("conclave.run.state.leaders[0]").as_u64().unwrap();
    // Not by its place: what boards do while this runs may move it.
    browser.value("document.getElementById('crash-leader').click()");
    browser.wait_for(&format!("{ONE_LEADS} && conclave.run.state.leaders[0] !== {leader}"));
    assert_eq!(browser.value(&format!("conclave.run.state.nodes[{leader}][2]")), 0, "it is down");

    // The only board logs what it does.
    browser.value("conclave.select(0)");
    browser.wait_for("document.getElementById('node-log').textContent.includes('this is board 0')");
    browser.value("window.scrollTo(0, 0)");
    let shown = "Number.parseFloat(document.getElementById('duration').textContent)";
    browser.wait_for(&format!("{shown} >= Math.floor(conclave.run.state.now / 1e6 - 1) && {shown} > 0"));
    picture(&mut browser, "page-swarm");
    browser.value(&format!("conclave.select({leader})"));
    browser.value("document.querySelector('[data-act=restart]').click()");
    browser.wait_for(&format!("{ONE_LEADS} && conclave.run.state.leaders[0] === {leader}"));
    browser.value("document.querySelector('[data-act=call]').click()");
    browser.wait_for("/takes no commands/.test(document.getElementById('problem').textContent)");

    // Two halves are two components, and each agrees on a leader of its own.
    let parts = "new Set(conclave.run.state.nodes.filter((node) => node[2] === 1).map((node) => node[7])).size";
    browser.wait_for(&format!("{parts} === 1 && conclave.run.links.length > 0"));
    browser.value("document.getElementById('halves').click()");
    browser.wait_for(&format!("{parts} === 2 && conclave.run.state.agrees && conclave.run.state.leaders.length === 2"));
    browser.wait_for("/^★ [AB]: node/.test(document.getElementById('clusters-list').textContent)");
    browser.value("document.getElementById('heal').click()");
    browser.wait_for(&format!("{parts} === 1 && {ONE_LEADS}"));

    // Nothing without the token, nothing with a body.
    let status = |token: &str, more: &str| {
        format!(
            "fetch('act?fault=do%3D%22heal%22', {{ method: 'POST', headers: {{ authorization: {token} }}, {more} }})
             .then((response) => response.status)"
        )
    };
    let token = "`Bearer ${new URLSearchParams(location.hash.slice(1)).get('swarm')}`";
    for (token, more, expected) in
        [(token, "", 200), ("''", "", 401), ("'Bearer 0'", "", 401), (token, "body: 'x'", 413)]
    {
        assert_eq!(browser.value(&status(token, more)), expected, "{token} {more}");
    }
    assert_eq!(browser.value("fetch('events').then((response) => response.status)"), 401);

    // What was can be played, and a wrong token is refused in a sentence.
    browser.click("#play");
    browser.value("conclave.seek(1000000)");
    assert_eq!(browser.value("conclave.run.playing || conclave.run.state.now > 1000000"), false);
    browser.complaints.clear(); // of what was refused above
    browser.open(&format!("{}0", server.address));
    browser.wait_for("/token is missing or wrong/.test(document.getElementById('problem').textContent)");
}

#[test]
fn the_page_is_exported_within_its_size() {
    let folder = file("exported-page");
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    let output =
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["serve", "--export"]).arg(&folder).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    if !output.status.success() {
        assert!(errors.contains("is missing; run this and try again"), "{errors}");
        eprintln!("THE PAGE WAS NOT EXPORTED: {errors}");
        return;
    }
    let module = std::fs::metadata(folder.join("conclave.wasm")).unwrap().len();
    assert!(module <= 1_500_000, "{module} bytes");
    let index = std::fs::read_to_string(folder.join("index.html")).unwrap();
    for name in ["page.js", "page.css"] {
        assert!(index.contains(name) && folder.join(name).is_file(), "{name}");
    }
}
