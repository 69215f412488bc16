/* Bounds of a kernel's launch; see launch_bounds.h. */
#include "analysis/launch_bounds.h"

#include "ir/function.h"

const char *const launch_bounds_required[3] = {"reqntidx", "reqntidy", "reqntidz"};
const char *const launch_bounds_most[3] = {"maxntidx", "maxntidy", "maxntidz"};

/* Reads "128,1,1", up to `limit` numbers; returns how many, 0 if the text has another form. */
static uint32_t parse_numbers(struct nvm_text t, uint32_t *out, uint32_t limit) {
  uint32_t count = 0;
  for (size_t i = 0; i < t.length; i++) {
    uint64_t value = 0;
    size_t begin = i;
    while (i < t.length && t.bytes[i] >= '0' && t.bytes[i] <= '9' && value <= UINT32_MAX)
      value = value * 10 + (uint64_t)(t.bytes[i++] - '0');
    if (i == begin || value > UINT32_MAX || count == limit) return 0;
    if (i < t.length && t.bytes[i] != ',') return 0;
    out[count++] = (uint32_t)value;
  }
  return count;
}

/* Reads up to `limit` numbers of a string attribute, and whether there is one. */
static bool read_attribute(const struct nvm_function *kernel, const char *key, uint32_t *out,
                           uint32_t limit, bool *found) {
  const struct nvm_attr *a = function_string_attribute(kernel, key);
  uint32_t numbers[3] = {0}, count = 0;
  if (a) count = parse_numbers(module_text(kernel->module, a->str2), numbers, limit);
  memcpy(out, numbers, count * sizeof *out);
  *found = a != NULL;
  return !a || count;
}

/* The kernel itself. */
static const struct nvm_function *function_of(const struct annotations *all,
                                              struct nvm_value kernel) {
  return module_function(annotations_module(all), kernel);
}

static void read_annotation(const struct annotations *all, struct nvm_value kernel, const char *key,
                            uint32_t *out) {
  uint64_t value;
  if (annotation_number(all, kernel, key, &value)) *out = (uint32_t)value;
}

bool launch_bounds_number(const struct annotations *all, struct nvm_value kernel,
                          const char *attribute, const char *annotation, uint32_t *out) {
  bool found, valid = read_attribute(function_of(all, kernel), attribute, out, 1, &found);
  if (!found) read_annotation(all, kernel, annotation, out);
  return valid;
}

bool launch_bounds_triple(const struct annotations *all, struct nvm_value kernel,
                          const char *attribute, const char *const annotation[3], uint32_t out[3]) {
  bool found, valid = read_attribute(function_of(all, kernel), attribute, out, 3, &found);
  for (int i = 0; i < 3 && !found; i++) read_annotation(all, kernel, annotation[i], &out[i]);
  for (int i = 0; i < 3; i++)
    if (out[i] == 0 && (out[0] | out[1] | out[2])) out[i] = 1;
  return valid;
}

uint32_t launch_bounds_threads(const struct annotations *all, struct nvm_value kernel) {
  enum { MAX_THREADS = 1024 }; /* of a block */
  uint32_t bounds[3] = {0}, product = 1;
  launch_bounds_triple(all, kernel, "nvvm.reqntid", launch_bounds_required, bounds);
  if (!bounds[0]) launch_bounds_triple(all, kernel, "nvvm.maxntid", launch_bounds_most, bounds);
  if (!bounds[0]) return 0;
  for (int i = 0; i < 3; i++)
    product = bounds[i] < MAX_THREADS && product * bounds[i] < MAX_THREADS ? product * bounds[i]
                                                                           : MAX_THREADS;
  return product;
}
