/* The history of a line through the passes: where it was made, changed and removed.
 *
 * Follows the correspondence of lines that the differences of neighbouring texts give. Each
 * difference is computed once (see diffTexts), so a history costs time linear in the number of
 * changing passes after the first. */

/* The steps that changed the function: {step, before, after} with text indices. */
function changingSteps(func) {
  if (!func.changing) {
    func.changing = [];
    func.steps.forEach((step, i) => {
      const before = i ? func.steps[i - 1].text : step.text;
      if (before !== step.text) func.changing.push({ step: i, before, after: step.text });
    });
  }
  return func.changing;
}

/* Follows a line (from 1) of the text that step `at` produced. Returns
 * {made, removed: step indices or −1, changed: [{step, isMoved, isChanged}], first, last: lines} */
function lineHistory(func, at, line) {
  const steps = changingSteps(func);
  const split = lowerBound(steps, (change) => change.step > at);
  const result = { made: -1, removed: -1, changed: [], first: line, last: line };
  followBack(func, steps, split, line, result);
  followForward(func, steps, split, line, result);
  return result;
}

function followBack(func, steps, split, line, result) {
  for (let i = split - 1; i >= 0; i--) {
    const { step, before, after } = steps[i];
    const earlier = diffTexts(func, before, after).backward[line - 1];
    if (earlier < 0 || !isSameValue(func, before, after, earlier, line - 1)) {
      result.made = step;
      break;
    }
    const change = changeBetween(func, steps[i], earlier, line - 1);
    if (change) result.changed.unshift(change);
    line = earlier + 1;
    result.first = line;
  }
}

function followForward(func, steps, split, line, result) {
  for (let i = split; i < steps.length; i++) {
    const { step, before, after } = steps[i];
    const later = diffTexts(func, before, after).forward[line - 1];
    if (later < 0 || !isSameValue(func, before, after, line - 1, later)) {
      result.removed = step;
      break;
    }
    const change = changeBetween(func, steps[i], line - 1, later);
    if (change) result.changed.push(change);
    line = later + 1;
    result.last = line;
  }
}

/* Whether two lines that correspond define the same value: a difference also pairs a removed line
 * with a similar one that replaces it. */
function isSameValue(func, before, after, left, right) {
  return definedName(linesOf(func, before)[left]) === definedName(linesOf(func, after)[right]);
}

/* What a step did to a line that both texts have, or null if it left it alone. */
function changeBetween(func, { step, before, after }, left, right) {
  const diff = diffTexts(func, before, after);
  if (!diff.movedLeft) diff.movedLeft = new Set(Array.from(diff.moved, (op) => op.left));
  const isMoved = diff.movedLeft.has(left);
  const isChanged = linesOf(func, before)[left] !== linesOf(func, after)[right];
  return isMoved || isChanged ? { step, isMoved, isChanged } : null;
}

/* The last step whose text is textIndex; the first step that has it if isFirst. */
function stepOfText(func, textIndex, isFirst) {
  if (textIndex === PTX_TEXT) return func.steps.length - 1;
  if (isFirst) return func.steps.findIndex((step) => step.text === textIndex);
  for (let i = func.steps.length - 1; i >= 0; i--) if (func.steps[i].text === textIndex) return i;
  return 0;
}

/* For every line of the first text (from 1) its line in the file; 0: none. The text is matched with
 * the lines of the file, blanks ignored. */
function sourceOfInput(func) {
  if (func.sourceCache) return func.sourceCache;
  const lines = linesOf(func, func.steps[0].text);
  const result = new Int32Array(lines.length + 1);
  if (!func.begin) return (func.sourceCache = result);
  const source = state.data.source.split("\n").slice(func.begin - 1, func.end);
  const clean = (line) => normalizeLine(line).replace(/\s*;.*$/, "").replace(/\s+/g, " ").replace(/, align \d+/, "");
  diffLines(lines.map(clean), source.map(clean)).forward.forEach((line, i) => {
    if (line >= 0 && lines[i].trim()) result[i + 1] = func.begin + line;
  });
  return (func.sourceCache = result);
}

/* The source {file, line, name} of a line of the first text, from its debug location if that file was
 * read, else in the input; null if it is unknown. */
function sourceOfInputLine(func, input) {
  const located = func.input_lines[lowerBound(func.input_lines, (entry) => entry[0] >= input)];
  const [, file, line] = located && located[0] === input ? located : [0, -1, 0];
  if (line && state.data.files[file].text) return { file, line, name: state.data.files[file].name.split("/").pop() };
  const own = sourceOfInput(func)[input];
  return own ? { file: -1, line: own, name: state.data.file.split("/").pop() } : null;
}

/* For every line of the final text (from 1) the line of the file that it came from; 0: none. */
function inputLines(func) {
  if (func.inputLineCache) return func.inputLineCache;
  const lines = linesOf(func, func.final);
  const result = new Int32Array(lines.length + 1);
  const steps = changingSteps(func);
  const back = lines.map((_, i) => i);
  for (let k = steps.length - 1; k >= 0; k--) {
    const { backward } = diffTexts(func, steps[k].before, steps[k].after);
    for (let i = 0; i < back.length; i++) if (back[i] >= 0) back[i] = backward[back[i]];
  }
  back.forEach((first, i) => {
    if (first >= 0 && lines[i].trim()) result[i + 1] = sourceOfInput(func)[first + 1];
  });
  return (func.inputLineCache = result);
}
