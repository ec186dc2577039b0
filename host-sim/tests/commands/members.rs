//! `conclave node` with a list of members that changes: real processes on the loopback interface.

use crate::process::{Process, addresses, wait};
use crate::support::{command, refused};
use serde_json::{Value, json};
use tempfile::TempDir;

const ANSWERS: [&str; 3] = ["member-decided", "member-refused", "member-unknown"];

/// Four nodes, of which the first three are on the first list.
struct Group {
    folder: TempDir,
    addresses: Vec<String>,
    nodes: Vec<Option<Process>>,
}

impl Group {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut group = Self { folder, addresses: addresses(4), nodes: Vec::new() };
        for id in 0..4 {
            let node = group.boot(id, true);
            group.nodes.push(Some(node));
        }
        group
    }

    fn boot(&self, id: usize, new: bool) -> Process {
        let mut node = command(&["node", "--json", "--mode", "quorum", "--election", "bully"]);
        node.args(["--id", &id.to_string(), "--bind", &self.addresses[id]]);
        node.arg("--records").arg(self.folder.path().join(format!("{id}.records")));
        for (_, address) in self.addresses.iter().enumerate().filter(|(peer, _)| *peer != id) {
            node.args(["--peer", address]);
        }
        if id < 3 {
            node.args(["--members", "0,1,2"])
        } else {
            node.arg("--join")
        };
        if new {
            node.arg("--new");
        }
        Process::start(&mut node)
    }

    fn node(&self, id: usize) -> &Process {
        self.nodes[id].as_ref().unwrap()
    }

    /// Whom a node follows, itself included, as it says.
    fn leader_of(&self, id: usize) -> Option<usize> {
        let line = self.node(id).last(&["starting", "leading", "following", "losing", "leaderless", "degraded"])?;
        match line["event"].as_str()? {
            "leading" => Some(id),
            "following" => usize::try_from(line["leader"].as_u64()?).ok(),
            _ => None,
        }
    }

    /// Waits until these nodes follow one of them.
    fn await_leader(&self, of: &[usize]) -> usize {
        let mut found = None;
        wait("one leader of all members", || {
            found = self.leader_of(of[0]).filter(|leader| of.contains(leader));
            found.is_some() && of.iter().all(|&id| self.leader_of(id) == found)
        });
        found.unwrap()
    }

    fn list(&self, id: usize) -> Value {
        self.node(id).last(&["members"]).unwrap_or_default()
    }

    /// Waits until these nodes have this list, and no other node is needed for it.
    fn await_list(&self, at: &[usize], epoch: u32, members: &[u32]) {
        wait("the list", || {
            at.iter().all(|&id| {
                let list = self.list(id);
                list["epoch"] == epoch && list["members"] == json!(members) && list["waits"].is_null()
            })
        });
    }

    /// Types a line at a node, and returns what comes of it.
    fn type_at(&mut self, id: usize, line: &str) -> Value {
        let answers = |node: &Process| ANSWERS.iter().map(|event| node.events(event).len()).sum::<usize>();
        let before = answers(self.node(id));
        self.nodes[id].as_mut().unwrap().type_line(line);
        wait(line, || answers(self.node(id)) > before);
        self.node(id).last(&ANSWERS).unwrap()
    }

    fn refused(&mut self, id: usize, line: &str) -> String {
        let answer = self.type_at(id, line);
        assert_eq!(answer["event"], "member-refused", "{answer}");
        answer["reason"].as_str().unwrap().to_owned()
    }
}

#[test]
fn f4_a_node_is_added_and_follows_and_a_leader_is_removed_and_another_leads() {
    let mut group = Group::start();
    let leader = group.await_leader(&[0, 1, 2]);
    wait("the group's list at the fourth", || group.list(3)["epoch"] == 1);
    assert!(group.list(3)["waits"].as_str().unwrap().contains("a leader has to add it"), "{}", group.list(3));

    let follower = (leader + 1) % 3;
    assert_eq!(group.refused(follower, "member add 3"), format!("node {leader} leads: type it there"));
    assert_eq!(group.refused(leader, "member add 0"), "node 0 is a member already");
    assert_eq!(group.refused(leader, "member remove 9"), "node 9 is no member");
    assert!(group.refused(leader, &format!("member remove {leader}")).contains("appoint another"));
    assert!(group.refused(leader, "member add 9").contains("node 9 does not answer"));
    assert!(group.refused(3, "member add 3").contains("no member"));

    let added = group.type_at(leader, "member add 3");
    assert_eq!((&added["event"], &added["member"]), (&json!("member-decided"), &json!(3)), "{added}");
    group.await_list(&[0, 1, 2, 3], 2, &[0, 1, 2, 3]);
    let leader = group.await_leader(&[0, 1, 2, 3]);

    let next = if leader == 3 { 0 } else { 3 };
    group.nodes[next].as_mut().unwrap().type_line("appoint");
    wait("the appointed leader", || (0..4).all(|id| group.leader_of(id) == Some(next)));
    let removed = group.type_at(next, &format!("member remove {leader}"));
    assert_eq!(removed["event"], "member-decided", "{removed}");
    let stay: Vec<usize> = (0..4).filter(|&id| id != leader).collect();
    let ids: Vec<u32> = stay.iter().map(|&id| u32::try_from(id).unwrap()).collect();
    group.await_list(&stay, 3, &ids);
    group.await_leader(&stay);
    wait("what the removed one says", || group.list(leader)["epoch"] == 3);
    assert!(group.list(leader)["waits"].as_str().unwrap().contains("no longer"));

    // What was decided outlives the process.
    group.nodes[stay[0]] = None;
    group.nodes[stay[0]] = Some(group.boot(stay[0], false));
    group.await_list(&stay[..1], 3, &ids);
    group.await_leader(&stay);
}

#[test]
fn a_list_that_cannot_be_stored_is_refused() {
    let node = ["node", "--id", "3", "--bind", "127.0.0.1:0", "--peer", "127.0.0.1:9", "--join"];
    let sentence = "--join needs --mode quorum and --records FILE";
    assert!(refused(&[&node[..], &["--mode", "quorum"]].concat()).contains(sentence));
    assert!(refused(&[&node[..], &["--records", "/nowhere/3.records"]].concat()).contains(sentence));
    assert!(refused(&[&node[..], &["--members", "1,2"]].concat()).contains("--join"));
}
