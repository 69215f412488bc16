/* What a fallible operation returns. Details are in the diagnostic sink. */
#ifndef NVM_SUPPORT_STATUS_H
#define NVM_SUPPORT_STATUS_H

enum nvm_status {
  NVM_OK = 0,
  NVM_REFUSED,       /* the input is invalid; at least one error was reported */
  NVM_OUT_OF_MEMORY, /* the allocator failed, or the memory limit was reached */
  NVM_BUG,           /* internal compiler error; a diagnostic names the part */
};

#endif
