/* What the reference says about a pass, an instruction or a PTX instruction. */

/* The entry {name, meaning, text, example} of a kind ("passes", "ops", "ptx"), or undefined. */
function referenceOf(kind, name) {
  const { data } = state;
  if (!data.referenceMaps) data.referenceMaps = {};
  if (!data.referenceMaps[kind])
    data.referenceMaps[kind] = new Map(((data.reference || {})[kind] || []).map((entry) => [entry.name, entry]));
  return data.referenceMaps[kind].get(name);
}

/* Text with `words` in backquotes as code. */
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", { class: "mono" }, part) : part));
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
  const isSentence = /^[a-z]{2}/.test(text);
  const summary = prose(isSentence ? text[0].toUpperCase() + text.slice(1) + "." : text);
  const more = [
    entry.text && entry.text !== text + "." ? make("p", null, prose(entry.text)) : null,
    entry.example ? make("pre", { class: "mono" }, exampleText(entry.example)) : null,
  ];
  if (!more[0] && !more[1]) return make("p", { class: "about" }, summary);
  return make("details", { class: "about" }, make("summary", null, summary), more);
}

/* The opcode of a line of PTX without its modifiers: `mad` of `@%p1 mad.lo.s32 …`. */
function opcodeOf(line) {
  const match = /^\s*(?:@!?%\w+\s+)?([a-z][a-z0-9]*)/.exec(line);
  return match ? match[1] : "";
}
