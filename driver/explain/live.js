/* Live ranges in the final IR: a value is live after an instruction if a later one reads it before
 * the value is defined again. Backward data flow over blocks, as analysis/pressure.c has it; a phi
 * reads its values at the ends of the predecessors. */

const PHI_SOURCE = /\[ ([^\[\]]+), (%(?:"[^"]*"|[-\w$.]+)) \]/g;

/* {out: by block, the set of values live at its end}, computed once. */
function liveness(func) {
  if (func.liveness) return func.liveness;
  const out = func.blocks.map(() => new Set());
  const phis = phiReads(func);
  const pending = func.blocks.map((_, i) => i);
  while (pending.length) {
    const at = pending.pop();
    const atStart = walkBack(func, at, out[at], -1);
    func.blocks.forEach((block, i) => {
      if (!block.successors.includes(at)) return;
      const before = out[i].size;
      atStart.forEach((name) => out[i].add(name));
      (phis.get(i + " " + at) || []).forEach((name) => out[i].add(name));
      if (out[i].size > before && !pending.includes(i)) pending.push(i);
    });
  }
  func.liveness = { out };
  return func.liveness;
}

/* Names that phis read on an edge: "from to" → names. */
function phiReads(func) {
  const reads = new Map();
  const blockOf = new Map(func.blocks.map((_, i) => [blockLabel(func, i), i]));
  func.blocks.forEach((block, to) => {
    for (let k = block.insts[0]; k < block.insts[1] && func.insts[k].op === "phi"; k++) {
      const text = linesOf(func, func.final)[func.insts[k].line - 1];
      for (const [, value, from] of text.matchAll(PHI_SOURCE)) {
        if (value[0] !== "%" || !blockOf.has(from)) continue;
        const edge = blockOf.get(from) + " " + to;
        if (!reads.has(edge)) reads.set(edge, []);
        reads.get(edge).push(value);
      }
    }
  });
  return reads;
}

/* The values live after instruction `stop` of a block, or at its start (-1), from those at its end. */
function walkBack(func, at, out, stop) {
  const live = new Set(out);
  const labels = func.labels || (func.labels = new Set(func.blocks.map((_, i) => blockLabel(func, i))));
  const [begin, end] = func.blocks[at].insts;
  for (let k = end - 1; k > stop && k >= begin; k--) {
    const inst = func.insts[k];
    if (inst.name) live.delete(inst.name);
    if (inst.op === "phi") continue;
    inst.operands.forEach((name) => name[0] === "%" && !labels.has(name) && live.add(name));
  }
  return live;
}

/* The names of the values live after the instruction at a line, those of the block's start for a phi. */
function liveAfter(func, line) {
  const at = blockAt(func, line);
  const i = lowerBound(func.insts, (inst) => inst.line >= line);
  if (at < 0 || i >= func.insts.length || func.insts[i].line !== line) return [];
  return [...walkBack(func, at, liveness(func).out[at], i)];
}

/* Whether a value is live after the instruction at each line: the set of these lines. */
function liveLines(func, name) {
  const cache = func.liveLineCache || (func.liveLineCache = new Map());
  if (cache.has(name)) return cache.get(name);
  const lines = new Set();
  func.blocks.forEach((block, at) => {
    let isLive = liveness(func).out[at].has(name);
    for (let k = block.insts[1] - 1; k >= block.insts[0]; k--) {
      const inst = func.insts[k];
      if (isLive) lines.add(inst.line);
      if (inst.name === name) isLive = false;
      else if (inst.op !== "phi" && inst.operands.includes(name)) isLive = true;
    }
  });
  cache.set(name, lines);
  return lines;
}
