/* What a fallible operation returns. Details are in the diagnostic sink. */
#ifndef NVM_SUPPORT_STATUS_H
#define NVM_SUPPORT_STATUS_H

enum nvm_status {
  NVM_OK = 0,
  NVM_REFUSED,       /* the input was refused; at least one error was reported */
  NVM_OUT_OF_MEMORY, /* the allocator refused, or the memory limit was reached */
  NVM_BUG,           /* an internal fault; a diagnostic says in which part */
};

#endif
