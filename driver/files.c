/* Inputs are read whole with read(): if a mapped file is truncated meanwhile, the process is
 * killed. Outputs go to a temporary file in the same folder, which is renamed when complete. */
#define _DEFAULT_SOURCE   /* madvise */
#define _XOPEN_SOURCE 700 /* realpath */

#include "driver/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void files_open_standard(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) open("/dev/null", O_RDONLY);
}

static bool fail(struct file_error *error, enum diag_id id, int number) {
  *error = (struct file_error){id, number};
  return false;
}

/* ---- Reading ---- */

enum { FIRST_READ_BYTES = 1 << 16 };

/* Reads to the end; `room` is the expected length. */
static bool read_all(int fd, size_t room, struct file_bytes *file) {
  file->length = 0;
  file->bytes = malloc(room + 1);
  while (file->bytes != NULL) {
    ssize_t n = read(fd, file->bytes + file->length, room - file->length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    if (n == 0 && file->length < room) {
      file->bytes[file->length] = '\0';
      return true;
    }
    file->length += (size_t)n;
    if (file->length < room) continue;
    char *grown = realloc(file->bytes, room * 2 + 1);
    if (grown == NULL) break;
    file->bytes = grown;
    room *= 2;
  }
  int number = errno;
  files_free(file);
  errno = number;
  return false;
}

bool files_read(const char *path, struct file_bytes *file, struct file_error *error) {
  *file = (struct file_bytes){0};
  bool standard = strcmp(path, "-") == 0;
  int fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(error, DIAG_FILE_UNREADABLE, errno);
  struct stat facts;
  bool ok = fstat(fd, &facts) == 0;
  if (ok && S_ISDIR(facts.st_mode)) {
    if (!standard) close(fd);
    return fail(error, DIAG_FILE_DIRECTORY, 0);
  }
  /* One byte more than the length, to detect the end without growing. */
  size_t room = ok && S_ISREG(facts.st_mode) ? (size_t)facts.st_size + 1 : FIRST_READ_BYTES;
  file->regular = ok && S_ISREG(facts.st_mode) && !standard;
  ok = ok && read_all(fd, room, file);
  int number = errno;
  if (!standard && !(ok && file->regular)) close(fd);
  if (!ok) return fail(error, DIAG_FILE_UNREADABLE, number);
  file->fd = fd;
  if (file->length > 0) return true;
  files_free(file);
  return fail(error, DIAG_FILE_EMPTY, 0);
}

bool files_has_standard_input(void) {
  struct stat facts;
  if (fstat(0, &facts) != 0) return false;
  return S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
}

bool files_read_again(struct file_bytes *file, struct file_error *error) {
  size_t at = 0;
  while (at < file->length) {
    ssize_t n = pread(file->fd, file->bytes + at, file->length - at, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(error, DIAG_FILE_UNREADABLE, n < 0 ? errno : EIO);
    at += (size_t)n;
  }
  file->released = 0;
  return true;
}

void files_free(struct file_bytes *file) {
  if (file->regular) close(file->fd);
  free(file->bytes);
  *file = (struct file_bytes){0};
}

void files_release(struct file_bytes *file, size_t end) {
#ifdef NVM_HOSTILE /* checking build: whoever reads what was released sees it */
  memset(file->bytes + file->released, 0xDB, end - file->released);
  file->released = end;
#elif defined __linux__
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), bytes = (uintptr_t)file->bytes;
  uintptr_t from = (bytes + file->released + page - 1) / page * page,
            to = (bytes + end) / page * page;
  if (from < to && madvise((void *)from, to - from, MADV_DONTNEED) == 0)
    file->released = to - bytes;
#else
  (void)file, (void)end;
#endif
}

void files_release_heap(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

bool files_is_ptx(const struct file_bytes *f) {
  const char *at = f->bytes;
  for (;;) {
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "//", 2) == 0) at += strcspn(at, "\n");
    else if (strncmp(at, "/*", 2) == 0)
      at = strstr(at, "*/") ? strstr(at, "*/") + 2 : at + strlen(at);
    else return strncmp(at, ".version", 8) == 0;
  }
}

bool files_same(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

/* ---- Writing ---- */

static bool write_piece(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, bytes, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes += n;
    length -= (size_t)n;
  }
  return true;
}

static bool copy_spill(int fd, const struct file_spill *s) {
  enum { BUFFER = 1 << 16 };
  char buffer[BUFFER];
  for (size_t at = 0; at < s->length;) {
    size_t room = s->length - at < BUFFER ? s->length - at : BUFFER;
    ssize_t n = pread(s->fd, buffer, room, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || !write_piece(fd, buffer, (size_t)n)) return false;
    at += (size_t)n;
  }
  return true;
}

static bool write_all(int fd, const struct file_text *text) {
  bool ok = true;
  for (uint32_t k = 0; k < text->count && ok; k++) {
    ok = write_piece(fd, text->pieces[k].bytes, text->pieces[k].length);
    if (ok && k == 0 && text->spill) ok = copy_spill(fd, text->spill);
  }
  return ok;
}

/* Writes to devices and pipes, which cannot be replaced by renaming. */
static bool write_in_place(const char *path, const struct file_text *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool written = write_all(fd, text);
  int number = errno;
  bool closed = close(fd) == 0;
  if (!written) errno = number;
  return written && closed;
}

/* The mode of a new file. */
static mode_t new_file_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Makes a file in the folder of `path`. The caller frees *name, its path. Returns -1, with errno
 * and *name NULL, if it cannot be made. */
static int open_temporary(const char *path, char **name) {
  size_t room = strlen(path) + sizeof ".XXXXXX";
  int fd = -1;
  *name = malloc(room);
  if (*name == NULL) return -1;
  snprintf(*name, room, "%s.XXXXXX", path);
  fd = mkstemp(*name);
  if (fd >= 0) return fd;
  int number = errno;
  free(*name);
  *name = NULL;
  errno = number;
  return -1;
}

static bool replace_file(const char *path, mode_t mode, const struct file_text *text) {
  char *temporary;
  int fd = open_temporary(path, &temporary);
  bool ok = fd >= 0 && write_all(fd, text) && fchmod(fd, mode) == 0;
  int number = errno;
  if (fd >= 0 && close(fd) != 0 && ok) ok = false, number = errno;
  if (ok && rename(temporary, path) != 0) ok = false, number = errno;
  if (!ok && fd >= 0) unlink(temporary);
  free(temporary);
  if (!ok) errno = number;
  return ok;
}

bool files_write_text(const char *path, const struct file_text *text, struct file_error *error) {
  bool ok;
  struct stat facts;
  if (strcmp(path, "-") == 0) {
    ok = write_all(1, text);
  } else if (stat(path, &facts) != 0) {
    ok = errno == ENOENT && replace_file(path, new_file_mode(), text);
  } else if (S_ISDIR(facts.st_mode)) {
    return fail(error, DIAG_FILE_DIRECTORY, 0);
  } else if (!S_ISREG(facts.st_mode)) {
    ok = write_in_place(path, text);
  } else if (access(path, W_OK) != 0) {
    ok = false;
  } else {
    char *target = realpath(path, NULL); /* follow symbolic links, which are kept */
    ok = target != NULL && replace_file(target, facts.st_mode & 07777, text);
    int number = errno;
    free(target);
    errno = number;
  }
  return ok || fail(error, DIAG_FILE_UNWRITABLE, errno);
}

bool files_write(const char *path, const char *bytes, size_t length, struct file_error *error) {
  struct nvm_text all = {bytes, length};
  return files_write_text(path, &(struct file_text){&all, 1, NULL}, error);
}

/* ---- Spilling ---- */

void files_spill_start(struct file_spill *s, const char *path) {
  *s = (struct file_spill){.path = path, .fd = -1};
}

static void spill_open(struct file_spill *s) {
  struct stat facts;
  char *name = NULL;
  if (strcmp(s->path, "-") != 0 && (stat(s->path, &facts) != 0 || S_ISREG(facts.st_mode)))
    s->fd = open_temporary(s->path, &name);
  if (name) unlink(name);
  free(name);
  s->refused = s->fd < 0;
}

bool files_spill_write(struct file_spill *s, const struct nvm_text *pieces, uint32_t count) {
  size_t length = s->length;
  if (s->fd < 0 && !s->refused) spill_open(s);
  for (uint32_t k = 0; k < count && !s->refused; k++) {
    s->refused = !write_piece(s->fd, pieces[k].bytes, pieces[k].length);
    length += pieces[k].length;
  }
  if (!s->refused) s->length = length;
  return !s->refused;
}

void files_spill_end(struct file_spill *s) {
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
}
