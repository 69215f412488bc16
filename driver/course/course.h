/* nvmini course: the exercises of docs/course/, and what checks their solutions.
 *
 * An exercise is a file N-K.nvir of this folder (chapter N, exercise K), which is part of the
 * command. Its head is comments:
 *
 *   ; Exercise 3.2: TITLE
 *   ; the assignment, in a few lines
 *   ; hint: one line
 *   ; check run OPTIONS => TEXT      `nvmini run FILE OPTIONS` prints TEXT
 *   ; check has OPTIONS => TEXT      the output of `nvmini compile FILE OPTIONS` contains TEXT
 *   ; check lacks OPTIONS => TEXT    ... does not contain TEXT
 *   ; check finds OPTIONS => TEXT    `nvmini run FILE OPTIONS` ends with a finding with TEXT in it
 *   ; check keeps TEXT               FILE still contains TEXT, comments left out
 *
 * and the rest is the module that a solution changes. Texts are compared with every run of white
 * space as one blank. The checks are those of the command, whatever the head of FILE says.
 * runtime-tests/course/N-K.nvir solves the exercise. */
#ifndef NVM_DRIVER_COURSE_COURSE_H
#define NVM_DRIVER_COURSE_COURSE_H

#include "driver/options.h"
#include "support/textbuf.h"

/* The command. Returns the exit status; for `check`, EXIT_REFUSED if an exercise is not solved. */
int course_command(const struct options *o);

/* exercise.c: the text of an exercise, followed by a NUL; no bytes: there is none. */
struct nvm_text course_exercise(uint32_t chapter, uint32_t number);
/* Finds the next line from *at on that begins with `mark`; *rest is what follows it in that line,
 * and *at moves behind the line. False if there is none. */
bool course_next_line(const char **at, const char *mark, struct nvm_text *rest);

/* check.c: checks a file against the exercise and prints what is wrong, if anything is. */
bool course_is_solved(struct nvm_text exercise, const char *path);

#endif
