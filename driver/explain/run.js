/* The Run tab: counts per PTX line, what is uncoalesced or in conflict, and one thread's steps. */

const SECTOR_BYTES = 32;

const runView = { code: null, ir: null, at: -1 };

function buildRun(panel) {
  const { func } = state;
  runView.code = null;
  if (!func.run) {
    panel.append(make("div", { class: "page" }, make("p", { class: "empty" },
      "No launch was executed for this function. Describe one with ", ["--kernel", "--grid", "--block", "--arg"].map((option, i) =>
        [i ? ", " : "", make("code", null, option)]), " of ", make("code", null, "nvmini explain"), ".")));
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

/* The fewest sectors that hold the bytes: no access of a warp moves less than one. */
function neededSectors(counts) {
  return Math.max(counts.warps, counts.bytes / SECTOR_BYTES);
}

function excessSectors(counts) {
  return counts.sectors - neededSectors(counts);
}

/* Bytes without gaps that do not begin at a sector are in one sector more than they need; an access
 * that moves more than that has gaps between its threads. */
function isUncoalesced(counts) {
  return counts.sectors > neededSectors(counts) + counts.warps;
}

/* What the counts of a line can show: the tag, whether a line has it, its weight (the largest comes
 * first), and the sentence about all lines of a group. */
const FINDINGS = [
  { kind: "uncoalesced", holds: (counts) => counts.bytes && isUncoalesced(counts), weight: excessSectors, says: sectorsMoved },
  { kind: "bank conflicts", holds: (counts) => counts.conflicts, weight: (counts) => counts.conflicts,
    says: (func, lines) => `${lines.length > 1 ? "have" : "has"} ${countsIn(lines, "conflicts", "conflicts in")}` },
  { kind: "divergent", holds: (counts) => counts.diverged, weight: (counts) => counts.diverged,
    says: (func, lines) => "diverged in " + countsIn(lines, "diverged", "of") },
];

function sectorsMoved(func, lines) {
  const warps = sumOf(lines, (counts) => counts.warps);
  const [moved, needed] = [(counts) => counts.sectors, neededSectors].map((member) => (sumOf(lines, member) / warps).toFixed(1));
  const opcodes = [...new Set(lines.map((counts) => opcodeOfLine(func, counts.line)))].join(", ");
  return lines.length > 1 ? `${opcodes} move ${moved} sectors a warp, ${needed} would hold their bytes` :
    `${opcodes} moves ${moved} sectors a warp, ${needed} would hold its bytes`;
}

function sumOf(lines, member) {
  return lines.reduce((sum, counts) => sum + member(counts), 0);
}

function countsIn(lines, member, relation) {
  const [count, executions] = [member, "warps"].map((name) => formatNumber(sumOf(lines, (counts) => counts[name])));
  return `${count} ${relation} ${executions} executions`;
}

/* The lines of the PTX that a finding holds for, those from one source line as a group: a loop that was
 * unrolled has dozens. Groups and their lines are sorted by weight. */
function groupsOf(func, { holds, weight }) {
  const groups = new Map();
  func.run.lines.filter(holds).sort((a, b) => weight(b) - weight(a)).forEach((counts) => {
    const place = sourceOfPtx(func, counts.line);
    const key = place ? `${place.file} ${place.line}` : `PTX ${counts.line}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(counts);
  });
  return [...groups.values()].sort((a, b) => sumOf(b, weight) - sumOf(a, weight));
}

function findingItem(func, { kind, says }, lines) {
  const place = sourceOfPtx(func, lines[0].line);
  const others = lines.length > 1 ? " and " + plural(lines.length - 1, "other") : "";
  return make("li", null, make("span", { class: "tag missed" }, kind), " ",
    makeButton("line " + lines[0].line, () => showPtx(lines[0].line, lines.map((counts) => counts.line)), { class: "line-link" }), others,
    place && [" (source ", placeButton(place), ")"], " " + says(func, lines), place && make("code", { class: "faint" }, textOfPlace(place).trim()));
}

function findingsOf(func) {
  const items = FINDINGS.flatMap((finding) => groupsOf(func, finding).map((lines) => findingItem(func, finding, lines)));
  if (func.run.finding) items.unshift(make("li", { class: "finding" }, findingWithLine(func)));
  if (!items.length) items.push(make("li", { class: "faint" }, "Coalesced, without conflicts and without divergence."));
  return section("Findings", make("ul", { class: "plain findings" }, items.slice(0, 100)));
}

/* The finding that ended the launch; its line, which counts in the whole PTX, as a link to the line of
 * this function's PTX. */
function findingWithLine(func) {
  return func.run.finding.split(/\bline (\d+)/).map((part, i) => {
    const line = +part - func.ptx_begin + 1;
    if (i % 2 === 0) return part;
    return line >= 1 && line <= func.ptx.length ?
      makeButton("line " + line, () => showPtx(line), { class: "line-link" }) : "line " + part;
  });
}

/* The opcode of a line of PTX with its modifiers, without its guard. */
function opcodeOfLine(func, line) {
  const entry = func.ptx[line - 1];
  return entry ? entry.text.trim().replace(/^@!?\S+\s+/, "").split(/\s/)[0] : "";
}

function perWarp(counts, count) {
  return (count / counts.warps).toFixed(1);
}

/* A text with dots that may continue on the next line after each of them. */
function breakable(text) {
  return text.split(/(?=\.)/).map((part) => [make("wbr"), part]);
}

const ACCESSES_MOST = 12; /* rows of a table */

/* A table of accesses: `rows` are [counts, cell…], `head` names the cells. */
function tableOfAccesses(func, caption, head, rows) {
  if (!rows.length) return null;
  const more = rows.length - ACCESSES_MOST;
  const table = simpleTable(caption, ["Line", "PTX", ...head, "Source"], rows.slice(0, ACCESSES_MOST).map(([counts, ...cells]) => {
    return make("tr", null,
      make("td", null, makeButton(String(counts.line), () => showPtx(counts.line), { class: "line-link" })),
      make("td", { class: "mono opcode" }, breakable(opcodeOfLine(func, counts.line))),
      cells.map((cell) => make("td", { class: "number-cell" }, String(cell))),
      make("td", { class: "number-cell" }, sourceButton(func, counts.line)));
  }));
  if (more > 0) table.tBodies[0].append(make("tr", null, make("td", { class: "faint", colspan: head.length + 3 }, `and ${more} more`)));
  return table;
}

/* The source {file, line, isNear} that a line of PTX comes from, or null. Passes that widen an access
 * may drop its location: then it is that of a use, or of an operand, and isNear is set. */
function sourceOfPtx(func, ptxLine) {
  const inst = instructionAt(func, (func.ptx[ptxLine - 1] || {}).ir);
  if (!inst) return null;
  const own = sourceOfInst(func, inst);
  const place = own || nearbySource(func, inst);
  return place && { ...place, isNear: !own };
}

/* A button to the source of a line of PTX, with "≈" if it is only near; "" if it is unknown. */
function sourceButton(func, ptxLine) {
  const place = sourceOfPtx(func, ptxLine);
  return place ? placeButton(place) : "";
}

function placeButton(place) {
  return makeButton((place.isNear ? "≈\u202f" : "") + place.line, () => showSourceLine(place.line, place.file),
    { class: "line-link", title: place.isNear ? "the line of a use or an operand: the instruction has none" : null });
}

/* The source {file, line} of an instruction of the final IR, or null. */
function sourceOfInst(func, inst) {
  if (inst.source && inst.file >= 0 && state.data.files[inst.file].text) return { file: inst.file, line: inst.source };
  const line = inputLines(func)[inst.line];
  return line ? { file: -1, line } : null;
}

/* The instructions of the final IR that have a value as an operand. */
function usersOf(func, name) {
  if (!func.users) {
    func.users = new Map();
    func.insts.forEach((inst) => new Set(inst.operands).forEach((operand) => {
      if (!func.users.has(operand)) func.users.set(operand, []);
      func.users.get(operand).push(inst);
    }));
  }
  return func.users.get(name) || [];
}

/* The source of an instruction at most three uses away, or of an operand. */
function nearbySource(func, inst) {
  let names = new Set([inst.name].filter(Boolean));
  for (let depth = 0; depth < 3 && names.size; depth++) {
    const users = [...names].flatMap((name) => usersOf(func, name));
    const located = users.map((user) => sourceOfInst(func, user)).find(Boolean);
    if (located) return located;
    names = new Set(users.map((user) => user.name).filter(Boolean));
  }
  const operands = func.insts.filter((other) => other.name && inst.operands.includes(other.name));
  return operands.map((operand) => sourceOfInst(func, operand)).find(Boolean) || null;
}

/* The accesses that move sectors, those first that move the most without need. */
function globalAccesses(func) {
  const accesses = func.run.lines.filter((counts) => counts.sectors && counts.bytes).sort((a, b) => excessSectors(b) - excessSectors(a));
  return tableOfAccesses(func, "Accesses, least coalesced first", ["Sectors a warp", "Needed"], accesses.map((counts) =>
    [counts, perWarp(counts, counts.sectors), perWarp(counts, Math.min(counts.sectors, neededSectors(counts)))]));
}

/* The accesses of shared memory, which move no sectors; a generic access is one if it has conflicts. */
function sharedAccesses(func) {
  const isShared = (counts) => counts.conflicts || /\.shared\b/.test(opcodeOfLine(func, counts.line));
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

/* Shows a line of the PTX and its IR; `lines` of the PTX are marked too. */
function showPtx(line, lines) {
  if (!runView.code.showLine(line)) return;
  showIrOfPtx(line);
  if (lines) runView.code.setLinked(new Set(lines));
}

function showIrOfPtx(line) {
  runView.code.setLinked(new Set([line]));
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
  if (line) showPtx(line);
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
