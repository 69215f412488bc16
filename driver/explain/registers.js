/* The Registers tab: pressure along the code, the steps of occupancy, and the declared registers. */

function buildRegisters(panel) {
  const { func } = state;
  const most = highestPressure(func);
  const view = new CodeView({ name: "Final IR with live registers", language: "ir", textIndex: func.final, title: "Final IR",
    columns: [{ title: "range", width: 6, help: "where the selected value is live", cell: (row) => rangeCell(func, row) },
      { title: "live", width: 8, isBar: true, help: "32-bit registers live after the instruction", cell: (row) => liveCell(func, row, most) }],
    onLine: (row) => markPressure(row.line) });
  registersView.code = view;
  registersView.here = make("div", { class: "live-here" });
  panel.append(make("div", { class: "split registers" },
    make("section", { class: "content" },
      make("div", { class: "bar" }, make("h2", null, referenceLink("analyses", "pressure", "Register pressure"), " ", make("small", null, pressureSummary(func, most)))),
      pressureChart(func, most), view.element),
    make("section", { class: "side-facts", "aria-label": "Occupancy and registers" }, occupancyTable(func), registersView.here,
      peakList(func), declaredTable(func))));
  view.setRows(rowsOfText(func, func.final));
}

const registersView = { code: null, marker: null, here: null };

function highestPressure(func) {
  return func.insts.reduce((most, inst) => Math.max(most, inst.live || 0), 1);
}

/* The step with the most warps that so many registers permit. */
function occupancyOf(func, registers) {
  const steps = (func.occupancy || []).filter((step) => registers <= step.registers);
  return steps.reduce((best, step) => (!best || step.warps > best.warps ? step : best), null);
}

function pressureSummary(func, most) {
  const step = occupancyOf(func, most);
  const base = `at most ${plural(most, "register")} live`;
  return step ? `${base}: ${step.warps} warps resident, limited by ${step.limit}${nextStep(func, step)}` : base;
}

/* How many registers would permit more warps. */
function nextStep(func, current) {
  const better = func.occupancy.filter((step) => step.warps > current.warps);
  const next = better.reduce((best, step) => (!best || step.registers > best.registers ? step : best), null);
  return next ? `; ${next.registers} registers would permit ${next.warps}` : "; fewer registers would not permit more";
}

/* A bar where the selected value of the final IR is live. */
function rangeCell(func, row) {
  const isHere = state.value && state.text === func.final && row.line && liveLines(func, state.value).has(row.line);
  return isHere ? { text: "┃" } : null;
}

function liveCell(func, row, most) {
  const inst = row.line ? instructionAt(func, row.line) : null;
  if (!inst) return null;
  return { text: String(inst.live), heat: inst.live / most, alert: inst.live === most };
}

/* A strip of bars, one an instruction (or the highest of several), with a line for each step. */
function pressureChart(func, most) {
  const width = 1000;
  const height = 150;
  const steps = func.occupancy || [];
  const top = Math.max(most, ...steps.filter((step) => step.registers < most * 1.6).map((step) => step.registers)) * 1.05;
  const y = (value) => height - (value / top) * height;
  const svg = makeSvg("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Live registers along the code, ${pressureSummary(func, most)}` });
  svg.append(makeSvg("path", { class: "area", d: pressurePath(func, width, height, y) }));
  registersView.marker = makeSvg("line", { class: "marker", y1: 0, y2: height, x1: -9, x2: -9 });
  const labels = [];
  steps.filter((step) => step.registers <= top).forEach((step) => {
    svg.append(makeSvg("line", { class: "step-line", x1: 0, x2: width, y1: y(step.registers), y2: y(step.registers) }));
    labels.push(make("span", { class: "step-label", style: `top:${(y(step.registers) / height) * 100}%` }, `${step.registers} registers: ${step.warps} warps`));
  });
  svg.append(registersView.marker);
  return make("div", { class: "strip-frame", onclick: (event) => {
    const box = svg.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * func.insts.length);
    const inst = func.insts[Math.max(0, Math.min(func.insts.length - 1, i))];
    if (inst && registersView.code.showLine(inst.line)) markPressure(inst.line);
  } }, svg, labels);
}

function pressurePath(func, width, height, y) {
  const count = func.insts.length || 1;
  const columns = Math.min(count, width);
  let path = `M0 ${height}`;
  for (let column = 0; column < columns; column++) {
    const begin = Math.floor((column * count) / columns);
    const end = Math.max(begin + 1, Math.floor(((column + 1) * count) / columns));
    let most = 0;
    for (let i = begin; i < end && i < func.insts.length; i++) most = Math.max(most, func.insts[i].live || 0);
    path += `V${round(y(most))}H${round(((column + 1) * width) / columns)}`;
  }
  return path + `V${height}Z`;
}

function markPressure(line) {
  const { func } = state;
  const i = lowerBound(func.insts, (inst) => inst.line >= line);
  const x = ((i + 0.5) / Math.max(1, func.insts.length)) * 1000;
  registersView.marker.setAttribute("x1", x);
  registersView.marker.setAttribute("x2", x);
  showLiveHere(func, line);
}

/* The values live after a line, each a button. */
function showLiveHere(func, line) {
  const names = liveAfter(func, line);
  const items = names.map((name) => {
    const inst = func.insts.find((other) => other.name === name);
    return make("li", null, makeButton([name, make("span", { class: "faint" }, " " + (inst ? inst.type : "parameter"))],
      () => chooseValue(name, func.final), { class: "line-link mono" }));
  });
  replaceChildren(registersView.here, make("h3", null, `${plural(names.length, "value")} live after line ${line}`),
    make("ul", { class: "plain" }, items));
}

function simpleTable(caption, head, rows) {
  return make("table", null, make("caption", null, caption),
    make("thead", null, make("tr", null, head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", null, rows));
}

function occupancyTable(func) {
  const current = occupancyOf(func, highestPressure(func));
  const rows = func.occupancy.map((step) =>
    make("tr", { class: step === current ? "chosen" : "" },
      ["≤ " + step.registers, step.blocks, step.warps].map((cell) => make("td", { class: "number-cell" }, String(cell))),
      make("td", null, step.limit)));
  return simpleTable(`Occupancy with ${plural(func.threads, "thread")} a block, ${formatNumber(func.shared)} bytes of shared memory`,
    ["Registers", "Blocks", "Warps", "Limit"], rows);
}

function declaredTable(func) {
  return simpleTable("Declared in the PTX", ["Type", "Registers"], func.registers.map((entry) =>
    make("tr", null, make("td", { class: "mono" }, entry.type), make("td", { class: "number-cell" }, String(entry.count)))));
}

/* The blocks with the highest pressure, each with the place where it peaks. */
function peakList(func) {
  const order = func.blocks.map((_, i) => i).sort((a, b) => func.blocks[b].pressure - func.blocks[a].pressure).slice(0, 8);
  const rows = order.map((i) => {
    const block = func.blocks[i];
    const [begin, end] = block.insts;
    let peak = func.insts[begin];
    for (let k = begin; k < end; k++) if (func.insts[k].live > peak.live) peak = func.insts[k];
    const line = peak ? peak.line : block.line;
    return make("tr", null,
      make("td", null, makeButton(block.name, () => {
        registersView.code.showLine(line);
        markPressure(line);
      }, { class: "line-link mono" })),
      make("td", { class: "number-cell" }, String(block.pressure)));
  });
  return simpleTable("Basic blocks with the highest pressure", ["Block", "Registers"], rows);
}
