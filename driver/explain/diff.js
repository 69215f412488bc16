/* The difference of two texts, line by line and word by word.
 *
 * Values keep their names and numbers in all texts of a function, so equal lines are equal text.
 * Algorithm: Myers, "An O(ND) difference algorithm" (1986), in its linear-space form; a box with
 * more than MAX_EDITS differences is cut at the point that reaches farthest, as GNU diff does.
 * Cost: O(n·D) time, with D bounded, and O(n) space. */

const MAX_EDITS = 400;
const MAX_PAIRING = 4000; /* product of the lengths of a removed and an added run */

/* A line without the numbers of unnamed values, which differ from one printer to another. */
function normalizeLine(line) {
  return line.replace(/%\d+/g, "%#").replace(/^\d+:/, "#:").replace(/!\d+/g, "!#");
}

/* Numbers for lines: equal lines get equal numbers. */
function lineKeys(lines, keys) {
  return Int32Array.from(lines, (line) => {
    let key = keys.get(line);
    if (key === undefined) keys.set(line, (key = keys.size));
    return key;
  });
}

/* Marks in match[] the index in b that each index in a corresponds to; −1: none. */
function matchLines(a, b) {
  const match = new Int32Array(a.length).fill(-1);
  const boxes = [[0, a.length, 0, b.length]];
  const forward = new Int32Array(2 * (a.length + b.length) + 8);
  const backward = new Int32Array(forward.length);
  while (boxes.length) {
    let [a0, a1, b0, b1] = boxes.pop();
    while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) match[a0++] = b0++;
    while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) match[--a1] = --b1;
    if (a0 === a1 || b0 === b1) continue;
    const split = middleOfBox(a, b, a0, a1, b0, b1, forward, backward);
    if (!split) continue;
    boxes.push([a0, split[0], b0, split[1]], [split[0], a1, split[1], b1]);
  }
  return match;
}

/* A point on a shortest edit path of the box, or near one; null if nothing in it is equal. */
function middleOfBox(a, b, a0, a1, b0, b1, forward, backward) {
  const n = a1 - a0;
  const m = b1 - b0;
  const offset = (forward.length >> 1) - 1;
  const delta = n - m;
  forward[offset + 1] = 0;
  backward[offset + 1] = 0;
  const most = Math.min((n + m + 1) >> 1, MAX_EDITS);
  for (let d = 0; d <= most; d++) {
    for (let k = -d; k <= d; k += 2) {
      let x = startOfSnake(forward, offset, k, d);
      while (x < n && x - k < m && x - k >= 0 && a[a0 + x] === b[b0 + x - k]) x++;
      forward[offset + k] = x;
      const other = delta - k;
      if (delta & 1 && other >= 1 - d && other <= d - 1 && x + backward[offset + other] >= n)
        return insideBox(a0, a1, b0, b1, x, x - k);
    }
    for (let k = -d; k <= d; k += 2) {
      let x = startOfSnake(backward, offset, k, d);
      while (x < n && x - k < m && x - k >= 0 && a[a1 - 1 - x] === b[b1 - 1 - x + k]) x++;
      backward[offset + k] = x;
      const other = delta - k;
      if (!(delta & 1) && other >= -d && other <= d && x + forward[offset + other] >= n)
        return insideBox(a0, a1, b0, b1, n - x, m - x + k);
    }
  }
  return farthestPoint(forward, offset, most, a0, a1, b0, b1);
}

function startOfSnake(reached, offset, k, d) {
  const down = k === -d || (k !== d && reached[offset + k - 1] < reached[offset + k + 1]);
  return down ? reached[offset + k + 1] : reached[offset + k - 1] + 1;
}

/* The point as a split of the box; null at its corners, where splitting would not end. */
function insideBox(a0, a1, b0, b1, x, y) {
  const px = Math.max(a0, Math.min(a1, a0 + x));
  const py = Math.max(b0, Math.min(b1, b0 + y));
  if ((px === a0 && py === b0) || (px === a1 && py === b1)) return null;
  return [px, py];
}

function farthestPoint(forward, offset, d, a0, a1, b0, b1) {
  let best = -1;
  let bestK = 0;
  for (let k = -d; k <= d; k += 2) {
    const x = Math.min(forward[offset + k], a1 - a0);
    const y = Math.min(x - k, b1 - b0);
    if (y >= 0 && x + y > best) {
      best = x + y;
      bestK = k;
    }
  }
  const x = Math.min(forward[offset + bestK], a1 - a0);
  return insideBox(a0, a1, b0, b1, x, x - bestK);
}

/* The difference of texts a and b of a function, cached:
 * ops: [{kind, left, right}] in order; kind: same, changed, added, removed; line indices, −1: none;
 * forward and backward: the corresponding line of the other text, −1: none; these also pair the
 * lines that the pass moved, which are one removed and one added line: `moved` has their ops. */
function diffTexts(func, a, b) {
  const cache = func.diffCache || (func.diffCache = new Map());
  const key = a + ":" + b;
  if (!cache.has(key)) cache.set(key, pairMoved(diffLines(linesOf(func, a), linesOf(func, b)), linesOf(func, a), linesOf(func, b)));
  return cache.get(key);
}

/* Pairs each removed line with the added line that is the same instruction at another place: the
 * one that defines the same value, or the only one with the same text. */
function pairMoved(diff, left, right) {
  const added = new Map();
  const removed = new Map();
  const note = (map, line, op) => {
    const key = line.trim() && (definedName(line) || line);
    if (key) map.set(key, map.has(key) ? null : op);
  };
  diff.ops.forEach((op) => {
    if (op.kind === "added") note(added, right[op.right], op);
    if (op.kind === "removed") note(removed, left[op.left], op);
  });
  diff.moved = new Set();
  removed.forEach((from, key) => {
    const to = added.get(key);
    if (!from || !to) return;
    diff.forward[from.left] = to.right;
    diff.backward[to.right] = from.left;
    diff.moved.add(from).add(to);
  });
  return diff;
}

function diffLines(left, right) {
  const keys = new Map();
  const match = matchLines(lineKeys(left, keys), lineKeys(right, keys));
  const ops = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && match[i] === j) {
      ops.push({ kind: "same", left: i++, right: j++ });
      continue;
    }
    const i0 = i;
    const j0 = j;
    while (i < left.length && match[i] < 0) i++;
    const stop = i < left.length ? match[i] : right.length;
    j = Math.max(j, stop);
    pairRuns(ops, left, right, i0, i, j0, j);
  }
  return finishDiff(ops, left.length, right.length);
}

function finishDiff(ops, leftLength, rightLength) {
  const diff = { ops, added: 0, removed: 0 };
  diff.forward = new Int32Array(leftLength).fill(-1);
  diff.backward = new Int32Array(rightLength).fill(-1);
  ops.forEach((op) => {
    if (op.kind !== "same") {
      if (op.left >= 0) diff.removed++;
      if (op.right >= 0) diff.added++;
    }
    if (op.left >= 0 && op.right >= 0) {
      diff.forward[op.left] = op.right;
      diff.backward[op.right] = op.left;
    }
  });
  return diff;
}

/* How alike two lines are; 0: not a changed line, but one removed and one added. */
function likeness(left, right) {
  const a = definedName(left);
  const b = definedName(right);
  const opcode = /^\s*(?:\S+ = )?(\w+)/;
  const opA = opcode.exec(left);
  const opB = opcode.exec(right);
  const isSameOp = opA && opB && opA[1] === opB[1];
  if (a && a === b) return isSameOp ? 4 : 3;
  if (!isSameOp || !left.trim() || (a === "") !== (b === "")) return 0;
  return sharedWords(left, right) >= 0.6 ? 2 : 0;
}

/* Share of the words of the longer line that the lines share. */
function sharedWords(left, right) {
  const a = normalizeLine(left).split(/[\s,()]+/);
  const b = new Set(normalizeLine(right).split(/[\s,()]+/));
  return a.filter((word) => b.has(word)).length / Math.max(a.length, b.size);
}

/* Pairs the lines of a removed run with those of an added run, in order, most alike in sum. */
function pairRuns(ops, left, right, i0, i1, j0, j1) {
  const n = i1 - i0;
  const m = j1 - j0;
  const pairs = n * m > 0 && n * m <= MAX_PAIRING ? alignRuns(left, right, i0, n, j0, m) : [];
  let i = i0;
  let j = j0;
  pairs.concat([[i1, j1]]).forEach(([pi, pj]) => {
    while (i < pi) ops.push({ kind: "removed", left: i++, right: -1 });
    while (j < pj) ops.push({ kind: "added", left: -1, right: j++ });
    if (pi < i1) ops.push({ kind: "changed", left: i++, right: j++ });
  });
}

function alignRuns(left, right, i0, n, j0, m) {
  const width = m + 1;
  const best = new Int32Array((n + 1) * width);
  const like = new Int8Array(n * m);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--) {
      const here = (like[i * m + j] = likeness(left[i0 + i], right[j0 + j]));
      const skip = Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      best[i * width + j] = Math.max(skip, here ? here + best[(i + 1) * width + j + 1] : 0);
    }
  const pairs = [];
  for (let i = 0, j = 0; i < n && j < m; ) {
    const here = like[i * m + j];
    if (here && best[i * width + j] === here + best[(i + 1) * width + j + 1])
      pairs.push([i0 + i++, j0 + j++]);
    else if (best[i * width + j] === best[(i + 1) * width + j]) i++;
    else j++;
  }
  return pairs;
}

/* Character ranges in which two changed lines differ: {left: [[from, to]…], right: …}. */
function wordMarks(left, right) {
  const a = left.match(/[\w.$%@!-]+|\s+|./g) || [];
  const b = right.match(/[\w.$%@!-]+|\s+|./g) || [];
  const keys = new Map();
  const keyOf = (word) => keys.get(word) || (keys.set(word, keys.size + 1), keys.size);
  const match = matchLines(Int32Array.from(a, keyOf), Int32Array.from(b, keyOf));
  const isMatched = new Uint8Array(b.length);
  match.forEach((j) => j >= 0 && (isMatched[j] = 1));
  return {
    left: markRanges(a, (i) => match[i] < 0),
    right: markRanges(b, (j) => !isMatched[j]),
  };
}

function markRanges(words, isMarked) {
  const ranges = [];
  let at = 0;
  words.forEach((word, i) => {
    const last = ranges[ranges.length - 1];
    if (isMarked(i)) {
      if (last && last[1] === at) last[1] = at + word.length;
      else ranges.push([at, at + word.length]);
    }
    at += word.length;
  });
  return ranges;
}
