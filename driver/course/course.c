/* nvmini course: lists the chapters and exercises of the course, writes exercises into a folder,
 * and checks their solutions. */
#include "driver/course/course.h"

#include "driver/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct chapter {
  const char *title, *page; /* page: in docs/course/ */
} chapters[] = {
    {"From text to SSA", "01-text-to-ssa.md"},
    {"Folding", "02-folding.md"},
    {"Control flow", "03-control-flow.md"},
    {"Loops", "04-loops.md"},
    {"Memory and aliases", "05-memory.md"},
    {"Divergence and barriers", "06-divergence.md"},
    {"Vectors and their price", "07-vectors.md"},
    {"Selection and PTX", "08-selection.md"},
    {"Registers and occupancy", "09-registers.md"},
    {"Being right", "10-being-right.md"},
};
enum { CHAPTERS = sizeof chapters / sizeof *chapters, EXERCISES = 3, MAX_PATH = 4096 };

static struct nvm_text title_of(struct nvm_text exercise) {
  const char *at = exercise.bytes;
  struct nvm_text rest = {"", 0};
  course_next_line(&at, "; Exercise ", &rest);
  return rest; /* `3.2: TITLE` */
}

static int list(void) {
  for (uint32_t chapter = 1; chapter <= CHAPTERS; chapter++) {
    const struct chapter *c = &chapters[chapter - 1];
    printf("%u. %s (docs/course/%s)\n", (unsigned)chapter, c->title, c->page);
    for (uint32_t k = 1; k <= EXERCISES; k++) {
      struct nvm_text title = title_of(course_exercise(chapter, k));
      if (title.length) printf("   %.*s\n", (int)title.length, title.bytes);
    }
  }
  fputs("\n"
        "Read docs/tour.md first, then a chapter. Each exercise is a kernel to be changed:\n"
        "  nvmini course start 3 [FOLDER]   write the exercises of chapter 3\n"
        "  nvmini course check 3 [FOLDER]   check them; 3.2 is one exercise\n",
        stdout);
  return EXIT_DONE;
}

/* ---- Paths ---- */

static bool path_of(char path[MAX_PATH], const char *folder, uint32_t chapter, uint32_t number) {
  size_t length = strlen(folder);
  const char *slash = length && folder[length - 1] == '/' ? "" : "/";
  bool here = strcmp(folder, ".") == 0;
  int n = snprintf(path, MAX_PATH, "%s%s%u-%u.nvir", here ? "" : folder, here ? "" : slash,
                   (unsigned)chapter, (unsigned)number);
  if (n < MAX_PATH) return true;
  fputs("nvmini: error: the name of the folder is too long\n", stderr);
  return false;
}

static int refuse_path(const char *path) {
  fprintf(stderr, "nvmini: error: %s: cannot write: %s\n", path, strerror(errno));
  return EXIT_REFUSED;
}

/* ---- start ---- */

static int write_exercise(const char *path, struct nvm_text exercise) {
  FILE *file = fopen(path, "wx");
  if (!file && errno == EEXIST) {
    printf("%s exists and was kept\n", path);
    return EXIT_DONE;
  }
  if (!file) return refuse_path(path);
  bool written = fwrite(exercise.bytes, 1, exercise.length, file) == exercise.length;
  if (fclose(file) != 0 || !written) {
    int status = refuse_path(path);
    remove(path);
    return status;
  }
  struct nvm_text title = title_of(exercise);
  printf("%s  %.*s\n", path, (int)title.length, title.bytes);
  return EXIT_DONE;
}

static int start(uint32_t chapter, uint32_t only, const char *folder) {
  char path[MAX_PATH];
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) return refuse_path(folder);
  for (uint32_t k = 1; k <= EXERCISES; k++) {
    if (only && k != only) continue;
    if (!path_of(path, folder, chapter, k)) return EXIT_USAGE;
    int status = write_exercise(path, course_exercise(chapter, k));
    if (status != EXIT_DONE) return status;
  }
  return EXIT_DONE;
}

/* ---- check ---- */

static int check(uint32_t chapter, uint32_t only, const char *folder) {
  char path[MAX_PATH];
  uint32_t solved = 0, count = 0;
  for (uint32_t k = 1; k <= EXERCISES; k++) {
    if (only && k != only) continue;
    if (!path_of(path, folder, chapter, k)) return EXIT_USAGE;
    struct nvm_text exercise = course_exercise(chapter, k), title = title_of(exercise);
    printf("%.*s\n", (int)title.length, title.bytes);
    bool is_solved = course_is_solved(exercise, path);
    if (is_solved) puts("  solved");
    solved += is_solved;
    count++;
  }
  if (count > 1) printf("%u of %u solved\n", (unsigned)solved, (unsigned)count);
  return solved == count ? EXIT_DONE : EXIT_REFUSED;
}

/* ---- The command line ---- */

/* `3` or `3.2`; *number is 0 without a point. */
static bool read_which(const char *text, uint32_t *chapter, uint32_t *number) {
  char *end;
  unsigned long first = strtoul(text, &end, 10), second = 0;
  bool right = *text >= '0' && *text <= '9';
  if (right && *end == '.') {
    const char *digits = end + 1;
    second = strtoul(digits, &end, 10);
    right = *digits >= '1' && *digits <= '9' && second <= EXERCISES;
  }
  right = right && *end == '\0' && first >= 1 && first <= CHAPTERS;
  *chapter = (uint32_t)first, *number = (uint32_t)second;
  return right && course_exercise(*chapter, second ? *number : 1).length > 0;
}

int course_command(const struct options *o) {
  if (o->operand_count == 0) return list();
  const char *action = o->operands[0], *folder = o->operand_count > 2 ? o->operands[2] : ".";
  bool starts = strcmp(action, "start") == 0;
  uint32_t chapter, number;
  if (!starts && strcmp(action, "check") != 0) {
    static const char *const names[] = {"start", "check"};
    return options_unknown("unknown action of course", action, names, 2);
  }
  if (o->operand_count < 2) {
    fprintf(stderr, "nvmini: error: 'course %s' needs a chapter or an exercise, e.g. 3 or 3.2\n",
            action);
    return EXIT_USAGE;
  }
  if (!read_which(o->operands[1], &chapter, &number)) {
    fprintf(stderr, "nvmini: error: '%s' is no chapter or exercise; `nvmini course` lists them\n",
            o->operands[1]);
    return EXIT_USAGE;
  }
  return starts ? start(chapter, number, folder) : check(chapter, number, folder);
}
