// The run: a scenario, a seed and acts, advanced to a moment. The simulator keeps the network; this keeps what it was asked.

import { complain, trying } from "./dom.js";
import { emit } from "./events.js";
import { askSimulator } from "./simulator.js";
import { summarize } from "./summary.js";

/// The columns of a node.
export const NODE = { x: 0, y: 1, power: 2, capacity: 3, leader: 4, term: 5, acts: 6, component: 7, served: 8 };
/// What a node's column of power says; a node outside runs, and is no member of the group.
export const DOWN = 0, UP = 1, PAUSED = 2, OUTSIDE = 3;

export const catalogue = askSimulator({ ask: "catalogue" });
export const run = {
  name: null, base: "", seed: 0, acts: [], about: {},
  /// A trace that is played instead, or a swarm that is followed.
  recording: null,
  state: null, links: [], samples: [], log: [], playing: false, speed: 1, target: 0, seeking: null,
};

export function ask(question) {
  return run.recording?.answers(question.ask) ? run.recording.answer(question) : askSimulator(question);
}

/// The scenario with all acts: what `conclave run` replays.
export function textOfRun() {
  if (run.acts.length === 0) return run.base;
  const tables = run.acts.map(({ at, fault }) => `\n[[faults]]\nat = "${at}us"\n${fault}\n`);
  return ask({ ask: "without", text: run.base, table: "expect" }).text.trimEnd() + "\n" + tables.join("");
}

// Opening.

/// Returns to the beginning, from the seed.
function rewind() {
  run.about = ask({ ask: "open", text: textOfRun(), seed: run.seed });
  Object.assign(run, { state: null, links: [], samples: [], log: [] });
  emit("opened");
}

/// Opens the run again from its seed, and goes to a moment.
export function reopen(moment = 0) {
  rewind();
  seek(moment);
  emit("described");
}

export function openText(text, { name = null, seed = run.seed, acts = [], moment = 0 } = {}) {
  run.recording = null;
  const before = { name: run.name, base: run.base, seed: run.seed, acts: run.acts };
  Object.assign(run, { name, base: text, seed, acts });
  try {
    reopen(moment);
  } catch (error) {
    Object.assign(run, before);
    throw error;
  }
  emit("network");
}

export function openShipped(name, options) {
  const shipped = catalogue.scenarios.find((entry) => entry.name === name);
  if (!shipped) throw new Error(`There is no scenario "${name}".`);
  openText(shipped.text, { name, ...options });
}

/// Plays a trace, or follows a swarm.
export function openRecording(recording) {
  Object.assign(run, { recording, name: null, base: "", acts: [] });
  reopen(0);
  emit("network");
}

// Changing.

/// Changes the scenario's text by a question; the run starts again and goes to where it was.
export function change(question) {
  const before = run.base;
  run.base = ask({ text: run.base, ...question }).text;
  try {
    reopen(run.state?.now ?? 0);
  } catch (error) {
    run.base = before;
    emit("described");
    throw error;
  }
}

/// Injects a fault now.
export function act(fault) {
  if (run.recording?.act) {
    const done = (at) => {
      run.acts.push({ at, fault });
      complain(null);
      emit("acts");
    };
    return void run.recording.act(fault).then(done, (error) => complain(error.message));
  }
  return trying(() => {
    const { at } = ask({ ask: "act", fault });
    run.acts.push({ at, fault });
    // The act is due in the next free microsecond.
    ask({ ask: "run", until: at, budget: 100000 });
    run.target = Math.max(run.target, at);
    look();
    emit("acts");
    return at;
  });
}

export function undo(index) {
  run.acts.splice(index, 1);
  trying(() => reopen(run.state?.now ?? 0));
}

/// The run starts again with other nodes, and goes to where it was.
export function renew(question) {
  return trying(() => {
    if (run.recording) throw new Error(run.recording.refused);
    const { acts, base, name, state: { now } } = run;
    run.acts = [];
    reopen(0); // the positions of the beginning
    try {
      const { text, faults } = ask(question(acts));
      const kept = acts.map(({ at, fault }, index) => ({ at, fault: faults ? faults[index] : fault })).filter(({ fault }) => fault !== null);
      openText(text, { name: null, acts: kept, moment: now });
    } catch (error) {
      openText(base, { name, acts, moment: now });
      throw error;
    }
    return true;
  });
}

// Time.

/// How many events the simulator handles before the page looks at its own clock.
const SLICE = 1500;
/// How many sentences are kept.
export const LOG_MAX = 400;

/// Runs towards a moment for at most so many milliseconds; returns whether it came there.
export function advance(moment, budget) {
  const start = performance.now();
  for (;;) {
    const { reached } = ask({ ask: "run", until: Math.round(moment), budget: SLICE });
    if (reached) return true;
    if (performance.now() - start > budget) return false;
  }
}

/// Goes to a moment, or begins to: what takes longer goes on between pictures.
export function seek(moment) {
  moment = Math.max(0, Math.min(moment, run.about.duration));
  if (run.state && moment < run.state.now) rewind();
  run.seeking = moment;
  run.target = moment;
  if (advance(moment, 60)) run.seeking = null;
  look();
}

/// Goes to the next event that can be seen.
export function stepOnce() {
  ask({ ask: "step" });
  look();
  run.target = run.state.now;
}

/// Takes the present, and what happened since the last look.
export function look() {
  const state = ask({ ask: "look", samples: run.samples.length });
  if (state.links) run.links = state.links;
  run.samples.push(...state.samples);
  for (const [at, node, text] of state.sentences) run.log.push({ at, node, text });
  if (run.log.length > LOG_MAX) run.log.splice(0, run.log.length - LOG_MAX);
  run.state = state;
  summarize(run.about, state);
  emit("looked");
}
