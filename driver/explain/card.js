/* The card: all that is known about the value that was chosen, at the right side of the page. */

/* Chooses a value by its name in a text; chooseValue("") closes the card. */
function chooseValue(name, textIndex) {
  if (!name) return closeCard();
  state.value = name;
  state.text = textIndex;
  announce("value");
  return undefined;
}

function closeCard() {
  if (!state.value) return;
  state.value = "";
  announce("value");
}

/* Whether a word is the chosen value, or a register or value that belongs to it. */
function isChosenName(name, textIndex) {
  if (!state.value) return false;
  if (name === state.value) {
    const isPtx = textIndex === PTX_TEXT;
    if (isPtx === (state.text === PTX_TEXT)) return true;
  }
  return related().has((textIndex === PTX_TEXT ? "ptx " : textIndex === state.func.final ? "ir " : "") + name);
}

/* Names in the other language that belong to the chosen one, with "ptx " or "ir " before them. */
function related() {
  const { func } = state;
  const key = state.value + " " + state.text;
  if (func.relatedKey === key) return func.related;
  func.relatedKey = key;
  func.related = new Set();
  if (state.text === func.final) {
    const line = indexText(func, func.final).definitions.get(state.value);
    const inst = line && instructionAt(func, line);
    ((inst && inst.name === state.value && inst.registers) || []).forEach((name) => func.related.add("ptx " + name));
  } else if (state.text === PTX_TEXT) {
    valuesInRegister(func, state.value).forEach((inst) => func.related.add("ir " + inst.name));
  }
  return func.related;
}

function valuesInRegister(func, register) {
  return func.insts.filter((inst) => inst.name && (inst.registers || []).includes(register));
}

function showCard() {
  const card = byId("card");
  card.hidden = !state.value;
  document.body.classList.toggle("has-card", Boolean(state.value));
  if (!state.value) return;
  replaceChildren(card, cardHead(), state.text === PTX_TEXT ? registerCard() : valueCard());
  tell("Value " + state.value);
}

function cardHead() {
  return make(
    "div",
    { class: "card-head" },
    make("h2", { class: "mono" }, state.value),
    makeButton("×", closeCard, { class: "quiet", "aria-label": "Close the card", title: "Close (Esc)" })
  );
}

function factList(facts) {
  const list = make("dl", { class: "facts" });
  facts.forEach(([term, value]) => {
    if (value === "" || value === null || value === undefined) return;
    list.append(make("dt", null, term), make("dd", null, value));
  });
  return list;
}

function section(title, ...children) {
  return make("section", null, make("h3", null, title), children);
}

/* A list of lines of a text, each a button that shows the line; at most `most` of them. */
function lineList(textIndex, lines, most) {
  const { func } = state;
  const text = textIndex === PTX_TEXT ? func.ptx.map((line) => line.text) : linesOf(func, textIndex);
  const items = lines.slice(0, most).map((line) =>
    make("li", null, makeButton([make("span", { class: "number" }, String(line)), (text[line - 1] || "").trim()],
      () => showLineOfText(textIndex, line), { class: "line-link mono" }))
  );
  if (lines.length > most) items.push(make("li", { class: "faint" }, "and " + (lines.length - most) + " more"));
  return make("ul", { class: "plain" }, items);
}

function registerCard() {
  const { func } = state;
  const index = indexText(func, PTX_TEXT);
  const line = index.definitions.get(state.value);
  const isLabel = state.value[0] === "$";
  const values = isLabel ? [] : valuesInRegister(func, state.value);
  return [
    make("p", { class: "kind" }, isLabel ? "Label of the PTX" : "Register of the PTX"),
    values.length
      ? section("Holds", make("ul", { class: "plain" }, values.slice(0, 20).map((inst) =>
          make("li", null, makeButton(inst.name, () => chooseValue(inst.name, func.final), { class: "line-link mono" })))))
      : null,
    section(isLabel ? "Position" : "First definition", lineList(PTX_TEXT, [line], 1),
      aboutEntry("ptx", line && !isLabel ? opcodeOf(func.ptx[line - 1].text) : "")),
    section("Other occurrences", lineList(PTX_TEXT, index.uses.get(state.value) || [], 40)),
  ];
}

function valueCard() {
  const { func } = state;
  const index = indexText(func, state.text);
  const line = index.definitions.get(state.value);
  if (!line) return make("p", null, "Not defined in this text.");
  const uses = index.uses.get(state.value) || [];
  const history = lineHistory(func, stepOfText(func, state.text), line);
  const finalLine = history.removed < 0 ? history.last : 0;
  const isLabel = LABEL.test(linesOf(func, state.text)[line - 1]);
  return [
    finalLine ? null : removalSentence(history),
    isLabel ? blockFacts(finalLine) : instructionFacts(finalLine, line),
    section("Definition", lineList(state.text, [line], 1)),
    section(plural(uses.length, "use"), lineList(state.text, uses, 40)),
    section("History", historyList(history, line)),
    remarkSection(finalLine),
  ];
}

function removalSentence(history) {
  const { func } = state;
  return make("p", { class: "was-removed" }, `Removed by ${func.steps[history.removed].pass}, step ${history.removed}.`);
}

/* What the analyses know of the value in the final text. */
function instructionFacts(finalLine, line) {
  const { func } = state;
  const definition = linesOf(func, state.text)[line - 1];
  if (definition.startsWith("define")) return make("p", { class: "kind" }, "Parameter of @" + func.name);
  const inst = finalLine ? instructionAt(func, finalLine) : null;
  if (!inst) return make("p", { class: "kind" }, finalLine ? "No facts." : "The facts that analyses know are those of the final IR.");
  return factList(
    [
      ["Type", mono(inst.type)],
      ["Operation", [mono(inst.op), aboutEntry("ops", inst.op)]],
      ["Intrinsic", intrinsicLink(definition)],
      [referenceLink("analyses", "ranges", "Range"), mono(inst.range)],
      [referenceLink("analyses", "ranges", "Known bits"), inst.bits ? bitsOf(inst.bits) : ""],
      [referenceLink("analyses", "divergence", "Divergence"), inst.divergent ? "divergent: may differ between threads of a warp" : "uniform in a warp"],
      [referenceLink("analyses", "scev", "Scalar evolution"), mono(inst.scev)],
      ["Registers", mono((inst.registers || []).join(" ") || "none: folded into its uses")],
      [referenceLink("analyses", "pressure", "Live after it"), plural(inst.live, "register")],
    ]
  );
}

/* The intrinsic that a line calls, as a link. */
function intrinsicLink(line) {
  const entry = (line.match(/@llvm\.[\w.]+/g) || []).map(intrinsicOf).find(Boolean);
  return entry ? referenceLink("intrinsics", entry.name) : "";
}

function mono(text) {
  return text ? make("span", { class: "mono" }, text) : "";
}

/* Known bits in groups of four, unknown ones faint. */
function bitsOf(bits) {
  const groups = [];
  for (let end = bits.length; end > 0; end -= 4) groups.unshift(bits.slice(Math.max(0, end - 4), end));
  const known = bits.replace(/x/g, "").length;
  return [
    make("span", { class: "bits mono" }, groups.map((group) => make("span", { class: /^x+$/.test(group) ? "faint" : "" }, group))),
    make("span", { class: "faint" }, known + " of " + bits.length + " bits known"),
  ];
}

function blockFacts(finalLine) {
  const { func } = state;
  const at = finalLine ? blockAt(func, finalLine) : -1;
  if (at < 0) return make("p", { class: "kind" }, "A block.");
  const block = func.blocks[at];
  const name = (i) => (i < 0 ? "none" : blockLabel(func, i));
  const predecessors = func.blocks.map((other, i) => (other.successors.includes(at) ? i : -1)).filter((i) => i >= 0);
  const loop = block.loop >= 0 ? func.loops[block.loop] : null;
  return factList([
    ["Block", plural(block.insts[1] - block.insts[0], "instruction")],
    ["Predecessors", mono(predecessors.map(name).join(" ") || "none")],
    ["Successors", mono(block.successors.map(name).join(" ") || "none")],
    [referenceLink("analyses", "dom", "Dominated by"), mono(name(block.dominator))],
    [referenceLink("analyses", "loops", "Loop"), loop ? ["of ", mono(name(loop.header)), ", depth " + loop.depth] : "none"],
    [referenceLink("analyses", "pressure", "Pressure"), plural(block.pressure, "register")],
  ]);
}

/* Passes that made, changed and removed the line, each a button that shows the step. */
function historyList(history, line) {
  const { func } = state;
  const items = [];
  const add = (verb, step, kind) => {
    const button = makeButton([make("span", { class: "number" }, String(step)), func.steps[step].pass],
      () => showStep(step), { class: "line-link" });
    items.push(make("li", { class: kind }, verb, button));
  };
  if (history.made < 0) items.push(make("li", null, "In the input"));
  else add("Made by ", history.made, "was-added");
  history.changed.slice(0, 30).forEach(({ step, isMoved, isChanged }) =>
    add(isMoved && isChanged ? "Moved and changed by " : isMoved ? "Moved by " : "Changed by ", step, "was-changed"));
  if (history.removed >= 0) add("Removed by ", history.removed, "was-removed");
  else items.push(make("li", null, "Kept until the final IR, ",
    makeButton("line " + history.last, () => showLineOfText(func.final, history.last), { class: "line-link" })));
  return make("ol", { class: "plain history" }, items);
}

function remarkSection(finalLine) {
  const { func } = state;
  const inst = finalLine ? instructionAt(func, finalLine) : null;
  const lines = new Set();
  if (inst && inst.source) lines.add(inst.source);
  const input = finalLine ? inputLines(func)[finalLine] : 0;
  if (input) lines.add(input);
  const remarks = func.remarks.filter((remark) => lines.has(remark.line));
  if (!remarks.length) return null;
  return section("Remarks at its line", make("ul", { class: "plain" }, remarks.slice(0, 10).map((remark) =>
    make("li", null, make("span", { class: "tag " + remark.kind }, remark.pass), " ", remark.message))));
}

/* Shows how a line of a text was removed: the step that did it, and the card of its value. */
function showRemoval(textIndex, line) {
  const { func } = state;
  const history = lineHistory(func, stepOfText(func, textIndex, true), line);
  const at = changingSteps(func).find((change) => change.step === history.removed);
  showPassLine(at.before, history.last);
  showStep(at.step);
  passesView.left.showLine(history.last);
  chooseValue(definedName(linesOf(func, textIndex)[line - 1]), textIndex);
}

/* Shows a line of any text: the final IR and PTX in Code, others in Passes. */
function showLineOfText(textIndex, line) {
  if (textIndex === PTX_TEXT) return showPtxLine(line);
  if (textIndex === state.func.final && state.tab !== "passes") return showFinalLine(line);
  return showPassLine(textIndex, line);
}
