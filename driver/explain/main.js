/* The frame of the page: header, search, tabs, keys, the address, and the start. */

const TABS = [
  { id: "passes", name: "Passes", build: buildPasses },
  { id: "flow", name: "Control flow", build: buildFlow },
  { id: "code", name: "Code", build: buildCode },
  { id: "plans", name: "Vectorizer", build: buildPlans },
  { id: "costs", name: "Loops", build: buildCosts },
  { id: "remarks", name: "Remarks", build: buildRemarks },
  { id: "registers", name: "Registers", build: buildRegisters },
  { id: "run", name: "Run", build: buildRun },
];

const KEYS = [
  ["1 … 8", "go to a tab"],
  ["arrows", "move in tabs, lists, code and the graph"],
  ["← → in code", "go to a value of the line"],
  ["Enter", "choose the value, unfold the line, open the block"],
  ["[ and ]", "previous and next pass that changed the IR"],
  ["/", "search"],
  ["f", "choose a function"],
  ["n and p", "next and previous step of the traced thread"],
  ["Esc", "close the card, the search or this list"],
  ["?", "show this list"],
];

const SEARCH_MOST = 200;

function buildHeader() {
  const { data } = state;
  document.title = data.file.split("/").pop() + " · nvmini explain";
  const search = make("input", { type: "search", id: "search", placeholder: "Search IR, PTX, source, %value", autocomplete: "off",
    "aria-label": "Search IR, PTX and source", role: "combobox", "aria-expanded": "false", "aria-controls": "hits",
    oninput: () => showHits(search.value), onkeydown: onSearchKey });
  replaceChildren(byId("top"),
    make("h1", { title: "nvmini " + data.version }, "nvmini ", make("span", null, "explain")),
    make("span", { class: "file mono", title: data.file }, data.file.split("/").pop()),
    make("span", { class: "faint" }, `${data.cpu} · ${data.level === "passes" ? "--passes" : "-" + data.level}`),
    functionChooser(),
    make("div", { class: "search" }, search, make("ul", { id: "hits", role: "listbox", "aria-label": "Hits", hidden: true })),
    makeButton("?", showHelp, { class: "quiet", "aria-label": "Keys", title: "Keys (?)" }));
}

function functionChooser() {
  const { data } = state;
  const option = (func) => make("option", { value: data.functions.indexOf(func), selected: func === state.func }, func.name);
  const group = (label, list) => (list.length ? make("optgroup", { label }, list.map(option)) : null);
  return make("select", { id: "chooser", "aria-label": "Function", onchange: (event) => {
    openFunction(data.functions[+event.target.value], {});
    announceState();
  } }, group("Kernels", data.functions.filter((func) => func.kernel)), group("Functions", data.functions.filter((func) => !func.kernel)));
}

/* Hits of a search in final IR, PTX, sources and passes, and a value that was removed:
 * {where, line, text, open}; those with the query as a whole word come first. */
function findHits(query) {
  const { func, data } = state;
  const needle = query.toLowerCase();
  const whole = new RegExp("(^|[^\\w.$%@-])" + needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "(?![\\w.$-])");
  const hits = [[], []];
  const note = (hit) => hits[whole.test(hit.text.toLowerCase()) ? 0 : 1].push(hit);
  const look = (where, lines, open) => lines.forEach((text, i) => {
    if (text.toLowerCase().includes(needle)) note({ where, line: i + 1, text: text.trim(), open });
  });
  look("final IR", linesOf(func, func.final), showFinalLine);
  look("PTX", func.ptx.map((line) => line.text), (line) => showInCode("ptx", line));
  data.files.forEach((file, i) => look("source", file.text.split("\n"), (line) => showSourceLine(line, i)));
  look("input", data.source.split("\n"), (line) => showSourceLine(line, -1));
  changingSteps(func).forEach(({ step }) => {
    const { pass } = func.steps[step];
    if (pass.includes(needle)) note({ where: "pass", line: step, text: pass, open: showStep });
  });
  return removedHits(query).concat(hits[0], hits[1]).slice(0, SEARCH_MOST);
}

/* The value of that name, with or without %, if the final IR does not define it. */
function removedHits(query) {
  const { func } = state;
  const name = query[0] === "%" ? query : "%" + query;
  if (indexText(func, func.final).definitions.has(name)) return [];
  const defining = new Set();
  func.lines.forEach((line, k) => definedName(line) === name && defining.add(k));
  const text = defining.size ? func.texts.findLastIndex((lines) => lines.some((k) => defining.has(k))) : -1;
  if (text < 0) return [];
  const line = func.texts[text].findIndex((k) => defining.has(k)) + 1;
  return [{ where: "removed", line, text: linesOf(func, text)[line - 1].trim(), open: () => showRemoval(text, line) }];
}

function showHits(query) {
  const list = byId("hits");
  const hits = query.length > 1 ? findHits(query) : [];
  list.hidden = query.length < 2;
  byId("search").setAttribute("aria-expanded", String(!list.hidden));
  replaceChildren(list, hits.map((hit, i) => make("li", { role: "option", id: "hit-" + i, "aria-selected": String(i === 0),
    onmousedown: (event) => {
      event.preventDefault();
      openHit(hit);
    } }, make("span", { class: "tag" }, hit.where), make("span", { class: "number" }, String(hit.line)), make("span", { class: "mono" }, hit.text))));
  if (!hits.length) list.append(make("li", { class: "faint" }, "No hits."));
  list.hits = hits;
  list.scrollTop = 0;
}

function openHit(hit) {
  byId("hits").hidden = true;
  byId("search").setAttribute("aria-expanded", "false");
  hit.open(hit.line);
}

function onSearchKey(event) {
  const list = byId("hits");
  const hits = list.hits || [];
  const items = Array.from(list.children);
  const current = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "Enter" && hits[current]) openHit(hits[current]);
  else if (event.key === "Escape") {
    list.hidden = true;
    event.target.blur();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    moveInList(event, hits, current, (next) => {
      items.forEach((item, i) => item.setAttribute("aria-selected", String(i === next)));
      items[next].scrollIntoView({ block: "nearest" });
      event.target.setAttribute("aria-activedescendant", items[next].id);
    });
  }
}

function buildTabs() {
  const tabs = TABS.map((tab) => make("button", { type: "button", role: "tab", id: "tab-" + tab.id, "aria-controls": "panel-" + tab.id,
    onclick: () => showTab(tab.id) }, tab.name, tabCount(tab.id)));
  replaceChildren(byId("tabs"), tabs);
  byId("tabs").onkeydown = (event) => moveInList(event, TABS, TABS.findIndex((tab) => tab.id === state.tab), (next) => {
    showTab(TABS[next].id);
    byId("tab-" + TABS[next].id).focus();
  });
  replaceChildren(byId("main"), TABS.map((tab) => make("section", { class: "panel", role: "tabpanel", id: "panel-" + tab.id,
    "aria-labelledby": "tab-" + tab.id, hidden: true })));
}

/* A number after the name of a tab, and a mark for what is not there. */
function tabCount(id) {
  const { func } = state;
  const counts = { passes: changingSteps(func).length, flow: func.blocks.length, plans: func.plans.length, costs: func.costs ? func.costs.loops.length : 0, remarks: func.remarks.length };
  if (id === "run" && !func.run) return make("small", null, "–");
  return counts[id] === undefined ? null : make("small", null, String(counts[id]));
}

/* Shows a tab; its contents are made when it is shown first. */
function showTab(id) {
  const tab = TABS.find((other) => other.id === id) || TABS[0];
  state.tab = tab.id;
  TABS.forEach((other) => {
    const isShown = other === tab;
    const button = byId("tab-" + other.id);
    button.setAttribute("aria-selected", String(isShown));
    button.tabIndex = isShown ? 0 : -1;
    byId("panel-" + other.id).hidden = !isShown;
  });
  const panel = byId("panel-" + tab.id);
  if (!panel.firstChild) tab.build(panel);
  else codeViews.forEach((view) => view.element.isConnected && view.refresh());
  announce("tab");
}

/* Opens a function; place may hold tab, step, value, text and line. */
function openFunction(func, place) {
  clearJobs();
  disposeCodeViews();
  state.func = func;
  const firstChange = changingSteps(func)[0];
  const step = place.step === undefined ? (firstChange ? firstChange.step : 0) : place.step;
  state.step = Math.max(0, Math.min(func.steps.length - 1, step || 0));
  state.line = place.line || 0;
  const text = place.text === undefined ? func.final : place.text;
  const isText = text === PTX_TEXT || Boolean(func.texts[text]);
  state.text = isText ? text : func.final;
  state.value = place.value && indexText(func, state.text).definitions.has(place.value) ? place.value : "";
  buildTabs();
  showTab(place.tab || state.tab);
}

function announceState() {
  announce("function");
  announce("value");
}

function openFromHash() {
  const hash = readHash();
  const func = state.data.functions.find((other) => other.name === hash.f) || state.data.functions[0];
  const number = (text) => (text === undefined || isNaN(+text) ? undefined : +text);
  openFunction(func, { tab: hash.t || "passes", step: number(hash.s), value: hash.v, text: number(hash.x), line: number(hash.l) });
  byId("chooser").value = state.data.functions.indexOf(func);
  announceState();
}

function showHelp() {
  const dialog = byId("help");
  replaceChildren(dialog, make("h2", { id: "help-title" }, "Keys"),
    make("dl", { class: "facts" }, KEYS.map(([key, meaning]) => [make("dt", null, make("kbd", null, key)), make("dd", null, meaning)])),
    makeButton("Close", () => dialog.close(), { autofocus: true }));
  if (!dialog.open) dialog.showModal();
}

function onPageKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range") return;
  const actions = { "?": showHelp, "/": () => byId("search").focus(), f: () => byId("chooser").focus(), Escape: closeCard,
    "[": () => stepToChange(-1), "]": () => stepToChange(1), n: () => showTraceStep(runView.at + 1), p: () => showTraceStep(runView.at - 1) };
  const number = "12345678".indexOf(event.key);
  if (event.key.length === 1 && number >= 0) showTab(TABS[number].id);
  else if (actions[event.key] && !byId("help").open) actions[event.key]();
  else return;
  event.preventDefault();
}

function connectParts() {
  listen("step", onStepChanged);
  listen("value", () => {
    showCard();
    codeViews.forEach((view) => view.refresh());
  });
  ["step", "tab", "value", "function"].forEach((topic) => listen(topic, writeHash));
  document.addEventListener("keydown", onPageKey);
  document.addEventListener("click", (event) => event.target.closest(".search") || (byId("hits").hidden = true));
  window.addEventListener("hashchange", openFromHash);
  window.addEventListener("beforeprint", () => renderForPrint(true));
  window.addEventListener("afterprint", () => renderForPrint(false));
  window.addEventListener("resize", () => codeViews.forEach((view) => view.element.isConnected && (view.measure(), view.refresh())));
}

function start() {
  state.data = JSON.parse(byId("data").textContent);
  if (!state.data.functions.length) {
    byId("main").append(make("p", { class: "empty" }, "The module defines no function after the passes."));
    return;
  }
  state.func = state.data.functions[0];
  connectParts();
  buildHeader();
  openFromHash();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
