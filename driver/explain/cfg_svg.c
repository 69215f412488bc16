/* `nvmini compile --emit cfg -o x.svg`: control flow graphs as a drawing, without Graphviz.
 *
 * A block is below all its predecessors, edges back to a block on the same path of the depth-first
 * search excepted: its layer is the longest path from the entry. In a layer, blocks are ordered by
 * the mean place of their predecessors. An edge to the next layer is a curve; one over several
 * layers has a lane on the right, one back has a lane on the left. This is the layout of the page
 * (layout.js) without bends between blocks, which would need its sweeps. All lengths are pixels. */
#include "driver/explain/facts.h"

#include <string.h>

enum {
  CHARACTERS = 29, /* width of 4 characters of 12 px monospace */
  LINE = 16,
  PADDING = 8,
  GAP_X = 28,
  GAP_Y = 48,
  LANE = 10,
  TITLE = 28,
  MAX_SHOWN = 90, /* characters of a line */
  MAX_LINES = 60  /* of a block */
};

struct box {
  struct nvm_block block;
  uint32_t first, count; /* lines of the text, from 0 */
  uint32_t layer, x, y, width, height;
  uint32_t bottom; /* of the layer */
  uint32_t key;    /* for the order in the layer: the mean x of the edges to it */
};

struct drawing {
  struct facts facts;
  VEC(struct nvm_text) lines;
  struct box *boxes; /* in reverse postorder */
  uint32_t *box_of;  /* by block; count: unreachable */
  uint32_t count, layers;
  uint32_t left, right;   /* lanes used */
  uint32_t width, height; /* of the layers, without lanes */
  struct textbuf *out;
};

/* ---- Text ---- */

static bool split_lines(struct drawing *d, struct nvm_text text) {
  const char *at = text.bytes, *end = at + text.length;
  while (at < end) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((next ? next : end) - at);
    if (!VEC_PUSH(&d->facts.arena, &d->lines, (struct nvm_text){at, length})) return false;
    at += length + 1;
  }
  return true;
}

static bool ends_block(struct nvm_text line) { return line.length == 0 || *line.bytes == '}'; }

static void measure(const struct drawing *d, struct box *b) {
  size_t longest = 4;
  b->first = d->facts.block_line[b->block.index] - 1;
  for (uint32_t k = b->first; k < d->lines.count && !ends_block(d->lines.data[k]); k++) {
    if (b->count < MAX_LINES) b->count++;
    size_t length = d->lines.data[k].length < MAX_SHOWN ? d->lines.data[k].length : MAX_SHOWN;
    if (length > longest) longest = length;
  }
  b->width = (uint32_t)longest * CHARACTERS / 4 + 2 * PADDING;
  b->height = b->count * LINE + 2 * PADDING;
}

/* Text in XML, cut; a control character or byte that is not ASCII becomes `?`. */
static void put_escaped(struct textbuf *out, struct nvm_text t) {
  for (size_t i = 0; i < t.length && i < MAX_SHOWN; i++) {
    char c = t.bytes[i];
    if (c == '<') textbuf_puts(out, "&lt;");
    else if (c == '>') textbuf_puts(out, "&gt;");
    else if (c == '&') textbuf_puts(out, "&amp;");
    else textbuf_char(out, c < ' ' || c > '~' ? '?' : c);
  }
}

/* ---- Layout ---- */

/* The box that edge k of b leads to. */
static struct box *target_of(const struct drawing *d, const struct box *b, uint32_t k) {
  return &d->boxes[d->box_of[block_successor(d->facts.f, b->block, k).index]];
}

static uint32_t edge_count(const struct drawing *d, const struct box *b) {
  return block_successor_count(d->facts.f, b->block);
}

static bool make_boxes(struct drawing *d) {
  const struct dominance *dom = &d->facts.dominance;
  const struct nvm_function *f = d->facts.f;
  d->count = dom->size[f->entry.index];
  d->boxes = arena_alloc(&d->facts.arena, (d->count + 1) * sizeof *d->boxes);
  d->box_of = arena_alloc(&d->facts.arena, f->blocks.count * sizeof *d->box_of);
  if (!d->boxes || !d->box_of) return false;
  for (uint32_t k = 0; k < d->count; k++) {
    d->boxes[k] = (struct box){.block = dom->postorder[d->count - 1 - k]};
    d->box_of[d->boxes[k].block.index] = k;
    measure(d, &d->boxes[k]);
  }
  return true;
}

/* In reverse postorder, all edges but those back lead to later boxes. */
static void assign_layers(struct drawing *d) {
  for (struct box *b = d->boxes; b < d->boxes + d->count; b++) {
    if (b->layer >= d->layers) d->layers = b->layer + 1;
    for (uint32_t k = 0, n = edge_count(d, b); k < n; k++) {
      struct box *to = target_of(d, b, k);
      if (to > b && to->layer <= b->layer) to->layer = b->layer + 1;
    }
  }
}

/* Where edge k leaves the box. */
static uint32_t edge_x(const struct drawing *d, const struct box *b, uint32_t k) {
  return b->x + b->width * (k + 1) / (edge_count(d, b) + 1);
}

static void find_key(struct drawing *d, struct box *b) {
  uint64_t sum = 0, count = 0;
  for (struct box *from = d->boxes; from < b; from++)
    for (uint32_t k = 0, n = edge_count(d, from); k < n; k++)
      if (target_of(d, from, k) == b) sum += edge_x(d, from, k), count++;
  b->key = count ? (uint32_t)(sum / count) : 0;
}

/* The boxes of a layer in `row`, in order; their number. */
static uint32_t collect_row(struct drawing *d, uint32_t layer, struct box **row) {
  uint32_t count = 0;
  for (struct box *b = d->boxes; b < d->boxes + d->count; b++) {
    if (b->layer != layer) continue;
    find_key(d, b);
    uint32_t at = count++;
    for (; at > 0 && row[at - 1]->key > b->key; at--) row[at] = row[at - 1];
    row[at] = b;
  }
  return count;
}

static uint32_t row_width(struct box *const *row, uint32_t count) {
  uint32_t width = 0;
  for (uint32_t k = 0; k < count; k++) width += row[k]->width + (k ? GAP_X : 0);
  return width;
}

static bool place(struct drawing *d) {
  struct box **row = arena_alloc(&d->facts.arena, (d->count + 1) * sizeof *row);
  uint32_t y = TITLE;
  if (!row) return false;
  for (uint32_t layer = 0; layer < d->layers; layer++) {
    uint32_t width = row_width(row, collect_row(d, layer, row));
    if (width > d->width) d->width = width;
  }
  for (uint32_t layer = 0; layer < d->layers; layer++) {
    uint32_t count = collect_row(d, layer, row), height = 0,
             x = (d->width - row_width(row, count)) / 2;
    for (uint32_t k = 0; k < count; k++) {
      row[k]->x = x;
      row[k]->y = y;
      x += row[k]->width + GAP_X;
      if (row[k]->height > height) height = row[k]->height;
    }
    for (uint32_t k = 0; k < count; k++) row[k]->bottom = y + height;
    y += height + GAP_Y;
  }
  d->height = y;
  return true;
}

/* ---- Drawing ---- */

/* From box b at x to (to_x, to_y), around the boxes in the lane at x `lane`. */
static void put_lane(struct drawing *d, const char *kind, int32_t x, const struct box *b,
                     int32_t lane, int32_t to_x, int32_t to_y) {
  textbuf_format(d->out, "<path class=\"%s\" d=\"M%d %u V%u H%d V%d H%d V%d\"/>\n", kind, x,
                 b->y + b->height, b->bottom + GAP_Y / 3, lane, to_y - GAP_Y / 3, to_x, to_y);
}

static void put_edge(struct drawing *d, const struct box *b, uint32_t k) {
  static const char *const kinds[] = {"true", "false"};
  const struct box *to = target_of(d, b, k);
  uint32_t n = edge_count(d, b);
  int32_t x = (int32_t)edge_x(d, b, k), y = (int32_t)(b->y + b->height),
          to_x = (int32_t)(to->x + to->width / 2), to_y = (int32_t)to->y;
  const char *kind = n == 2 ? kinds[k] : "edge";
  if (to <= b)
    put_lane(d, "back", x, b, -(int32_t)(LANE * ++d->left + GAP_X / 2), to_x - LANE, to_y);
  else if (to->layer == b->layer + 1)
    textbuf_format(d->out, "<path class=\"%s\" d=\"M%d %d C%d %d %d %d %d %d\"/>\n", kind, x, y, x,
                   y + GAP_Y / 2, to_x, to_y - GAP_Y / 2, to_x, to_y);
  else
    put_lane(d, kind, x, b, (int32_t)(d->width + LANE * ++d->right + GAP_X / 2), to_x + LANE, to_y);
}

static void put_box(struct drawing *d, const struct box *b) {
  uint32_t depth = 0, loop = d->facts.loops.innermost[b->block.index];
  if (loop) depth = d->facts.loops.data[loop].depth;
  textbuf_format(
      d->out, "<rect class=\"depth%u\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\"/>\n",
      depth > 3 ? 3 : depth, b->x, b->y, b->width, b->height);
  for (uint32_t k = 0; k < b->count; k++) {
    textbuf_format(d->out, "<text x=\"%u\" y=\"%u\">", b->x + PADDING,
                   b->y + PADDING + LINE * k + 12);
    put_escaped(d->out, d->lines.data[b->first + k]);
    textbuf_puts(d->out, "</text>\n");
  }
}

/* The function in a group that the caller moves; `out` gets its contents. */
static bool draw(struct drawing *d, struct nvm_text text) {
  if (!facts_compute(&d->facts) || !split_lines(d, text) || !make_boxes(d)) return false;
  assign_layers(d);
  if (!place(d)) return false;
  for (struct box *b = d->boxes; b < d->boxes + d->count; b++) put_box(d, b);
  for (struct box *b = d->boxes; b < d->boxes + d->count; b++)
    for (uint32_t k = 0, n = edge_count(d, b); k < n; k++) put_edge(d, b, k);
  return !d->facts.arena.failed;
}

/* ---- The file ---- */

static const char style[] =
    "<style>svg{background:#fff}text{font:12px monospace;white-space:pre;fill:#222}"
    "rect{fill:#f6f6f6;stroke:#888}.depth1{fill:#e6f0fa}.depth2{fill:#cfe2f3}"
    ".depth3{fill:#b4d1ec}path{fill:none;stroke:#666;marker-end:url(#a)}"
    ".true{stroke:#2a7d2a}.false{stroke:#b03030}.back{stroke:#2456a8;stroke-dasharray:5 3}"
    "@media(prefers-color-scheme:dark){svg{background:#1b1b1b}text{fill:#ddd}"
    "rect{fill:#262626}.depth1{fill:#20303f}.depth2{fill:#254463}.depth3{fill:#2a5580}}"
    "</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
    "style=\"fill:#666;stroke:none;marker-end:none\"/></marker></defs>\n";

struct page {
  struct textbuf body;
  uint32_t width, height;
};

static void add_function(struct page *p, struct explain *e, struct nvm_function *f) {
  struct nvm_text text = explain_name_values(e, f);
  struct textbuf drawn;
  textbuf_init(&drawn, &e->arena);
  struct drawing d = {.facts = {.e = e, .f = f}, .out = &drawn};
  if (draw(&d, text)) {
    uint32_t x = LANE * d.left + GAP_X, width = x + d.width + LANE * d.right + GAP_X;
    textbuf_format(&p->body, "<g transform=\"translate(%u %u)\">\n<text y=\"16\">", x, p->height);
    put_escaped(&p->body, module_text(f->module, f->symbol.name));
    textbuf_format(&p->body, "</text>\n%t</g>\n", (struct nvm_text){drawn.bytes, drawn.length});
    p->height += d.height;
    if (width > p->width) p->width = width;
  }
  facts_end(&d.facts);
}

bool explain_write_svg(struct nvm_module *m, const char *only, struct textbuf *out) {
  struct explain e = {.watch = NULL};
  struct page p = {.width = 0};
  arena_init(&e.arena, nvm_default_allocator);
  textbuf_init(&p.body, &e.arena);
  bool right = strtab_init(&e.names, &e.arena);
  for (uint32_t k = 1; right && k < m->functions.count; k++) {
    struct nvm_function *f = m->functions.data[k];
    bool other = only && !text_is(module_text(m, f->symbol.name), only);
    if (!function_is_declaration(f) && !other) add_function(&p, &e, f);
  }
  right = right && !e.arena.failed;
  if (right && p.body.length) {
    textbuf_format(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\">\n%s%t"
                   "</svg>\n",
                   p.width, p.height, style, (struct nvm_text){p.body.bytes, p.body.length});
  }
  arena_free(&e.arena);
  return right;
}
