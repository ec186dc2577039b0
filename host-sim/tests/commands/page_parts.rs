//! What runs in the page, and on how many nodes, is chosen by its reader.

use crate::browser::{Browser, program};
use crate::page::{Server, picture, set};
use crate::support::{conclave, file};

/// The sentence of a problem, or nothing.
fn problem(browser: &mut Browser) -> String {
    browser.value("document.getElementById('problem').textContent").as_str().unwrap().to_owned()
}

#[test]
fn locks_applications_and_nodes_are_chosen_in_the_page() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: THE PAGE WAS NOT TESTED. Install it with `apt install chromium`.");
        return;
    };
    let Some(server) = Server::start(&[]) else { return };
    let mut browser = Browser::start(program);

    // A job, a bank, a clock, ordered messages and a lock on the same members.
    browser.open(&format!("{}#s=terminate-demo&seed=1&t=3000000", server.address));
    for (part, word) in
        [("app", "clock"), ("app", "sequencer"), ("mutex", "central"), ("app", "tokens"), ("app", "none")]
    {
        set(&mut browser, part, word);
        assert_eq!(problem(&mut browser), "", "{word}");
        let chosen = browser.value("[conclave.run.about.app, conclave.run.about.mutex].filter(Boolean).join()");
        assert_eq!(chosen, if word == "none" { "" } else { word });
        assert_eq!(browser.value(&format!("document.getElementById('{part}').value")), word);
    }
    set(&mut browser, "app", "diffusing");
    browser.click("#start");
    browser.click("#detect-termination");
    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    assert_eq!(browser.value("conclave.run.state.app.some((mark) => mark[2] === 'terminated')"), true);

    // What cannot be is refused in a sentence, and not chosen.
    browser.open(&format!("{}#s=demo&seed=1&t=8000000", server.address));
    set(&mut browser, "mutex", "maekawa");
    assert!(problem(&mut browser).contains("locks work in a group, which has at most 16 members"));
    assert_eq!(browser.value("document.getElementById('mutex').value"), "none");

    // Clusters: each has its ground, its letter and its line in the list.
    set(&mut browser, "election", "clusters");
    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    assert_eq!(browser.value("conclave.run.state.leaders.length > 1 && conclave.run.state.ground !== 0"), true);
    let listed = "conclave.run.state.leaders.every((leader, at) =>
        new RegExp(`^★ [A-Z]: node ${leader} leads`).test(document.getElementById('clusters-list').children[at].textContent))";
    assert_eq!(browser.value(listed), true);
    browser.value("window.scrollTo(0, 0)");
    picture(&mut browser, "page-clusters");

    // A node is added and another removed by keys; the acts of the others are theirs still, and the link is the run.
    browser.open(&format!("{}#s=demo&seed=1&t=8000000", server.address));
    browser.value(
        "conclave.act('do = \"crash\"\\nnode = 7'); conclave.act('do = \"pause\"\\nnode = 3'); conclave.select(3)",
    );
    browser.value("document.getElementById('network').focus()");
    browser.key("a");
    browser.wait_for("conclave.settled() && conclave.run.about.nodes === 26");
    browser.value("conclave.select(3); document.getElementById('network').focus()");
    browser.key("Delete");
    browser.wait_for("conclave.settled() && conclave.run.about.nodes === 25");
    assert_eq!(browser.value("conclave.run.acts.map(({ fault }) => fault).join()"), "do = \"crash\"\nnode = 6");
    assert_eq!(browser.value("conclave.run.state.nodes[6][2]"), 0, "the node that was 7 is down");
    let hash = browser.value("conclave.run.state.hash");
    let link = browser.value("conclave.permalink()");
    browser.open(&format!("{}#{}", server.address, link.as_str().unwrap()));
    assert_eq!(browser.value("conclave.run.state.hash"), hash);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_group_is_changed_by_hand_and_what_has_no_effect_is_no_act() {
    let Some(program) = program() else {
        eprintln!("CHROMIUM IS MISSING: THE PAGE WAS NOT TESTED. Install it with `apt install chromium`.");
        return;
    };
    let Some(server) = Server::start(&[]) else { return };
    let mut browser = Browser::start(program);
    browser.open(&format!("{}#s=group-change&seed=1&t=1000000", server.address));
    let goes_to = |browser: &mut Browser, moment: u64| {
        browser.value(&format!("conclave.seek({moment})"));
        browser.wait_for("conclave.settled()");
    };
    let disabled = |browser: &mut Browser, act: &str| {
        browser.value(&format!("document.querySelector('[data-act={act}]').disabled")).as_bool().unwrap()
    };

    // Before there is a leader, nobody is crashed and nobody changes the list.
    assert_eq!(browser.value("document.getElementById('status').textContent"), "No member leads; 4 are up.");
    browser.click("#crash-leader");
    assert_eq!(problem(&mut browser), "Nobody leads now: there is no leader to crash.");
    assert_eq!(browser.value("conclave.run.state.nodes.map((node) => node[2]).join()"), "1,1,1,1,3,3");
    browser.value("conclave.select(4)");
    let acts =
        ["crash", "pause", "resume", "call", "add-member", "remove-member"].map(|act| disabled(&mut browser, act));
    assert_eq!(acts, [false, false, true, true, false, true]);
    browser.click("[data-act=add-member]");
    assert!(problem(&mut browser).starts_with("No node may act as the leader now"));
    assert_eq!(browser.value("conclave.run.acts.length"), 0);

    // The leader adds it.
    goes_to(&mut browser, 10_000_000);
    browser.click("[data-act=add-member]");
    goes_to(&mut browser, 15_000_000);
    assert_eq!(browser.value("conclave.run.state.nodes.map((node) => node[2]).join()"), "1,1,1,1,1,3");
    for (id, words) in [("log", "which has 5: node 4 is ADDED"), ("status", "all 5 members that are up agree")] {
        assert_eq!(browser.value(&format!("document.getElementById('{id}').textContent.includes('{words}')")), true);
    }
    picture(&mut browser, "page-members");
    // Frames under the key of the new list are known, too.
    let legend = browser.value("document.getElementById('legend').textContent").to_string();
    assert!(legend.contains("list of members") && !legend.contains("application"), "{legend}");

    browser.click("#end");
    browser.wait_for("conclave.settled() && conclave.run.state.ended");
    let saved = file("members-of-the-page.toml");
    std::fs::write(&saved, browser.value("conclave.savedText()").as_str().unwrap()).unwrap();
    let (_, report, _) = conclave(&["run", saved.to_str().unwrap(), "--seed", "1", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["trace_hash"], browser.value("conclave.run.state.hash"));

    browser.open(&format!("{}#s=demo&seed=1&t=20000000", server.address));
    assert_eq!(browser.value("document.querySelector('[data-act=add-member]').hidden"), true);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
