/* The Control flow tab: the graph of the final IR, its loops and dominators, and the chosen block. */

const FLOW_TEXT_MOST = 120; /* instructions of a function whose blocks show their text at first */
const FLOW_LINES_MOST = 12; /* lines of text in a block */
const FLOW_CHARACTERS_MOST = 46;

const flowView = { zoom: 1, block: 0, hasText: null, svg: null, code: null };

function buildFlow(panel) {
  const { func } = state;
  flowView.hasText = func.insts.length <= FLOW_TEXT_MOST;
  flowView.block = state.line ? Math.max(0, blockAt(func, state.line)) : 0;
  flowView.canvas = make("div", { class: "canvas", tabindex: "0", role: "group",
    "aria-label": "Control flow graph; arrow keys follow edges", onkeydown: onFlowKey });
  flowView.code = new CodeView({ name: "Final IR", language: "ir", textIndex: func.final, title: "Final IR" });
  const side = make("div", { class: "flow-side" },
    make("details", { open: true }, make("summary", null, "Loops"), whatIs("loops"), loopTree()),
    make("details", { open: true, class: "tree-box" }, make("summary", null, "Dominator tree"), whatIs("dom"), dominatorTree()));
  panel.append(make("div", { class: "split flow" },
    make("section", { class: "content", "aria-label": "Control flow graph" }, flowBar(), flowView.canvas),
    make("section", { class: "flow-right", "aria-label": "Chosen block" }, flowView.code.element, side)));
  flowView.code.setRows(rowsOfText(func, func.final));
  drawFlow();
  fitFlow(true);
  showBlock(flowView.block, false);
}

function whatIs(analysis) {
  return make("p", { class: "faint" }, "Computed by the analysis ", referenceLink("analyses", analysis), ".");
}

function flowBar() {
  const { func } = state;
  const summary = `${plural(func.blocks.length, "block")}, ${plural(func.loops.length, "loop")}`;
  const text = makeButton("Instructions", () => {
    flowView.hasText = !flowView.hasText;
    text.setAttribute("aria-pressed", String(flowView.hasText));
    drawFlow();
    showBlock(flowView.block, false);
  }, { "aria-pressed": String(flowView.hasText) });
  return make("div", { class: "bar" }, make("h2", null, "Final IR ", make("small", null, summary + " · " + flowLegend())),
    make("div", { class: "buttons" }, text,
      makeButton("−", () => zoomFlow(flowView.zoom / 1.25), { "aria-label": "Zoom out" }),
      makeButton("+", () => zoomFlow(flowView.zoom * 1.25), { "aria-label": "Zoom in" }),
      makeButton("Fit", () => fitFlow(false)),
      makeButton("100 %", () => zoomFlow(1))));
}

function flowLegend() {
  return blockCounts(state.func) ? "stronger color: executed more often" : "stronger color: deeper in loops";
}

/* How often each block was executed, in warps; null without a run. −1: unknown, because no line of
 * the PTX is the block's own. Copies for a phi are in a predecessor, and its branch may be too. */
function blockCounts(func) {
  if (!func.run) return null;
  if (!func.blockCountCache) {
    const counts = new Float64Array(func.blocks.length).fill(-1);
    func.ptx.forEach(({ text, ir }, i) => {
      const block = ir && !/^\s*@?!?%p\d+ bra|^\s*mov/.test(text) ? blockAt(func, ir) : -1;
      if (block < 0) return;
      const line = countsAt(func, i + 1);
      counts[block] = Math.max(counts[block], line ? line.warps : 0);
    });
    func.blockCountCache = counts;
  }
  return func.blockCountCache;
}

/* The shade of each block, 0 to 1: logarithm of its count, else the depth of its loop. */
function blockShades(func) {
  const counts = blockCounts(func);
  if (counts) {
    const most = Math.log2(1 + Math.max(0, ...counts)) || 1;
    return Array.from(counts, (count) => Math.log2(1 + Math.max(0, count)) / most);
  }
  const depths = func.blocks.map((block) => (block.loop < 0 ? 0 : func.loops[block.loop].depth));
  const most = Math.max(1, ...depths);
  return depths.map((depth) => depth / most);
}

function blockLines(func, i) {
  const block = func.blocks[i];
  const counts = blockCounts(func);
  const [begin, end] = block.insts;
  const lines = [];
  if (flowView.hasText) {
    const text = linesOf(func, func.final);
    const last = end > begin ? func.insts[end - 1].line : block.line;
    for (let line = end > begin ? func.insts[begin].line : last + 1; line <= last; line++) {
      if (lines.length === FLOW_LINES_MOST && last - line >= 1) {
        lines.push(`… ${last - line + 1} more`);
        break;
      }
      const trimmed = text[line - 1].trim().replace(/, ![\w.]+ !\d+/g, "");
      lines.push(trimmed.length > FLOW_CHARACTERS_MOST ? trimmed.slice(0, FLOW_CHARACTERS_MOST - 1) + "…" : trimmed);
    }
  }
  const size = end - begin + (end - begin === 1 ? " inst" : " insts");
  return { title: block.name, note: counts && counts[i] >= 0 ? "× " + shortNumber(counts[i]) : size, lines };
}

function drawFlow() {
  const { func } = state;
  const texts = func.blocks.map((_, i) => blockLines(func, i));
  const sizes = texts.map((text) => ({
    width: Math.max(84, 7.3 * (text.title.length + text.note.length + 2) + 16, ...text.lines.map((line) => 6.65 * line.length + 16)),
    height: 22 + (text.lines.length ? 15 * text.lines.length + 6 : 0),
  }));
  const layout = layoutGraph(sizes, func.blocks.map((block) => block.successors), func.loops);
  const shades = blockShades(func);
  flowView.layout = layout;
  flowView.svg = makeSvg("svg", { class: "graph", viewBox: `0 0 ${layout.width} ${layout.height}`, role: "img",
    "aria-label": `Control flow graph of ${func.name}: ${plural(func.blocks.length, "block")}` }, arrowHead());
  layout.boxes.forEach((box) => flowView.svg.append(drawBox(func, box)));
  layout.edges.forEach((edge) => flowView.svg.append(drawEdge(edge)));
  flowView.nodes = layout.nodes.map((node, i) => drawNode(node, texts[i], shades[i], i));
  flowView.svg.append(...flowView.nodes);
  replaceChildren(flowView.canvas, flowView.svg);
  zoomFlow(flowView.zoom);
}

function arrowHead() {
  return makeSvg("defs", null,
    makeSvg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" },
      makeSvg("path", { d: "M0 0L8 4L0 8z", class: "arrow" })));
}

function drawBox(func, box) {
  const loop = func.loops[box.loop];
  const trips = loop.trip_count || (loop.most ? "at most " + loop.most : "");
  return makeSvg("g", null,
    makeSvg("rect", { class: "loop-box depth-" + Math.min(3, box.depth), x: box.x, y: box.y, width: box.width, height: box.height, rx: 6 }),
    makeSvg("title", null, `loop of ${func.blocks[loop.header].name}, depth ${loop.depth}${trips ? ", " + trips + " iterations" : ""}`));
}

function drawEdge(edge) {
  const path = edge.isBack ? roundedPath(edge.points, 8) : curvedPath(edge.points);
  return makeSvg("path", { class: edge.isBack ? "edge back" : "edge", d: path, "marker-end": "url(#arrow)",
    "data-from": edge.from, "data-to": edge.to });
}

function drawNode(node, text, shade, i) {
  const group = makeSvg("g", { class: "node", transform: `translate(${round(node.x)} ${round(node.y)})`, "data-block": i,
    style: `--shade:${(shade * 100).toFixed(0)}%`, onclick: () => showBlock(i, true) });
  group.append(
    makeSvg("rect", { class: "frame", width: node.width, height: node.height, rx: 4 }),
    makeSvg("path", { class: "node-head", d: headShape(node, text.lines.length) }),
    makeSvg("text", { class: "node-title", x: 8, y: 15 }, text.title),
    makeSvg("text", { class: "node-note", x: node.width - 8, y: 15, "text-anchor": "end" }, text.note));
  text.lines.forEach((line, k) => group.append(makeSvg("text", { class: "node-line", x: 8, y: 36 + 15 * k }, line)));
  return group;
}

/* The shaded head of a block: round corners above, and below too if there is no text. */
function headShape(node, hasText) {
  const w = node.width;
  const top = `M0 4Q0 0 4 0H${w - 4}Q${w} 0 ${w} 4V`;
  return hasText ? top + "22H0Z" : top + `18Q${w} 22 ${w - 4} 22H4Q0 22 0 18Z`;
}

const PAGE_SHAPE = 1.25; /* height of a piece of the printed graph, in its widths */
const PIECE_LEAST = 900; /* and at least this, which is readable on a page */

/* Before printing replaces the graph by pieces of about a page, cut between the layers; afterwards
 * shows it again. */
function cutGraph(isPrinting) {
  if (!isPrinting) return void replaceChildren(flowView.canvas, flowView.svg);
  const { width, height, nodes } = flowView.layout;
  const most = Math.max(PIECE_LEAST, width * PAGE_SHAPE);
  const tops = nodes.map((node) => node.y).sort((a, b) => a - b);
  const isFree = (y) => nodes.every((node) => y <= node.y || y >= node.y + node.height);
  const pieces = [];
  for (let begin = 0; begin < height; ) {
    const next = tops.filter((y) => y - 4 > begin && y - 4 <= begin + most && isFree(y - 4)).pop();
    const end = begin + most >= height || !next ? Math.min(height, begin + most) : next - 4;
    const piece = flowView.svg.cloneNode(true);
    piece.setAttribute("viewBox", `0 ${begin} ${width} ${end - begin}`);
    piece.setAttribute("width", width);
    piece.setAttribute("height", end - begin);
    pieces.push(piece);
    begin = end;
  }
  replaceChildren(flowView.canvas, pieces);
}

function zoomFlow(zoom) {
  flowView.zoom = Math.max(0.05, Math.min(4, zoom));
  flowView.svg.setAttribute("width", flowView.layout.width * flowView.zoom);
  flowView.svg.setAttribute("height", flowView.layout.height * flowView.zoom);
}

function fitFlow(isGentle) {
  const width = (flowView.canvas.clientWidth - 24) / flowView.layout.width;
  const height = (flowView.canvas.clientHeight - 24) / flowView.layout.height;
  const zoom = Math.min(1, width, height);
  zoomFlow(isGentle ? Math.max(0.6, Math.min(1, width)) : zoom);
}

/* Chooses a block: in the graph, in the text, and in the trees. */
function showBlock(i, isUser) {
  const { func } = state;
  const node = flowView.nodes[i];
  if (!node) return;
  flowView.block = i;
  flowView.nodes.forEach((other, k) => other.classList.toggle("chosen", k === i));
  flowView.svg.querySelectorAll(".edge").forEach((edge) =>
    edge.classList.toggle("near", edge.dataset.from === String(i) || edge.dataset.to === String(i)));
  document.querySelectorAll(".tree button").forEach((button) =>
    button.setAttribute("aria-current", String(+button.dataset.block === i)));
  const block = func.blocks[i];
  const last = block.insts[1] > block.insts[0] ? func.insts[block.insts[1] - 1].line : block.line;
  const lines = new Set();
  for (let line = block.line; line <= last; line++) lines.add(line);
  flowView.code.setLinked(lines);
  const row = flowView.code.rowOfLine(block.line);
  flowView.code.setCurrent(row, false);
  flowView.code.scroller.scrollTop = Math.max(0, (row - 1) * flowView.code.rowHeight);
  if (isUser) tell("Block " + block.name);
  scrollToNode(i);
}

function scrollToNode(i) {
  const { canvas, zoom } = flowView;
  const node = flowView.layout.nodes[i];
  const inside = (from, size, start, extent) => from >= start && from + size <= start + extent;
  if (!inside(node.y * zoom, node.height * zoom, canvas.scrollTop, canvas.clientHeight))
    canvas.scrollTop = node.y * zoom - 40;
  if (!inside(node.x * zoom, node.width * zoom, canvas.scrollLeft, canvas.clientWidth))
    canvas.scrollLeft = (node.x + node.width / 2) * zoom - canvas.clientWidth / 2;
}

/* Down and up follow edges, left and right go to the neighbour in the layer. */
function onFlowKey(event) {
  const { func } = state;
  const at = flowView.block;
  const nodes = flowView.layout.nodes;
  let next = -1;
  if (event.key === "ArrowDown") next = nearestBelow(func, at);
  else if (event.key === "ArrowUp") next = func.blocks[at].dominator;
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") next = nextInLayer(nodes, at, event.key === "ArrowRight" ? 1 : -1);
  else if (event.key === "Enter") return void showFinalLine(func.blocks[at].line);
  else if (event.key === "+" || event.key === "-") zoomFlow(event.key === "+" ? flowView.zoom * 1.25 : flowView.zoom / 1.25);
  else return;
  event.preventDefault();
  if (next >= 0) showBlock(next, true);
}

function nearestBelow(func, at) {
  const nodes = flowView.layout.nodes;
  const below = func.blocks[at].successors.filter((to) => nodes[to].y > nodes[at].y);
  return below.length ? below[0] : -1;
}

function nextInLayer(nodes, at, direction) {
  let best = -1;
  nodes.forEach((node, i) => {
    const isThere = node.y === nodes[at].y && (node.x - nodes[at].x) * direction > 0;
    if (isThere && (best < 0 || (node.x - nodes[best].x) * direction < 0)) best = i;
  });
  return best;
}

function blockButton(i, note) {
  return makeButton([make("span", { class: "mono" }, state.func.blocks[i].name), note ? make("small", null, note) : null],
    () => showBlock(i, true), { class: "line-link", "data-block": i });
}

/* Nested lists of a forest: children[i] are lists of indices, roots the outermost. */
function nestedList(roots, children, makeItem) {
  return make("ul", { class: "tree" }, roots.map((i) =>
    make("li", null, makeItem(i), children[i].length ? nestedList(children[i], children, makeItem) : null)));
}

function forestOf(parents) {
  const children = parents.map(() => []);
  const roots = [];
  parents.forEach((parent, i) => (parent >= 0 && parent !== i ? children[parent] : roots).push(i));
  return { roots, children };
}

function loopTree() {
  const { func } = state;
  if (!func.loops.length) return make("p", { class: "faint" }, "No loops.");
  const { roots, children } = forestOf(func.loops.map((loop) => loop.parent));
  return nestedList(roots, children, (i) => {
    const loop = func.loops[i];
    const trips = loop.trip_count ? loop.trip_count + " iterations" : "";
    const most = loop.most !== undefined ? "at most " + formatNumber(loop.most) : "";
    return blockButton(loop.header, [plural(loop.blocks.length, "block"), trips, most].filter(Boolean).join(" · "));
  });
}

function dominatorTree() {
  const { roots, children } = forestOf(state.func.blocks.map((block) => block.dominator));
  return nestedList(roots, children, (i) => blockButton(i, ""));
}
