// The panels beside the picture, in words: they show what the state says, a few times a second.

import { showCharts } from "./charts.js";
import { colourOf, letterOf } from "./clusters.js";
import { $, element, facts, listed, seconds } from "./dom.js";
import { on } from "./events.js";
import { does } from "./faults.js";
import { STYLES, shape, styleOf } from "./kinds.js";
import { LOG_MAX, NODE, OUTSIDE, PAUSED, UP, run, undo } from "./run.js";
import { selection } from "./selection.js";
import { showSpacetime } from "./spacetime.js";
import { sentence } from "./summary.js";
import { canvas } from "./view.js";

/// Text and charts cost more than the picture: while a run plays they change only so often.
const SHOW_EVERY_MS = 200;
let shownAt = 0;

function show() {
  const { state } = run;
  if (!state) return;
  $("clock").textContent = seconds(state.now);
  $("hash").textContent = state.hash;
  $("moment").value = Math.round((1000 * state.now) / run.about.duration);
  if (run.recording?.running) $("duration").textContent = seconds(run.about.duration, 0); // it grows
  $("moment").setAttribute("aria-valuetext", seconds(state.now));
  showStatus();
  const now = performance.now();
  if (run.playing && now - shownAt < SHOW_EVERY_MS) return;
  shownAt = now;
  showLegend();
  showLog();
  showNode();
  showClusters();
  showLocks();
  showRequests();
  showCharts();
  showSpacetime();
}

function showStatus() {
  const { state } = run, words = sentence(run.about, state);
  if ($("status").textContent !== words) $("status").textContent = words;
  $("status").dataset.agrees = state.up === 0 ? "" : state.agrees;
  if (run.playing && performance.now() - shownAt < SHOW_EVERY_MS) return;
  canvas.setAttribute("aria-label", `Network of ${state.nodes.length} nodes at ${seconds(state.now)}. ${words}`);
}

// The legend: only what has been seen in this run.

const legend = new Set();

function item(style) {
  const swatch = element("canvas", { width: 18, height: 18, ariaHidden: "true" }), pen = swatch.getContext("2d");
  pen.fillStyle = pen.strokeStyle = style.colour;
  shape(pen, style.shape, 9, 9, 5);
  return element("li", {}, swatch, style.name);
}

function showLegend() {
  const { kinds, parts, sent, frames } = run.state, before = legend.size;
  kinds.forEach((name, at) => sent[at] > 0 && legend.add(styleOf(parts[at], name)));
  if (frames.some((frame) => frame[4] !== 1)) legend.add(STYLES.lost);
  if (legend.size !== before) $("legend").replaceChildren(...Object.values(STYLES).filter((style) => legend.has(style)).map(item));
}

// What happened.

/// The last sentence that was written.
let written = null;

function showLog() {
  const list = $("log"), fresh = run.log.slice(run.log.lastIndexOf(written) + 1);
  if (fresh.length === 0) return;
  written = fresh.at(-1);
  const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
  list.append(...fresh.map(({ at, text }) => {
    const loud = /LEADS|fails|PARTITION|HOLDS|TERMINATED|complete/.test(text);
    if (loud) $("news").textContent = text;
    return element("li", { className: loud ? "loud" : "" }, element("time", { textContent: seconds(at) }), text);
  }));
  while (list.children.length > LOG_MAX) list.firstChild.remove();
  if (atEnd) list.scrollTop = list.scrollHeight;
}

on("opened", () => {
  written = null;
  legend.clear();
  $("log").replaceChildren();
});

// The selected node.

function showNode() {
  const node = run.state?.nodes[selection.node];
  $("node-name").textContent = node ? selection.node : "";
  $("node-hint").hidden = Boolean(node);
  for (const button of document.querySelectorAll("[data-act], #capacity-form button, #capacity, #remove")) button.disabled = !node || !does(button.dataset.act, node);
  const lines = node ? run.state.lines?.[selection.node] : null;
  $("node-log").hidden = !lines?.length;
  $("node-log").textContent = lines?.join("\n") ?? "";
  facts($("node-facts"), node ? factsOf(node, selection.node) : []);
}

function factsOf(node, id) {
  const leader = node[NODE.leader], differs = run.state.disagrees[id];
  const role = node[NODE.power] !== UP ? "nothing" : leader === id ? (node[NODE.acts] ? "it leads, and may act" : "it leads, and may not act") : leader < 0 ? "there is no leader" : `node ${leader} leads`;
  const links = run.links.filter(([from]) => from === id).map(([, to]) => to);
  return [
    ["power", ["down", "up", "paused", "up, and no member of the group"][node[NODE.power]]], ["believes", role], ["term", node[NODE.term] || "none"],
    ["capacity", node[NODE.capacity] < 0 ? "unfit to lead" : `${node[NODE.capacity]} of 10000`],
    ...(node[NODE.power] !== UP ? [] : [run.about.horizon ? ["served", differs ? "NO, no super-peer in reach" : `by a super-peer within ${run.about.horizon} hops`]
      : ["agrees", differs ? "NO, others of its component follow another" : "with its component"]]),
    ["reaches", links.length > 20 ? `${links.length} nodes` : links.join(", ") || "nobody"],
  ];
}

on("selected", () => {
  showNode();
  const node = run.state?.nodes[selection.node];
  if (node) $("capacity").value = Math.max(0, node[NODE.capacity]);
});

// Clusters, locks and requests.

const CLUSTERS_SHOWN = 12;

/// Who leads how many, and how many follow nobody or another than most of their component.
function showClusters() {
  const { nodes, leaders, disagrees } = run.state;
  const members = nodes.filter((node) => node[NODE.power] !== OUTSIDE).length;
  const followers = new Map(leaders.map((leader) => [leader, 0]));
  let alone = 0;
  for (const node of nodes) {
    if (node[NODE.power] !== UP) continue;
    if (followers.has(node[NODE.leader])) followers.set(node[NODE.leader], followers.get(node[NODE.leader]) + 1);
    else alone += 1;
  }
  const items = [...followers].slice(0, CLUSTERS_SHOWN).map(([leader, count]) => {
    const letter = leaders.length > 1 ? `${letterOf(leader)}: ` : "";
    const mark = element("span", { textContent: "★ ", ariaHidden: "true" });
    mark.style.color = colourOf(leader);
    return element("li", {}, mark, `${letter}node ${leader} leads ${count} of ${members}, term ${nodes[leader][NODE.term]}${nodes[leader][NODE.acts] ? "" : ", and may not act"}`);
  });
  const differ = disagrees.filter(Boolean).length;
  const more = [];
  if (leaders.length > CLUSTERS_SHOWN) more.push(`${leaders.length - CLUSTERS_SHOWN} more`);
  if (leaders.length === 0) more.push("nobody leads");
  if (alone > 0) more.push(`${alone} follow${alone === 1 ? "s" : ""} no node that leads`);
  if (differ > 0) more.push(`${differ} ${run.about.horizon ? "have no super-peer in reach" : "disagree with most of their component"}`);
  $("clusters-list").replaceChildren(...items, ...more.map((textContent) => element("li", { textContent })));
}

function showLocks() {
  const { voting, locks: states, nodes, now } = run.state, { locks } = run.about;
  $("voting").hidden = !voting;
  if (voting) listed($("voting-list"), voting.map((set, node) => `node ${node} asks ${set.join(", ")}`));
  $("locks").hidden = !locks;
  listed($("locks-list"), (locks ?? []).map((name, index) => {
    const of = states.filter(([, lock]) => lock === index);
    const holds = of.filter(([, , , fence]) => fence).map(([node, , , [term, count]]) => `node ${node} holds it, fence ${term}.${count}${nodes[node][NODE.power] === PAUSED ? " (paused: as far as it knows)" : ""}`);
    const waits = of.filter(([, , since, fence]) => since !== null && !fence).map(([node, , since]) => `${node} (${seconds(now - since, 1)})`);
    return `${name}: ${holds.join("; ") || "free"}${waits.length ? `; waiting: ${waits.join(", ")}` : ""}`;
  }));
}

function showRequests() {
  $("service").hidden = !run.about.requests;
  if (!run.about.requests) return;
  const [made, answered, refused, timedOut, open] = run.state.requests;
  listed($("service-list"), [`${made} made`, `${answered} answered`, `${refused} refused`, `${timedOut} without an answer`, `${open} open`]);
}

// Acts and the set-up.

function showActs() {
  $("changes").hidden = run.acts.length === 0;
  $("acts-done").replaceChildren(...run.acts.map(({ at, fault }, index) => {
    const words = fault.replaceAll("\n", ", ").replaceAll("do = ", "").replaceAll('"', "");
    const button = element("button", { textContent: "undo", ariaLabel: `undo ${words}`, onclick: () => undo(index) });
    return element("li", {}, element("time", { textContent: seconds(at) }), words, ...(run.recording ? [] : [button]));
  }));
}

/// The applications that take requests, by the id of their button.
const TAKES = { snapshot: ["tokens", "diffusing"], start: ["diffusing"], "detect-termination": ["diffusing"] };

function describe() {
  const { about } = run;
  const word = (name) => name.split(":")[0];
  $("about").textContent = about.about.replaceAll("`", "");
  $("duration").textContent = seconds(about.duration, 0);
  $("scenario").value = run.name ?? "";
  $("seed").value = run.seed;
  $("election").value = word(about.election);
  $("mode").value = about.quorum ? "quorum" : "available";
  $("mutex").value = about.mutex ? word(about.mutex) : "none";
  $("app").value = about.app || (about.requests ? "requests" : "none");
  for (const id of ["election", "mode", "mutex", "app", "seed"]) $(id).disabled = Boolean(run.recording);
  for (const id of ["add-member", "remove-member"]) document.querySelector(`[data-act=${id}]`).hidden = !about.members;
  $("mark-outside").hidden = !about.members;
  for (const [id, kinds] of Object.entries(TAKES)) $(id).hidden = !kinds.includes(about.app);
  $("requests").hidden = !Object.values(TAKES).flat().includes(about.app);
  showActs();
  show();
}

on("looked", show);
on("described", describe);
on("acts", showActs);
on("playing", () => {
  $("play").textContent = run.playing ? "❚❚ Pause" : "▶ Play";
  $("play").setAttribute("aria-label", run.playing ? "Pause" : "Play");
  if (!run.playing) show();
});

