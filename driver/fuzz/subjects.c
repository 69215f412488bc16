/* The compilers under test: from a kernel to the contents of its buffers; see fuzz.h. */
#include "driver/fuzz/fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "driver/files.h"

/* ---- --compiler ---- */

static const char *first_word(const char *command, struct arena *arena) {
  const char *at = command + strspn(command, " ");
  size_t length = strcspn(at, " ");
  for (size_t k = 0; k < length; k++)
    if (at[k] == '/') {
      at += k + 1;
      length -= k + 1;
      k = (size_t)-1;
    }
  return arena_copy(arena, at, length);
}

int fuzz_take_compilers(struct fuzz_setup *s) {
  const struct options *o = s->options;
  for (int k = 0; k < o->given_count; k++) {
    if (o->given[k].id != OPTION_COMPILER) continue;
    if (s->count == FUZZ_MAX_COMPILERS) {
      fprintf(stderr, "nvmini: error: more than %d compilers\n", (int)FUZZ_MAX_COMPILERS);
      return EXIT_USAGE;
    }
    struct fuzz_compiler *c = &s->compilers[s->count++];
    c->command = o->given[k].value;
    c->name = first_word(c->command, s->arena);
    if (!c->name || !*c->name) {
      fputs("nvmini: error: --compiler needs a command\n", stderr);
      return EXIT_USAGE;
    }
    c->is_ours = strcmp(c->name, "nvmini") == 0;
    uint32_t same = 1;
    for (uint32_t j = 0; j + 1 < s->count; j++) {
      size_t length = strlen(c->name);
      same += strncmp(s->compilers[j].name, c->name, length) == 0 &&
              (s->compilers[j].name[length] == '\0' || s->compilers[j].name[length] == '#');
    }
    if (same == 1) continue;
    struct textbuf name;
    textbuf_init(&name, s->arena);
    textbuf_format(&name, "%s#%u", c->name, same);
    c->name = arena_copy(s->arena, name.bytes, name.length);
  }
  if (s->count > 0) return EXIT_DONE;
  fputs("nvmini: error: `fuzz` needs --compiler COMMAND, at least once\n", stderr);
  return EXIT_USAGE;
}

/* Appends `text` as one word of the shell. */
static void quote(struct textbuf *out, const char *text) {
  textbuf_char(out, '\'');
  for (; *text; text++)
    if (*text == '\'') textbuf_puts(out, "'\\''");
    else textbuf_char(out, *text);
  textbuf_char(out, '\'');
}

/* The command of the shell, with {in}, {out} and {bisect} replaced; `nvmini ...` is this program,
 * and what a command does not mention is added. */
static const char *command_line(const struct fuzz_setup *s, const struct fuzz_compiler *c,
                                const char *in, const char *out, int64_t limit,
                                struct arena *arena) {
  struct textbuf line;
  const char *at = c->command + strspn(c->command, " ");
  bool has_in = strstr(at, "{in}") != NULL, has_out = strstr(at, "{out}") != NULL;
  textbuf_init(&line, arena);
  if (c->is_ours) {
    quote(&line, s->self);
    at += strcspn(at, " ");
    textbuf_puts(&line, " compile");
    if (!strstr(at, "cpu")) textbuf_puts(&line, " --cpu sm_90a");
    if (!strstr(at, "fma")) textbuf_puts(&line, " --fma-level 0"); /* one rounding is no error */
  }
  while (*at) {
    if (strncmp(at, "{in}", 4) == 0) quote(&line, in);
    else if (strncmp(at, "{out}", 5) == 0) quote(&line, out);
    else if (strncmp(at, "{bisect}", 8) == 0) textbuf_signed(&line, limit);
    else textbuf_char(&line, *at);
    at += strncmp(at, "{in}", 4) == 0       ? 4
          : strncmp(at, "{out}", 5) == 0    ? 5
          : strncmp(at, "{bisect}", 8) == 0 ? 8
                                            : 1;
  }
  if (!has_in) textbuf_char(&line, ' ');
  if (!has_in) quote(&line, in);
  if (!has_out) textbuf_puts(&line, " -o ");
  if (!has_out) quote(&line, out);
  return arena_copy(arena, line.bytes, line.length);
}

/* ---- The kernel ---- */

/* The words after `nvmini-run:` in comments. */
static void take_launch(struct fuzz_case *c) {
  uint32_t count = 0;
  const char *at = c->text.bytes;
  while ((at = strstr(at, "nvmini-run:")) != NULL) {
    at += strlen("nvmini-run:");
    const char *end = at + strcspn(at, "\n");
    while (count < FUZZ_MAX_WORDS) {
      at += strspn(at, " \t\r");
      if (at >= end) break;
      size_t length = strcspn(at, " \t\r\n");
      c->launch[count++] = arena_copy(c->arena, at, length);
      at += length;
    }
    at = end;
  }
  c->launch[count] = NULL;
}

/* Whether it is IR: a line begins with a word that other languages do not have there. */
static bool is_ir(const char *text) {
  for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
    if (strncmp(at, "define ", 7) == 0 || strncmp(at, "target triple", 13) == 0) return true;
  return false;
}

bool fuzz_read_case(struct fuzz_case *c) {
  struct file_bytes file;
  struct file_error error;
  if (!files_read(c->path, &file, &error)) return false;
  const char *copy = arena_copy(c->arena, file.bytes, file.length);
  c->text = (struct nvm_text){copy ? copy : "", copy ? file.length : 0};
  c->is_ir = is_ir(c->text.bytes);
  files_free(&file);
  take_launch(c);
  return copy != NULL;
}

/* ---- Execution ---- */

static struct nvm_text first_line(struct nvm_text t) {
  size_t length = 0;
  while (length < t.length && t.bytes[length] != '\n') length++;
  return (struct nvm_text){t.bytes, length};
}

/* The line that says what is wrong: the first with `error`, else the first that is not about a pass
 * of -opt-bisect-limit. */
static struct nvm_text reason(struct nvm_text t) {
  struct nvm_text first = {"", 0};
  for (const char *at = t.bytes, *end = t.bytes + t.length; at < end;) {
    struct nvm_text line = first_line((struct nvm_text){at, (size_t)(end - at)});
    for (size_t k = 0; k + 5 <= line.length; k++)
      if (memcmp(at + k, "error", 5) == 0) return (struct nvm_text){at + k, line.length - k};
    if (!first.length && strncmp(at, "BISECT:", 7) != 0) first = line;
    at += line.length + 1;
  }
  return first;
}

/* The findings of a run as one line each, without places. */
static void append_findings(struct textbuf *out, struct nvm_text err) {
  for (const char *at = err.bytes, *end = err.bytes + err.length; at < end;) {
    struct nvm_text line = first_line((struct nvm_text){at, (size_t)(end - at)});
    if (line.length > 8 && memcmp(at, "nvmini: ", 8) == 0) {
      size_t length = 8;
      while (length < line.length && at[length] != ':') length++;
      textbuf_write(out, at + 8, length - 8);
      textbuf_char(out, '\n');
    }
    at += line.length + 1;
  }
}

/* Executes PTX, or IR as it is, with the launch of the kernel. */
static struct fuzz_result execute(const struct fuzz_setup *s, const struct fuzz_case *c,
                                  const char *path, bool as_ir) {
  const char *words[FUZZ_MAX_WORDS + 16] = {s->self,   "run",          path,
                                            "--quiet", "--step-limit", "200000000"};
  struct fuzz_result r = {.kind = FUZZ_RAN};
  struct textbuf out;
  uint32_t n = 6;
  if (as_ir) words[n++] = "--from", words[n++] = "ir";
  for (uint32_t k = 0; !as_ir && c->launch[k]; k++) words[n++] = c->launch[k];
  words[n] = NULL;
  struct fuzz_process p = fuzz_run(words, s->seconds, c->arena);
  textbuf_init(&out, c->arena);
  textbuf_text(&out, p.out);
  if (p.end == FUZZ_TIMED_OUT) r.kind = FUZZ_HUNG;
  else if (p.end != FUZZ_EXITED || p.code == EXIT_FAULT) r.kind = FUZZ_CRASHED;
  else if (p.code != EXIT_DONE) {
    append_findings(&out, p.err);
    r.message = reason(p.err);
    bool refused = r.message.length >= 5 && memcmp(r.message.bytes, "error", 5) == 0;
    r.kind = refused || p.code != EXIT_REFUSED ? FUZZ_GARBAGE : FUZZ_FOUND;
  }
  r.output = (struct nvm_text){out.length ? out.bytes : "", out.length};
  return r;
}

static bool is_empty(const char *path) {
  struct file_bytes file;
  struct file_error error;
  if (!files_read(path, &file, &error)) return true;
  bool empty = file.length == 0;
  files_free(&file);
  return empty;
}

struct fuzz_result fuzz_try(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k,
                            int64_t limit, struct fuzz_process *compilation) {
  struct textbuf out;
  textbuf_init(&out, c->arena);
  textbuf_format(&out, "%s/%u.ptx", s->folder, k);
  const char *path = arena_copy(c->arena, out.bytes, out.length);
  const char *line = command_line(s, &s->compilers[k], c->path, path, limit, c->arena);
  const char *words[] = {"sh", "-c", line, NULL};
  struct fuzz_result r = {.kind = FUZZ_REFUSED};
  unlink(path);
  struct fuzz_process p = fuzz_run(words, s->seconds, c->arena);
  if (compilation) *compilation = p;
  r.message = reason(p.err);
  bool died = p.end == FUZZ_SIGNALED || p.end == FUZZ_NOT_STARTED || p.code >= 128 ||
              (s->compilers[k].is_ours && p.code == EXIT_FAULT);
  if (p.end == FUZZ_TIMED_OUT) r.kind = FUZZ_HUNG;
  else if (died) r.kind = FUZZ_CRASHED;
  else if (p.code == 0 && is_empty(path)) {
    r.kind = FUZZ_GARBAGE;
    r.message = text_of("no output");
  } else if (p.code == 0) return execute(s, c, path, false);
  return r;
}

void fuzz_try_all(const struct fuzz_setup *s, struct fuzz_case *c) {
  if (c->is_ir) c->results[s->count] = execute(s, c, c->path, true);
  c->is_invalid = c->is_ir && c->results[s->count].kind != FUZZ_RAN;
  for (uint32_t k = 0; k < s->count && !c->is_invalid && !fuzz_interrupted(); k++)
    c->results[k] = fuzz_try(s, c, k, -1, NULL);
}
