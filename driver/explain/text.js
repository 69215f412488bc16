/* Texts: their lines, their words, and where the values of a text are defined and used.
 *
 * indexText() reads a text once (linear) and keeps the result on the function, so that every part
 * asks the same index. A name is a link only if the index has a definition for it. */

const IR_WORD = new RegExp(
  [
    "(;.*$)", /* 1 comment */
    "(c?\"(?:[^\"\\\\]|\\\\.)*\")", /* 2 string */
    "([%@](?:\"[^\"]*\"|[-\\w$.]+))", /* 3 value */
    "(![\\w.]*|#\\d+)", /* 4 metadata, attributes */
    "([a-zA-Z_][\\w.]*)", /* 5 word */
    "(-?\\d[\\w.+-]*)", /* 6 number */
    "(\\s+|.)", /* 7 the rest */
  ].join("|"),
  "g"
);

const IR_TYPE = /^(?:i\d+|void|half|bfloat|float|double|fp128|ptr|label|x|addrspace|token|metadata)$/;

const PTX_WORD = /(\/\/.*$)|("[^"]*")|(%[\w.]+|\$[\w$.]+)|(\.[\w.]+)|([a-zA-Z_][\w.$]*)|(-?\d[\w.+-]*)|(\s+|.)/g;

function pushWord(words, text, kind) {
  const last = words[words.length - 1];
  if (last && last.kind === "" && kind === "") last.text += text;
  else words.push({ text, kind });
}

/* The words of a line of IR: {text, kind}; kinds are classes of page.css. */
function irWords(line) {
  const words = [];
  const label = /^("[^"]*"|[-\w$.]+):/.exec(line);
  let from = 0;
  if (label) {
    words.push({ text: label[1], kind: "v label", name: "%" + label[1] });
    from = label[1].length;
  }
  let isFirst = !label;
  IR_WORD.lastIndex = from;
  for (let match = IR_WORD.exec(line); match; match = IR_WORD.exec(line)) {
    if (match[1]) pushWord(words, match[1], "c");
    else if (match[2]) pushWord(words, match[2], "s");
    else if (match[3]) words.push({ text: match[3], kind: "v", name: match[3] });
    else if (match[4]) pushWord(words, match[4], "c");
    else if (match[5]) {
      const isType = IR_TYPE.test(match[5]);
      pushWord(words, match[5], isType ? "t" : isFirst ? "o" : "k");
      if (!isType) isFirst = false;
    } else if (match[6]) pushWord(words, match[6], "n");
    else pushWord(words, match[7], "");
    if (IR_WORD.lastIndex >= line.length) break;
  }
  return words;
}

function ptxWords(line) {
  const words = [];
  let isFirst = true;
  PTX_WORD.lastIndex = 0;
  for (let match = PTX_WORD.exec(line); match; match = PTX_WORD.exec(line)) {
    if (match[1]) pushWord(words, match[1], "c");
    else if (match[2]) pushWord(words, match[2], "s");
    else if (match[3]) {
      const isLabel = match[3][0] === "$" && line[PTX_WORD.lastIndex] === ":";
      words.push({ text: match[3], kind: isLabel ? "v label" : "v", name: match[3] });
    } else if (match[4]) pushWord(words, match[4], "t");
    else if (match[5]) {
      pushWord(words, match[5], isFirst ? "o" : "k");
      isFirst = false;
    } else if (match[6]) pushWord(words, match[6], "n");
    else pushWord(words, match[7], "");
    if (PTX_WORD.lastIndex >= line.length) break;
  }
  return words;
}

function plainWords(line) {
  return [{ text: line, kind: "" }];
}

function wordsOf(language, line) {
  if (language === "ir") return irWords(line);
  return language === "ptx" ? ptxWords(line) : plainWords(line);
}

/* The lines of a text of the function; texts are lists of indices of its lines. */
function linesOf(func, textIndex) {
  const cache = func.lineCache || (func.lineCache = []);
  if (!cache[textIndex]) cache[textIndex] = func.texts[textIndex].map((k) => func.lines[k]);
  return cache[textIndex];
}

const NAME_IN_LINE = /"(?:[^"\\]|\\.)*"|;.*$|%(?:"[^"]*"|[-\w$.]+)/g;
const PARAMETER = /[ (]%(?:"[^"]*"|[-\w$.]+)(?=[,)])/g;
const DEFINED_NAME = /^\s+(%(?:"[^"]*"|[-\w$.]+)) =/;
const LABEL = /^("[^"]*"|[-\w$.]+):/;

/* An index of a text: definitions (name → line) and uses (name → lines); lines count from 1. */
function indexText(func, textIndex) {
  const cache = func.indexCache || (func.indexCache = {});
  if (!cache[textIndex]) {
    cache[textIndex] =
      textIndex === PTX_TEXT
        ? indexPtx(func.ptx.map((line) => line.text))
        : indexIr(linesOf(func, textIndex));
  }
  return cache[textIndex];
}

/* The line of its definition; definitions come first, so that types (%struct.x) are no values. */
function indexIr(lines) {
  const index = { definitions: new Map(), uses: new Map() };
  lines.forEach((line, i) => {
    const name = definedName(line);
    if (name) index.definitions.set(name, i + 1);
    else if (line.startsWith("define")) indexParameters(index, line, i + 1);
  });
  lines.forEach((line, i) => {
    const names = line.match(NAME_IN_LINE) || [];
    const defined = definedName(line);
    names.forEach((name, k) => {
      if (name[0] !== "%" || !index.definitions.has(name)) return;
      if ((k === 0 && name === defined) || index.definitions.get(name) === i + 1) return;
      addUse(index, name, i + 1);
    });
  });
  return index;
}

/* Parameters, and the entry block, which has the number after theirs if it has no label. */
function indexParameters(index, line, number) {
  let unnamed = 0;
  (line.slice(line.indexOf("(")).match(PARAMETER) || []).forEach((match) => {
    if (match[0] === "(") return;
    index.definitions.set(match.slice(1), number);
    if (/^%\d+$/.test(match.slice(1))) unnamed++;
  });
  if (!index.definitions.has("%" + unnamed)) index.definitions.set("%" + unnamed, number);
}

function addUse(index, name, line) {
  const lines = index.uses.get(name);
  if (!lines) index.uses.set(name, [line]);
  else if (lines[lines.length - 1] !== line) lines.push(line);
}

function indexPtx(lines) {
  const index = { definitions: new Map(), uses: new Map() };
  lines.forEach((line, i) => {
    if (/^\s*\.reg/.test(line)) return;
    (line.replace(/\/\/.*$/, "").match(/%[a-z]+\d+|\$[\w$.]+/g) || []).forEach((name) => {
      const isLabel = name[0] === "$";
      const defines = isLabel ? line.startsWith(name + ":") : !index.definitions.has(name);
      if (defines) index.definitions.set(name, i + 1);
      else addUse(index, name, i + 1);
    });
  });
  return index;
}

/* The name that a line of IR defines, labels included; "" if none. */
function definedName(line) {
  const value = DEFINED_NAME.exec(line);
  if (value) return value[1];
  const label = LABEL.exec(line);
  return label ? "%" + label[1] : "";
}

/* The instruction of the final IR at a line, or null. */
function instructionAt(func, line) {
  const i = lowerBound(func.insts, (inst) => inst.line >= line);
  return i < func.insts.length && func.insts[i].line === line ? func.insts[i] : null;
}

/* Index of the block of the final IR that holds a line. */
function blockAt(func, line) {
  return lowerBound(func.blocks, (block) => block.line > line) - 1;
}

function blockLabel(func, index) {
  return "%" + func.blocks[index].name.replace(/^%/, "");
}
