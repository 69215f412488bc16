/* Declarations of library.c: every standard header that a test includes is this one. */
#ifndef TEST_LIBRARY_H
#define TEST_LIBRARY_H
#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file FILE;
typedef long ssize_t;
extern FILE *stdout, *stderr;
#define assert(condition) ((condition) ? (void)0 : abort())
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define signbit(x) __builtin_signbit(x)
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRIx64 "lx"

void *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t);
void *mempcpy(void *, const void *, size_t), *memset(void *, int, size_t);
void *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t), strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
size_t strlen(const char *), strspn(const char *, const char *),
    strcspn(const char *, const char *);
char *strcpy(char *, const char *), *stpcpy(char *, const char *), *strcat(char *, const char *);
char *strncpy(char *, const char *, size_t), *strncat(char *, const char *, size_t);
char *strchr(const char *, int), *strrchr(const char *, int), *strstr(const char *, const char *);
char *index(const char *, int), *rindex(const char *, int), *strpbrk(const char *, const char *);
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t), free(void *);
_Noreturn void exit(int), _exit(int), abort(void);
int abs(int), atoi(const char *), isdigit(int), isalpha(int), isspace(int), isprint(int);
int toupper(int), tolower(int);
long labs(long), strtol(const char *, char **, int);
long long llabs(long long);
double fabs(double), copysign(double, double), sqrt(double), floor(double), ceil(double);
float fabsf(float), copysignf(float, float), sqrtf(float);
int printf(const char *, ...), fprintf(FILE *, const char *, ...),
    sprintf(char *, const char *, ...);
int snprintf(char *, size_t, const char *, ...), vprintf(const char *, va_list);
int vfprintf(FILE *, const char *, va_list), vsprintf(char *, const char *, va_list);
int vsnprintf(char *, size_t, const char *, va_list), putchar(int), puts(const char *),
    fflush(FILE *);
#define putc(c, file) putchar(c)
#define fputc(c, file) putchar(c)
#define fputs(s, file) printf("%s", s)
#endif
