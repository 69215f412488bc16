/* CodeView: a list of lines of code that renders only the visible ones.
 *
 * A row is {text, line, kind, marks, fold}: line is its number in its text (0: none), kind a class
 * (added, removed, changed, filler, fold, title), marks ranges of changed characters, fold the rows
 * that it hides. All rows have one height, so that the position of a row is a product. Keys: arrows move
 * the current line and, inside a line, the current value; Enter chooses it.
 *
 * Columns beside the line numbers: {title, width (in characters), cell(row) → {text, heat}}. */

const ROW_MARGIN = 12; /* rows rendered beyond the visible ones */

let codeViewCount = 0;
const codeViews = new Set();

class CodeView {
  /* options: name (for screen readers), language, textIndex, columns, onLine(row), onHover(row),
   * title (a heading above the columns), numbers (false: no line numbers) */
  constructor(options) {
    this.options = options;
    this.id = "code" + codeViewCount++;
    this.rows = [];
    this.current = -1;
    this.word = -1;
    this.linked = new Set();
    this.build();
    codeViews.add(this);
  }

  build() {
    this.space = make("div", { class: "code-space", role: "presentation" });
    this.body = make("div", { class: "code-rows", role: "presentation" });
    this.space.append(this.body);
    this.scroller = make("div", {
      class: "code " + (this.options.class || ""),
      role: "listbox",
      tabindex: "0",
      "aria-label": this.options.name,
      onscroll: () => this.scheduleRender(),
      onkeydown: (event) => this.onKey(event),
      onclick: (event) => this.onClick(event),
      onmousemove: (event) => this.onMove(event),
      onmouseleave: () => this.hover(null),
    });
    this.scroller.append(this.space);
    this.head = this.makeHead();
    this.element = make("div", { class: "code-frame" }, this.head, this.scroller);
    if (window.ResizeObserver)
      new ResizeObserver(() => this.scheduleRender()).observe(this.scroller);
  }

  makeHead() {
    const columns = this.options.columns || [];
    if (!this.options.title && !columns.length) return null;
    const cells = columns.map((column) =>
      make("span", { class: "cell", style: `width:${column.width}ch`, title: column.help }, column.title)
    );
    return make("div", { class: "code-head" }, cells, make("span", { class: "code-title" }, this.options.title || ""));
  }

  setRows(rows) {
    this.rows = rows;
    this.current = -1;
    this.word = -1;
    this.lineToRow = null;
    this.firstRendered = -1;
    let longest = 0;
    let last = 0;
    rows.forEach((row) => {
      longest = Math.max(longest, row.text.length + (row.note ? row.note.length + 4 : 0));
      last = Math.max(last, row.line || 0);
    });
    this.numberWidth = Math.max(2, String(last).length);
    const columns = (this.options.columns || []).reduce((sum, column) => sum + column.width + 1, 0);
    this.space.style.minWidth = `calc(${longest + this.numberWidth + columns + 6}ch)`;
    this.space.style.setProperty("--number-width", this.numberWidth + "ch");
    this.measure();
    this.render();
  }

  measure() {
    const probe = parseFloat(getComputedStyle(this.scroller).lineHeight);
    this.rowHeight = probe || 19;
    this.space.style.height = this.rows.length * this.rowHeight + "px";
  }

  scheduleRender() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.render();
    });
  }

  /* Renders the rows that are visible; with isWhole all, for printing. */
  render(isWhole) {
    if (!this.scroller.isConnected && !isWhole) return;
    const height = this.scroller.clientHeight;
    let first = Math.max(0, Math.floor(this.scroller.scrollTop / this.rowHeight) - ROW_MARGIN);
    let end = Math.ceil((this.scroller.scrollTop + height) / this.rowHeight) + ROW_MARGIN;
    if (isWhole) [first, end] = [0, this.rows.length];
    end = Math.min(end, this.rows.length);
    if (first === this.firstRendered && end === this.endRendered && !this.isStale) return;
    this.firstRendered = first;
    this.endRendered = end;
    this.isStale = false;
    this.body.style.transform = isWhole ? "" : `translateY(${first * this.rowHeight}px)`;
    const fragment = document.createDocumentFragment();
    for (let i = first; i < end; i++) fragment.append(this.makeRow(this.rows[i], i));
    replaceChildren(this.body, fragment);
    this.showActive();
  }

  refresh() {
    this.isStale = true;
    this.scheduleRender();
  }

  makeRow(row, i) {
    const element = make("div", {
      class: this.classOf(row, i),
      id: this.id + "-" + i,
      role: "option",
      "aria-selected": i === this.current ? "true" : "false",
      "aria-posinset": i + 1,
      "aria-setsize": this.rows.length,
      "data-row": i,
    });
    (this.options.columns || []).forEach((column) => element.append(this.makeCell(column, row)));
    if (this.options.numbers !== false)
      element.append(make("span", { class: "number", "aria-hidden": "true" }, row.line ? String(row.line) : " "));
    if (this.options.signs)
      element.append(make("span", { class: "sign" }, { added: "+", removed: "−", changed: "~" }[row.kind] || " "));
    element.append(this.makeText(row, i));
    return element;
  }

  classOf(row, i) {
    let name = "row";
    if (row.kind) name += " " + row.kind;
    if (i === this.current) name += " current";
    if (row.line && this.linked.has(row.line)) name += " linked";
    return name;
  }

  makeCell(column, row) {
    const cell = column.cell(row) || {};
    const style = `width:${column.width}ch` + (cell.heat ? `;--heat:${(cell.heat * 100).toFixed(1)}%` : "");
    const kind = "cell" + (cell.heat ? (column.isBar ? " gauge" : " heat") : "") + (cell.alert ? " alert" : "");
    return make("span", { class: kind, style, title: cell.title }, cell.text || " ");
  }

  makeText(row, i) {
    const element = make("span", { class: "line" });
    if (row.kind === "fold" || row.kind === "title" || row.kind === "filler") {
      element.textContent = row.text || " ";
      return element;
    }
    const index = this.indexOf(row);
    let at = 0;
    wordsOf(this.options.language, row.text).forEach((word, k) => {
      appendWord(element, word, this.wordClass(word, row, index, i, k), row.marks, at, k);
      at += word.text.length;
    });
    if (row.note) element.append(make("span", { class: "note " + (row.noteKind || ""), title: row.note }, row.note));
    return element;
  }

  textIndexOf(row) {
    return row.textIndex === undefined ? this.options.textIndex : row.textIndex;
  }

  indexOf(row) {
    const textIndex = this.textIndexOf(row);
    return textIndex === undefined ? null : indexText(state.func, textIndex);
  }

  wordClass(word, row, index, i, k) {
    let name = word.kind;
    if (!word.name || !index) return name.replace("v", "");
    if (!this.isLink(word, index)) return name.replace("v", "w");
    if (i === this.current && k === this.word) name += " cursor";
    if (!index.definitions.has(word.name)) return name + " outside";
    if (isChosenName(word.name, this.textIndexOf(row))) {
      name += " chosen";
      if (index.definitions.get(word.name) === row.line) name += " definition";
    }
    return name;
  }

  rowOfLine(line) {
    if (!this.lineToRow) {
      this.lineToRow = new Map();
      this.rows.forEach((row, i) => row.line && !this.lineToRow.has(row.line) && this.lineToRow.set(row.line, i));
    }
    const row = this.lineToRow.get(line);
    return row === undefined ? -1 : row;
  }

  /* Shows a row; isCalm: only scrolls if it is not visible. */
  scrollToRow(i, isCalm) {
    const top = i * this.rowHeight;
    const height = this.scroller.clientHeight;
    const isVisible = top >= this.scroller.scrollTop && top + this.rowHeight <= this.scroller.scrollTop + height;
    if (isVisible && isCalm) return;
    const isNear = isCalm && Math.abs(top - this.scroller.scrollTop - height / 2) < height;
    if (isNear && top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (isNear) this.scroller.scrollTop = top + this.rowHeight - height;
    else this.scroller.scrollTop = Math.max(0, top - height / 3);
  }

  showLine(line) {
    const row = this.rowOfLine(line);
    if (row < 0) return false;
    this.setCurrent(row, false);
    this.scrollToRow(row, true);
    return true;
  }

  setCurrent(i, isUser) {
    const before = this.current;
    this.current = i;
    if (before !== i) this.word = -1;
    this.refresh();
    if (isUser && this.options.onLine && this.rows[i]) this.options.onLine(this.rows[i], i);
  }

  /* Marks lines that belong to a line of another view. */
  setLinked(lines) {
    this.linked = lines;
    Array.from(this.body.children).forEach((element) => {
      const row = this.rows[+element.dataset.row];
      element.classList.toggle("linked", Boolean(row && row.line && lines.has(row.line)));
    });
  }

  showActive() {
    const id = this.id + "-" + this.current;
    if (this.current >= this.firstRendered && this.current < this.endRendered)
      this.scroller.setAttribute("aria-activedescendant", id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  onClick(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const i = +element.dataset.row;
    const row = this.rows[i];
    const word = event.target.closest("[data-word]");
    if (row.fold) return this.unfold(i);
    this.setCurrent(i, true);
    if (word && word.dataset.name) this.choose(row, +word.dataset.word, word.dataset.name);
  }

  choose(row, word, name) {
    const index = this.indexOf(row);
    if (index && intrinsicOf(name)) return showReference("intrinsics", intrinsicOf(name).name);
    if (!index || !index.definitions.has(name)) return;
    this.word = word;
    chooseValue(name, this.textIndexOf(row));
    return undefined;
  }

  /* Whether a word of a row can be chosen: a value that the text defines, or an intrinsic. */
  isLink(word, index) {
    return Boolean(word.name && index && (index.definitions.has(word.name) || intrinsicOf(word.name)));
  }

  unfold(i) {
    if (this.options.onUnfold) return this.options.onUnfold(this.rows[i]);
    const top = this.scroller.scrollTop;
    const rows = this.rows.slice();
    rows.splice(i, 1, ...this.rows[i].fold);
    this.setRows(rows);
    this.scroller.scrollTop = top;
    this.setCurrent(i, false);
    return undefined;
  }

  onMove(event) {
    const element = event.target.closest(".row");
    this.hover(element ? this.rows[+element.dataset.row] : null);
  }

  hover(row) {
    if (!this.options.onHover || row === this.hovered) return;
    this.hovered = row;
    this.options.onHover(row);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.rowHeight) - 2);
    const last = this.rows.length - 1;
    const at = this.current < 0 ? Math.floor(this.scroller.scrollTop / this.rowHeight) - 1 : this.current;
    const targets = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last,
    };
    if (event.key in targets) {
      const target = Math.max(0, Math.min(last, targets[event.key]));
      this.setCurrent(target, true);
      this.scrollToRow(target, true);
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      this.moveWord(event.key === "ArrowRight" ? 1 : -1);
    } else if (event.key === "Enter" || event.key === " ") this.chooseCurrent();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /* Moves the cursor to the next or previous linked value of the current line. */
  moveWord(direction) {
    const row = this.rows[this.current];
    const index = row && this.indexOf(row);
    if (!index) return;
    const words = wordsOf(this.options.language, row.text);
    let k = this.word < 0 && direction < 0 ? words.length : this.word;
    do k += direction;
    while (words[k] && !this.isLink(words[k], index));
    if (!words[k]) return;
    this.word = k;
    tell(words[k].name);
    this.refresh();
  }

  chooseCurrent() {
    const row = this.rows[this.current];
    if (!row) return;
    if (row.fold) return void this.unfold(this.current);
    if (this.word < 0) this.moveWord(1);
    const words = wordsOf(this.options.language, row.text);
    if (words[this.word]) this.choose(row, this.word, words[this.word].name);
  }

  dispose() {
    codeViews.delete(this);
  }
}

/* One word as one or more spans, cut where a mark begins or ends. */
function appendWord(parent, word, kind, marks, at, k) {
  const attributes = { class: kind || null };
  if (word.name) Object.assign(attributes, { "data-word": k, "data-name": word.name });
  const target = kind || word.name ? make("span", attributes) : parent;
  appendMarked(target, word.text, marks, at);
  if (target !== parent) parent.append(target);
}

function appendMarked(parent, text, marks, at) {
  let from = 0;
  (marks || []).forEach(([begin, end]) => {
    const a = Math.max(begin - at, from);
    const b = Math.min(end - at, text.length);
    if (a >= b) return;
    if (a > from) parent.append(text.slice(from, a));
    parent.append(make("mark", null, text.slice(a, b)));
    from = b;
  });
  if (from < text.length) parent.append(text.slice(from));
}

/* Keeps the scroll positions of two views equal. */
function joinScrolling(a, b) {
  const follow = (from, to) => () => {
    if (Math.abs(to.scroller.scrollTop - from.scroller.scrollTop) > 1)
      to.scroller.scrollTop = from.scroller.scrollTop;
    if (Math.abs(to.scroller.scrollLeft - from.scroller.scrollLeft) > 1)
      to.scroller.scrollLeft = from.scroller.scrollLeft;
  };
  a.scroller.addEventListener("scroll", follow(a, b));
  b.scroller.addEventListener("scroll", follow(b, a));
}

function rowsOfText(func, textIndex) {
  return linesOf(func, textIndex).map((text, i) => ({ text, line: i + 1 }));
}

function disposeCodeViews() {
  codeViews.clear();
}

/* For printing: every visible view with all its lines, a difference in one column, because lines that
 * are broken have different heights, and a graph in pieces of a page. isWhole: before printing. */
function renderForPrint(isWhole) {
  if (state.tab === "passes") showDiffForPrint(isWhole);
  if (state.tab === "flow") cutGraph(isWhole);
  codeViews.forEach((view) => {
    if (!view.element.offsetParent) return;
    view.isStale = true;
    view.render(isWhole);
  });
}
