#!/usr/bin/env python3
"""Opens pages of `nvmini explain` in headless Chromium and uses them by keyboard and by script.

Checks of each page: no error in the console, every linked value of every tab resolves, tabs and
code are usable by keyboard, the address restores the place, nothing is loaded from a network, and
the page opens within the limit. Skipped with a word if there is no Chromium.

  page_test.py [--nvmini build/nvmini] [--modules DIR] [--shots DIR] [--dark] [--limit MS] [PAGE.html...]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/runtime-tests")
import browser as chromium  # noqa: E402

TABS = ["passes", "flow", "code", "plans", "costs", "remarks", "registers", "run"]
# A kernel whose threads each read a row, and which loads the same number in each iteration; only
# thread 0 stores. FOLDER has the source.
ROWS = """; nvmini-run: --block 64 --arg buf:f32:2048:iota --arg buf:i32:1:fill:4 --arg buf:f32:1:zero
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @rows(ptr addrspace(1) noalias align 16 %m, ptr addrspace(1) noalias %scale, ptr addrspace(1) noalias %out) !dbg !3 {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  %begin = shl i32 %t, 3, !dbg !6
  %count = load i32, ptr addrspace(1) %scale, !dbg !7
  br label %loop, !dbg !8
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %row = getelementptr <4 x float>, ptr addrspace(1) %m, i32 %begin, !dbg !9
  %v = load <4 x float>, ptr addrspace(1) %row, align 16, !dbg !9
  %k = load i32, ptr addrspace(1) %scale, !dbg !9
  %factor = sitofp i32 %k to float, !dbg !9
  %x = extractelement <4 x float> %v, i32 %i, !dbg !9
  %product = fmul float %x, %factor, !dbg !9
  %more = fadd float %sum, %product, !dbg !9
  %next = add i32 %i, 1, !dbg !8
  %again = icmp slt i32 %next, %count, !dbg !8
  br i1 %again, label %loop, label %end, !dbg !8
end:
  %first = icmp eq i32 %t, 0, !dbg !10
  br i1 %first, label %store, label %done, !dbg !10
store:
  store float %more, ptr addrspace(1) %out, !dbg !10
  br label %done, !dbg !10
done:
  ret void, !dbg !11
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "rows.cu", directory: "FOLDER")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "rows", scope: !1, file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{null}
!6 = !DILocation(line: 2, scope: !3)
!7 = !DILocation(line: 3, scope: !3)
!8 = !DILocation(line: 5, scope: !3)
!9 = !DILocation(line: 6, scope: !3)
!10 = !DILocation(line: 7, scope: !3)
!11 = !DILocation(line: 8, scope: !3)
"""
ROWS_SOURCE = """__global__ void rows(const float4 *m, const int *scale, float *out) {
  int begin = threadIdx.x * 8;
  int count = *scale;
  float sum = 0;
  for (int i = 0; i < count; i++)
    sum += element(m[begin], i) * *scale;
  if (threadIdx.x == 0) *out = sum;
}
"""
# A kernel whose threads each load the eight elements of a row, one by one, on one line of rows.cu.
COLUMNS = """; nvmini-run: --block 64 --arg buf:f32:512:iota --arg buf:f32:64:zero
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @columns(ptr addrspace(1) noalias align 16 %m, ptr addrspace(1) noalias %out) !dbg !3 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  %begin = shl i32 %t, 3, !dbg !6
""" + "".join(f"""  %i{i} = or i32 %begin, {i}, !dbg !9
  %p{i} = getelementptr float, ptr addrspace(1) %m, i32 %i{i}, !dbg !9
  %v{i} = load volatile float, ptr addrspace(1) %p{i}, !dbg !9
  %s{i} = fadd float {f"%s{i - 1}" if i else "0.0"}, %v{i}, !dbg !9
""" for i in range(8)) + """  %q = getelementptr float, ptr addrspace(1) %out, i32 %t, !dbg !10
  store float %s7, ptr addrspace(1) %q, !dbg !10
  ret void, !dbg !11
}
""" + ROWS[ROWS.index("declare"):].replace('"rows"', '"columns"')
# A module about which there is a note that names a knob.
ATOMIC = """; nvmini-run: --block 64 --arg buf:i32:16:zero
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @atomic(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i32, ptr %p, i32 %t
  %old = atomicrmw add ptr %q, i32 1 seq_cst
  call void @llvm.nvvm.barrier0()
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
!llvm.module.flags = !{!0}
!llvm.ident = !{!1}
!0 = !{i32 2, !"SDK Version", [2 x i32] [i32 12, i32 5]}
!1 = !{!"clang version 19.1.7"}
"""
SAMPLES = ["sum", "saxpy", "matmul", "reduction", "histogram"]

# Runs in the page: chooses every linked name of the rendered rows; returns the names that fail.
RESOLVE_ALL = """(() => {
  const failed = [];
  let count = 0;
  codeViews.forEach((view) => {
    if (!view.element.isConnected || !view.element.offsetParent) return;
    view.rows.slice(0, 400).forEach((row) => {
      const index = view.indexOf(row);
      if (!index || !row.line) return;
      wordsOf(view.options.language, row.text).forEach((word) => {
        if (!word.name || !index.definitions.has(word.name)) return;
        count++;
        const line = index.definitions.get(word.name);
        if (!(line >= 1)) failed.push(word.name);
      });
    });
    const names = [...view.body.querySelectorAll(".v[data-name]:not(.outside)")].slice(0, 25);
    names.forEach((span) => {
      const name = span.dataset.name;
      const row = view.rows[+span.closest(".row").dataset.row];
      chooseValue(name, view.textIndexOf(row));
      const card = document.getElementById("card");
      if (card.hidden || !card.textContent.includes(name) || /Not defined/.test(card.textContent))
        failed.push(name + " has no card");
    });
  });
  chooseValue("");
  return JSON.stringify({count, failed});
})()"""

# Values of the final IR that are neither defined nor types; they would be dead links.
UNDEFINED = """JSON.stringify(state.data.functions.map((func) => {
  const index = indexText(func, func.final);
  const isType = (name) => /^%(struct|class|union|"|\\w+\\.)/.test(name);
  return func.insts.map((inst) => inst.name).filter((name) => name && !isType(name) && !index.definitions.has(name));
}).filter((list) => list.length))"""

# Text at the side of a tab that is cut off at the right.
WIDE = """[...document.querySelectorAll("#panel-%s .side-facts, #panel-%s .side-facts td")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => element.textContent.slice(0, 40)).join("; ")"""


# How a tab is laid out for printing: what is cut, beyond the page, on top of something else or left
# out; "" or the faults.
PRINTED = """(async () => {
  window.dispatchEvent(new Event("beforeprint"));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const faults = [];
  const name = (element) => `${element.tagName} ${element.className.baseVal === undefined ? element.className : "svg"} ${element.textContent.slice(0, 30)}`;
  const isBlock = (style) => /^(block|flex|grid|table|list-item|table-row)$/.test(style.display) && style.position !== "absolute" && style.position !== "fixed";
  const look = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (style.display === "none" || !box.width || element.matches("svg, .hidden, .skip, option, select")) {
      if (element.tagName === "svg" && (box.right > innerWidth + 1)) faults.push("beyond the page: " + name(element));
      return;
    }
    if (/hidden|auto|scroll|clip/.test(style.overflow) && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1) && element.clientWidth)
      faults.push("cut: " + name(element));
    if (box.right > innerWidth + 1) faults.push("beyond the page: " + name(element));
    if (element.matches("td .line-link") && /^\\d+$/.test(element.textContent) && box.height > 2 * parseFloat(style.fontSize))
      faults.push("a number in two lines: " + name(element));
    if (element.matches(".code") && box.width < innerWidth * 0.9) faults.push("not as wide as the page: " + name(element));
    let before = null;
    const isFolded = element.matches("details:not([open])");
    [...element.children].forEach((child) => {
      if (isFolded && child.tagName !== "SUMMARY") return;
      look(child);
      const childStyle = getComputedStyle(child);
      const place = child.getBoundingClientRect();
      if (!isBlock(childStyle) || !place.width || !place.height) return;
      if (place.bottom > box.bottom + 2) faults.push("runs over: " + name(child));
      if (before && place.top < before.bottom - 1 && place.left < before.right - 1 && place.right > before.left + 1) faults.push("overlaps: " + name(child));
      before = place;
    });
  };
  look(document.body);
  codeViews.forEach((view) => {
    if (view.element.offsetParent && view.body.children.length !== view.rows.length) faults.push("lines are left out");
  });
  const folds = [...document.querySelectorAll(".row.fold .line")].filter((line) => line.getClientRects().length);
  const closed = [...document.querySelectorAll("details:not([open]) > summary")].filter((line) => line.getClientRects().length);
  folds.concat(closed).forEach((element) => {
    if (!/folded/.test(getComputedStyle(element, "::after").content)) faults.push("not called folded: " + name(element));
  });
  if (state.tab === "passes" && document.querySelector(".diff.two .row")) faults.push("two columns, whose lines are of different heights");
  window.dispatchEvent(new Event("afterprint"));
  return [...new Set(faults)].slice(0, 5).join("; ");
})()"""


# The kinds of reference entries to which the visible links of the page lead, each link followed; the
# links without an entry, and the words with an entry that are no link.
LINKS = """(() => {
  const dialog = document.getElementById("reference");
  const kinds = new Set();
  const lost = [];
  const follow = (root) => [...root.querySelectorAll(".reference-link")].filter((link) => link.getClientRects().length).forEach((link) => {
    link.click();
    const [, kind, name] = /^(.*) (\\S+): what it is$/.exec(link.title);
    kinds.add(kind);
    if (!dialog.open || dialog.querySelector("h2").textContent !== kind + " " + name || !dialog.querySelector(".entry").textContent.trim()) lost.push(link.title);
    [...dialog.querySelectorAll(".entry .reference-link")].forEach((inner) => {
      inner.click();
      if (!inner.title.startsWith(dialog.querySelector("h2").textContent)) lost.push(inner.title);
    });
    dialog.close();
  });
  const { func } = state;
  TABS.forEach((tab) => {
    showTab(tab.id);
    document.querySelectorAll("details").forEach((details) => details.setAttribute("open", ""));
    follow(document.getElementById("panel-" + tab.id));
  });
  showTab("code");
  const inst = func.insts.find((other) => other.name && other.op === "call") || func.insts.find((other) => other.name);
  if (inst) {
    chooseValue(inst.name, func.final);
    follow(document.getElementById("card"));
    document.querySelectorAll("#card .facts dt *").forEach((term) => term.scrollWidth > term.clientWidth + 1 && lost.push("cut: " + term.textContent));
    chooseValue("");
  }
  codeTab.views.ir.render(true);
  [...codeTab.views.ir.body.querySelectorAll("[data-name^='@llvm.']")].filter((word) => intrinsicOf(word.dataset.name)).forEach((word) => {
    word.click();
    if (!dialog.open || !word.dataset.name.startsWith("@" + dialog.querySelector("h2 .mono").textContent)) lost.push(word.dataset.name);
    else kinds.add("Intrinsic");
    dialog.close();
  });
  codeTab.views.ir.refresh();
  return JSON.stringify({ kinds: [...kinds].sort(), lost: lost.slice(0, 5) });
})()"""


class Checks:
    """Counts what holds and prints what does not."""

    def __init__(self, page):
        self.page = os.path.basename(page)
        self.passed = 0
        self.failed = 0

    def expect(self, holds, sentence):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print("%s: %s" % (self.page, sentence))


def check_tabs(browser, checks, shots):
    """Reaches every tab with the right arrow key and looks at what it shows."""
    browser.evaluate("showTab('passes'); document.getElementById('tab-passes').focus(); 1")
    for number, tab in enumerate(TABS):
        if number:
            browser.press("ArrowRight")
        shown = browser.evaluate("document.activeElement.id + ' ' + !document.getElementById('panel-%s').hidden" % tab)
        checks.expect(shown == "tab-%s true" % tab, "tab %s is not reached by the keyboard: %s" % (tab, shown))
        size = browser.evaluate("document.getElementById('panel-%s').textContent.trim().length" % tab)
        checks.expect(size > 0, "tab %s is empty" % tab)
        wide = browser.evaluate(WIDE % (tab, tab))
        checks.expect(not wide, "tab %s: cut at the right: %s" % (tab, wide))
        result = json.loads(browser.evaluate(RESOLVE_ALL))
        checks.expect(not result["failed"], "tab %s: unresolved: %s" % (tab, result["failed"][:5]))
        browser.evaluate("showTab('%s'); document.getElementById('tab-%s').focus(); 1" % (tab, tab))
        if shots:
            time.sleep(0.3)
            browser.screenshot(os.path.join(shots, "%s-%d-%s.png" % (checks.page[:-5], number + 1, tab)))


def check_links(browser, checks):
    """Every link to the reference leads to its entry."""
    found = json.loads(browser.evaluate(LINKS))
    checks.expect(not found["lost"], "links without an entry: %s" % found["lost"])
    wanted = {"Analysis", "Knob", "Pass"} if checks.page == "rows.html" else set()
    if checks.page == "atomic.html":
        wanted = {"Analysis", "Diagnostic", "Intrinsic", "Knob"}
    checks.expect(wanted <= set(found["kinds"]), "no links to: %s" % (wanted - set(found["kinds"])))


def check_print(browser, checks):
    """Every tab as it is printed on A4, of which margins leave 718 pixels."""
    browser.call("Emulation.setEmulatedMedia", {"media": "print"})
    browser.resize(718, 1000)
    for tab in TABS:
        browser.evaluate("showTab('%s'); 1" % tab)
        browser.settle()
        faults = browser.evaluate(PRINTED)
        checks.expect(not faults, "tab %s printed: %s" % (tab, faults))
    browser.call("Emulation.setEmulatedMedia", {"media": ""})
    browser.resize(1440, 860)
    browser.evaluate("showTab('passes'); 1")
    browser.settle()
    checks.expect(browser.evaluate("Boolean(document.querySelector('.diff.two .row')) === !passesView.isOneColumn || "
                                   "!document.querySelector('.diff .row.added, .diff .row.removed')"),
                  "after printing the difference has one column")


# Opens the explanation of a pass and of an operation; "" or what is missing.
ABOUT = """(() => {
  const { func } = state;
  const step = func.steps.findIndex((other) => other.pass === "mem2reg");
  showStep(step);
  const pass = passesView.about.querySelector("details");
  if (!pass || !/phi/.test(pass.textContent) || !pass.querySelector("pre")) return "mem2reg is not explained";
  const register = func.ptx.map((line) => /\\bld\\.param\\S* *\\s(%\\w+)/.exec(line.text)).find(Boolean);
  if (register) {
    chooseValue(register[1], PTX_TEXT);
    if (!document.querySelector("#card .about")) return "ld is not explained";
  }
  showStep(0);
  if (passesView.about.textContent) return "the input has an explanation";
  const inst = func.insts.find((other) => other.name && other.op === "load");
  if (!inst) return "";
  chooseValue(inst.name, func.final);
  const card = document.getElementById("card").textContent;
  chooseValue("");
  return /oad from pointer/.test(card) ? "" : "load is not explained";
})()"""


# The values that are live, and the occupancy that the highest pressure permits; "" or what is wrong.
LIVE = """(() => {
  const { func } = state;
  const named = new Set(func.insts.map((inst) => inst.name).filter(Boolean));
  for (const block of func.blocks)
    for (let k = block.insts[0] + 1; k < block.insts[1]; k++) {
      const live = new Set(liveAfter(func, func.insts[k - 1].line));
      const missing = func.insts[k].op === "phi" ? [] : func.insts[k].operands.filter((name) => named.has(name) && !live.has(name));
      if (missing.length) return missing[0] + " is read in line " + func.insts[k].line + ", but not live before it";
    }
  const used = func.insts.find((inst) => inst.name && (indexText(func, func.final).uses.get(inst.name) || []).length);
  if (used && !liveLines(func, used.name).has(used.line)) return used.name + " is not live after its definition";
  const last = func.blocks.findIndex((block) => !block.successors.length);
  if (liveness(func).out[last].size) return "values are live after the end";
  const most = highestPressure(func);
  const warps = Math.max(0, ...(func.occupancy || []).filter((step) => most <= step.registers).map((step) => step.warps));
  showTab("registers");
  const text = document.getElementById("main").textContent;
  return !warps || text.includes(": " + warps + " warps resident, limited by") ? "" : "not " + warps + " warps resident";
})()"""


# Histories of the values of the input: a value is removed by the step before which it was defined
# last, whatever passes moved it; "" or what is wrong.
HISTORY = """(() => {
  const { func } = state;
  const lines = linesOf(func, 0);
  for (let line = 1; line <= Math.min(lines.length, 400); line++) {
    const name = definedName(lines[line - 1]);
    if (!name) continue;
    const last = func.texts.findLastIndex((_, text) => indexText(func, text).definitions.has(name));
    const change = changingSteps(func).find((other) => other.before === last) || { step: -1 };
    const history = lineHistory(func, 0, line);
    const expected = last === func.final ? -1 : change.step;
    if (history.removed !== expected) return name + " is removed by step " + history.removed + " instead of " + expected;
    if (expected < 0) continue;
    showRemoval(0, line);
    const card = document.getElementById("card").textContent;
    if (state.step !== expected || !card.includes("Removed by " + func.steps[expected].pass + ", step " + expected))
      return name + ": the step that removed it is not shown";
  }
  chooseValue("");
  return "";
})()"""


# Uses of the page of ROWS; "" or what is wrong.
ROWS_MOVED = """(() => {
  const { func } = state;
  const line = indexText(func, 0).definitions.get("%k");
  const history = lineHistory(func, 0, line);
  const moved = history.changed.find((change) => change.isMoved);
  if (!moved) return "no pass moved %k";
  showStep(moved.step);
  const notes = document.getElementById("panel-passes").textContent;
  return /moved to line \\d+/.test(notes) && /moved from line \\d+/.test(notes) ? "" : "the difference does not say where %k moved";
})()"""
ROWS_FINDINGS = """(() => {
  showTab("run");
  const side = document.querySelector("#panel-run .side-facts");
  const findings = [...side.querySelectorAll(".findings li")].map((item) => item.textContent);
  if (!findings.some((text) => /uncoalesced.*v4.f32 moves 32.0 sectors a warp, 16.0 would/.test(text))) return findings.join("; ");
  if (findings.some((text) => /uncoalesced.*st.global/.test(text))) return "a store by one thread is uncoalesced";
  const cells = [...side.querySelectorAll("tbody tr")][0].cells;
  return /v4.f32/.test(cells[1].textContent) && cells[4].textContent.includes("6") ? "" :
    "the first access is " + [...cells].map((cell) => cell.textContent).join(" ");
})()"""
ROWS_SEARCH = """(() => {
  showHits("%k");
  const hits = document.getElementById("hits").hits;
  if (!/^%k = load/.test(hits[0].text) || hits[0].where !== "removed") return "the removed value is not the first hit";
  openHit(findHits("rows(").find((hit) => hit.where === "input"));
  const shown = () => codeTab.views.source.rows[codeTab.views.source.current].text;
  if (!/^define/.test(shown()) || codeTab.chooser.value !== "-1") return "a hit in the input shows " + shown();
  openHit(findHits("*scale").find((hit) => hit.where === "source"));
  return /scale/.test(shown()) && codeTab.chooser.value === "0" ? "" : "a hit in a source file shows " + shown();
})()"""
ROWS_REMOVED = """(async () => {
  showTab("code");
  const row = codeTab.views.source.rowOfLine(6);
  codeTab.views.source.setCurrent(row, true);
  await new Promise((done) => addJob(done));
  const items = [...codeTab.removed.querySelectorAll("li")].map((item) => item.textContent);
  const pass = state.func.steps[lineHistory(state.func, 0, indexText(state.func, 0).definitions.get("%k")).removed].pass;
  return items.some((text) => text.startsWith("%k = load i32, ptr addrspace(1) %scaleremoved by " + pass)) ? "" :
    "line 6 does not list that %k was removed: " + items.join("; ");
})()"""
ROWS_NOTES = """(() => {
  showTab("code");
  const view = codeTab.views.source;
  const row = view.rows.find((other) => other.note);
  if (!row) return "";
  const needed = (row.text.length + row.note.length + 4) * parseFloat(getComputedStyle(view.scroller).fontSize) * 0.5;
  return view.space.clientWidth >= needed ? "" : "a remark cannot be scrolled to";
})()"""


# The accesses that are not coalesced, of one source line: one finding, which names and marks all of them.
COLUMNS_FINDINGS = """(() => {
  showTab("run");
  const items = [...document.querySelectorAll("#panel-run .findings li")].filter((item) => /^uncoalesced/.test(item.textContent));
  const lines = state.func.run.lines.filter((counts) => counts.bytes && isUncoalesced(counts)).map((counts) => counts.line);
  if (lines.length < 4) return "only " + lines.length + " accesses are uncoalesced";
  const text = items.map((item) => item.textContent).join("; ");
  const expected = new RegExp("^uncoalesced line [0-9]+ and " + (lines.length - 1) + " others [(]source 6[)] " +
    "ld.volatile.global.f32 move 32.0 sectors a warp, 4.0 would hold their bytessum [+]= element");
  if (items.length !== 1 || !expected.test(text)) return "the findings are " + text;
  items[0].querySelector("button").click();
  const isMarked = (line) => runView.code.linked.has(line);
  if (!lines.every(isMarked) || runView.code.linked.size !== lines.length) return "lines of the finding are not marked";
  runView.code.setCurrent(0, true);
  return lines.some(isMarked) ? "another line is chosen, and the finding is still marked" : "";
})()"""


# The launch of ATOMIC leaves its buffer; the line of the finding is that of the tab.
FINDING = """(() => {
  showTab("run");
  const finding = document.querySelector("#panel-run .finding");
  const link = finding && finding.querySelector("button");
  if (!link) return "the finding has no link: " + (finding && finding.textContent);
  link.click();
  const row = runView.code.rows[runView.code.current];
  return row && /\\b(atom|red)\\./.test(row.text) && link.textContent === "line " + row.line ? "" : "the finding is at " + (row && row.text);
})()"""


def check_rows(browser, checks):
    """Answers of the page of ROWS to what its readers ask."""
    for question in (ROWS_MOVED, ROWS_FINDINGS, ROWS_SEARCH, ROWS_REMOVED, ROWS_NOTES):
        wrong = browser.evaluate(question)
        checks.expect(not wrong, wrong)


# The price table of each plan, and where the loop is; "" or what is wrong.
PLANS = """(() => {
  const { func } = state;
  showTab("plans");
  const text = document.getElementById("panel-plans").textContent;
  const priced = func.plans.map(parsePrices).filter((prices) => prices.rows.some((row) => row.isChosen && row.vf * row.uf > 1));
  if (!priced.length) return "";
  if (!/The larger of issue slots and latency/.test(text)) return "the price is not explained";
  if (priced[0].rows.some((row) => row.vf * row.uf === 1) && !/One pass through the vector loop executes \\d+ iterations in \\d+/.test(text))
    return "the winner's cost is not explained";
  return /Loop ir-bb<.*> line \\d+ of /.test(text) ? "" : "the loop has no source line";
})()"""


# The lines with bank conflicts that the Run tab does not list at its side with their number.
CONFLICTS = """(() => {
  const { run } = state.func;
  if (!run) return "";
  showTab("run");
  const rows = [...document.querySelectorAll("#panel-run .side-facts tbody tr")]
    .map((row) => [...row.cells].map((cell) => cell.textContent));
  const isListed = (counts) => rows.some((cells) => cells[0] === String(counts.line) && cells[2] === String(counts.conflicts));
  return run.lines.filter((counts) => counts.conflicts && !isListed(counts)).map((counts) => counts.line).join(", ");
})()"""


def check_conflicts(browser, checks):
    lines = browser.evaluate(CONFLICTS)
    checks.expect(not lines, "bank conflicts are not listed: lines " + lines)


# The names of passes that the Remarks tab breaks or cuts off.
REMARKS = """(() => {
  showTab("remarks");
  const isWhole = (link) => link.scrollWidth <= link.clientWidth + 1 && link.offsetHeight < 2.5 * parseFloat(getComputedStyle(link).fontSize);
  const links = [...document.querySelectorAll("#panel-remarks .remarks .reference-link")].filter((link) => !isWhole(link));
  return links.length ? "a name in the remarks is not whole: " + links[0].textContent : "";
})()"""


def check_answers(browser, checks):
    for question in (HISTORY, PLANS, REMARKS):
        wrong = browser.evaluate(question)
        checks.expect(not wrong, wrong)


def check_live(browser, checks):
    wrong = browser.evaluate(LIVE)
    checks.expect(not wrong, wrong)


def check_about(browser, checks):
    missing = browser.evaluate(ABOUT)
    checks.expect(not missing, missing)


# Opens the first function with a linked value in its input; how many rows precede its row, or -1.
FIRST_VALUE = """(() => {
  const isLinked = (func) => (line) =>
    wordsOf("ir", line).some((word) => word.name && indexText(func, 0).definitions.has(word.name));
  const func = state.data.functions.find((other) => linesOf(other, 0).some(isLinked(other)));
  if (!func) return -1;
  openFunction(func, {tab: "passes", step: 0});
  passesView.right.scroller.focus();
  return passesView.right.rows.findIndex((row) => row.line && isLinked(func)(row.text));
})()"""


def check_choice(browser, checks):
    """Chooses a value in the diff by arrow keys and Enter."""
    above = browser.evaluate(FIRST_VALUE)
    if above < 0:
        return  # no function has a value
    for key in ["Home"] + ["ArrowDown"] * above + ["ArrowRight", "Enter"]:
        browser.press(key)
    checks.expect(browser.evaluate("state.value[0] === '%' && !document.getElementById('card').hidden"),
                  "Enter does not choose a value")
    browser.press("Escape")
    checks.expect(browser.evaluate("document.getElementById('card').hidden"), "Esc does not close the card")


def check_keyboard(browser, checks):
    """Chooses a value, goes on by a change, opens the help and the search."""
    check_choice(browser, checks)
    if browser.evaluate("changingSteps(state.func).length") > 0:
        browser.press("]")
        checks.expect(browser.evaluate("state.step === changingSteps(state.func)[0].step"), "] does not go to a change")
    for number, tab in enumerate(TABS):
        browser.press(str(number + 1))
        checks.expect(browser.evaluate("state.tab") == tab, "key %d does not open tab %s" % (number + 1, tab))
    browser.press("?")
    checks.expect(browser.evaluate("document.getElementById('help').open"), "? does not list the keys")
    browser.press("Escape")
    browser.press("/")
    checks.expect(browser.evaluate("document.activeElement.id") == "search", "/ does not go to the search")
    browser.press("Escape")


def check_address(browser, checks):
    """The address after # restores function, tab and step."""
    time.sleep(0.5)  # writes of the address are limited by the browser
    before = browser.evaluate("showTab('flow'); state.step = 1; writeHashNow(); location.href")
    browser.open(before)
    now = browser.evaluate("state.tab + ' ' + state.step + ' ' + (location.href === '%s')" % before.replace("'", "%27"))
    checks.expect(now.startswith("flow 1"), "the address does not restore the place: " + now)


def scroll(browser):
    """Scrolls the PTX from begin to end; the mean time of a frame in milliseconds."""
    return browser.evaluate("""(async () => {
      showTab('code');
      const view = codeTab.views.ptx;
      const begin = performance.now();
      for (let i = 0; i < 20; i++) {
        view.scroller.scrollTop = (view.space.clientHeight * i) / 20;
        await new Promise((done) => requestAnimationFrame(done));
      }
      return (performance.now() - begin) / 20;
    })()""")


def check_page(browser, path, limit, shots):
    checks = Checks(path)
    try:
        opened = browser.open("file://" + os.path.abspath(path))
        undefined = json.loads(browser.evaluate(UNDEFINED))
        checks.expect(not undefined, "values without definition: %s" % undefined[:3])
        check_tabs(browser, checks, shots)
        check_about(browser, checks)
        check_live(browser, checks)
        check_conflicts(browser, checks)
        check_answers(browser, checks)
        check_links(browser, checks)
        check_print(browser, checks)
        if checks.page == "atomic.html":
            wrong = browser.evaluate(FINDING)
            checks.expect(not wrong, wrong)
        if checks.page == "columns.html":
            wrong = browser.evaluate(COLUMNS_FINDINGS)
            checks.expect(not wrong, wrong)
        if checks.page == "rows.html":
            check_rows(browser, checks)
        check_keyboard(browser, checks)
        mean = scroll(browser)
        check_address(browser, checks)
        if limit:
            checks.expect(opened <= limit, "opens in %d ms, more than %d" % (opened, limit))
            checks.expect(mean < 100, "scrolling takes %d ms a frame" % mean)
        print("%s: opens in %d ms, scrolls at %d ms a frame" % (checks.page, opened, mean))
    except RuntimeError as error:
        checks.expect(False, str(error))
    for error in browser.errors():
        checks.expect(False, error)
    return checks


def make_page(nvmini, folder, name, text):
    source, page = (os.path.join(folder, name + suffix) for suffix in (".nvir", ".html"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([nvmini, "explain", source, "--cpu", "sm_90a", "-o", page], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return page


def make_pages(nvmini, folder):
    """Pages of samples, and of one whose rows of shared memory are made to conflict; those with a
    launch in the file are executed."""
    texts = {}
    for name in SAMPLES + ["transpose"]:
        with open(os.path.join(ROOT, "samples", name + ".nvir"), encoding="utf-8") as file:
            texts[name] = file.read()
    with open(os.path.join(folder, "rows.cu"), "w", encoding="utf-8") as file:
        file.write(ROWS_SOURCE)
    texts["rows"] = ROWS.replace("FOLDER", folder)
    texts["columns"] = COLUMNS.replace("FOLDER", folder)
    texts["atomic"] = ATOMIC
    texts["conflicts"] = texts.pop("transpose").replace("[33 x float]", "[32 x float]")
    return [make_page(nvmini, folder, name, text) for name, text in texts.items()]


def make_module_pages(nvmini, folder, modules):
    """Pages of the modules in a folder, *.ll and *.bc."""
    pages = []
    for name in sorted(os.listdir(modules)):
        if name.endswith((".ll", ".bc", ".nvir")):
            pages.append(os.path.join(folder, name.rsplit(".", 1)[0] + ".html"))
            subprocess.run([nvmini, "explain", os.path.join(modules, name), "-o", pages[-1]], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    parser.add_argument("--modules", help="also open the pages of the modules in this folder")
    parser.add_argument("--shots", help="write a screenshot of every tab into this folder")
    parser.add_argument("--dark", action="store_true", help="prefer dark colors")
    parser.add_argument("--limit", type=int, help="milliseconds in which a page must open, with frames below 100 ms "
                                                  "(default: printed only, for a busy machine is slow)")
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    program = chromium.find()
    if not program:
        print("skipped: no Chromium")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        pages = options.pages or make_pages(options.nvmini, folder)
        if options.modules:
            pages += make_module_pages(options.nvmini, folder, options.modules)
        browser = chromium.Browser(program, options.dark)
        try:
            results = [check_page(browser, page, options.limit, options.shots) for page in pages]
        finally:
            browser.close()
    failed = sum(result.failed for result in results)
    print("%d passed, %d failed" % (sum(result.passed for result in results), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
