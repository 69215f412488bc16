/* sroa: the parts of a variable, and the form that each will have; see sroa.c. */
#include <stdlib.h>

#include "opt/memory/sroa.h"

/* Whether values of the type have no padding bits and can be cast to other such types. */
static bool is_castable(const struct splitter *s, struct nvm_type t) {
  const struct type_table *types = &s->m->types;
  if (type_is_ptr(types, t)) return true;
  struct nvm_type scalar = type_scalar(types, t);
  if (!type_is_int(types, scalar) && !type_is_float(types, scalar)) return false;
  uint32_t bits = type_scalar_bits(types, scalar);
  return bits % 8 == 0 && layout_bits(&s->m->layout, types, t) == sroa_size(s, t) * 8;
}

static int compare_slices(const void *a, const void *b) {
  const struct slice *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return x->inst.index < y->inst.index ? -1 : x->inst.index > y->inst.index;
}

/* The scalar or vector declared at that offset of the variable. TYPE_NONE if there is none, if its
 * size is no whole number of bytes, or in a byte array, which is raw storage. */
static struct nvm_type declared_type(const struct splitter *s, uint64_t offset) {
  const struct type_table *t = &s->m->types;
  struct nvm_type type = {function_inst(s->f, s->alloca)->aux};
  for (;;) {
    const struct type_info *info = type_info(t, type);
    if (info->kind == TY_STRUCT && info->count) {
      type = type_member(t, type, layout_member_at(&s->m->layout, t, type, &offset));
    } else if (info->kind == TY_ARRAY && offset < layout_alloc_size(&s->m->layout, t, type) &&
               !type_equal(info->element, TYPE_I8)) {
      offset %= layout_alloc_size(&s->m->layout, t, info->element);
      type = info->element;
    } else {
      return offset == 0 && is_castable(s, type) ? type : TYPE_NONE;
    }
  }
}

/* Adds parts for bytes that are only copied, with their declared types, because that is how callers
 * access them after inlining. Other bytes become integers. */
static bool add_gap(struct splitter *s, uint32_t begin, uint32_t end) {
  while (begin < end && s->parts.count <= SROA_MAX_PARTS) {
    struct part p = {.begin = begin, .form = PART_SCALAR, .type = declared_type(s, begin)};
    uint64_t bytes = p.type.index ? sroa_size(s, p.type) : 0;
    if (bytes == 0 || bytes > end - begin) {
      uint32_t rest = begin + 1;
      while (rest < end && rest - begin < 8 && declared_type(s, rest).index == 0) rest++;
      for (bytes = 8; begin % bytes || begin + bytes > rest;) bytes /= 2;
      p.type = type_int(&s->m->types, (uint32_t)bytes * 8);
    }
    p.end = begin += (uint32_t)bytes;
    if (!VEC_PUSH(s->arena, &s->parts, p)) return false;
  }
  return true;
}

static bool is_copied(const struct slice *c) {
  return !slice_is_uncut(c) && c->kind != SLICE_UNDEF;
}

/* Adds parts for the bytes of a gap that copies reach. */
static bool add_copied_gaps(struct splitter *s, uint32_t begin, uint32_t end) {
  for (uint32_t k = 0; k < s->slices.count && s->parts.count <= SROA_MAX_PARTS; k++) {
    const struct slice *c = &s->slices.data[k];
    uint32_t from = c->begin > begin ? c->begin : begin, to = c->end < end ? c->end : end;
    if (c->begin >= end) break; /* slices are sorted */
    if (!is_copied(c) || from >= to) continue;
    if (!add_gap(s, from, to)) return false;
    begin = to;
  }
  return true;
}

bool sroa_find_parts(struct splitter *s, uint32_t size) {
  uint32_t covered = 0; /* end of the last part */
  qsort(s->slices.data, s->slices.count, sizeof *s->slices.data, compare_slices);
  for (uint32_t k = 0; k < s->slices.count; k++) {
    const struct slice *c = &s->slices.data[k];
    if (!slice_is_uncut(c)) continue;
    if (s->parts.count && c->begin < covered) {
      struct part *p = &s->parts.data[s->parts.count - 1];
      if (c->end > p->end) p->end = c->end;
      covered = p->end;
      continue;
    }
    if (!add_copied_gaps(s, covered, c->begin)) return false;
    struct part p = {.begin = c->begin, .end = c->end};
    if (!VEC_PUSH(s->arena, &s->parts, p)) return false;
    covered = c->end;
  }
  return add_copied_gaps(s, covered, size);
}

/* The type of the accesses that cover the whole part: their common type, an integer if the types
 * differ and one is a pointer, else the first one. TYPE_NONE if there is none, or if they cannot be
 * cast. */
static struct nvm_type whole_type(struct splitter *s, const struct part *p, bool prefer_vector) {
  struct nvm_type type = TYPE_NONE;
  bool mixed = false, pointer = false;
  for (uint32_t k = 0; k < s->slices.count; k++) {
    const struct slice *c = &s->slices.data[k];
    if (c->begin > p->begin) break;
    if (!slice_is_uncut(c) || c->begin != p->begin || c->end != p->end) continue;
    bool vector = type_is_vector(&s->m->types, c->type);
    if (type.index == 0) type = c->type;
    else if (!type_equal(type, c->type)) mixed = true;
    if (prefer_vector && vector && !type_is_vector(&s->m->types, type)) type = c->type;
    pointer |= type_is_ptr(&s->m->types, c->type);
    if (mixed && (!is_castable(s, c->type) || !is_castable(s, type))) return TYPE_NONE;
  }
  if (mixed && pointer && !prefer_vector) return type_int(&s->m->types, (p->end - p->begin) * 8);
  return type;
}

/* Whether all other accesses are of single elements of the vector. */
static bool fits_vector(const struct splitter *s, const struct part *p, struct nvm_type vector) {
  if (!type_is_vector(&s->m->types, vector) || !is_castable(s, vector)) return false;
  uint32_t element = (uint32_t)sroa_size(s, type_element(&s->m->types, vector, 0));
  for (uint32_t k = 0; k < s->slices.count; k++) {
    const struct slice *c = &s->slices.data[k];
    if (c->begin >= p->end) break;
    if (!slice_is_uncut(c) || !slice_overlaps(c, p) || (c->begin == p->begin && c->end == p->end))
      continue;
    if (c->end - c->begin != element || (c->begin - p->begin) % element || !is_castable(s, c->type))
      return false;
  }
  return true;
}

static bool fits_integer(const struct splitter *s, const struct part *p) {
  uint32_t bytes = p->end - p->begin;
  if (bytes > 8 || (bytes & (bytes - 1))) return false;
  for (uint32_t k = 0; k < s->slices.count && s->slices.data[k].begin < p->end; k++)
    if (slice_is_uncut(&s->slices.data[k]) && slice_overlaps(&s->slices.data[k], p) &&
        !is_castable(s, s->slices.data[k].type))
      return false;
  return true;
}

void sroa_choose_form(struct splitter *s, struct part *p) {
  bool partial = false, cut = false, odd = false, copied = false;
  for (uint32_t k = 0; k < s->slices.count; k++) {
    const struct slice *c = &s->slices.data[k];
    if (c->begin >= p->end) break; /* slices are sorted */
    if (!slice_overlaps(c, p) || c->kind == SLICE_UNDEF) continue;
    p->touched = true;
    p->read |= c->kind == SLICE_LOAD || c->kind == SLICE_COPY_FROM;
    if (slice_is_uncut(c)) {
      partial |= !slice_covers(c, p);
    } else {
      uint32_t bytes = overlap_end(c, p) - overlap_begin(c, p);
      cut |= !slice_covers(c, p);
      odd |= !slice_covers(c, p) && (bytes & (bytes - 1));
      copied = true;
    }
  }
  if (!p->read) {
    p->form = PART_DEAD;
    return;
  }
  struct nvm_type whole = p->type.index ? p->type : whole_type(s, p, partial);
  p->form = PART_MEMORY;
  if (odd || (copied && whole.index && !is_castable(s, whole))) return;
  p->type = whole;
  if (!partial && !cut && whole.index) {
    p->form = PART_SCALAR;
  } else if (partial && !cut && fits_vector(s, p, whole)) {
    p->form = PART_VECTOR;
  } else if ((partial || cut) && fits_integer(s, p)) {
    p->form = PART_INTEGER;
    p->type = type_int(&s->m->types, (p->end - p->begin) * 8);
  }
}
