// The page: it asks the simulator to run, and draws what it answers. It keeps no state of the network.

import { openLink, permalink, savedText } from "./address.js";
import { $, SECOND, complain, quoted, reducedMotion, trying } from "./dom.js";
import "./keys.js";
import { currentLesson, leave } from "./lesson.js";
import "./panels.js";
import { play, seekSafely, step, tick } from "./playback.js";
import "./pointer.js";
import { act, ask, catalogue, change, openShipped, reopen, run } from "./run.js";
import { select } from "./selection.js";
import { simulatorBytes } from "./simulator.js";
import { pixel, resize, view } from "./view.js";

// The bars.

$("play").addEventListener("click", () => {
  if (run.state.now >= run.about.duration && !run.recording?.running) seekSafely(0);
  play(!run.playing);
});
$("step").addEventListener("click", step);
$("back").addEventListener("click", () => seekSafely(run.state.now - SECOND));
$("end").addEventListener("click", () => seekSafely(run.about.duration));
$("moment").addEventListener("change", () => seekSafely(($("moment").value / 1000) * run.about.duration));
$("speed").addEventListener("change", () => (run.speed = Number($("speed").value)));
$("zoom-in").addEventListener("click", () => view.zoom(1.25));
$("zoom-out").addEventListener("click", () => view.zoom(0.8));
$("zoom-fit").addEventListener("click", () => view.fit());

// The set-up.

$("scenario").addEventListener("change", () => trying(() => {
  if (!$("scenario").value) return;
  leave();
  openShipped($("scenario").value, { acts: [] });
  play(true);
}));
$("seed").addEventListener("change", () => trying(() => {
  run.seed = Number($("seed").value);
  reopen(0);
}));
for (const key of ["election", "mode"]) {
  $(key).addEventListener("change", () => trying(() => change({ ask: "set", table: "", key, value: quoted($(key).value) })));
}
for (const part of ["mutex", "app"]) {
  $(part).addEventListener("change", () => trying(() => change({ ask: "choose", [part]: $(part).value })));
}

function fill(id, names) {
  $(id).append(...names.map((name) => new Option(name, name)));
}
fill("scenario", catalogue.scenarios.map((entry) => entry.name));
fill("election", catalogue.elections);
fill("mutex", ["none", ...catalogue.mutexes]);
fill("app", ["none", ...catalogue.applications]);
$("setup").open = !matchMedia("(max-width: 760px)").matches;

// The beginning.

async function begin() {
  try {
    const paused = await openLink();
    resize();
    view.fit();
    play(!paused && (!reducedMotion.matches || Boolean(run.recording?.running)));
  } catch (error) {
    if (!run.state) openShipped("demo", { seed: 0, acts: [] });
    complain(error.message);
  }
}
addEventListener("hashchange", begin);
await begin();
requestAnimationFrame(() => performance.mark("first picture of the network"));
requestAnimationFrame(tick);

// For tests, and for those who look.
window.conclave = {
  run, view, select, act, permalink, savedText, seek: seekSafely, play, ask, simulatorBytes,
  pixel: (id) => pixel(run.state.nodes[id]),
  settled: () => run.seeking === null,
  lesson: currentLesson,
};
document.documentElement.dataset.ready = "yes";
