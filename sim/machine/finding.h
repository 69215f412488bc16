/* Findings: what a launch ends with if the program does something wrong. */
#ifndef NVM_SIM_MACHINE_FINDING_H
#define NVM_SIM_MACHINE_FINDING_H

#include "sim/machine/machine.h"

/* Records the first finding, of the warp's current instruction in the lane, and stops the warp.
 * `format` as textbuf_format; the message is a verb phrase whose subject is the thread. */
void finding_report(struct warp *w, unsigned lane, enum sim_finding_kind kind, const char *format,
                    ...);
/* The same without a thread. Returns NVM_REFUSED. */
enum nvm_status finding_refuse(struct sim *s, enum sim_finding_kind kind, struct nvm_str function,
                               uint32_t line, const char *format, ...);

#endif
