// Playing: a frame of the page runs the simulator for at most so long, and draws.

import { $, complain, trying } from "./dom.js";
import { emit } from "./events.js";
import { draw } from "./network.js";
import { advance, look, run, seek, stepOnce } from "./run.js";

const FRAME_BUDGET_MS = 14, FRAME_BUDGET_MAX_MS = 70;
/// Where a picture takes longer than that, as of thousands of nodes, the simulator may run for as long as the picture took.
let frameBudget = FRAME_BUDGET_MS;
let lastFrame = performance.now();

/// Looks at fixed moments of a run that plays: what it sees does not depend on the machine.
let watcher = null;
const WATCH_EVERY = 50000;

export function setWatcher(watch) {
  watcher = watch;
}

export function play(playing) {
  run.playing = playing;
  emit("playing");
}

/// Plays towards a moment, or to where the watcher pauses; returns whether it came there.
function playTo(moment) {
  const start = performance.now();
  for (;;) {
    const next = watcher ? Math.min(moment, (Math.floor(run.state.now / WATCH_EVERY) + 1) * WATCH_EVERY) : moment;
    const came = advance(next, frameBudget);
    look();
    if (run.state.now % WATCH_EVERY === 0 || run.state.now >= run.about.duration) watcher?.();
    if (!came || !run.playing || performance.now() - start > frameBudget) return false;
    if (next >= moment) return true;
  }
}

function proceed(passed) {
  if (run.seeking !== null) {
    if (advance(run.seeking, 40)) run.seeking = null;
    look();
  } else if (run.playing && run.recording?.running) {
    run.about.duration = run.recording.duration;
    playTo(run.recording.duration);
  } else if (run.playing) {
    run.target = Math.min(run.target + passed * 1000 * run.speed, run.about.duration);
    // A machine that cannot keep up runs slower than asked, and stays responsive.
    if (!playTo(run.target)) run.target = run.state.now;
    if (run.state.now >= run.about.duration) play(false);
  }
}

/// A frame of the page.
export function tick(now) {
  const passed = Math.max(0, Math.min(100, now - lastFrame));
  lastFrame = now;
  try {
    proceed(passed);
  } catch (error) {
    complain(error.message);
    play(false);
  }
  const drawing = performance.now();
  draw(now);
  frameBudget = Math.max(FRAME_BUDGET_MS, Math.min(performance.now() - drawing, FRAME_BUDGET_MAX_MS));
  requestAnimationFrame(tick);
}

export function step() {
  play(false);
  trying(stepOnce);
}

export const seekSafely = (moment) => trying(() => {
  const wasPlaying = run.playing;
  seek(moment);
  play(wasPlaying && moment < run.about.duration);
});

export function changeSpeed(steps) {
  const speeds = $("speed");
  speeds.selectedIndex = Math.max(0, Math.min(speeds.options.length - 1, speeds.selectedIndex + steps));
  run.speed = Number(speeds.value);
}
