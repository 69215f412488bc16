/* Metadata: only reachable nodes are printed, numbered in text order (variables, named metadata,
 * functions with their instructions), each node before the nodes that it references. So the numbers
 * depend only on the module, not on the history of its tables, and equal LLVM's. */
#include "ir/print_internal.h"

/* ---- What is reachable ---- */

/* Fields that LLVM visits before the others of a node, independent of the text order. The nodes in
 * them are numbered first. */
static const char *const first_fields[][7] = {
    {"DICompositeType", "file"},
    {"DIDerivedType", "file"},
    {"DILexicalBlock", "file"},
    {"DILexicalBlockFile", "file"},
    {"DISubprogram", "file", "scope", "type", "unit", "declaration", "retainedNodes"},
};
enum {
  FIELD_RULES = sizeof first_fields / sizeof first_fields[0],
  FIELD_COLUMNS = sizeof first_fields[0] / sizeof first_fields[0][0],
};

struct reach {
  struct printer *p;
  const struct meta_table *t;
  struct nvm_str fields[FIELD_RULES][FIELD_COLUMNS]; /* first_fields; 0 if the module lacks it */
  bool *seen_inline;   /* by node: visited as an inline node, which has no number */
  VEC(uint32_t) stack; /* items to visit, the next one last */
};

/* Whether this is the first visit; if so, numbers the node. */
static bool reach_first_visit(struct reach *r, const struct meta_item *item) {
  if (item->kind == META_INLINE) {
    bool first = !r->seen_inline[item->node];
    r->seen_inline[item->node] = true;
    return first;
  }
  if (item->kind != META_NODE || r->p->node_numbers[item->node]) return false;
  if (VEC_PUSH(&r->p->scratch, &r->p->nodes, item->node))
    r->p->node_numbers[item->node] = r->p->nodes.count;
  return true;
}

static void reach_intern_fields(struct reach *r) {
  for (int i = 0; i < FIELD_RULES; i++) {
    for (int k = 0; k < FIELD_COLUMNS && first_fields[i][k]; k++) {
      const char *word = first_fields[i][k];
      r->fields[i][k] = strtab_find(&r->p->m->strings, word, strlen(word));
    }
  }
}

/* The fields to visit first, after the node's name; NULL: none. */
static const struct nvm_str *reach_first_fields(const struct reach *r, const struct meta_node *n) {
  for (int i = 0; n->name.index && i < FIELD_RULES; i++)
    if (r->fields[i][0].index == n->name.index) return r->fields[i];
  return NULL;
}

static bool reach_is_first_field(const struct nvm_str *first, struct nvm_str key) {
  for (int k = 1; first && key.index && k < FIELD_COLUMNS; k++)
    if (first[k].index == key.index) return true;
  return false;
}

static void reach_push(struct reach *r, struct nvm_meta m) {
  uint8_t kind = meta_item(r->t, m)->kind;
  if (kind == META_NODE || kind == META_INLINE)
    (void)VEC_PUSH(&r->p->scratch, &r->stack, m.index); /* printer_end() detects a failure */
}

/* Pushes a node's operands, the first to visit last. */
static void reach_operands_of_node(struct reach *r, const struct meta_node *n) {
  const struct nvm_str *first = reach_first_fields(r, n);
  for (uint32_t i = n->count; i-- > 0;)
    if (!reach_is_first_field(first, r->t->keys.data[n->first + i]))
      reach_push(r, meta_operand(r->t, n, i));
  for (int k = FIELD_COLUMNS; first && --k > 0;)
    for (uint32_t i = 0; first[k].index && i < n->count; i++)
      if (r->t->keys.data[n->first + i].index == first[k].index)
        reach_push(r, meta_operand(r->t, n, i));
}

static void reach_item(struct reach *r, struct nvm_meta root) {
  if (root.index == 0) return;
  reach_push(r, root);
  while (r->stack.count) {
    struct nvm_meta m = {r->stack.data[--r->stack.count]};
    const struct meta_item *item = meta_item(r->t, m);
    if (reach_first_visit(r, item)) reach_operands_of_node(r, &r->t->nodes.data[item->node]);
  }
}

static void reach_attachments(struct reach *r, uint32_t chain) {
  for (; chain; chain = r->p->m->attachments.data[chain].next)
    reach_item(r, r->p->m->attachments.data[chain].node);
}

static void reach_operands(struct reach *r, const struct nvm_function *f,
                           const struct nvm_inst *i) {
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (value_kind(v) != VALUE_CONST) continue;
    const struct constant_info *c = constant_info(&r->p->m->constants, v);
    if (c->kind == CONST_METADATA) reach_item(r, (struct nvm_meta){c->meta});
  }
}

static void reach_function(struct reach *r, const struct nvm_function *f) {
  reach_attachments(r, f->symbol.attachments);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (inst->op == OP_CALL || inst->op == OP_DBG_RECORD) reach_operands(r, f, inst);
      if (i.index < f->locations.count) reach_item(r, f->locations.data[i.index]);
      if (i.index < f->attachments.count) reach_attachments(r, f->attachments.data[i.index]);
    }
}

static void reach_symbols(struct reach *r, enum value_kind kind) {
  for (uint32_t i = 0; i < r->p->m->symbol_order.count; i++) {
    struct nvm_value v = r->p->m->symbol_order.data[i];
    if (value_kind(v) != kind) continue;
    if (kind == VALUE_FUNCTION) reach_function(r, module_function(r->p->m, v));
    else reach_attachments(r, module_symbol(r->p->m, v)->attachments);
  }
}

static void reach_named(struct reach *r) {
  for (uint32_t i = 0; i < r->t->named.count; i++)
    for (uint32_t k = 0; k < r->t->named.data[i].count; k++)
      reach_item(r, r->t->operands.data[r->t->named.data[i].first + k]);
}

void print_number_nodes(struct printer *p) {
  struct reach r = {.p = p, .t = &p->m->metadata};
  r.seen_inline = arena_alloc(&p->scratch, r.t->nodes.count * sizeof *r.seen_inline);
  p->node_numbers = arena_alloc(&p->scratch, r.t->nodes.count * sizeof *p->node_numbers);
  if (!r.seen_inline || !p->node_numbers || r.t->nodes.count <= 1) return;
  reach_intern_fields(&r);
  reach_symbols(&r, VALUE_GLOBAL);
  reach_named(&r);
  reach_symbols(&r, VALUE_FUNCTION);
}

/* ---- Text ---- */

/* A name after `!`: special characters as \XX, without quotes. */
static void print_meta_name(struct printer *p, struct nvm_str name) {
  struct nvm_text text = module_text(p->m, name);
  print_char(p, '!');
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.bytes[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '$' ||
                  c == '.' || c == '_';
    if (letter || (i > 0 && c >= '0' && c <= '9')) {
      print_char(p, (char)c);
    } else {
      print_char(p, '\\');
      textbuf_hex(p->out, c, 2, true);
    }
  }
}

static void print_node_reference(struct printer *p, uint32_t node) {
  print_format(p, "!%u", (p->node_numbers ? p->node_numbers[node] : node) - 1);
}

/* A value; one of a removed instruction (only debug records may keep it) is poison. */
static void print_meta_value(struct printer *p, const struct meta_item *item) {
  enum value_kind kind = value_kind(item->value);
  bool local = kind == VALUE_INST || kind == VALUE_ARG;
  bool gone = local && (!p->f || (kind == VALUE_INST &&
                                  p->f->insts.data[value_index(item->value)].block.index == 0));
  if (gone) print_format(p, "%T poison", item->type);
  else print_format(p, "%T %O", local ? item->type : print_type_of(p, item->value), item->value);
}

/* `"s"` in most fields of specialized nodes, `!"s"` where any metadata is allowed. */
static bool field_is_plain_string(const struct printer *p, const struct meta_node *n,
                                  struct nvm_str key) {
  struct nvm_text node = module_text(p->m, n->name), field = module_text(p->m, key);
  return !(strcmp(field.bytes, "value") == 0 &&
           strcmp(node.bytes, "DITemplateValueParameter") == 0);
}

static void print_field(struct printer *p, const struct meta_node *n, uint32_t i) {
  const struct meta_table *t = &p->m->metadata;
  struct nvm_str key = t->keys.data[n->first + i];
  struct nvm_meta value = meta_operand(t, n, i);
  const struct meta_item *item = meta_item(t, value);
  if (key.index) print_format(p, "%t: ", module_text(p->m, key));
  if (item->kind == META_STRING && field_is_plain_string(p, n, key))
    print_format(p, "%Q", item->str);
  else print_meta(p, value);
}

static void print_node(struct printer *p, const struct meta_node *n) {
  bool tuple = n->name.index == 0;
  if (n->distinct) print_word(p, "distinct ");
  print_char(p, '!');
  if (!tuple) textbuf_text(p->out, module_text(p->m, n->name));
  print_char(p, tuple ? '{' : '(');
  for (uint32_t i = 0; i < n->count; i++) {
    if (i) print_word(p, ", ");
    if (tuple) print_meta(p, meta_operand(&p->m->metadata, n, i));
    else print_field(p, n, i);
  }
  print_char(p, tuple ? '}' : ')');
}

void print_meta(struct printer *p, struct nvm_meta m) {
  const struct meta_item *item = meta_item(&p->m->metadata, m);
  switch ((enum meta_kind)item->kind) {
    case META_NULL: print_word(p, "null"); break;
    case META_STRING: print_format(p, "!%Q", item->str); break;
    case META_NODE: print_node_reference(p, item->node); break;
    case META_VALUE: print_meta_value(p, item); break;
    case META_INT: textbuf_signed(p->out, (int64_t)item->number); break;
    case META_UNSIGNED: print_number(p, item->number); break;
    case META_WORD: textbuf_text(p->out, module_text(p->m, item->str)); break;
    case META_INLINE: print_node(p, &p->m->metadata.nodes.data[item->node]); break;
  }
}

void print_attachments(struct printer *p, const char *separator, struct nvm_meta location,
                       uint32_t chain) {
  if (location.index) print_format(p, "%s!dbg %M", separator, location);
  for (; chain; chain = p->m->attachments.data[chain].next) {
    print_word(p, separator);
    print_meta_name(p, p->m->attachments.data[chain].kind);
    print_format(p, " %M", p->m->attachments.data[chain].node);
  }
}

void print_named_metadata(struct printer *p) {
  const struct meta_table *t = &p->m->metadata;
  if (t->named.count) print_gap(p);
  for (uint32_t i = 0; i < t->named.count; i++) {
    const struct named_metadata *n = &t->named.data[i];
    print_meta_name(p, n->name);
    print_word(p, " = !{");
    for (uint32_t k = 0; k < n->count; k++)
      print_format(p, k ? ", %M" : "%M", t->operands.data[n->first + k]);
    print_word(p, "}\n");
  }
}

void print_numbered_metadata(struct printer *p) {
  if (p->nodes.count) print_gap(p);
  for (uint32_t i = 0; i < p->nodes.count; i++) {
    const struct meta_node *n = &p->m->metadata.nodes.data[p->nodes.data[i]];
    if (!n->defined) continue;
    print_format(p, "!%u = ", i);
    print_node(p, n);
    print_char(p, '\n');
  }
}
