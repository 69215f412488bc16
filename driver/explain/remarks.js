/* The Remarks tab: what passes did, missed and found, filtered, each with a link to its line. */

const remarksView = { kinds: { passed: true, missed: true, analysis: true } };

function buildRemarks(panel) {
  const { func } = state;
  remarksView.body = make("tbody");
  const buttons = Object.keys(remarksView.kinds).map((kind) => {
    const count = func.remarks.filter((remark) => remark.kind === kind).length;
    const button = makeButton(`${kind} ${count}`, () => {
      remarksView.kinds[kind] = !remarksView.kinds[kind];
      button.setAttribute("aria-pressed", String(remarksView.kinds[kind]));
      fillRemarks();
    }, { "aria-pressed": String(remarksView.kinds[kind]) });
    return button;
  });
  panel.append(make("div", { class: "page" }, diagnosticsList(),
    make("div", { class: "bar" }, make("h2", null, plural(func.remarks.length, "remark")), make("div", { class: "buttons" }, buttons)),
    make("table", { class: "remarks" },
      make("thead", null, make("tr", null, ["Kind", "Pass", "Line", "Message", "Source"].map((name) => make("th", { scope: "col" }, name)))),
      remarksView.body)));
  fillRemarks();
}

/* The warnings and notes about the module, each with a link to what it means; knobs that it names too. */
function diagnosticsList() {
  const { diagnostics } = state.data;
  if (!diagnostics.length) return null;
  const withKnobs = (text) => text.split(/(?<=--knob )([\w-]+)/).map((part, i) => (i % 2 ? referenceLink("knobs", part) : part));
  return section(plural(diagnostics.length, "diagnostic"), make("ul", { class: "plain diagnostics" }, diagnostics.map((item) =>
    make("li", null, make("span", { class: "tag missed" }, item.severity), " ",
      item.line ? [makeButton("line " + item.line, () => showSourceLine(item.line, -1), { class: "line-link" }), " "] : null,
      withKnobs(item.message), " ", make("small", null, referenceLink("diagnostics", item.id))))));
}

function fillRemarks() {
  const rows = state.func.remarks.filter((remark) => remarksView.kinds[remark.kind] !== false);
  rows.sort((a, b) => a.line - b.line);
  replaceChildren(remarksView.body, rows.slice(0, 2000).map(remarkRow));
  if (!rows.length) replaceChildren(remarksView.body, make("tr", null, make("td", { colspan: 5, class: "faint" }, "None.")));
}

function remarkRow(remark) {
  return make("tr", null,
    make("td", null, make("span", { class: "tag " + remark.kind }, remark.kind)),
    make("td", { class: "mono" }, referenceLink("passes", remark.pass)),
    make("td", { class: "number-cell" }, remark.line ? makeButton(String(remark.line), () => showRemark(remark), { class: "line-link mono" }) : ""),
    make("td", null, remark.message, make("small", { class: "faint" }, " " + remark.name)),
    make("td", { class: "mono snippet" }, sourceLineOf(remark).trim()));
}

function fileOf(remark) {
  return state.data.files.findIndex((file) => file.name === remark.file && file.text);
}

function sourceLineOf(remark) {
  return textOfPlace({ file: fileOf(remark), line: remark.line });
}

/* The text of a line of a source file, or of the input (file -1). */
function textOfPlace({ file, line }) {
  if (file >= 0) return state.data.files[file].text.split("\n")[line - 1] || "";
  if (!state.sourceLines) state.sourceLines = state.data.source.split("\n");
  return state.sourceLines[line - 1] || "";
}

function showRemark(remark) {
  showSourceLine(remark.line, fileOf(remark));
}
