/* The Vectorizer tab: the price of each factor as a table, the winner marked, and the plans. */

const PRICE_LINE = /^VF=(\d+),UF=(\d+): (.*)$/;

/* The prices of a plan text: {iterations, rows: [{vf, uf, perIteration, isChosen, cells}], names} */
function parsePrices(text) {
  const result = { iterations: "", rows: [], names: [] };
  text.split("\n").forEach((line) => {
    const head = /^Costs for (.+) iterations/.exec(line);
    if (head) result.iterations = head[1];
    const match = PRICE_LINE.exec(line);
    if (match) result.rows.push(parsePrice(result.names, match));
  });
  return result;
}

function parsePrice(names, match) {
  const row = { vf: +match[1], uf: +match[2], cells: {}, isChosen: /\(chosen\)/.test(match[3]), perIteration: NaN, note: "" };
  const [facts, rest] = match[3].split(/: /);
  facts.split(", ").forEach((fact) => {
    const parts = /^(.*?) (-?[\d.]+)$/.exec(fact);
    if (!parts) row.note += fact + " ";
    else {
      row.cells[parts[1]] = parts[2];
      if (!names.includes(parts[1])) names.push(parts[1]);
    }
  });
  row.perIteration = parseFloat(rest);
  row.rest = rest ? rest.replace(/^[\d.]+ issue slots per iteration ?/, "").replace("(chosen)", "").trim() : "";
  return row;
}

function buildPlans(panel) {
  const { func } = state;
  const stack = make("div", { class: "page" });
  if (!func.plans.length) stack.append(make("p", { class: "empty" }, "The loop vectorizer considered no loop of this function."));
  func.plans.forEach((text) => stack.append(planSection(func, text)));
  panel.append(stack);
}

function planSection(func, text) {
  const prices = parsePrices(text);
  const title = text.split("\n")[0].replace(/ in function .*/, "");
  const header = /^Loop ir-bb<(%.*)>$/.exec(title);
  const parts = [make("h2", null, title, " ", header ? blockSource(func, header[1]) : null)];
  if (prices.rows.length) parts.push(priceSummary(prices), priceTable(prices));
  text.split(/\n(?=VPlan )/).slice(1).forEach((plan) => {
    const body = plan.replace(/\nCosts for[\s\S]*$/, "");
    const name = (/^VPlan '(.*?)'/.exec(plan) || ["", "Plan"])[1];
    const isFinal = /^Final/.test(name);
    parts.push(make("details", { open: isFinal }, make("summary", null, name), planLines(body)));
  });
  if (parts.length === 1) parts.push(make("pre", null, text));
  return make("section", { class: "plan" }, parts);
}

/* A button to the source line of a block: that of its first instruction with one. */
function blockSource(func, name) {
  const text = func.texts.findIndex((_, i) => indexText(func, i).definitions.has(name));
  if (text < 0) return null;
  const lines = linesOf(func, text);
  const step = stepOfText(func, text, true);
  for (let line = indexText(func, text).definitions.get(name) + 1; line <= lines.length && lines[line - 1].trim(); line++) {
    const history = lineHistory(func, step, line);
    const place = history.made < 0 ? sourceOfInputLine(func, history.first) : null;
    if (place) return makeButton(`line ${place.line} of ${place.name}`, () => showSourceLine(place.line, place.file), { class: "line-link" });
  }
  return null;
}

/* Why the winner won, in sentences. */
function priceSummary(prices) {
  const winner = prices.rows.find((row) => row.isChosen);
  if (!winner) return make("p", null, "No factor was chosen.");
  const others = prices.rows.filter((row) => row !== winner && row.perIteration >= 0);
  const scalar = others.find((row) => row.vf === 1 && row.uf === 1);
  const gain = scalar && winner.perIteration ? (scalar.perIteration / winner.perIteration).toFixed(1) : "";
  return make("p", { class: "why" },
    `Factor ${winner.vf} with interleave count ${winner.uf}: ${winner.perIteration} issue slots per iteration` +
    (gain ? `, ${gain} times fewer than the scalar loop's ${scalar.perIteration}` : "") +
    comparison(winner, others) + "." + boundSentence(winner, scalar));
}

/* What an iteration of the winner and of the scalar loop consists of. */
function boundSentence(winner, scalar) {
  if (!scalar || [winner, scalar].some((row) => !row.cells["issue slots"] || !row.cells.latency)) return "";
  const bound = (row) => (+row.cells["issue slots"] >= +row.cells.latency ? `${row.cells["issue slots"]} issue slots` :
    `${row.cells.latency} slots of latency, more than the ${row.cells["issue slots"]} issued`);
  return ` One pass through the vector loop executes ${winner.vf * winner.uf} iterations in ${bound(winner)}; a scalar iteration takes ${bound(scalar)}.`;
}

const PRICE_MEANING = "The larger of issue slots and latency is the time of one pass through the loop, which executes factor times interleave " +
  "count iterations. The latency is that of a load in issue slots, divided by the resident warps of a scheduler; without launch bounds, half " +
  "of an SM's warps are assumed to be resident. The last number is the mean over all iterations; it includes the run-time checks and the " +
  "iterations left to the scalar loop. Unless a factor is requested, the largest one fills the widest access with the smallest elements: " +
  "16 bytes, or 32 bytes of global memory on sm_100 and later.";

function comparison(winner, others) {
  const name = (row) => `factor ${row.vf} with interleave count ${row.uf}`;
  const tie = others.find((row) => row.perIteration === winner.perIteration);
  const next = others.reduce((best, row) => (!best || row.perIteration < best.perIteration ? row : best), null);
  const cheaper = others.find((row) => row.perIteration < winner.perIteration && row.vf === winner.vf && row.uf > winner.uf && !row.rest);
  if (cheaper) return `; ${name(cheaper)} at ${cheaper.perIteration} takes more code and saves less than an eighth`;
  if (tie) return `; ${name(tie)} costs the same, and of equal costs the larger factor is chosen`;
  return next ? `; next is ${name(next)} at ${next.perIteration}` : "";
}

function priceTable(prices) {
  const most = Math.max(...prices.rows.map((row) => row.perIteration || 0));
  const head = ["Factor", "Interleave count", ...prices.names, "issue slots per iteration", ""];
  return [priceRows(prices, most, head), make("p", { class: "faint why" }, PRICE_MEANING)];
}

function priceRows(prices, most, head) {
  return make("table", { class: "prices" },
    make("caption", null, `Estimated cost for ${prices.iterations} iterations`),
    make("thead", null, make("tr", null, head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", null, prices.rows.map((row) =>
      make("tr", { class: row.isChosen ? "chosen" : "" },
        [row.vf, row.uf, ...prices.names.map((name) => row.cells[name] || "")].map((cell) => make("td", { class: "number-cell" }, String(cell))),
        make("td", { class: "number-cell bar-cell", style: `--heat:${(100 * row.perIteration) / most || 0}%` },
          row.perIteration >= 0 ? row.perIteration.toFixed(3) : ""),
        make("td", null, row.isChosen ? make("span", { class: "tag accent" }, "chosen") : row.rest || row.note)))));
}

/* The recipes of a plan; their prices in a column of their own. */
function planLines(text) {
  const rows = text.split("\n").map((line) => {
    const price = /\s*; (?:VF=\d+,UF=\d+: )?(cost .*)$/.exec(line);
    const body = price ? line.slice(0, price.index) : line;
    return make("div", { class: price ? "recipe priced" : "recipe" },
      make("span", { class: "price" }, price ? price[1].replace("cost ", "") : " "), make("span", null, body || " "));
  });
  return make("div", { class: "recipes mono", tabindex: "0", role: "group", "aria-label": "Recipes with their price" },
    make("div", { class: "recipe faint" }, make("span", { class: "price" }, "price"), make("span", null, "recipe")), rows);
}
