/* Fuzzes the language server: each line of the input is a message, or, where the input begins with
 * `Content-Length`, the input is a stream with headers. Whatever comes, the server answers with
 * messages that are JSON. Commands are not executed. */
#define rpc_send fuzz_checked_send
#define lens_execute fuzz_execute_nothing
#include "driver/lsp/server.c"

#include <stdio.h>
#include <string.h>

enum { MAX_MESSAGES = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_checked_send(struct rpc *r, struct nvm_text message);

/* No processes here. */
void fuzz_execute_nothing(struct server *s, const struct lsp_request *r) { server_null(s, r); }

void fuzz_checked_send(struct rpc *r, struct nvm_text message) {
  struct arena arena;
  (void)r;
  arena_init(&arena, nvm_default_allocator);
  if (json_read(&arena, message) == NULL && !arena.failed) {
    fprintf(stderr, "no JSON: %.*s\n", (int)message.length, message.bytes);
    abort();
  }
  arena_free(&arena);
}

/* The diagnostics that are due. */
static void diagnose(struct server *s) {
  arena_free(&s->arena);
  for (uint32_t k = 0; k < s->document_count && !s->is_shut_down; k++)
    if (s->documents[k]->is_dirty) diagnose_document(s, s->documents[k]);
}

static void receive_lines(struct server *s, const char *text, size_t size) {
  for (int count = 0; size > 0 && !s->is_ended && count < MAX_MESSAGES; count++) {
    const char *end = memchr(text, '\n', size);
    size_t length = end ? (size_t)(end - text) : size;
    arena_free(&s->arena);
    receive(s, (struct nvm_text){text, length});
    diagnose(s);
    length += end != NULL;
    text += length, size -= length;
  }
}

static void receive_stream(struct server *s, const char *text, size_t size) {
  struct nvm_text message;
  s->rpc.bytes = malloc(size + 1);
  if (!s->rpc.bytes) abort();
  memcpy(s->rpc.bytes, text, size);
  s->rpc.end = s->rpc.capacity = size;
  s->rpc.ended = true;
  for (int count = 0; !s->is_ended && count < MAX_MESSAGES; count++) {
    enum rpc_event event = rpc_next(&s->rpc, &message);
    if (event == RPC_END || event == RPC_NOTHING) return;
    arena_free(&s->arena);
    if (event == RPC_MESSAGE) receive(s, message);
    diagnose(s);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char header[] = "Content-Length";
  struct server *s = calloc(1, sizeof *s);
  char *text = malloc(size + 1);
  if (!s || !text) abort();
  memcpy(text, data, size);
  text[size] = '\0';
  s->rpc = (struct rpc){.in = -1, .out = -1};
  arena_init(&s->arena, nvm_default_allocator);
  s->context = nvmini_create(NULL, 256 << 20);
  if (!s->context) abort();
  if (strncmp(text, header, strlen(header)) == 0) receive_stream(s, text, size);
  else receive_lines(s, text, size);
  while (s->document_count) remove_document(s, s->documents[0]);
  nvmini_destroy(s->context);
  arena_free(&s->arena);
  rpc_free(&s->rpc);
  free(text);
  free(s);
  return 0;
}
