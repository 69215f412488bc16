/* The Code tab: source, final IR and PTX side by side; a line of one marks its lines in the others. */

const codeTab = { views: {}, shown: { source: true, ir: true, ptx: true }, file: -1, chooser: null, removed: null };

function buildCode(panel) {
  const { func } = state;
  codeTab.file = firstFile(func);
  codeTab.frame = make("div", { class: "columns" });
  codeTab.removed = make("section", { class: "removed-here", "aria-label": "Instructions that passes removed", hidden: true });
  panel.append(make("div", { class: "stack" },
    make("div", { class: "bar" }, make("h2", null, func.name, " ", make("small", null, codeSummary(func))), codeButtons()),
    codeTab.frame, codeTab.removed));
  fillCode();
}

function codeSummary(func) {
  const lines = func.ptx.filter((line) => line.ir).length;
  return `${plural(func.insts.length, "IR instruction")} · ${plural(lines, "PTX instruction")}`;
}

/* The file with most debug locations of the function; −1: the input itself. */
function firstFile(func) {
  const counts = new Map();
  func.insts.forEach((inst) => inst.source && inst.file >= 0 && counts.set(inst.file, (counts.get(inst.file) || 0) + 1));
  const usable = Array.from(counts).filter(([file]) => state.data.files[file] && state.data.files[file].text);
  usable.sort((a, b) => b[1] - a[1]);
  return usable.length ? usable[0][0] : -1;
}

function codeButtons() {
  const toggle = (key, label) => {
    const button = makeButton(label, () => {
      codeTab.shown[key] = !codeTab.shown[key];
      button.setAttribute("aria-pressed", String(codeTab.shown[key]));
      fillCode();
    }, { "aria-pressed": String(codeTab.shown[key]) });
    return button;
  };
  return make("div", { class: "buttons" }, fileChooser(), toggle("source", "Source"), toggle("ir", "IR"), toggle("ptx", "PTX"));
}

function fileChooser() {
  codeTab.chooser = null;
  const files = state.data.files.map((file, i) => [file.name, i]).filter(([, i]) => state.data.files[i].text);
  if (!files.length) return null;
  const options = [[state.data.file, -1]].concat(files).map(([name, i]) =>
    make("option", { value: i, selected: i === codeTab.file }, name));
  codeTab.chooser = make("select", { "aria-label": "Source file", onchange: (event) => {
    codeTab.file = +event.target.value;
    fillCode();
  } }, options);
  return codeTab.chooser;
}

function fillCode() {
  const { func } = state;
  const makers = { source: makeSourceView, ir: makeIrView, ptx: makePtxView };
  Object.keys(codeTab.views).forEach((key) => codeTab.views[key].dispose());
  codeTab.views = {};
  Object.keys(makers).forEach((key) => {
    if (codeTab.shown[key]) codeTab.views[key] = makers[key](func);
  });
  const views = Object.keys(codeTab.views).map((key) => codeTab.views[key]);
  replaceChildren(codeTab.frame, views.map((view) => view.element));
  codeTab.removed.hidden = true;
  if (codeTab.chooser) codeTab.chooser.value = codeTab.file;
  views.forEach((view) => view.setRows(view.initialRows));
  func.links = null;
  addJob(() => func === state.func && codeLinks(func));
  if (codeTab.views.source && codeTab.file < 0) codeTab.views.source.showLine(func.begin);
  if (state.line) showFinalLine(state.line);
}

function makeSourceView(func) {
  const file = codeTab.file;
  const text = file < 0 ? state.data.source : state.data.files[file].text;
  const name = file < 0 ? state.data.file : state.data.files[file].name;
  const view = new CodeView({ name: "Source", language: file < 0 && /\.(nvir|ll)$/.test(name) ? "ir" : "source",
    title: name, onLine: (row) => (linkFrom("source", row, true), showRemoved(row.line)), onHover: (row) => linkFrom("source", row, false) });
  view.initialRows = text.split("\n").map((line, i) => ({ text: line, line: i + 1 }));
  addRemarkNotes(func, view.initialRows, name);
  return view;
}

/* Appends the first remark of a line to the line. */
function addRemarkNotes(func, rows, name) {
  func.remarks.forEach((remark) => {
    const row = rows[remark.line - 1];
    if (!row || remark.file.split("/").pop() !== name.split("/").pop() || remark.kind === "analysis") return;
    row.notes = (row.notes || 0) + 1;
    if (row.notes === 1) row.note = remark.message;
    row.noteKind = remark.kind;
  });
  rows.forEach((row) => {
    if (row.notes > 1) row.note += ` (and ${row.notes - 1} more)`;
  });
}

function makeIrView(func) {
  const view = new CodeView({ name: "Final IR", language: "ir", textIndex: func.final, title: "Final IR",
    onLine: (row) => linkFrom("ir", row, true), onHover: (row) => linkFrom("ir", row, false) });
  view.initialRows = rowsOfText(func, func.final);
  return view;
}

function makePtxView(func) {
  const view = new CodeView({ name: "PTX", language: "ptx", textIndex: PTX_TEXT, title: "PTX",
    columns: func.run ? [warpColumn(func)] : [],
    onLine: (row) => linkFrom("ptx", row, true), onHover: (row) => linkFrom("ptx", row, false) });
  view.initialRows = ptxRows(func);
  return view;
}

function ptxRows(func) {
  return func.ptx.map((line, i) => ({ text: line.text.replace(/\t/g, "  "), line: i + 1 }));
}

/* Lines that belong together: by IR line its PTX lines and its source line, and the reverse. */
function codeLinks(func) {
  if (func.links) return func.links;
  const links = { irToPtx: new Map(), irToSource: new Map(), sourceToIr: new Map() };
  const add = (map, key, value) => (map.has(key) ? map.get(key).add(value) : map.set(key, new Set([value])));
  func.ptx.forEach((line, i) => line.ir && add(links.irToPtx, line.ir, i + 1));
  const pair = (ir, source) => {
    if (!ir || !source) return;
    add(links.irToSource, ir, source);
    add(links.sourceToIr, source, ir);
  };
  if (codeTab.file >= 0) func.insts.forEach((inst) => inst.file === codeTab.file && pair(inst.line, inst.source));
  else inputLines(func).forEach((source, ir) => pair(ir, source));
  func.links = links;
  return links;
}

function unionOf(map, keys) {
  const result = new Set();
  keys.forEach((key) => (map.get(key) || []).forEach((value) => result.add(value)));
  return result;
}

/* The sets of lines of the three views that belong to a row of one. */
function linkedLines(kind, row) {
  const { func } = state;
  const links = codeLinks(func);
  if (!row || !row.line) return { source: new Set(), ir: new Set(), ptx: new Set() };
  const own = new Set([row.line]);
  let ir = own;
  if (kind === "ptx") ir = new Set(func.ptx[row.line - 1].ir ? [func.ptx[row.line - 1].ir] : []);
  if (kind === "source") ir = links.sourceToIr.get(row.line) || new Set();
  const ptx = kind === "ptx" ? own : unionOf(links.irToPtx, ir);
  const source = kind === "source" ? own : unionOf(links.irToSource, ir);
  return { source, ir, ptx };
}

function linkFrom(kind, row, isClick) {
  const sets = linkedLines(kind, row);
  Object.keys(codeTab.views).forEach((key) => {
    const view = codeTab.views[key];
    view.setLinked(sets[key]);
    if (!isClick || key === kind || !sets[key].size) return;
    const lines = Array.from(sets[key]).sort((a, b) => a - b);
    const target = view.rowOfLine(lines[0]);
    if (target >= 0) {
      view.setCurrent(target, false);
      view.scrollToRow(target, true);
    }
  });
  if (isClick && sets.ir.size) {
    state.line = Math.min(...sets.ir);
    writeHash();
  }
}

function showInCode(key, line) {
  if (!codeTab.shown[key]) {
    codeTab.shown[key] = true;
  }
  if (state.tab !== "code") showTab("code");
  if (!codeTab.views[key]) fillCode();
  const view = codeTab.views[key];
  if (view && view.showLine(line)) linkFrom(key, { line }, true);
}

function showFinalLine(line) {
  state.line = line;
  showInCode("ir", line);
}

function showPtxLine(line) {
  if (state.tab === "run" && runView.code) return void runView.code.showLine(line);
  showInCode("ptx", line);
}

/* Shows a line of a source file, by its index; −1: the input. */
function showSourceLine(line, file) {
  if (state.tab !== "code") showTab("code");
  if (file !== codeTab.file) {
    codeTab.file = file;
    fillCode();
  }
  showInCode("source", line);
  showRemoved(line);
}

/* The instructions of the input that a source line became, as lines of the first text. */
function inputOfSource(func, line) {
  if (codeTab.file >= 0)
    return func.input_lines.filter(([, file, source]) => file === codeTab.file && source === line).map(([input]) => input);
  return Array.from(sourceOfInput(func).keys()).filter((input) => input && sourceOfInput(func)[input] === line);
}

/* Below the code: the instructions of a source line that are not in the final IR, each with the
 * pass that removed it, the last first: the first passes remove what every input has. The first
 * history compares all texts, so it is a job. */
function showRemoved(line) {
  const { func } = state;
  codeTab.removed.hidden = true;
  addJob(() => func === state.func && listRemoved(func, line));
}

function listRemoved(func, line) {
  const first = func.steps[0].text;
  const items = inputOfSource(func, line).map((input) => ({ input, history: lineHistory(func, 0, input) }))
    .filter(({ history }) => history.removed >= 0)
    .sort((a, b) => b.history.removed - a.history.removed)
    .map(({ input, history }) => make("li", null,
      make("span", { class: "mono" }, linesOf(func, first)[input - 1].trim().replace(/, ![\w.]+ !\d+/g, "")),
      make("span", { class: "was-removed" }, "removed by "),
      makeButton(`${func.steps[history.removed].pass}, step ${history.removed}`, () => showRemoval(first, input), { class: "line-link" })));
  codeTab.removed.hidden = !items.length;
  replaceChildren(codeTab.removed, make("h3", null, `Line ${line}: ${plural(items.length, "instruction")} of the input not in the final IR`),
    make("ul", { class: "plain" }, items));
}
