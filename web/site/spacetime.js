// The space-time diagram of an application: columns are nodes, time runs downwards, a line is a message.

import { $, SECOND, seconds } from "./dom.js";
import { STYLES, shape, star } from "./kinds.js";
import { run } from "./run.js";
import { colours, plate, sized } from "./view.js";

const HEIGHT = 260, TOP = 14, PLOT = 240, LEFT = 48;
/// How much time is shown around a cut, and before the first and after the last event of a job.
const AROUND_CUT = 160000, AFTER_CUT = 40000, AROUND_JOB = 20000;
const AT = 0, WHO = 1, WORD = 2, NUMBER = 3;

/// Of a snapshot, what is around its cut; of a job, all of it; otherwise what was sent last.
function period(marks, cut, job) {
  const last = (list) => list.reduce((most, mark) => Math.max(most, mark[AT]), 0);
  if (cut.length) return [last(cut) + AFTER_CUT - AROUND_CUT, last(cut) + AFTER_CUT];
  if (job.length) return [job[0][AT] - AROUND_JOB, last(marks) + AROUND_JOB];
  return [run.state.now - AROUND_CUT, run.state.now];
}

export function showSpacetime() {
  const marks = run.state.app;
  $("spacetime-section").hidden = !run.about.app || marks.length === 0;
  if ($("spacetime-section").hidden) return;
  const { pen, width } = sized($("spacetime"), HEIGHT) ?? {};
  if (!pen) return;
  const cut = marks.filter((mark) => mark[WORD] === "recorded");
  const job = cut.length ? [] : marks.filter((mark) => ["busy", "wave", "terminated"].includes(mark[WORD]));
  const [from, to] = period(marks, cut, job);
  const place = { from, to, column: (node) => LEFT + ((node + 0.5) * (width - LEFT)) / run.about.nodes, row: (at) => TOP + ((at - from) / (to - from)) * PLOT };
  drawTimes(pen, place);
  drawColumns(pen, place);
  drawMessages(pen, place, marks, cut);
  if (job.length) drawJob(pen, place, job, marks);
  drawCut(pen, place, cut);
}

/// Moments of the run, at the left edge.
const TIMES = 4;

function drawTimes(pen, { from, to, row }) {
  pen.font = "10px system-ui";
  pen.textAlign = "left";
  pen.fillStyle = colours.faint;
  for (let at = 0; at <= TIMES; at++) {
    const moment = from + ((to - from) * at) / TIMES;
    pen.fillText(seconds(moment, to - from < SECOND ? 3 : 1), 4, Math.min(row(moment) + 4, HEIGHT - 2));
  }
}

function drawColumns(pen, { column }) {
  pen.font = "10px system-ui";
  pen.textAlign = "center";
  pen.strokeStyle = colours.line;
  pen.fillStyle = colours.faint;
  for (let node = 0; node < run.about.nodes; node++) {
    pen.fillText(node, column(node), 10);
    pen.beginPath();
    pen.moveTo(column(node), TOP);
    pen.lineTo(column(node), HEIGHT - 2);
    pen.stroke();
  }
}

/// A message that crosses the cut is thick.
function drawMessages(pen, { column, row, from }, marks, cut) {
  const sends = new Map(marks.filter((mark) => mark[WORD] === "sends").map((mark) => [mark[NUMBER], mark]));
  const recordedAt = new Map(cut.map((mark) => [mark[WHO], mark[AT]]));
  for (const received of marks) {
    const sent = sends.get(received[NUMBER]);
    if (received[WORD] !== "receives" || !sent || received[AT] < from) continue;
    const crosses = sent[AT] < recordedAt.get(sent[WHO]) && received[AT] > recordedAt.get(received[WHO]);
    pen.strokeStyle = crosses ? STYLES.election.colour : colours.faint;
    pen.lineWidth = crosses ? 2.5 : 1;
    pen.beginPath();
    pen.moveTo(column(sent[WHO]), row(sent[AT]));
    pen.lineTo(column(received[WHO]), row(received[AT]));
    pen.stroke();
  }
}

/// Where each node recorded its state.
function drawCut(pen, { column, row }, cut) {
  pen.fillStyle = pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const [at, node] of [...cut].sort((a, b) => a[WHO] - b[WHO])) {
    pen.fillRect(column(node) - 4, row(at) - 4, 8, 8);
    pen.lineTo(column(node), row(at));
  }
  pen.stroke();
}

/// The nodes at work, the waves that ask them, and where they know that the job has terminated.
function drawJob(pen, { column, row, to }, job, marks) {
  const since = new Map();
  const work = (node, until) => pen.fillRect(column(node) - 3, row(since.get(node)), 6, Math.max(2, row(until) - row(since.get(node))));
  pen.fillStyle = STYLES.application.colour;
  for (const [at, node, word] of marks) {
    if (word === "busy") since.set(node, at);
    else if (word === "idle" && since.has(node)) {
      work(node, at);
      since.delete(node);
    }
  }
  for (const node of since.keys()) work(node, to);
  pen.textAlign = "left";
  for (const [at, node, word, number] of job) {
    if (word === "wave") {
      pen.fillStyle = STYLES.wave.colour;
      shape(pen, "diamond", column(node), row(at), 5);
      plate(pen, `wave ${number}`, column(node) + 10, row(at) + 4);
    } else if (word === "terminated") {
      pen.fillStyle = colours.ink;
      star(pen, column(node), row(at), 7);
      pen.fill();
    }
  }
}
