/* Messages of JSON-RPC 2.0 on two file descriptors, each preceded by a header with its length in
 * bytes, as the Language Server Protocol frames them. */
#ifndef NVM_DRIVER_LSP_RPC_H
#define NVM_DRIVER_LSP_RPC_H

#include "support/json.h"

enum {
  RPC_MAX_MESSAGE = 64 << 20, /* bytes; a longer message is skipped */
  RPC_MAX_HEADER = 4096,      /* bytes of the header lines of a message */
};

/* Error codes of JSON-RPC and of the protocol. */
enum rpc_error {
  RPC_PARSE_ERROR = -32700,
  RPC_INVALID_REQUEST = -32600,
  RPC_METHOD_NOT_FOUND = -32601,
  RPC_INVALID_PARAMS = -32602,
  RPC_INTERNAL_ERROR = -32603,
  RPC_NOT_INITIALIZED = -32002,
  RPC_REQUEST_FAILED = -32803,
  RPC_REQUEST_CANCELLED = -32800,
};

enum rpc_event {
  RPC_MESSAGE,
  RPC_TOO_LONG,   /* a message was longer than RPC_MAX_MESSAGE and is being skipped */
  RPC_BAD_HEADER, /* header lines without a valid length; what follows is read as a header */
  RPC_NOTHING,    /* no whole message is there yet */
  RPC_END,        /* end of input */
};

struct rpc {
  int in, out; /* file descriptors */
  char *bytes; /* malloc'ed: input, of which [begin, end) is not yet used */
  size_t begin, end, capacity;
  uint64_t skip; /* bytes of a too long message that are still to come */
  bool ended;    /* the input has ended, or memory is out */
  bool broken;   /* output failed */
};

void rpc_free(struct rpc *r); /* frees its memory */

/* The next message among the bytes that were read; its text is valid until rpc_fill(). */
enum rpc_event rpc_next(struct rpc *r, struct nvm_text *message);
/* Reads what has arrived, at least a byte; waits for it. */
void rpc_fill(struct rpc *r);
/* Writes a message with its header. */
void rpc_send(struct rpc *r, struct nvm_text message);

#endif
