/* libNVVM's options. Rows of support/options.def have its spellings of options that nvmini has too;
 * the rest is here. Blanks around an option are ignored. */
#include "compat/program.h"
#include "target/options.h"

/* CUDA 13 begins here; older architectures have other toolkits. */
enum { OLDEST_SM = 75 };

static bool begins(struct nvm_text option, const char *with) {
  size_t length = strlen(with);
  return option.length >= length && memcmp(option.bytes, with, length) == 0;
}

static bool is(struct nvm_text option, const char *word) {
  return begins(option, word) && option.length == strlen(word);
}

static struct nvm_text trimmed(const char *option) {
  static const char blanks[] = " \t\n\v\f\r";
  option += strspn(option, blanks);
  size_t length = strlen(option);
  while (length > 0 && strchr(blanks, option[length - 1])) length--;
  return (struct nvm_text){option, length};
}

/* libNVVM 13 refuses names without hardware, and sm_101, which became sm_110. */
static bool is_supported(const struct tgt_cpu *cpu) {
  return cpu && cpu->sm >= OLDEST_SM && cpu->sm != 101 && !cpu->placeholder;
}

const struct tgt_cpu *options_find_arch(const char *name) {
  char option[32] = "-arch=";
  struct tgt_options parsed = tgt_default_options();
  size_t length = strlen(name), prefix = strlen(option);
  if (length >= sizeof option - prefix) return NULL;
  memcpy(option + prefix, name, length);
  if (tgt_parse_nvvm_option(&parsed, option, prefix + length, NULL) != TGT_OK) return NULL;
  return is_supported(parsed.cpu) ? parsed.cpu : NULL;
}

static nvvmResult refuse(struct textbuf *log, struct nvm_text what, const char *why) {
  textbuf_format(log, "libnvvm : error: %t%s", what, why);
  return NVVM_ERROR_INVALID_OPTION;
}

/* Options given so far, to detect repetition. */
struct given {
  struct tgt_options target;
  bool split_compile;
};

/* One of those that nvmini has too. */
static nvvmResult set_shared(struct nvmini_context *context, struct nvm_text option,
                             struct given *given, struct textbuf *log) {
  char copy[64] = "";
  struct tgt_error error = {0};
  enum tgt_status status =
      option.length < sizeof copy
          ? tgt_parse_nvvm_option(&given->target, option.bytes, option.length, &error)
          : TGT_UNKNOWN_OPTION;
  if (status == TGT_REPEATED_OPTION)
    return refuse(log, text_of(error.text), " defined more than once");
  if (status != TGT_OK || (begins(option, "-arch=") && !is_supported(given->target.cpu)))
    return refuse(log, option, " is an unsupported option");
  memcpy(copy, option.bytes, option.length);
  return nvmini_set_option(context, copy) == NVMINI_OK ? NVVM_SUCCESS : NVVM_ERROR_OUT_OF_MEMORY;
}

static nvvmResult set_option(struct nvmini_context *context, struct nvm_text option,
                             struct given *given, struct textbuf *log) {
  /* The next three change nothing: nvmini decides itself about jump tables, prints the lines that a
   * module has, and starts no threads. */
  if (begins(option, "-jump-table-density=") || is(option, "-generate-line-info"))
    return NVVM_SUCCESS;
  if (begins(option, "-split-compile=")) {
    if (given->split_compile)
      return refuse(log, text_of("split compilation"), " defined more than once");
    given->split_compile = true;
    return NVVM_SUCCESS;
  }
  if (is(option, "-gen-lto"))
    return refuse(log, option, " is an unsupported option: nvmini generates PTX, not LTO-IR");
  return set_shared(context, option, given, log);
}

/* As in libNVVM, debug locations are printed if the module has them, functions are visible to other
 * modules, and the declared ones may be defined there. build.c checks versions. */
static enum nvmini_status set_defaults(struct nvmini_context *context) {
  static const char *const defaults[] = {"--cpu=sm_75", "--device-c", "-g",
                                         "-Wno-undefined-function", "-Wno-unknown-ir-version"};
  enum nvmini_status status = NVMINI_OK;
  for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == NVMINI_OK; i++)
    status = nvmini_set_option(context, defaults[i]);
  return status;
}

nvvmResult options_set(struct nvmini_context *context, int count, const char **options,
                       struct textbuf *log) {
  struct given given = {tgt_default_options(), false};
  if (count < 0 || (count > 0 && !options)) return NVVM_ERROR_INVALID_OPTION;
  if (set_defaults(context) != NVMINI_OK) return NVVM_ERROR_OUT_OF_MEMORY;
  for (int i = 0; i < count; i++) {
    if (!options[i]) return NVVM_ERROR_INVALID_OPTION;
    nvvmResult result = set_option(context, trimmed(options[i]), &given, log);
    if (result != NVVM_SUCCESS) return result;
  }
  return NVVM_SUCCESS;
}
