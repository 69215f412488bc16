/* The Passes tab: the list of steps, and the IR before and after the chosen one as a difference. */

const FOLD_CONTEXT = 3; /* unchanged lines that stay visible around a change */
const FOLD_LEAST = 8; /* shorter unchanged runs are not folded */

const passesView = {
  isOneColumn: false,
  isFolded: true,
  list: null,
  left: null,
  right: null,
  stepItems: null,
};

function buildPasses(panel) {
  passesView.list = make("ol", {
    class: "steps",
    role: "listbox",
    tabindex: "0",
    "aria-label": "Passes",
    onkeydown: onStepKey,
  });
  passesView.diff = make("div", { class: "diff" });
  passesView.title = make("h2", { class: "step-title" });
  passesView.about = make("div", { class: "about-pass" });
  panel.append(
    make("div", { class: "split passes" },
      make("nav", { class: "side", "aria-label": "Passes in order" }, passesView.list),
      make("section", { class: "content", "aria-label": "IR before and after the pass" },
        make("div", { class: "bar" }, passesView.title, passButtons()),
        passesView.about, passesView.diff))
  );
  passesView.openRuns = new Set();
  fillSteps();
  showDiff();
}

function passButtons() {
  const toggle = (label, property) => {
    const button = makeButton(label, () => {
      passesView[property] = !passesView[property];
      button.setAttribute("aria-pressed", String(passesView[property]));
      showDiff();
    }, { "aria-pressed": String(passesView[property]) });
    return button;
  };
  return make("div", { class: "buttons" },
    makeButton("← Previous change", () => stepToChange(-1), { title: "Previous changing pass ([)" }),
    makeButton("Next change →", () => stepToChange(1), { title: "Next changing pass (])" }),
    toggle("One column", "isOneColumn"),
    toggle("Fold unchanged", "isFolded"));
}

/* The list: a changing step each, runs of unchanged ones folded. */
function fillSteps() {
  const { func } = state;
  const items = [];
  const changing = new Map(changingSteps(func).map((change) => [change.step, change]));
  for (let i = 0; i < func.steps.length; ) {
    if (i === 0 || changing.has(i)) {
      items.push(stepItem(i, changing.get(i)));
      i++;
      continue;
    }
    const begin = i;
    while (i < func.steps.length && !changing.has(i)) i++;
    if (passesView.openRuns.has(begin)) {
      for (let k = begin; k < i; k++) items.push(stepItem(k, null));
    } else items.push(foldItem(begin, i));
  }
  passesView.stepItems = items;
  replaceChildren(passesView.list, items.map((item) => item.element));
  markStep();
  countChanges(items);
}

function stepItem(step, change) {
  const name = state.func.steps[step].pass;
  const counts = make("span", { class: "counts" });
  const element = make("li", {
    role: "option",
    id: "step-" + step,
    class: change || step === 0 ? "" : "faint",
    onclick: () => showStep(step),
  }, make("span", { class: "number" }, String(step)), make("span", { class: "name", title: name }, name), counts);
  return { element, step, change, counts };
}

function foldItem(begin, end) {
  const open = () => {
    passesView.openRuns.add(begin);
    fillSteps();
  };
  const names = state.func.steps.slice(begin, end).map((step) => step.pass);
  const element = make("li", { role: "option", class: "fold", id: "step-run-" + begin, onclick: open,
    title: names.slice(0, 40).join(", ") }, end - begin + " unchanged");
  return { element, step: begin, end, open };
}

/* Fills in added and removed lines step by step, without delaying the page. */
function countChanges(items) {
  const { func } = state;
  items.forEach((item) => {
    if (!item.change) return;
    addJob(() => {
      if (func !== state.func) return;
      const diff = diffTexts(func, item.change.before, item.change.after);
      replaceChildren(item.counts,
        make("span", { class: "plus" }, diff.added ? "+" + diff.added : ""),
        make("span", { class: "minus" }, diff.removed ? "−" + diff.removed : ""));
      item.element.setAttribute("aria-label",
        `${func.steps[item.step].pass}, ${diff.added} added, ${diff.removed} removed lines`);
    });
  });
}

function markStep() {
  let active = null;
  passesView.stepItems.forEach((item) => {
    const isActive = item.end ? state.step >= item.step && state.step < item.end : item.step === state.step;
    item.element.setAttribute("aria-selected", String(isActive));
    if (isActive) active = item.element;
  });
  if (!active) return;
  passesView.list.setAttribute("aria-activedescendant", active.id);
  const list = passesView.list.parentElement;
  const top = active.offsetTop;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + active.offsetHeight > list.scrollTop + list.clientHeight)
    list.scrollTop = top + active.offsetHeight - list.clientHeight;
}

function onStepKey(event) {
  const items = passesView.stepItems;
  const isActive = (item) => (item.end ? state.step >= item.step && state.step < item.end : item.step === state.step);
  const current = items.findIndex(isActive);
  if (event.key === "Enter" || event.key === " ") {
    if (items[current] && items[current].open) items[current].open();
    else passesView.right.scroller.focus();
    event.preventDefault();
    return;
  }
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") return;
  moveInList(event, items, current, (next) => showStep(items[next].step));
}

/* Shows a step in the Passes tab. */
function showStep(step) {
  state.step = step;
  if (state.tab !== "passes") showTab("passes");
  announce("step");
}

function stepToChange(direction) {
  const steps = changingSteps(state.func).map((change) => change.step);
  const candidates = direction > 0 ? steps.filter((step) => step > state.step) : steps.filter((step) => step < state.step).reverse();
  if (candidates.length) showStep(candidates[0]);
}

function onStepChanged() {
  if (!passesView.list || !passesView.list.isConnected) return;
  const item = passesView.stepItems.find((other) => other.step === state.step);
  if (!item && !passesView.stepItems.some((other) => other.end && state.step >= other.step && state.step < other.end))
    fillSteps();
  markStep();
  showDiff();
}

/* Before printing shows the difference in one column, and afterwards as it was, at the same place. */
function showDiffForPrint(isPrinting) {
  const { func } = state;
  const { isOneColumn, right } = passesView;
  if (isPrinting) passesView.beforePrint = { isOneColumn, top: right.scroller.scrollTop };
  const { beforePrint } = passesView;
  if (!beforePrint || beforePrint.isOneColumn || !func.steps[state.step]) return;
  passesView.isOneColumn = isPrinting;
  showDiff();
  if (!isPrinting) passesView.right.scroller.scrollTop = beforePrint.top;
}

function showDiff() {
  const { func } = state;
  const after = func.steps[state.step].text;
  const before = state.step ? func.steps[state.step - 1].text : after;
  const diff = diffTexts(func, before, after);
  const isChanged = before !== after;
  showStepTitle(diff, isChanged);
  replaceChildren(passesView.about, aboutEntry("passes", func.steps[state.step].pass));
  const name = func.steps[state.step].pass;
  if (passesView.isOneColumn || !isChanged) showOneColumn(diff, before, after, name);
  else showTwoColumns(diff, before, after, name);
  const view = passesView.right;
  const first = view.rows.findIndex((row) => row.kind && row.kind !== "fold");
  if (first >= 0) view.scrollToRow(first, false);
}

function showStepTitle(diff, isChanged) {
  const { func } = state;
  const counts = isChanged
    ? [make("span", { class: "plus" }, "+" + diff.added), " ", make("span", { class: "minus" }, "−" + diff.removed)]
    : state.step ? "no change" : "the IR before the first pass";
  replaceChildren(passesView.title, make("span", null, func.steps[state.step].pass), " ",
    make("small", null, `step ${state.step} of ${func.steps.length - 1} · `, counts));
}

function showOneColumn(diff, before, after, name) {
  const view = new CodeView({ name: "IR of " + name, language: "ir", signs: true, class: "one" });
  replaceView("left", null);
  replaceView("right", view);
  replaceChildren(passesView.diff, view.element);
  passesView.diff.className = "diff";
  view.setRows(foldRows(unifiedRows(diff, before, after)));
}

function showTwoColumns(diff, before, after, name) {
  const unfold = (row) => {
    row.isOpen = true;
    if (row.twin) row.twin.isOpen = true;
    [left, right].forEach((view) => {
      const i = view.rows.findIndex((other) => other.isOpen);
      const top = view.scroller.scrollTop;
      const rows = view.rows.slice();
      rows.splice(i, 1, ...rows[i].fold);
      view.setRows(rows);
      view.scroller.scrollTop = top;
      view.setCurrent(i, false);
    });
  };
  const options = { language: "ir", signs: true, onUnfold: unfold };
  const left = new CodeView(Object.assign({ name: "Before " + name, textIndex: before, title: "Before" }, options));
  const right = new CodeView(Object.assign({ name: "After " + name, textIndex: after, title: "After" }, options));
  replaceView("left", left);
  replaceView("right", right);
  replaceChildren(passesView.diff, left.element, right.element);
  passesView.diff.className = "diff two";
  const rows = pairedRows(diff, before, after);
  const leftRows = foldRows(rows.left);
  const rightRows = foldRows(rows.right);
  leftRows.forEach((row, i) => row.fold && (row.twin = rightRows[i]) && (rightRows[i].twin = row));
  left.setRows(leftRows);
  right.setRows(rightRows);
  joinScrolling(left, right);
}

function replaceView(side, view) {
  if (passesView[side]) passesView[side].dispose();
  passesView[side] = view;
}

/* Rows of both columns, equally many; fillers where the other column has a line alone. */
function pairedRows(diff, before, after) {
  const a = linesOf(state.func, before);
  const b = linesOf(state.func, after);
  const filler = () => ({ text: "", kind: "filler", line: 0 });
  const left = [];
  const right = [];
  diff.ops.forEach((op) => {
    const marks = op.kind === "changed" ? wordMarks(a[op.left], b[op.right]) : {};
    const kind = op.kind === "same" ? "" : op.kind;
    const leftKind = kind === "changed" ? "removed" : kind;
    const rightKind = kind === "changed" ? "added" : kind;
    const note = moveNote(diff, op);
    left.push(op.left < 0 ? filler() : { text: a[op.left], line: op.left + 1, kind: leftKind, marks: marks.left, note });
    right.push(op.right < 0 ? filler() : { text: b[op.right], line: op.right + 1, kind: rightKind, marks: marks.right, note });
  });
  return { left, right };
}

/* Where the other half of a moved line is. */
function moveNote(diff, op) {
  if (!diff.moved.has(op)) return "";
  return op.kind === "removed" ? "moved to line " + (diff.forward[op.left] + 1) : "moved from line " + (diff.backward[op.right] + 1);
}

/* Rows of one column: of a run of changes, what was removed comes before what was added. */
function unifiedRows(diff, before, after) {
  const a = linesOf(state.func, before);
  const b = linesOf(state.func, after);
  const rows = [];
  let added = [];
  diff.ops.forEach((op) => {
    if (op.kind === "same") {
      rows.push(...added, { text: b[op.right], line: op.right + 1, kind: "", textIndex: after });
      added = [];
      return;
    }
    const marks = op.kind === "changed" ? wordMarks(a[op.left], b[op.right]) : {};
    if (op.left >= 0) rows.push({ text: a[op.left], line: op.left + 1, kind: "removed", marks: marks.left, textIndex: before, note: moveNote(diff, op) });
    if (op.right >= 0) added.push({ text: b[op.right], line: op.right + 1, kind: "added", marks: marks.right, textIndex: after, note: moveNote(diff, op) });
  });
  return rows.concat(added);
}

/* Replaces long runs of unchanged rows by one row that hides them. */
function foldRows(rows) {
  if (!passesView.isFolded || rows.every((row) => !row.kind)) return rows;
  const result = [];
  for (let i = 0; i < rows.length; ) {
    const begin = i;
    while (i < rows.length && !rows[i].kind) i++;
    const head = begin ? FOLD_CONTEXT : 1;
    const tail = i < rows.length ? FOLD_CONTEXT : 0;
    if (i - begin - head - tail >= FOLD_LEAST) {
      const hidden = rows.slice(begin + head, i - tail);
      result.push(...rows.slice(begin, begin + head));
      result.push({ text: "⋯ " + plural(hidden.length, "unchanged line"), kind: "fold", line: 0, fold: hidden });
      result.push(...rows.slice(i - tail, i));
    } else result.push(...rows.slice(begin, i));
    while (i < rows.length && rows[i].kind) result.push(rows[i++]);
  }
  return result;
}

/* Shows a line of a text in the Passes tab, unfolding what hides it. */
function showPassLine(textIndex, line) {
  const { func } = state;
  const isShown = state.tab === "passes" && [state.step, state.step - 1].some((step) => step >= 0 && func.steps[step].text === textIndex);
  if (!isShown) showStep(stepOfText(func, textIndex, true));
  const view = [passesView.left, passesView.right].find((other) => other && other.options.textIndex === textIndex) || passesView.right;
  if (view.rowOfLine(line) < 0) {
    const i = view.rows.findIndex((row) => row.fold && row.fold.some((hidden) => hidden.line === line));
    if (i >= 0) view.unfold(i);
  }
  view.showLine(line);
}
