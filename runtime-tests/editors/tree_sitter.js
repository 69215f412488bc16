// Executes a grammar.js of tree-sitter with stand-ins for its functions, and divides files into
// tokens by its rules: the longest match, of equal ones a word of a table, else the first rule.
//   node tree_sitter.js grammar.js FILE...
// Prints JSON: for each FILE its tokens as [rule, text]; throws where nothing matches. It does not
// see what tree-sitter's own generator checks in addition.
const fs = require("fs");
const path = require("path");

const regex = (r) => r.source;
const source = (r) => r instanceof RegExp ? regex(r) : typeof r === "string" ? r.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : r.pattern;
global.choice = (...rules) => ({ choice: rules, pattern: rules.map((r) => `(?:${source(r)})`).join("|") });
global.repeat = (rule) => ({ repeat: rule });
global.token = (rule) => ({ token: rule, pattern: source(rule) });
global.grammar = (g) => g;

const file = path.resolve(process.argv[2]);
const grammar = require(file);
const $ = new Proxy({}, { get: (_, name) => ({ rule: name, pattern: "" }) });
const rules = Object.fromEntries(Object.entries(grammar.rules).map(([name, make]) => [name, make($)]));
const listed = rules.source.repeat.choice.map((r) => r.rule);
for (const name of listed) if (!rules[name]) throw new Error(`no rule ${name}`);
const isTable = (name) => rules[name].choice && rules[name].choice.every((r) => typeof r === "string");
const order = ["comment", ...listed].map((name) => ({ name, isTable: isTable(name), sticky: new RegExp(isTable(name) ? source(rules[grammar.word($).rule]) : source(rules[name]), "y"), words: isTable(name) ? new Set(rules[name].choice) : null }));

function tokens(text) {
  const found = [];
  for (let at = 0; at < text.length;) {
    if (/\s/.test(text[at])) { at++; continue; }
    let best = null;
    for (const rule of order) {
      rule.sticky.lastIndex = at;
      const match = rule.sticky.exec(text);
      if (!match || !match[0] || (rule.words && !rule.words.has(match[0]))) continue;
      if (!best || match[0].length > best.text.length || (match[0].length === best.text.length && rule.isTable && !best.isTable))
        best = { name: rule.name, text: match[0], isTable: rule.isTable };
    }
    if (!best) throw new Error(`nothing matches at ${JSON.stringify(text.slice(at, at + 20))}`);
    found.push([best.name, best.text]);
    at += best.text.length;
  }
  return found;
}
console.log(JSON.stringify(process.argv.slice(3).map((name) => tokens(fs.readFileSync(name, "utf8")))));
