/* What a child process of `nvmini serve` gives up before it reads its request. The limits of
 * POSIX are the first fence: no file can be opened, because the limit of open files is zero; those
 * that are open stay usable. On Linux a filter of system calls (seccomp, its documentation's model
 * of a list of permitted numbers) is the second: calls that take a path, a socket, a process or a
 * device fail, also those that need no descriptor, such as stat() and mkdir(). */
#define _GNU_SOURCE /* RLIMIT_NPROC, AT_EMPTY_PATH */

#include "driver/serve/serve.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined __linux__ && (defined __x86_64__ || defined __aarch64__)
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define HAS_FILTER 1
#else
#define HAS_FILTER 0
#endif

#if defined __SANITIZE_ADDRESS__
enum { LIMITS_MEMORY = 0 }; /* the sanitizer reserves terabytes of addresses */
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { LIMITS_MEMORY = 0 };
#else
enum { LIMITS_MEMORY = 1 };
#endif
#else
enum { LIMITS_MEMORY = 1 };
#endif

enum { MAX_FDS = 1 << 16 };

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* A lower limit that the server itself has stays. */
static bool limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit r;
  if (getrlimit(resource, &r) != 0) return false;
  if (r.rlim_max != RLIM_INFINITY) soft = least(soft, r.rlim_max), hard = least(hard, r.rlim_max);
  r = (struct rlimit){(rlim_t)soft, (rlim_t)hard};
  return setrlimit(resource, &r) == 0;
}

/* ---- The filter ---- */

#if HAS_FILTER
#ifdef __x86_64__
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64 };
#else
enum { ARCHITECTURE = (int)AUDIT_ARCH_AARCH64 };
#endif

/* What memory, standard files, clocks and the end of the process need. */
static const uint32_t permitted[] = {
    SYS_read,          SYS_write,        SYS_writev,    SYS_lseek,     SYS_close,
    SYS_fstat,         SYS_mmap,         SYS_munmap,    SYS_mremap,    SYS_mprotect,
    SYS_madvise,       SYS_brk,          SYS_futex,     SYS_exit,      SYS_exit_group,
    SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom, SYS_getrusage, SYS_rt_sigprocmask,
    SYS_rt_sigreturn,  SYS_sigaltstack /* AddressSanitizer */,
};
enum { PERMITTED = sizeof permitted / sizeof *permitted };

/* The C library's fstat() is fstatat() with an empty path. */
static int add_fstat(struct sock_filter *code, int n) {
  const uint32_t flags = offsetof(struct seccomp_data, args) + 3 * sizeof(uint64_t);
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 3);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags);
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY_PATH, 0, 1);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return n;
}

/* False where the system has no filters or does not permit one. */
static bool filter_calls(void) {
  struct sock_filter code[10 + 2 * PERMITTED];
  const uint32_t refuse = SECCOMP_RET_ERRNO | 1 /* EPERM */;
  int n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, arch));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ARCHITECTURE, 1, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int k = 0; k < PERMITTED; k++) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permitted[k], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  n = add_fstat(code, n);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
  const struct sock_fprog program = {(unsigned short)n, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

/* ---- The steps ---- */

void confine_close_above(int last) {
#if HAS_FILTER && defined SYS_close_range
  if (syscall(SYS_close_range, (unsigned)last + 1, ~0U, 0) == 0) return;
#endif
  for (int fd = last + 1; fd < MAX_FDS; fd++) close(fd);
}

void confine_end_with_parent(pid_t parent) {
#if HAS_FILTER
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(EXIT_FAULT);
}

bool confine(const struct job_limits *limits) {
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_NPROC, 0, 0);
  if (LIMITS_MEMORY && !limit(RLIMIT_AS, limits->memory_bytes, limits->memory_bytes)) return false;
  if (!limit(RLIMIT_CPU, limits->seconds + 1, limits->seconds + 2)) return false;
  if (!limit(RLIMIT_FSIZE, limits->output_bytes, limits->output_bytes)) return false;
  if (!limit(RLIMIT_NOFILE, 0, 0)) return false;
#if HAS_FILTER
  filter_calls();
#endif
  return true;
}
