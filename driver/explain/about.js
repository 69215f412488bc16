/* What the reference says about passes, knobs, instructions, intrinsics, PTX instructions, analyses
 * and diagnostics, and the links to it. */

/* The kinds in the order in which a word is looked up, and what one entry of each is called. */
const REFERENCE_KINDS = { ops: "Instruction", passes: "Pass", knobs: "Knob", diagnostics: "Diagnostic", ptx: "PTX instruction",
  intrinsics: "Intrinsic", analyses: "Analysis" };

/* The entry {name, meaning, text, example} of a kind, or undefined. */
function referenceOf(kind, name) {
  const { data } = state;
  if (!data.referenceMaps) data.referenceMaps = {};
  if (!data.referenceMaps[kind])
    data.referenceMaps[kind] = new Map(((data.reference || {})[kind] || []).map((entry) => [entry.name, entry]));
  return data.referenceMaps[kind].get(name);
}

/* Text with `words` in backquotes as code, a link if the reference has the word. */
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? referenceWord(part) : part));
}

function referenceWord(word) {
  const kind = Object.keys(REFERENCE_KINDS).find((other) => other !== "analyses" && referenceOf(other, word));
  return kind ? referenceLink(kind, word) : make("code", { class: "mono" }, word);
}

/* A link to an entry with its name or another text; only the text if there is no such entry. */
function referenceLink(kind, name, text) {
  if (!referenceOf(kind, name)) return text || name;
  return makeButton(text || name, () => showReference(kind, name), { class: "line-link reference-link" + (text ? "" : " mono"),
    title: `${REFERENCE_KINDS[kind]} ${name}: what it is` });
}

/* The entry of the intrinsic that a function is, overloads (llvm.fabs.f32) included, or undefined. */
function intrinsicOf(name) {
  let base = name.replace(/^@/, "");
  if (!base.startsWith("llvm.")) return undefined;
  for (; base.includes("."); base = base.slice(0, base.lastIndexOf("."))) if (referenceOf("intrinsics", base)) return referenceOf("intrinsics", base);
  return undefined;
}

/* The knobs that concern a pass, as links. */
function knobsOf(pass) {
  const knobs = ((state.data.reference || {}).knobs || []).filter((knob) => knob.passes.includes(pass));
  return knobs.length ? make("p", null, (knobs.length === 1 ? "Knob: " : "Knobs: "), knobs.map((knob, i) => [make("span", { class: "listed" }, referenceLink("knobs", knob.name), i < knobs.length - 1 ? "," : ""), " "])) : null;
}

/* Opens the entry above the page. */
function showReference(kind, name) {
  const dialog = byId("reference");
  const entry = referenceOf(kind, name);
  replaceChildren(dialog, make("h2", { id: "reference-title" }, REFERENCE_KINDS[kind] + " ", make("span", { class: "mono" }, name)),
    make("div", { class: "entry" }, entry.meaning ? make("p", null, sentenceOf(entry.meaning)) : null, entry.text ? make("p", null, prose(entry.text)) : null,
      kind === "passes" ? knobsOf(name) : null, entry.example ? make("pre", { class: "mono" }, exampleText(entry.example)) : null),
    makeButton("Close", () => dialog.close(), { autofocus: true }));
  if (!dialog.open) dialog.showModal();
}

/* A meaning of the tables, which begins in lower case and has no full stop. */
function sentenceOf(text) {
  return prose(/^[a-z]{2}/.test(text) ? text[0].toUpperCase() + text.slice(1) + "." : text);
}

/* The files, commands and outputs of an example; driver/reference/reference.h has its form. */
function exampleText(example) {
  return example
    .split("\n")
    .map((line) => line.replace(/^file (.*)$/, "$1:").replace(/^\| ?/, "").replace(/^ {4}/, "  "))
    .join("\n");
}

/* The meaning in one line; explanation and example, if there are any, open below it. */
function aboutEntry(kind, name) {
  const entry = referenceOf(kind, name);
  if (!entry) return null;
  const text = entry.meaning || entry.text.split(". ")[0].replace(/\.$/, "");
  if (!text) return null;
  const summary = sentenceOf(text);
  const more = [
    entry.text && entry.text !== text + "." ? make("p", null, prose(entry.text)) : null,
    kind === "passes" ? knobsOf(name) : null,
    entry.example ? make("pre", { class: "mono" }, exampleText(entry.example)) : null,
  ];
  if (!more.some(Boolean)) return make("p", { class: "about" }, summary);
  return make("details", { class: "about" }, make("summary", null, summary), more);
}

/* The opcode of a line of PTX without its modifiers: `mad` of `@%p1 mad.lo.s32 …`. */
function opcodeOf(line) {
  const match = /^\s*(?:@!?%\w+\s+)?([a-z][a-z0-9]*)/.exec(line);
  return match ? match[1] : "";
}
