/* The page without a server: requests are executed by nvmini as WebAssembly, each in a worker of its
 * own, which is ended at its limit of time. From a static server the program is fetched; a page that
 * was opened from disk may not fetch, so it loads a script that contains worker and program. */
"use strict";
const nvminiEngine = (() => {
  const SECONDS = 10;
  const isOnDisk = location.protocol === "file:";
  let parts = null; /* promise of {program, workerAddress} */
  let spare = null; /* a worker that has loaded its script */

  function loadScript(address) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = () => failed(new Error(`${address} is missing`));
      document.head.append(script);
    });
  }

  async function loadFromDisk() {
    await loadScript("disk.js");
    const { worker, wasm } = window.nvminiDisk;
    delete window.nvminiDisk;
    const bytes = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
    return { program: await WebAssembly.compile(bytes), workerAddress: URL.createObjectURL(new Blob([worker], { type: "text/javascript" })) };
  }

  async function loadFromServer() {
    const response = await fetch("nvmini.wasm");
    if (!response.ok) throw new Error("nvmini.wasm is missing");
    return { program: await WebAssembly.compile(await response.arrayBuffer()), workerAddress: "worker.js" };
  }

  function load() {
    parts = parts || (isOnDisk ? loadFromDisk() : loadFromServer());
    return parts;
  }

  /* The answer as the server gives it. */
  async function execute(words, text, signal) {
    const { program, workerAddress } = await load();
    const worker = spare || new Worker(workerAddress);
    spare = null;
    return new Promise((done, failed) => {
      const end = (finish, value) => {
        clearTimeout(timer);
        worker.terminate();
        finish(value);
      };
      const timer = setTimeout(() => end(done, { status: -1, output: "", messages: "", limit: "time" }), SECONDS * 1000);
      worker.onmessage = ({ data }) => end(done, data);
      worker.onerror = (event) => end(failed, new Error(event.message));
      if (signal) signal.addEventListener("abort", () => end(failed, new DOMException("", "AbortError")));
      worker.postMessage({ program, words, text: new TextEncoder().encode(text) });
      spare = new Worker(workerAddress);
    });
  }

  return {
    choices: async () => JSON.parse((await execute(["choices"], "")).output),
    ask: (command, { cpu, level, options }, text, signal) => execute([command, cpu, level, options], text, signal),
  };
})();
