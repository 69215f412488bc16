/* The Run tab: counts per PTX line, what is uncoalesced or in conflict, and one thread's steps. */

const SECTOR_BYTES = 32;

const runView = { code: null, ir: null, at: -1 };

function buildRun(panel) {
  const { func } = state;
  runView.code = null;
  if (!func.run) {
    panel.append(make("div", { class: "page" }, make("p", { class: "empty" },
      "No launch was executed for this function. Give ", make("code", null, "--run"), " to ", make("code", null, "nvmini explain"), ".")));
    return;
  }
  runView.code = new CodeView({ name: "PTX with counts", language: "ptx", textIndex: PTX_TEXT, title: "PTX", columns: runColumns(func),
    onLine: (row) => runView.ir && showIrOfPtx(row.line) });
  runView.ir = new CodeView({ name: "Final IR", language: "ir", textIndex: func.final, title: "Final IR" });
  panel.append(make("div", { class: "split run" },
    make("section", { class: "content" }, make("div", { class: "bar" }, make("h2", null, launchTitle(func.run))),
      make("div", { class: "columns" }, runView.code.element, runView.ir.element)),
    make("section", { class: "side-facts", "aria-label": "Findings, thread and totals" },
      findingsOf(func), globalAccesses(func), sharedAccesses(func), tracePanel(func), totalsTable(func.run))));
  runView.code.setRows(ptxRows(func));
  runView.ir.setRows(rowsOfText(func, func.final));
}

function launchTitle(run) {
  return [run.kernel, " ", make("small", null, `grid ${run.grid.join("×")} · block ${run.block.join("×")}`)];
}

/* The counts of a PTX line, or null. */
function countsAt(func, line) {
  if (!func.runIndex) func.runIndex = new Map(func.run.lines.map((counts) => [counts.line, counts]));
  return func.runIndex.get(line) || null;
}

function mostOf(func, member) {
  return func.run.lines.reduce((most, line) => Math.max(most, line[member] || 0), 1);
}

function warpColumn(func) {
  const most = Math.log2(1 + mostOf(func, "warps"));
  return { title: "warps", width: 6, help: "warps that executed the line", cell: (row) => {
    const counts = countsAt(func, row.line);
    if (!counts) return null;
    return { text: shortNumber(counts.warps), heat: Math.log2(1 + counts.warps) / most, title: formatNumber(counts.warps) + " warps" };
  } };
}

function runColumns(func) {
  const column = (title, member, width, help, isAlert) => ({ title, width, help, cell: (row) => {
    const counts = countsAt(func, row.line);
    if (!counts || !counts[member]) return null;
    return { text: shortNumber(counts[member]), alert: isAlert && isAlert(counts), title: formatNumber(counts[member]) + " " + title };
  } });
  const columns = [warpColumn(func), column("threads", "threads", 7, "threads that executed the line"),
    column("diverged", "diverged", 8, "executions with threads on both paths", () => true), column("bytes", "bytes", 6, "bytes that threads accessed"),
    column("sectors", "sectors", 7, "sectors of 32 bytes that memory moved", isUncoalesced),
    column("conflicts", "conflicts", 9, "bank conflicts of shared memory", () => true)];
  const isUsed = (entry) => func.run.lines.some((counts) => counts[entry.title] > 0);
  return columns.filter(isUsed); /* a column without a count would only take space */
}

/* More than twice the sectors that the bytes need, and more than one for each access of a warp:
 * no access can move less than a sector. */
function isUncoalesced(counts) {
  return counts.sectors > (2 * counts.bytes) / SECTOR_BYTES && counts.sectors > counts.warps;
}

function findingsOf(func) {
  const items = [];
  const add = (line, kind, sentence) => items.push(make("li", null, make("span", { class: "tag missed" }, kind), " ",
    makeButton("line " + line, () => runView.code.showLine(line) && showIrOfPtx(line), { class: "line-link" }), " " + sentence));
  if (func.run.finding) items.push(make("li", { class: "finding" }, func.run.finding));
  func.run.lines.forEach((counts) => {
    if (counts.bytes && isUncoalesced(counts)) {
      const times = (counts.sectors * SECTOR_BYTES) / counts.bytes;
      add(counts.line, "uncoalesced", `moves ${times.toFixed(1)} times the bytes that it needs`);
    }
    if (counts.conflicts) add(counts.line, "bank conflicts", `${formatNumber(counts.conflicts)} in ${formatNumber(counts.warps)} executions`);
    if (counts.diverged) add(counts.line, "divergent", `diverged in ${formatNumber(counts.diverged)} of ${formatNumber(counts.warps)} executions`);
  });
  if (!items.length) items.push(make("li", { class: "faint" }, "Coalesced, without conflicts and without divergence."));
  return section("Findings", make("ul", { class: "plain findings" }, items.slice(0, 100)));
}

/* The opcode of a line of PTX, without its guard. */
function opcodeOf(line) {
  return line.trim().replace(/^@!?\S+\s+/, "").split(/\s/)[0];
}

/* A text with dots that may continue on the next line after each of them. */
function breakable(text) {
  return text.split(/(?=\.)/).map((part) => [make("wbr"), part]);
}

/* A table of accesses: `rows` are [counts, cell…], `head` names the cells. */
function tableOfAccesses(func, caption, head, rows) {
  if (!rows.length) return null;
  return simpleTable(caption, ["Line", "PTX", ...head], rows.slice(0, 12).map(([counts, ...cells]) => {
    const entry = func.ptx[counts.line - 1];
    return make("tr", null,
      make("td", null, makeButton(String(counts.line), () => runView.code.showLine(counts.line) && showIrOfPtx(counts.line), { class: "line-link" })),
      make("td", { class: "mono opcode" }, entry ? breakable(opcodeOf(entry.text)) : ""),
      cells.map((cell) => make("td", { class: "number-cell" }, String(cell))));
  }));
}

/* The accesses that move sectors, the least efficient first: sectors for each warp, and how much of
 * what moved was used. */
function globalAccesses(func) {
  const share = (counts) => counts.bytes / (counts.sectors * SECTOR_BYTES);
  const accesses = func.run.lines.filter((counts) => counts.sectors && counts.bytes).sort((a, b) => share(a) - share(b));
  return tableOfAccesses(func, "Accesses, least coalesced first", ["Sectors a warp", "Used"], accesses.map((counts) =>
    [counts, (counts.sectors / counts.warps).toFixed(1), Math.min(100, Math.round(100 * share(counts))) + "\u202f%"]));
}

/* The accesses of shared memory, which move no sectors; a generic access is one if it has conflicts. */
function sharedAccesses(func) {
  const isShared = (counts) => counts.conflicts || /\.shared\b/.test(opcodeOf((func.ptx[counts.line - 1] || { text: "" }).text));
  const accesses = func.run.lines.filter((counts) => counts.bytes && isShared(counts))
    .sort((a, b) => b.conflicts / b.warps - a.conflicts / a.warps);
  return tableOfAccesses(func, "Accesses of shared memory, most bank conflicts first", ["Conflicts", "Conflicts a warp"],
    accesses.map((counts) => [counts, formatNumber(counts.conflicts), (counts.conflicts / counts.warps).toFixed(1)]));
}

function totalsTable(run) {
  const names = Object.keys(run.counts).filter((name) => run.counts[name]);
  return simpleTable("Totals", ["Count", "Value"], names.map((name) =>
    make("tr", null, make("td", null, name.replace(/[._]/g, " ")), make("td", { class: "number-cell" }, formatNumber(run.counts[name])))));
}

function showIrOfPtx(line) {
  const entry = state.func.ptx[line - 1];
  if (!entry || !entry.ir) return;
  runView.ir.showLine(entry.ir);
  runView.ir.setLinked(new Set([entry.ir]));
}

/* The controls and values of the traced thread. */
function tracePanel(func) {
  const { trace } = func.run;
  if (!trace || !trace.length) return section("Traced thread", make("p", { class: "faint" }, "No trace."));
  runView.at = -1;
  runView.values = make("tbody");
  runView.place = make("output", { class: "place" });
  runView.slider = make("input", { type: "range", min: 0, max: trace.length - 1, value: 0, "aria-label": "Step of the thread",
    oninput: () => showTraceStep(+runView.slider.value) });
  const step = (text, delta, label) => makeButton(text, () => showTraceStep(runView.at + delta), { "aria-label": label, title: label });
  return section("Traced thread",
    make("div", { class: "stepper" }, step("← Previous", -1, "Previous step (p)"), step("Next →", 1, "Next step (n)"), runView.place),
    runView.slider,
    make("table", { class: "values" }, make("thead", null, make("tr", null, ["Register", "Value", "IR"].map((name) => make("th", { scope: "col" }, name)))), runView.values));
}

function showTraceStep(at) {
  const { func } = state;
  const trace = func.run && func.run.trace;
  if (!trace || !runView.code || at < 0 || at >= trace.length) return;
  runView.at = at;
  const { line } = trace[at];
  runView.slider.value = at;
  runView.place.textContent = `${formatNumber(at + 1)} of ${formatNumber(trace.length)}`;
  if (line) {
    runView.code.showLine(line);
    showIrOfPtx(line);
  }
  replaceChildren(runView.values, traceValues(trace[at].text).map((entry) => valueRow(func, entry)));
  tell(trace[at].text);
}

/* Values that a line of the trace reads and writes: "%r1=8" after the comment sign, or "%r1 = 8". */
function traceValues(text) {
  const comment = text.indexOf("//");
  const facts = comment >= 0 ? text.slice(comment + 2) : text;
  const arrow = comment >= 0 ? facts.indexOf("->") : -1;
  const result = [];
  const pattern = /([%$][\w.]+) ?= ?([^\s,]+)/g;
  for (let match = pattern.exec(facts); match; match = pattern.exec(facts))
    result.push({ name: match[1], value: match[2], isResult: arrow >= 0 && match.index > arrow });
  return result;
}

function valueRow(func, entry) {
  const values = valuesInRegister(func, entry.name).slice(0, 3).map((inst) => inst.name).join(" ");
  const isKnown = indexText(func, PTX_TEXT).definitions.has(entry.name);
  return make("tr", { class: entry.isResult ? "chosen" : "" },
    make("td", { class: "mono" }, isKnown ? makeButton(entry.name, () => chooseValue(entry.name, PTX_TEXT), { class: "line-link mono" }) : entry.name),
    make("td", { class: "mono number-cell" }, entry.value), make("td", { class: "mono faint" }, values));
}
