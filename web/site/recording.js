// A trace that `conclave run --trace` or `conclave swarm --trace` wrote, played in place of a run.
//
// It answers the questions that the simulator answers about a run that is open. A trace does not say where nodes are nor who
// is connected: they stand on a circle, there are no links to draw, and all that follow one leader count as one component.
// A swarm that runs now sends maps, which say so.

import { partByName } from "./kinds.js";

const UP = 1, DOWN = 0, PAUSED = 2, OUTSIDE = 3;
const SAMPLES_MAX = 600, SAMPLE_MIN = 250000;
const QUESTIONS = ["open", "run", "step", "look", "act", "add-node", "without", "set", "save"];
/// How many lines of each node's log are kept.
const LINES_MAX = 60;

export class Recording {
  constructor(name, text) {
    this.events = text.split("\n").filter((line) => line.trim()).map((line, index) => {
      let event = null;
      try {
        event = JSON.parse(line);
      } catch { /* refused below */ }
      if (typeof event?.at !== "number" || typeof event.event !== "string") throw new Error(`${name}:${index + 1}: this line is no event of a trace.`);
      return event;
    });
    if (this.events.length === 0) throw new Error(`${name}: the trace is empty.`);
    const ids = this.events.flatMap(({ node, from, leader }) => [node, from, leader]).filter((id) => Number.isInteger(id));
    this.count = ids.reduce((most, id) => Math.max(most, id), 0) + 1;
    this.duration = this.events.at(-1).at;
    this.period = Math.max(SAMPLE_MIN, Math.ceil(this.duration / SAMPLES_MAX));
    const around = (id, of) => 40 + 40 * of((2 * Math.PI * id) / this.count);
    this.places = Array.from({ length: this.count }, (_, id) => [around(id, Math.cos), around(id, Math.sin)]);
    const locks = this.events.filter(({ event }) => event === "lock").reduce((most, { lock }) => Math.max(most, lock), -1) + 1;
    this.about = { name, about: `${name}: a recording of ${this.count} nodes, ${this.events.length} events.`, claims: [], nodes: this.count, election: "",
      quorum: false, group: false, range: null, range_max: null, mutex: null, members: this.events.some(({ event }) => event === "new-list"), locks: locks ? Array.from({ length: locks }, (_, at) => `lock ${at}`) : null, app: false, text: "" };
    this.hash = "of no run: a recording";
    this.refused = "This is a recording: it can be watched, and not be changed.";
    this.begin();
  }

  begin() {
    this.nodes = this.places.map(([x, y]) => [x, y, DOWN, -1, -1, 0, 0, 0, 0]);
    this.links = this.linksAtFirst ?? null;
    Object.assign(this, { at: 0, now: 0, frames: [], sentences: [], kinds: [], sent: [], samples: [], locks: new Map(), lines: this.places.map(() => []),
      frameCount: 0, changes: 0, longestWait: 0, epoch: 0, linksShown: false, mapped: false });
  }

  answers(question) {
    return QUESTIONS.includes(question);
  }

  answer(question) {
    switch (question.ask) {
      case "open":
        this.begin();
        return { ...this.about, duration: this.duration };
      case "run": {
        for (let left = question.budget; left > 0; left--) {
          const event = this.events[this.at];
          if (!event || event.at > question.until) {
            this.sampleBefore(question.until);
            this.now = Math.max(this.now, Math.min(question.until, this.duration));
            return { reached: true, now: this.now };
          }
          this.take(event);
        }
        return { reached: false, now: this.now };
      }
      case "step": {
        const seen = () => this.frames.length + this.sentences.length;
        for (const before = seen(); seen() === before && this.at < this.events.length;) this.take(this.events[this.at]);
        return { now: this.now };
      }
      case "look":
        return this.look(question.samples);
      case "without":
        return { text: question.text };
      default:
        throw new Error(this.refused);
    }
  }

  look(samples) {
    const { frames, sentences } = this;
    [this.frames, this.sentences] = [[], []];
    const links = this.linksShown ? null : this.links;
    this.linksShown = true;
    return { now: this.now, ended: this.at >= this.events.length, hash: this.hash, nodes: this.nodes.map((node) => node.with(7, this.componentOf(node))), links, lines: this.lines,
      kinds: [...this.kinds], parts: this.kinds.map((name) => partByName(this.about, name, this.kinds)), sent: [...this.sent], frames: frames.slice(0, 3000), sentences: sentences.slice(-500), locks: [...this.locks.values()], app: [], tree: [],
      samples: this.samples.slice(samples) };
  }

  sampleBefore(moment) {
    for (let next; (next = (this.samples.length + 1) * this.period) < moment;) {
      this.samples.push([next, this.frameCount, this.agreement(), this.changes, this.longestWait, 0]);
      [this.frameCount, this.changes, this.longestWait] = [0, 0, 0];
    }
  }

  /// The share of nodes in components that follow one of their own; in a network of clusters, of those that are served.
  agreement() {
    const up = this.nodes.filter((node) => node[2] === UP);
    const components = new Map();
    for (const node of up) {
      const component = this.componentOf(node);
      components.set(component, [...(components.get(component) ?? []), node]);
    }
    const agrees = (component, [[, , , , leader], ...rest]) => this.nodes[leader]?.[4] === leader
      && this.componentOf(this.nodes[leader]) === component && rest.every((node) => node[4] === leader);
    const agreeing = this.about.horizon ? up.filter((node) => node[8] === 1).length
      : [...components].reduce((sum, [component, nodes]) => sum + (agrees(component, nodes) ? nodes.length : 0), 0);
    return up.length === 0 ? 0 : agreeing / up.length;
  }

  componentOf(node) {
    return this.mapped ? node[7] : node[4];
  }

  kind(name) {
    const known = this.kinds.indexOf(name);
    if (known >= 0) return known;
    this.sent.push(0);
    return this.kinds.push(name) - 1;
  }

  say(event, text) {
    this.sentences.push([event.at, event.node, text]);
  }

  onLock({ node, lock, lock_event: word, fence, at }) {
    const key = `${node} ${lock}`, state = this.locks.get(key) ?? [node, lock, null, null];
    this.locks.set(key, state);
    if (word === "requests") state[2] = at;
    else if (word === "acquired") {
      if (state[2] !== null) this.longestWait = Math.max(this.longestWait, at - state[2]);
      state[2] = null;
      state[3] = String(fence).split(/\D+/).slice(0, 2);
      this.say({ node, at }, `node ${node} HOLDS lock ${lock}`);
    } else if (word === "released" || word === "lost") {
      state[3] = null;
      this.say({ node, at }, `node ${node}: lock ${lock} ${word}`);
    } else if (word === "refused" || word === "cancels") state[2] = null;
  }

  take(event) {
    this.sampleBefore(event.at);
    this.at += 1;
    this.now = Math.max(this.now, event.at); // lines of a log may come late
    const node = this.nodes[event.node], id = event.node;
    switch (event.event) {
      case "boot":
        Object.assign(node, { 2: UP, 4: -1, 5: 0 });
        return this.say(event, `node ${id} starts${event.blank ? " without its records" : ""}`);
      case "crash":
        Object.assign(node, { 2: DOWN, 4: -1, 5: 0 });
        for (const [key, [of]] of this.locks) if (of === id) this.locks.delete(key);
        return this.say(event, `node ${id} fails`);
      case "pause":
        node[2] = PAUSED;
        return this.say(event, `node ${id} is paused`);
      case "resume":
        node[2] = UP;
        return this.say(event, `node ${id} resumes`);
      case "capacity":
        node[3] = event.capacity ?? -1;
        return undefined;
      case "leads":
        if (node[4] !== id) this.changes += 1;
        Object.assign(node, { 4: id, 5: Number.parseInt(event.term, 10), 6: 1 });
        return this.say(event, `node ${id} LEADS, term ${node[5]}`);
      case "follows":
        if (node[4] !== event.leader) this.say(event, `node ${id} follows node ${event.leader}`);
        return void Object.assign(node, { 4: event.leader, 5: Number.parseInt(event.term, 10), 6: 0 });
      case "leaderless":
        Object.assign(node, { 4: -1, 6: 0 });
        return this.say(event, `node ${id} has no leader`);
      case "new-list": {
        // Ids of lists are below 64.
        const member = Math.floor(event.members / 2 ** id) % 2 === 1;
        Object.assign(node, { 2: member ? UP : OUTSIDE, 4: -1, 5: 0, 6: 0 });
        if (event.epoch > this.epoch) this.say(event, `node ${id} is ${member ? "a" : "no"} member of list ${event.epoch}`);
        this.epoch = Math.max(this.epoch, event.epoch);
        return undefined;
      }
      case "sent":
        this.sent[this.kind(event.kind)] += 1;
        this.frameCount += 1;
        return undefined;
      case "received":
        return void this.frames.push([event.at, this.kind(event.kind), event.from, id, 1]);
      case "partition":
        return this.say(event, "THE NETWORK IS PARTITIONED");
      case "heal":
        return this.say(event, "THE PARTITION IS HEALED");
      case "lock":
        return this.onLock(event);
      case "log":
        this.lines[id].push(`${(event.at / 1e6).toFixed(3)} s  ${event.text}`);
        return void this.lines[id].splice(0, this.lines[id].length - LINES_MAX);
      case "map":
        // Power, leader and term come with events, sooner; whether a board may act is not known from outside.
        event.nodes.forEach((row, at) => [0, 1, 3, 7, 8].forEach((column) => (this.nodes[at][column] = row[column])));
        Object.assign(this, { links: event.links, linksShown: false, mapped: true });
        return undefined;
      case "ended":
        return this.say(event, event.text);
      default:
        return undefined; // not drawn
    }
  }
}
