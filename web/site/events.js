// What the parts of the page tell each other. The run announces that it changed; pictures and panels listen.
//
// `opened`: the run stands at its beginning. `network`: it has other nodes than before. `described`: its set-up is known.
// `looked`: there is a new state. `acts`: the list of acts has changed. `selected`: another node is selected. `playing`: it
// plays or pauses.

const listeners = new Map();

export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

export function emit(name) {
  for (const listener of listeners.get(name) ?? []) listener();
}
