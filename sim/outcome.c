/* See outcome.h. Each run has a machine of its own. */
#include "sim/outcome.h"

#include <string.h>

static enum nvm_status refuse(struct sim_outcome *o, struct textbuf *b) {
  o->message = (struct nvm_text){b->bytes ? b->bytes : "", b->length};
  return NVM_REFUSED;
}

static enum nvm_status refuse_finding(struct sim_outcome *o, const struct sim *s) {
  const struct sim_finding *f = sim_found(s);
  struct textbuf b;
  textbuf_init(&b, o->arena);
  textbuf_format(&b, "ends with %s: ", sim_finding_name(f->kind));
  if (f->has_thread)
    textbuf_format(&b, "block (%u,%u,%u), thread (%u,%u,%u) ", f->block[0], f->block[1],
                   f->block[2], f->thread[0], f->thread[1], f->thread[2]);
  textbuf_text(&b, f->message);
  return refuse(o, &b);
}

/* The contents of buffer i, or for i = count the output. */
static struct nvm_text result_of(const struct sim_outcome *o, struct sim *s,
                                 const uint64_t *addresses, uint32_t i) {
  if (i == o->count) return sim_output(s);
  if (!o->arguments[i].is_buffer) return (struct nvm_text){"", 0};
  return (struct nvm_text){sim_memory(s, addresses[i], o->arguments[i].size), o->arguments[i].size};
}

static enum nvm_status compare(struct sim_outcome *o, uint32_t i, struct nvm_text now) {
  struct nvm_text before = o->left[i];
  struct textbuf b;
  size_t at = 0;
  while (at < before.length && at < now.length && before.bytes[at] == now.bytes[at]) at++;
  if (at == before.length && at == now.length) return NVM_OK;
  textbuf_init(&b, o->arena);
  if (i == o->count) textbuf_format(&b, "prints a different text from byte %u on", (unsigned)at);
  else
    textbuf_format(&b, "leaves %u instead of %u in byte %u of argument %u",
                   (unsigned)(uint8_t)now.bytes[at], (unsigned)(uint8_t)before.bytes[at],
                   (unsigned)at, i);
  return refuse(o, &b);
}

static enum nvm_status run(struct sim_outcome *o, struct sim *s, uint64_t *addresses) {
  const void **values = arena_alloc(o->arena, (o->count + 1) * sizeof *values);
  uint64_t *sizes = arena_alloc(o->arena, (o->count + 1) * sizeof *sizes);
  uint8_t *pointers = arena_alloc(o->arena, (o->count + 1) * 8);
  if (!values || !sizes || !pointers) return NVM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < o->count; i++) {
    const struct sim_argument *a = &o->arguments[i];
    values[i] = a->is_buffer ? pointers + 8 * i : a->bytes;
    sizes[i] = a->is_buffer ? 8 : a->size;
    if (!a->is_buffer) continue;
    addresses[i] = sim_allocate(s, a->size, true);
    if (!addresses[i]) return NVM_OUT_OF_MEMORY;
    memcpy(sim_memory(s, addresses[i], a->size), a->bytes, a->size);
    for (int k = 0; k < 8; k++) pointers[8 * i + k] = (uint8_t)(addresses[i] >> (8 * k));
  }
  o->launch.arguments = values;
  o->launch.argument_bytes = sizes;
  o->launch.argument_count = o->count;
  return sim_launch(s, &o->launch);
}

static enum nvm_status keep_results(struct sim_outcome *o, struct sim *s,
                                    const uint64_t *addresses) {
  struct nvm_text *left = arena_alloc(o->arena, (o->count + 1) * sizeof *left);
  for (uint32_t i = 0; left && i <= o->count; i++) {
    struct nvm_text text = result_of(o, s, addresses, i);
    left[i] = (struct nvm_text){arena_copy(o->arena, text.bytes, text.length), text.length};
  }
  o->left = left;
  return o->arena->failed ? NVM_OUT_OF_MEMORY : NVM_OK;
}

enum nvm_status outcome_check(struct sim_outcome *o, struct nvm_module *m) {
  struct sim *s = sim_create(o->arena->allocator, 0);
  uint64_t *addresses = arena_alloc(o->arena, (o->count + 1) * sizeof *addresses);
  enum nvm_status status =
      s && addresses ? sim_load_ir(s, m, (struct nvm_text){"", 0}) : NVM_OUT_OF_MEMORY;
  if (status == NVM_OK) status = run(o, s, addresses);
  if (status == NVM_REFUSED) status = refuse_finding(o, s);
  else if (status == NVM_OK && !o->left) status = keep_results(o, s, addresses);
  else
    for (uint32_t i = 0; status == NVM_OK && i <= o->count; i++)
      status = compare(o, i, result_of(o, s, addresses, i));
  sim_destroy(s);
  return status;
}
