/* The part of a C library that C test programs need when one thread of a GPU executes them.
 *
 * Text goes to `output`, the exit status behind it: `finish` copies both to the kernel's buffer.
 * %g and %e write floats as %f does: text with floats is compared among the ways of execution, not
 * with a host's. */
typedef __SIZE_TYPE__ size_t;
typedef __builtin_va_list va_list;
enum { OUTPUT_SIZE = 1 << 16, HEAP_SIZE = 1 << 20, RUNNING = -1 };
static char output[OUTPUT_SIZE];
static size_t output_length;
static _Alignas(16) char heap[HEAP_SIZE];
static size_t heap_used;
static int *result;
static char *text;

void *memcpy(void *to, const void *from, size_t n) {
  for (size_t k = 0; k < n; k++) ((char *)to)[k] = ((const char *)from)[k];
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  if ((const char *)to < (const char *)from) return memcpy(to, from, n);
  for (size_t k = n; k-- > 0;) ((char *)to)[k] = ((const char *)from)[k];
  return to;
}

void *mempcpy(void *to, const void *from, size_t n) { return (char *)memcpy(to, from, n) + n; }

void *memset(void *to, int c, size_t n) {
  for (size_t k = 0; k < n; k++) ((char *)to)[k] = (char)c;
  return to;
}

int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  for (size_t k = 0; k < n; k++)
    if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
  return 0;
}

void *memchr(const void *a, int c, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (((const unsigned char *)a)[k] == (unsigned char)c) return (char *)a + k;
  return 0;
}

size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

int strncmp(const char *a, const char *b, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (a[k] != b[k]) return (unsigned char)a[k] < (unsigned char)b[k] ? -1 : 1;
    if (!a[k]) break;
  }
  return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, ~(size_t)0); }

char *strcpy(char *to, const char *from) {
  memcpy(to, from, strlen(from) + 1);
  return to;
}

char *stpcpy(char *to, const char *from) { return strcpy(to, from) + strlen(from); }

char *strncpy(char *to, const char *from, size_t n) {
  size_t k = 0;
  for (; k < n && from[k]; k++) to[k] = from[k];
  for (; k < n; k++) to[k] = 0;
  return to;
}

char *strcat(char *to, const char *from) {
  strcpy(to + strlen(to), from);
  return to;
}

char *strncat(char *to, const char *from, size_t n) {
  char *at = to + strlen(to);
  while (n-- && *from) *at++ = *from++;
  *at = 0;
  return to;
}

char *strchr(const char *s, int c) {
  for (;; s++) {
    if (*s == (char)c) return (char *)s;
    if (!*s) return 0;
  }
}

char *index(const char *s, int c) { return strchr(s, c); }

char *strrchr(const char *s, int c) {
  const char *last = 0;
  for (;; s++) {
    if (*s == (char)c) last = s;
    if (!*s) return (char *)last;
  }
}

char *rindex(const char *s, int c) { return strrchr(s, c); }

char *strstr(const char *s, const char *part) {
  size_t n = strlen(part);
  for (; strncmp(s, part, n); s++)
    if (!*s) return 0;
  return (char *)s;
}

size_t strspn(const char *s, const char *set) {
  size_t n = 0;
  while (s[n] && strchr(set, s[n])) n++;
  return n;
}

size_t strcspn(const char *s, const char *set) {
  size_t n = 0;
  while (s[n] && !strchr(set, s[n])) n++;
  return n;
}

char *strpbrk(const char *s, const char *set) {
  s += strcspn(s, set);
  return *s ? (char *)s : 0;
}

void *malloc(size_t n) {
  size_t size = (n + 31) & ~(size_t)15; /* its size is before a block */
  if (n > HEAP_SIZE || heap_used + size > HEAP_SIZE) return 0;
  char *block = heap + heap_used + 16;
  *(size_t *)(block - 16) = n;
  heap_used += size;
  return block;
}

void free(void *p) {}

void *calloc(size_t count, size_t size) {
  void *p = malloc(count * size);
  return p ? memset(p, 0, count * size) : 0;
}

void *realloc(void *p, size_t n) {
  void *now = malloc(n);
  if (!p || !now) return now;
  size_t old = *(size_t *)((char *)p - 16);
  return memcpy(now, p, old < n ? old : n);
}

static void finish(int status) {
  result[0] = status;
  result[1] = (int)output_length;
  for (size_t k = 0; k < output_length; k++) text[k] = output[k];
}

_Noreturn void exit(int status) {
  finish(status);
  __asm__ volatile("exit;");
  __builtin_unreachable();
}

_Noreturn void _exit(int status) { exit(status); }
_Noreturn void abort(void) { exit(134); }

int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
long long llabs(long long x) { return x < 0 ? -x : x; }
double fabs(double x) { return __builtin_fabs(x); }
float fabsf(float x) { return __builtin_fabsf(x); }
double copysign(double x, double y) { return __builtin_copysign(x, y); }
float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
double sqrt(double x) { return __builtin_sqrt(x); }
float sqrtf(float x) { return __builtin_sqrtf(x); }
double floor(double x) { return __builtin_floor(x); }
double ceil(double x) { return __builtin_ceil(x); }
int isdigit(int c) { return c >= '0' && c <= '9'; }
int isalpha(int c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
int isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
int isprint(int c) { return c >= ' ' && c < 127; }
int toupper(int c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
int tolower(int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

long strtol(const char *s, char **end, int base) {
  long n = 0, sign = 1;
  while (isspace(*s)) s++;
  if (*s == '-' || *s == '+') sign = *s++ == '-' ? -1 : 1;
  for (; isdigit(*s); s++) n = n * 10 + (*s - '0');
  if (end) *end = (char *)s;
  return n * sign;
}

int atoi(const char *s) { return (int)strtol(s, 0, 10); }

/* --- Formatted output --- */

struct sink {
  char *to;
  size_t room, length;
};

static void put(struct sink *s, char c) {
  if (s->length + 1 < s->room) s->to[s->length] = c;
  s->length++;
}

static void put_padded(struct sink *s, const char *from, size_t n, int width, int left, char pad) {
  if (!left)
    for (int k = (int)n; k < width; k++) put(s, pad);
  for (size_t k = 0; k < n; k++) put(s, from[k]);
  if (left)
    for (int k = (int)n; k < width; k++) put(s, ' ');
}

static size_t digits_of(char *to, unsigned long long x, unsigned base, int capitals, int least) {
  char reversed[80];
  size_t n = 0;
  for (; x || (int)n < least; x /= base)
    reversed[n++] = (capitals ? "0123456789ABCDEF" : "0123456789abcdef")[x % base];
  for (size_t k = 0; k < n; k++) to[k] = reversed[n - 1 - k];
  return n;
}

static size_t float_digits(char *to, double x, int precision) {
  size_t n = 0;
  if (__builtin_signbit(x)) to[n++] = '-';
  x = __builtin_fabs(x);
  if (!(x < 1e18)) {
    memcpy(to + n, x != x ? "nan" : x > 1e308 ? "inf" : "big", 3);
    return n + 3;
  }
  unsigned long long scale = 1, whole = (unsigned long long)x;
  for (int k = 0; k < precision; k++) scale *= 10;
  double rest = (x - (double)whole) * (double)scale;
  unsigned long long part = (unsigned long long)rest;
  if (rest - (double)part > 0.5 || (rest - (double)part == 0.5 && (part & 1))) part++;
  if (part >= scale) whole++, part -= scale;
  n += digits_of(to + n, whole, 10, 0, 1);
  if (precision) to[n++] = '.', n += digits_of(to + n, part, 10, 0, precision);
  return n;
}

static void format(struct sink *s, const char *f, va_list list) {
  for (; *f; f++) {
    if (*f != '%') {
      put(s, *f);
      continue;
    }
    int left = 0, plus = 0, alternate = 0, width = 0, precision = -1, size = 0;
    char pad = ' ', field[128];
    for (f++;; f++) {
      if (*f == '-') left = 1;
      else if (*f == '0') pad = '0';
      else if (*f == '+' || *f == ' ') plus = *f;
      else if (*f == '#') alternate = 1;
      else break;
    }
    if (*f == '*') width = __builtin_va_arg(list, int), f++;
    else
      while (isdigit(*f)) width = width * 10 + (*f++ - '0');
    if (*f == '.') {
      precision = 0;
      if (*++f == '*') precision = __builtin_va_arg(list, int), f++;
      else
        while (isdigit(*f)) precision = precision * 10 + (*f++ - '0');
    }
    for (;; f++) {
      if (*f == 'l' || *f == 'j' || *f == 'z' || *f == 't') size++;
      else if (*f == 'h') size--;
      else if (*f != 'L') break;
    }
    size_t n = 0;
    int least = precision < 0 ? 1 : precision;
    if (*f == 'd' || *f == 'i') {
      long long x = size > 0 ? __builtin_va_arg(list, long long) : __builtin_va_arg(list, int);
      if (size == -1) x = (short)x;
      if (size == -2) x = (signed char)x;
      if (x < 0) field[n++] = '-';
      else if (plus) field[n++] = (char)plus;
      if (pad == '0' && !left && precision < 0 && width > (int)n) least = width - (int)n;
      n += digits_of(field + n, x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x, 10, 0,
                     least);
      put_padded(s, field, n, width, left, ' ');
    } else if (*f == 'u' || *f == 'x' || *f == 'X' || *f == 'o' || *f == 'p') {
      unsigned long long x = size > 0 || *f == 'p' ? __builtin_va_arg(list, unsigned long long)
                                                   : __builtin_va_arg(list, unsigned);
      if (size == -1) x = (unsigned short)x;
      if (size == -2) x = (unsigned char)x;
      if ((alternate && x && *f != 'o') || *f == 'p')
        field[n++] = '0', field[n++] = *f == 'X' ? 'X' : 'x';
      if (alternate && *f == 'o') field[n++] = '0';
      if (pad == '0' && !left && precision < 0 && width > (int)n) least = width - (int)n;
      n += digits_of(field + n, x, *f == 'u' ? 10 : *f == 'o' ? 8 : 16, *f == 'X', least);
      put_padded(s, field, n, width, left, ' ');
    } else if (*f == 'c') {
      field[0] = (char)__builtin_va_arg(list, int);
      put_padded(s, field, 1, width, left, ' ');
    } else if (*f == 's') {
      const char *from = __builtin_va_arg(list, const char *);
      if (!from) from = "(null)";
      while ((precision < 0 || (int)n < precision) && from[n]) n++;
      put_padded(s, from, n, width, left, ' ');
    } else if (*f == 'f' || *f == 'g' || *f == 'e' || *f == 'F' || *f == 'G' || *f == 'E') {
      double x = __builtin_va_arg(list, double);
      if (plus && !__builtin_signbit(x)) field[n++] = (char)plus;
      n += float_digits(field + n, x, precision < 0 || precision > 17 ? 6 : precision);
      put_padded(s, field, n, width, left, pad);
    } else if (*f == '%') {
      put(s, '%');
    } else {
      break; /* unknown */
    }
  }
}

int vsnprintf(char *to, size_t room, const char *f, va_list list) {
  struct sink s = {to, room, 0};
  format(&s, f, list);
  if (room) to[s.length < room ? s.length : room - 1] = 0;
  return (int)s.length;
}

int vsprintf(char *to, const char *f, va_list list) {
  return vsnprintf(to, ~(size_t)0 >> 1, f, list);
}

int vprintf(const char *f, va_list list) {
  int n = vsnprintf(output + output_length, OUTPUT_SIZE - output_length, f, list);
  output_length += (size_t)n;
  if (output_length >= OUTPUT_SIZE) output_length = OUTPUT_SIZE - 1;
  return n;
}

#define FORWARD(call)          \
  va_list list;                \
  __builtin_va_start(list, f); \
  int n = call;                \
  __builtin_va_end(list);      \
  return n

int sprintf(char *to, const char *f, ...) { FORWARD(vsprintf(to, f, list)); }
int snprintf(char *to, size_t room, const char *f, ...) { FORWARD(vsnprintf(to, room, f, list)); }
int printf(const char *f, ...) { FORWARD(vprintf(f, list)); }
int fprintf(void *file, const char *f, ...) { FORWARD(vprintf(f, list)); }
int vfprintf(void *file, const char *f, va_list list) { return vprintf(f, list); }

int putchar(int c) {
  printf("%c", c);
  return c;
}

int puts(const char *s) { return printf("%s\n", s); }
int fflush(void *file) { return 0; }
void *stdout, *stderr;

int main(MAIN_PARAMETERS);

__attribute__((nvptx_kernel)) void run(int *to) {
  result = to;
  text = (char *)(to + 2);
  result[0] = RUNNING;
  finish(main(MAIN_ARGUMENTS));
}
