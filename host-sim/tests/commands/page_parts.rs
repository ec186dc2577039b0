//! What runs in the page, and on how many nodes, is chosen by its reader.

use crate::browser::{Browser, program};
use crate::page::{Server, picture, set};

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
