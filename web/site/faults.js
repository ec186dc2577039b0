// Breaking the network: every act is a fault of a scenario, the table `[[faults]]` but for its moment.

import { $, complain, quoted } from "./dom.js";
import { NODE, DOWN, OUTSIDE, PAUSED, UP, act, renew, run } from "./run.js";
import { select, selection } from "./selection.js";
import { view } from "./view.js";

/// Whether an act does something to a node with this power; what it does not do is no act.
const DOES = {
  crash: (power) => power !== DOWN, pause: (power) => power === UP || power === OUTSIDE, resume: (power) => power === PAUSED,
  call: (power) => power === UP, "add-member": (power) => power === OUTSIDE, "remove-member": (power) => power !== OUTSIDE,
};
export const does = (word, node) => DOES[word]?.(node[NODE.power]) ?? true;

function onNode(word) {
  if (selection.node === null || !does(word, run.state.nodes[selection.node])) return;
  act(`do = ${quoted(word)}\nnode = ${selection.node}`);
}

/// The acting leader changes the list of members; without one nothing would happen.
function changeList(word) {
  if (run.state.nodes.some((node) => node[NODE.acts])) onNode(word);
  else complain("No node may act as the leader now, and nobody else changes the list of members.");
}

/// A node that is up is crashed first.
function reboot(word) {
  if (selection.node === null) return;
  if (run.state.nodes[selection.node][NODE.power] !== DOWN) onNode("crash");
  onNode(word);
}

export function crashLeader() {
  if (run.state.nodes.some((node) => node[NODE.leader] >= 0)) act('do = "crash"\nnode = "leader"');
  else complain("Nobody leads now: there is no leader to crash.");
}
export const heal = () => act('do = "heal"');
export const carry = (id, x, y) => act(`do = "move"\nnode = ${id}\nposition = [${x.toFixed(2)}, ${y.toFixed(2)}]`);

export function cut(a, b) {
  act(`do = "one-way"\nfrom = [${a}]\nto = [${b}]`);
  act(`do = "one-way"\nfrom = [${b}]\nto = [${a}]`);
}

/// Marks one end of a link, or cuts it at the other.
export function markOrCut(id) {
  if (selection.marked === null || selection.marked === id) selection.marked = id;
  else {
    cut(selection.marked, id);
    selection.marked = null;
  }
}

export function partition(ids) {
  if (ids.length > 0 && ids.length < run.state.nodes.length) act(`do = "partition"\nsets = [[${ids.join(", ")}]]`);
}

/// The run starts again with a node more, at a place of the picture.
export function addNode(px, py) {
  const [x, y] = view.metres(px, py);
  if (renew(() => ({ ask: "add-node", x, y }))) select(run.about.nodes - 1);
}

/// The run starts again without the selected node; those after it have the id before theirs.
export function removeNode() {
  const id = selection.node;
  if (id !== null) renew((acts) => ({ ask: "remove-node", id, faults: acts.map(({ fault }) => fault) }));
}

export const ACTIONS = {
  crash: () => onNode("crash"), restart: () => reboot("restart"), "restart-blank": () => reboot("restart-blank"),
  pause: () => onNode("pause"), resume: () => onNode("resume"), call: () => onNode("call"),
  "add-member": () => changeList("add-member"), "remove-member": () => changeList("remove-member"),
};
export const pauseOrResume = () => selection.node !== null && onNode(run.state.nodes[selection.node][NODE.power] === PAUSED ? "resume" : "pause");

for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", ACTIONS[button.dataset.act]);
$("crash-leader").addEventListener("click", crashLeader);
$("halves").addEventListener("click", () => act('do = "partition"\ncut = "left-right"'));
$("heal").addEventListener("click", heal);
$("rejoin").addEventListener("click", () => act('do = "both-ways"'));
for (const [id, more] of [["snapshot", ""], ["start", "\nunits = 16"], ["detect-termination", ""]]) {
  $(id).addEventListener("click", () => act(`do = ${quoted(id)}\nnode = ${selection.node ?? 0}${more}`));
}
$("remove").addEventListener("click", removeNode);
$("capacity-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (selection.node !== null) act(`do = "capacity"\nnode = ${selection.node}\ncapacity = ${$("capacity").value}`);
});
$("loss-form").addEventListener("submit", (event) => {
  event.preventDefault();
  act(`do = "loss"\nprobability = "${$("loss").value}%"`);
});
