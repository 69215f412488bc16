/* The layered layout of a control flow graph.
 *
 * After Sugiyama, Tagawa and Toda (1981): 1. edges that close a cycle of a depth-first search are
 * taken out (back edges); 2. layers by longest path, exits of a loop below all its blocks, so that
 * the boxes of loops do not reach over other rows; 3. edges over several layers get a bend in each;
 * 4. the order in a layer by medians of the neighbours, sweeping down and up, with the blocks of a
 * loop side by side; 5. positions by averages of the neighbours, kept apart. Cost: linear in blocks,
 * bends and sweeps. */

const LAYOUT = { gapX: 28, gapY: 44, bendWidth: 10, sweeps: 8, laneGap: 12, mostBends: 20000 };

/* nodes: [{width, height}], successors: [[…]], loops: [{header, blocks, parent, depth}].
 * Returns {nodes: [{x, y, width, height}], edges: [{from, to, isBack, points}], boxes, width, height} */
function layoutGraph(nodes, successors, loops) {
  const graph = { nodes, successors, loops };
  graph.isBack = findBackEdges(successors);
  graph.layers = assignLayers(graph);
  addBends(graph);
  orderLayers(graph);
  placeLayers(graph);
  return finishLayout(graph);
}

/* A map "from>to" of the edges that lead to a block on the path of the search. */
function findBackEdges(successors) {
  const back = new Set();
  const color = new Uint8Array(successors.length); /* 1: on the path, 2: done */
  for (let root = 0; root < successors.length; root++) {
    if (color[root]) continue;
    const path = [[root, 0]];
    color[root] = 1;
    while (path.length) {
      const top = path[path.length - 1];
      const next = successors[top[0]][top[1]++];
      if (next === undefined) color[path.pop()[0]] = 2;
      else if (color[next] === 1) back.add(top[0] + ">" + next);
      else if (!color[next]) {
        color[next] = 1;
        path.push([next, 0]);
      }
    }
  }
  return back;
}

/* Longest paths over forward edges and, from every end inside a loop, to the exits of the loop. */
function assignLayers(graph) {
  const edges = graph.successors.map((list, from) => list.filter((to) => !graph.isBack.has(from + ">" + to)));
  const plain = longestPaths(edges);
  const withExits = edges.map((list) => list.slice());
  graph.loops.forEach((loop) => addExitEdges(graph, loop, edges, withExits));
  return longestPaths(withExits) || plain;
}

function addExitEdges(graph, loop, edges, withExits) {
  const inside = new Set(loop.blocks);
  const exits = new Set();
  loop.blocks.forEach((block) => graph.successors[block].forEach((to) => inside.has(to) || exits.add(to)));
  const ends = loop.blocks.filter((block) => !edges[block].some((to) => inside.has(to)));
  ends.forEach((end) => exits.forEach((exit) => end !== exit && withExits[end].push(exit)));
}

/* The layer of each node, or null if the edges have a cycle. */
function longestPaths(edges) {
  const count = edges.length;
  const layer = new Int32Array(count);
  const waiting = new Int32Array(count);
  edges.forEach((list) => list.forEach((to) => waiting[to]++));
  const ready = [];
  for (let node = 0; node < count; node++) if (!waiting[node]) ready.push(node);
  for (let i = 0; i < ready.length; i++)
    edges[ready[i]].forEach((to) => {
      layer[to] = Math.max(layer[to], layer[ready[i]] + 1);
      if (--waiting[to] === 0) ready.push(to);
    });
  return ready.length === count ? layer : null;
}

/* Items of the layers: blocks, and a bend for each layer that an edge crosses. */
function addBends(graph) {
  const { nodes, layers } = graph;
  graph.items = nodes.map((node, i) => ({ node: i, width: node.width, height: node.height, layer: layers[i], up: [], down: [] }));
  graph.paths = new Map();
  let bends = 0;
  graph.successors.forEach((list, from) =>
    list.forEach((to) => {
      const key = from + ">" + to;
      if (graph.isBack.has(key) || graph.paths.has(key)) return;
      const path = [from];
      const isDirect = bends > LAYOUT.mostBends;
      for (let layer = layers[from] + 1; layer < layers[to] && !isDirect; layer++, bends++) {
        path.push(graph.items.length);
        graph.items.push({ node: -1, from, to, width: LAYOUT.bendWidth, height: 0, layer, up: [], down: [] });
      }
      path.push(to);
      linkPath(graph.items, path);
      graph.paths.set(key, path);
    })
  );
}

function linkPath(items, path) {
  for (let i = 1; i < path.length; i++) {
    items[path[i - 1]].down.push(path[i]);
    items[path[i]].up.push(path[i - 1]);
  }
}

function orderLayers(graph) {
  const rows = [];
  graph.items.forEach((item, i) => (rows[item.layer] = rows[item.layer] || []).push(i));
  for (let i = 0; i < rows.length; i++) rows[i] = rows[i] || [];
  graph.rows = rows;
  rows.forEach((row) => row.forEach((i, place) => (graph.items[i].place = place)));
  const chains = loopChains(graph);
  for (let sweep = 0; sweep < LAYOUT.sweeps; sweep++) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? rows : rows.slice().reverse();
    order.forEach((row) => orderRow(graph, row, isDown ? "up" : "down", chains));
  }
}

/* For each item the loops that hold it, outermost first; a bend is in the loops of both its ends. */
function loopChains(graph) {
  const ofBlock = graph.nodes.map(() => []);
  const order = graph.loops.map((_, i) => i).sort((a, b) => graph.loops[a].depth - graph.loops[b].depth);
  order.forEach((i) => graph.loops[i].blocks.forEach((block) => ofBlock[block].push(i)));
  return graph.items.map((item) => {
    if (item.node >= 0) return ofBlock[item.node];
    return ofBlock[item.from].filter((loop) => ofBlock[item.to].includes(loop));
  });
}

function orderRow(graph, row, side, chains) {
  if (row.length < 2) return;
  const { items } = graph;
  const key = new Map(row.map((i) => [i, median(items[i][side].map((other) => items[other].place), items[i].place)]));
  sortByLoops(row, key, chains, 0);
  row.forEach((i, place) => (items[i].place = place));
}

function median(values, otherwise) {
  if (!values.length) return otherwise;
  values.sort((a, b) => a - b);
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/* Sorts by key; items of one loop stay together, at the mean of their keys. */
function sortByLoops(row, key, chains, depth) {
  const groups = new Map();
  row.forEach((i) => {
    const loop = chains[i][depth];
    const name = loop === undefined ? "item " + i : loop;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(i);
  });
  const sorted = Array.from(groups, ([name, members]) => {
    if (typeof name === "number" && members.length > 1) sortByLoops(members, key, chains, depth + 1);
    return { members, mean: members.reduce((sum, i) => sum + key.get(i), 0) / members.length };
  }).sort((a, b) => a.mean - b.mean);
  row.length = 0;
  sorted.forEach((group) => row.push(...group.members));
}

function placeLayers(graph) {
  const { items, rows } = graph;
  let y = 0;
  rows.forEach((row) => {
    let x = 0;
    const height = Math.max(...row.map((i) => items[i].height), 0);
    row.forEach((i) => {
      items[i].x = x + items[i].width / 2;
      items[i].y = y;
      x += items[i].width + LAYOUT.gapX;
    });
    y += height + LAYOUT.gapY;
  });
  graph.height = y - LAYOUT.gapY;
  for (let sweep = 0; sweep < LAYOUT.sweeps; sweep++) {
    const order = sweep % 2 ? rows.slice().reverse() : rows;
    order.forEach((row) => placeRow(items, row, sweep % 2 ? "down" : "up"));
  }
  rows.forEach((row) => placeRow(items, row, "both"));
}

/* Moves the items of a row towards the mean of their neighbours; keeps order and distances: the
 * mean of packing from the left and packing from the right. */
function placeRow(items, row, side) {
  const goal = row.map((i) => {
    const item = items[i];
    const others = side === "both" ? item.up.concat(item.down) : item[side];
    if (!others.length) return item.x;
    return others.reduce((sum, other) => sum + items[other].x, 0) / others.length;
  });
  const gap = (a, b) => (items[a].width + items[b].width) / 2 + LAYOUT.gapX;
  const fromLeft = goal.slice();
  for (let k = 1; k < row.length; k++) fromLeft[k] = Math.max(goal[k], fromLeft[k - 1] + gap(row[k - 1], row[k]));
  const fromRight = goal.slice();
  for (let k = row.length - 2; k >= 0; k--) fromRight[k] = Math.min(goal[k], fromRight[k + 1] - gap(row[k], row[k + 1]));
  row.forEach((i, k) => (items[i].x = (fromLeft[k] + fromRight[k]) / 2));
}

function finishLayout(graph) {
  const { items } = graph;
  const nodes = graph.nodes.map((node, i) => ({
    x: items[i].x - node.width / 2, y: items[i].y, width: node.width, height: node.height,
  }));
  const boxes = loopBoxes(graph, nodes);
  const edges = [];
  graph.successors.forEach((list, from) =>
    list.forEach((to) => {
      const isBack = graph.isBack.has(from + ">" + to);
      const points = isBack ? backPath(graph, nodes, boxes, from, to, edges.filter((edge) => edge.isBack).length) : forwardPath(graph, from, to);
      edges.push({ from, to, isBack, points });
    })
  );
  return normalizeLayout({ nodes, edges, boxes, height: graph.height });
}

function forwardPath(graph, from, to) {
  const { items } = graph;
  const path = graph.paths.get(from + ">" + to);
  return path.map((i, k) => {
    const item = items[i];
    const isFirst = k === 0;
    const y = isFirst ? item.y + item.height : item.y;
    return { x: item.x + (isFirst ? portOffset(graph, from, to) : 0), y };
  });
}

/* Successors leave a block at different places of its lower edge, sorted by where they lie. */
function portOffset(graph, from, to) {
  const targets = graph.successors[from].filter((other) => !graph.isBack.has(from + ">" + other));
  if (targets.length < 2) return 0;
  const x = (target) => graph.items[graph.paths.get(from + ">" + target)[1]].x;
  const place = targets.slice().sort((a, b) => x(a) - x(b)).indexOf(to);
  const width = Math.min(graph.items[from].width * 0.5, 16 * targets.length);
  return width * (place / (targets.length - 1) - 0.5);
}

/* A back edge runs along the right side of the box of its loop. */
function backPath(graph, nodes, boxes, from, to) {
  const loop = boxes.findIndex((box) => box.header === to);
  const right = loop >= 0 ? boxes[loop].x + boxes[loop].width - LAYOUT.laneGap + 2
    : Math.max(nodes[from].x + nodes[from].width, nodes[to].x + nodes[to].width) + LAYOUT.laneGap;
  const a = nodes[from];
  const b = nodes[to];
  const startX = a.x + a.width * 0.8;
  const endX = b.x + b.width * 0.8;
  return [
    { x: startX, y: a.y + a.height },
    { x: startX, y: a.y + a.height + 12 },
    { x: right, y: a.y + a.height + 12 },
    { x: right, y: b.y - 14 },
    { x: endX, y: b.y - 14 },
    { x: endX, y: b.y },
  ];
}

/* The rectangle around the blocks of each loop, wider the more loops it holds. */
function loopBoxes(graph, nodes) {
  const height = graph.loops.map(() => 0); /* of the tree below */
  for (let i = graph.loops.length - 1; i >= 0; i--) {
    const { parent } = graph.loops[i];
    if (parent >= 0) height[parent] = Math.max(height[parent], height[i] + 1);
  }
  return graph.loops.map((loop, i) => {
    const inside = loop.blocks.map((block) => nodes[block]);
    const margin = 12 + 9 * height[i];
    const x = Math.min(...inside.map((node) => node.x)) - margin;
    const y = Math.min(...inside.map((node) => node.y)) - 18 - 4 * height[i];
    const right = Math.max(...inside.map((node) => node.x + node.width)) + margin + LAYOUT.laneGap;
    const bottom = Math.max(...inside.map((node) => node.y + node.height)) + 16 + 4 * height[i];
    return { loop: i, header: loop.header, depth: loop.depth, x, y, width: right - x, height: bottom - y };
  });
}

/* Moves all to positive coordinates with a margin. */
function normalizeLayout(layout) {
  const margin = 12;
  const all = layout.nodes.concat(layout.boxes);
  const points = [].concat(...layout.edges.map((edge) => edge.points));
  const reduce = (list, property, best, start) => list.reduce((value, item) => best(value, item[property]), start);
  const left = reduce(points, "x", Math.min, reduce(all, "x", Math.min, 0)) - margin;
  const top = reduce(points, "y", Math.min, reduce(all, "y", Math.min, 0)) - margin;
  all.concat(points).forEach((item) => {
    item.x -= left;
    item.y -= top;
  });
  layout.width = all.reduce((value, item) => Math.max(value, item.x + item.width), reduce(points, "x", Math.max, 0)) + margin;
  layout.height = all.reduce((value, item) => Math.max(value, item.y + item.height), 0) + margin;
  return layout;
}

/* An SVG path through points with rounded corners. */
function roundedPath(points, radius) {
  let path = `M${round(points[0].x)} ${round(points[0].y)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const before = towards(points[i], points[i - 1], radius);
    const after = towards(points[i], points[i + 1], radius);
    path += `L${round(before.x)} ${round(before.y)}Q${round(points[i].x)} ${round(points[i].y)} ${round(after.x)} ${round(after.y)}`;
  }
  const last = points[points.length - 1];
  return path + `L${round(last.x)} ${round(last.y)}`;
}

/* A smooth path down through the points of a forward edge. */
function curvedPath(points) {
  let path = `M${round(points[0].x)} ${round(points[0].y)}`;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1];
    const b = points[i];
    const middle = round((a.y + b.y) / 2);
    path += `C${round(a.x)} ${middle} ${round(b.x)} ${middle} ${round(b.x)} ${round(b.y)}`;
  }
  return path;
}

function round(number) {
  return Math.round(number * 10) / 10;
}

function towards(from, to, distance) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const share = Math.min(distance, length / 2) / length;
  return { x: from.x + dx * share, y: from.y + dy * share };
}
