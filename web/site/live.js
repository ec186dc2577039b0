// A swarm that runs now: the events that `conclave serve --swarm` streams, played as they come, and faults for it.

import { Recording } from "./recording.js";

/// How many events are kept to go back in time; then frames and maps of long ago are dropped, and of other events the first.
const EVENTS_MAX = 200000, FRAMES_KEPT = 50000, EVENTS_KEPT = 100000;
const FRAMES = ["sent", "received", "missed"];

export class Live extends Recording {
  /// Follows the swarm of this page's server; `lost` is called when it is gone.
  static async follow(token, lost) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch("events", { headers });
    if (!response.ok) throw new Error(`The swarm cannot be followed: ${(await response.json().catch(() => ({}))).error ?? response.statusText}.`);
    const messages = read(response.body);
    const live = new Live((await messages.next()).value, headers);
    live.listen(messages).then(lost, lost);
    return live;
  }

  constructor({ about, places, links }, headers) {
    super(about.name, JSON.stringify({ at: 0, node: null, event: "time" }));
    Object.assign(this, { about, places, linksAtFirst: links, headers, count: places.length, running: true });
    this.hash = "of no run: boards";
    this.refused = "This swarm runs: it can be broken, and not be started again with something else.";
    this.period = 1e6;
    this.begin();
  }

  async listen(messages) {
    for await (const message of messages) {
      if (message.event === "ended") this.running = false;
      message.at ??= this.duration;
      this.duration = Math.max(this.duration, message.at);
      this.events.push(message);
      if (this.events.length > EVENTS_MAX) this.forget();
    }
    this.running = false;
  }

  forget() {
    const until = Math.min(this.at, this.events.length - FRAMES_KEPT);
    const old = this.events.slice(0, until), map = old.findLast(({ event }) => event === "map");
    const before = old.filter((event) => event === map || ![...FRAMES, "time", "map"].includes(event.event)).slice(-EVENTS_KEPT);
    this.events = [...before, ...this.events.slice(until)];
    this.at += before.length - until;
  }

  /// Injects a fault.
  async act(fault) {
    const response = await fetch(`act?fault=${encodeURIComponent(fault)}`, { method: "POST", headers: this.headers });
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? response.statusText);
    return (await response.json()).at;
  }
}

/// The messages of a stream of server-sent events.
async function* read(body) {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + part).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) if (block.startsWith("data: ")) yield JSON.parse(block.slice(6));
  }
}
