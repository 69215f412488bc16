/* Metadata: nodes by number, in any order of definition and use. */
#include "frontend/nodes.h"

#include "frontend/names.h"
#include "frontend/report.h"
#include "frontend/values.h"

struct nodes {
  VEC(struct nvm_str) keys;
  VEC(struct nvm_meta) metas;
  VEC(uint32_t) node_uses; /* by node: begin of its first use + 1 */
};

bool nodes_init(struct parser *p) {
  return (p->nodes = arena_alloc(&p->scratch, sizeof *p->nodes)) != NULL;
}

uint32_t nodes_number(struct parser *p, uint64_t number) {
  uint32_t *entry = names_numbered(p, '!', number);
  if (entry && *entry == 0) *entry = meta_node_new(&p->m->metadata);
  return entry ? *entry : 0;
}

struct nvm_meta nodes_reference(struct parser *p, const struct token *t) {
  uint32_t node = nodes_number(p, t->number);
  if (node >= p->nodes->node_uses.count) {
    if (!VEC_RESERVE(&p->scratch, &p->nodes->node_uses, (uint64_t)node + 1))
      return (struct nvm_meta){0};
    p->nodes->node_uses.count = p->nodes->node_uses.capacity;
  }
  if (p->nodes->node_uses.data[node] == 0) p->nodes->node_uses.data[node] = t->begin;
  return meta_node(&p->m->metadata, node, false);
}

struct nvm_meta nodes_string(struct parser *p, const struct token *t) {
  return meta_string(&p->m->metadata, names_string(p, t));
}

struct nvm_meta nodes_value(struct parser *p, const struct operand *o) {
  return meta_value(&p->m->metadata, o->value, o->type);
}

struct nvm_meta nodes_int(struct parser *p, const struct token *t) {
  const char *text = p->text + t->begin;
  bool negative = text[0] == '-';
  struct token magnitude = {t->begin + negative, t->length - negative, t->number};
  uint64_t n = 0;
  bool big = magnitude.length > 20 ||
             (magnitude.length == 20 && memcmp(text + negative, "18446744073709551615", 20) > 0) ||
             text[0] == 'u' || text[0] == 's';
  if (!big) values_number(p, &magnitude, UINT64_MAX, &n);
  if (big || (negative && n > UINT64_C(1) << 63))
    return nodes_word(p, t->begin, t->begin + t->length);
  return meta_int(&p->m->metadata, negative ? 0 - n : n, !negative && n > INT64_MAX);
}

/* `DIFlagA | DIFlagB`, with one blank around each bar. */
struct nvm_meta nodes_word(struct parser *p, uint32_t begin, uint32_t end) {
  const char *s = p->text + begin;
  if (!VEC_RESERVE(&p->scratch, &p->bytes, (uint64_t)(end - begin) * 3 + 1))
    return (struct nvm_meta){0};
  uint32_t n = 0;
  for (const char *c = s; c < p->text + end; c++) {
    if (*c == ';') {
      while (*c != '\n') c++;
    } else if (*c == '|') {
      memcpy(p->bytes.data + n, " | ", 3);
      n += 3;
    } else if (*c != ' ' && *c != '\n' && *c != '\t' && *c != '\r') {
      p->bytes.data[n++] = *c;
    }
  }
  return meta_word(&p->m->metadata, strtab_intern(&p->m->strings, p->bytes.data, n));
}

void nodes_push(struct parser *p, const struct token *label, struct nvm_meta meta) {
  struct meta_entry e = {label ? names_string(p, label) : (struct nvm_str){0}, meta};
  VEC_PUSH(&p->scratch, &p->entries, e);
}

/* Pops the entries from `first` on into two arrays; returns their number. */
static uint32_t take_entries(struct parser *p, uint32_t first) {
  uint32_t count = p->entries.count - first;
  if (!VEC_RESERVE(&p->scratch, &p->nodes->keys, (uint64_t)count + 1) ||
      !VEC_RESERVE(&p->scratch, &p->nodes->metas, (uint64_t)count + 1))
    count = 0;
  for (uint32_t i = 0; i < count; i++) {
    p->nodes->keys.data[i] = p->entries.data[first + i].key;
    p->nodes->metas.data[i] = p->entries.data[first + i].meta;
  }
  p->entries.count = first;
  return count;
}

static void give_content(struct parser *p, uint32_t node, const struct token *name, bool distinct,
                         uint32_t first) {
  uint32_t count = take_entries(p, first);
  struct nvm_str s = name ? names_string(p, name) : (struct nvm_str){0};
  meta_node_define(&p->m->metadata, node, s, distinct, name ? p->nodes->keys.data : NULL,
                   p->nodes->metas.data, count);
}

/* Notes the operands that are forward references. */
static void note_forwards(struct parser *p, uint32_t node) {
  struct meta_table *t = &p->m->metadata;
  for (uint32_t i = 0; i < t->nodes.data[node].count; i++) {
    uint32_t at = t->nodes.data[node].first + i;
    const struct meta_item *item = meta_item(t, t->operands.data[at]);
    struct fixup fix = {{0}, at};
    if (item->kind == META_VALUE && value_kind(item->value) == VALUE_FORWARD)
      VEC_PUSH(&p->scratch, &p->fixups, fix);
  }
}

struct nvm_meta nodes_inline(struct parser *p, const struct token *name, uint32_t first) {
  uint32_t node = meta_node_new(&p->m->metadata);
  if (node == 0) return (struct nvm_meta){0};
  give_content(p, node, name, false, first);
  if (p->f && p->saw_forward) note_forwards(p, node);
  return meta_node(&p->m->metadata, node, true);
}

void nodes_define(struct parser *p, const struct token *t, const struct token *name, bool distinct,
                  uint32_t first) {
  uint32_t node = nodes_number(p, t->number);
  if (node == 0) return;
  if (p->m->metadata.nodes.data[node].defined) {
    report_token(p, DIAG_REDEFINED, t->begin - 1, NULL, NULL);
    p->entries.count = first;
    return;
  }
  give_content(p, node, name, distinct, first);
}

void nodes_define_named(struct parser *p, const struct token *t, uint32_t first) {
  uint32_t count = take_entries(p, first);
  struct nvm_str name = names_string(p, t);
  meta_add_named(&p->m->metadata, name, p->nodes->metas.data, count);
}

struct operand nodes_operand(struct parser *p, struct nvm_meta meta, uint32_t begin) {
  struct operand o = {
      .value = const_metadata(p->m, meta.index), .type = TYPE_METADATA, .begin = begin};
  return o;
}

void nodes_finish(struct parser *p) {
  const struct meta_table *t = &p->m->metadata;
  for (uint32_t i = 1; i < t->nodes.count && i < p->nodes->node_uses.count; i++) {
    if (p->nodes->node_uses.data[i] && !t->nodes.data[i].defined)
      report_token(p, DIAG_UNDEFINED_NODE, p->nodes->node_uses.data[i] - 1, NULL, NULL);
  }
}
