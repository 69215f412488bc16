/* The worker of the page without a server: it executes one request and is ended by the page. Before
 * it, the file contains what emscripten made of the program: createNvmini(). */
"use strict";
const OUTPUT_BYTES = 16 << 20; /* of each text, as the server */

/* Bytes that grow; beyond the limit the answer is sent at once, and writing fails. */
class Sink {
  constructor(full) {
    this.full = full;
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  put(byte) {
    if (this.length === OUTPUT_BYTES) {
      this.full();
      throw new Error("full");
    }
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(this.bytes.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = byte;
  }

  text() {
    return new TextDecoder().decode(this.bytes.subarray(0, this.length));
  }
}

onmessage = async ({ data: { program, words, text } }) => {
  let at = 0, sent = false;
  const answer = (status, limit) => {
    if (!sent) postMessage({ status, output: output.text(), messages: messages.text(), limit });
    sent = true;
  };
  const full = () => answer(-1, "output");
  const output = new Sink(full), messages = new Sink(full);
  try {
    const instance = await createNvmini({
      stdin: () => (at < text.length ? text[at++] : null),
      stdout: (byte) => byte !== null && output.put(byte),
      stderr: (byte) => byte !== null && messages.put(byte),
      printErr: () => {}, /* what an exception says is below */
      instantiateWasm: (imports, done) => {
        WebAssembly.instantiate(program, imports).then(done);
        return {};
      },
    });
    answer(instance.callMain(words), "");
  } catch (error) {
    for (const byte of new TextEncoder().encode(`nvmini: stopped: ${error.message}\n`)) messages.put(byte);
    answer(-1, "");
  }
};
