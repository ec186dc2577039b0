// The simulator: a module without imports, which answers questions. Both are JSON (`host_sim::play`).

const { instance } = await load("conclave.wasm");
const { memory, input, ask: askModule, output } = instance.exports;
const encoder = new TextEncoder(), decoder = new TextDecoder();
let stopped = false;

/// Compiles a module while it is read; some servers do not know its type, and then it is read first.
async function load(address) {
  try {
    return await WebAssembly.instantiateStreaming(fetch(address), {});
  } catch {
    return WebAssembly.instantiate(await (await fetch(address)).arrayBuffer(), {});
  }
}

export const simulatorBytes = () => memory.buffer.byteLength;

export function askSimulator(question) {
  if (stopped) throw new Error("The simulator stopped. Reload the page.");
  const text = encoder.encode(JSON.stringify(question));
  let length;
  try {
    const at = input(text.length); // the memory may grow, and its buffer be another
    new Uint8Array(memory.buffer, at, text.length).set(text);
    length = askModule();
  } catch (error) {
    stopped = true;
    throw new Error(`The simulator stopped (${error.message}). Reload the page.`);
  }
  const answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, output(), length)));
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}
