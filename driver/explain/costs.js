/* The Loops tab: what an iteration of each loop costs, by `nvmini cost`: the bounds and what limits,
 * the instructions by class, the carried chain. */

function buildCosts(panel) {
  const { func } = state;
  const costs = func.costs || { loops: [], classes: [], bounds: [], chains: [] };
  const page = make("div", { class: "page" });
  if (!costs.loops.length) page.append(make("p", { class: "empty" }, func.costs ? "The function has no loops." : "The PTX was not understood."));
  costs.loops.forEach((loop) => page.append(loopSection(func, costs, loop)));
  panel.append(page);
}

function ofLoop(rows, loop) {
  return rows.filter((row) => row.loop === loop.loop);
}

function loopSection(func, costs, loop) {
  const bound = ofLoop(costs.bounds, loop)[0];
  const [first, last] = loop.PTX_lines.split("-").map((line) => +line - func.ptx_begin + 1);
  const inside = loop.inside ? ` inside loop ${loop.inside}` : "";
  return make("section", { class: "plan" },
    make("h2", null, `Loop ${loop.loop}${inside} `,
      makeButton(`${loop.label || "loop"}, PTX ${first} to ${last}`, () => showInCode("ptx", first), { class: "line-link mono" }), ptxSource(func, first, last)),
    make("p", { class: "why" }, boundSummary(bound)),
    classTable(ofLoop(costs.classes, loop), bound),
    chainTable(func, ofLoop(costs.chains, loop), bound));
}

/* The first source line of a range of PTX. */
function ptxSource(func, first, last) {
  for (let line = first; line <= last; line++) {
    const button = sourceButton(func, line);
    if (button) return [", source line ", button];
  }
  return null;
}

/* What limits the loop, in sentences. */
function boundSummary(bound) {
  const busiest = bound.busiest === "issue" ? "instruction issue" : `the unit ${bound.busiest}`;
  const start = `An iteration of a warp has ${plural(bound.PTX, "PTX instruction")}, ${plural(bound.machine, "machine instruction")}, ` +
    `and takes at least ${plural(bound.throughput, "cycle")} of an SM sub-partition, bound by ${busiest}.`;
  if (bound.one_warp === undefined) return start + " Instructions of inner loops are not included.";
  const hidden = bound.limit === "latency" ? "more than are resident: latency limits this loop" : `so that ${busiest} limits this loop`;
  return `${start} One warp alone takes ${plural(bound.one_warp, "cycle")}; ${plural(bound.warps_to_hide_it, "warp")} would hide the latency, ${hidden}.`;
}

function classTable(rows, bound) {
  const most = Math.max(1, bound.throughput);
  const table = simpleTable("Instructions of an iteration, without inner loops",
    ["Class", "Access", "PTX", "Machine", "Bytes of a thread", "Unit", "Cycles of the unit", ""],
    rows.map((row) => make("tr", null,
      make("td", { class: "mono" }, row.class), make("td", null, row.access || ""),
      [row.PTX, row.machine, row.bytes_of_a_thread || ""].map((cell) => make("td", { class: "number-cell" }, String(cell))),
      make("td", { class: "mono" }, row.unit || "no price"),
      make("td", { class: "number-cell bar-cell", style: `--heat:${(100 * (row.unit_cycles || 0)) / most}%` }, row.unit ? String(row.unit_cycles) : ""), make("td"))));
  table.classList.add("prices");
  return table;
}

function chainTable(func, rows, bound) {
  if (bound.one_warp !== undefined && bound.carried_chain === undefined)
    return make("p", { class: "faint" }, "The carried chain was not computed: the loop is too large.");
  if (!rows.length) return null;
  const iterations = bound.of_iterations === 1 ? "iteration" : `${bound.of_iterations} iterations`;
  const table = simpleTable(`Longest loop-carried dependence chain: ${plural(bound.carried_chain, "cycle")} each ${iterations}`,
    ["Latency", "PTX", "Instruction"],
    rows.map((row) => {
      const line = row.PTX_line - func.ptx_begin + 1;
      return make("tr", null, make("td", { class: "number-cell" }, String(row.latency)),
        make("td", { class: "number-cell" }, makeButton(String(line), () => showInCode("ptx", line), { class: "line-link mono" })),
        make("td", { class: "mono" }, row.instruction));
    }));
  table.classList.add("prices");
  return table;
}
