/* Searches an op's automaton for the words that the target has; see gate.h. A state counts if a
 * form whose requirement is met can be reached over steps whose requirements are met. Each state is
 * visited once, because steps and forms are checked independently. */
#include "ptx/gate.h"

#include <string.h>

enum { UNSEEN, DEAD, ALIVE };

struct gate_walk {
  struct gate *gate;
  const struct nvm_target *target;
  uint8_t seen[UINT16_MAX + 1]; /* by state */
};

static bool has(const struct nvm_target *target, uint16_t need) {
  return need == 0 || tgt_allows(target, ptx_need(need));
}

static bool has_form(const struct nvm_target *target, const struct ptx_state *state) {
  for (uint32_t i = 0; i < state->form_count; i++)
    if (has(target, ptx_state_form(state, i)->need)) return true;
  return false;
}

bool gate_has(const struct nvm_target *target, enum ptx_op op, const uint16_t *mods) {
  uint16_t state = ptx_op_row((uint16_t)op)->state;
  for (; *mods != PTX_MOD_NONE; mods++) {
    const struct ptx_step *step = ptx_step(state, *mods);
    if (!step || !has(target, step->need)) return false;
    state = step->state;
  }
  return has_form(target, ptx_state(state));
}

static bool visit(struct gate_walk *w, uint16_t number) {
  if (w->seen[number] != UNSEEN) return w->seen[number] == ALIVE;
  const struct ptx_state *state = ptx_state(number);
  bool alive = has_form(w->target, state);
  for (uint32_t i = 0; i < state->step_count; i++) {
    const struct ptx_step *step = ptx_state_step(state, i);
    if (!has(w->target, step->need) || !visit(w, step->state)) continue;
    w->gate->words[step->mod] = alive = true;
  }
  w->seen[number] = alive ? ALIVE : DEAD;
  return alive;
}

void gate_read(struct gate *gate, enum ptx_op op, const struct nvm_target *target) {
  struct gate_walk w = {.gate = gate, .target = target};
  memset(gate, 0, sizeof *gate);
  gate->any = visit(&w, ptx_op_row((uint16_t)op)->state);
}
