/* What the kernels of this folder compute, by the plainest means: one thread, no shared state, the
   library's sort, definitions instead of clever algorithms where there are some. A function has its
   kernel's name. See ../Inputs/reference.h. */
#include "../Inputs/reference.h"

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void put_sorted(int64_t *v, int count) {
  qsort(v, (size_t)count, sizeof *v, compare);
  for (int k = 0; k < count; k++) put(v[k]);
}

static void reduce_tree(const struct list *in) {
  for (int first = 0; first < 256; first += 64) {
    int64_t sum = 0;
    for (int k = first; k < first + 64; k++) sum += in->i[k] * in->i[k] - 7 * in->i[k];
    put(sum);
  }
}

static void scan_blelloch(const struct list *in) {
  int64_t sum = 0;
  for (int k = 0; k < 128; k++) {
    put(sum);
    sum += in->i[k] % 13;
  }
}

static void matmul_tiled(const struct list *in) {
  for (int r = 0; r < 16; r++)
    for (int c = 0; c < 16; c++) {
      float sum = 0;
      for (int k = 0; k < 16; k++) sum += (float)in[0].f[16 * r + k] * (float)in[1].f[16 * k + c];
      put_float((double)sum);
    }
}

static void bitonic_sort(const struct list *in) {
  int64_t v[64];
  for (int k = 0; k < 64; k++) v[k] = (uint32_t)in->i[k] * 2654435761u >> 8;
  put_sorted(v, 64);
}

static void histogram_shared(const struct list *in) {
  for (uint32_t bin = 0; bin < 16; bin++) {
    int count = 0;
    for (int k = 0; k < in->count; k++) count += (uint32_t)in->i[k] * 2654435761u >> 28 == bin;
    put(count);
  }
}

static void stencil_jacobi(const struct list *in) {
  double now[66] = {1}, next[66];
  for (int k = 0; k < 64; k++) now[k + 1] = in->f[k];
  now[65] = -1;
  for (int step = 0; step < 10; step++) {
    memcpy(next, now, sizeof next);
    for (int k = 1; k <= 64; k++) next[k] = (now[k - 1] + now[k] + now[k + 1]) / 3;
    memcpy(now, next, sizeof now);
  }
  for (int k = 1; k <= 64; k++) put_float(now[k]);
}

static void convolution(const struct list *in) {
  static const float weights[] = {0.5f, -1.25f, 2, 0.125f, 3, -0.75f, 1, 0.0625f, -2};
  for (int k = 0; k < 100; k++) {
    float sum = 0;
    for (int j = 0; j < 9; j++) sum += weights[j] * (float)in->f[k + j];
    put_float((double)sum);
  }
}

static void bfs_levels(const struct list *in) {
  int level[64], queue[64], last = 0;
  memset(level, -1, sizeof level);
  queue[last++] = (int)in->i[0];
  level[queue[0]] = 0;
  for (int first = 0; first < last; first++) {
    int v = queue[first], next[3] = {(5 * v + 1) % 64, (v + 60) % 64, v / 2};
    for (int k = 0; k < 3; k++)
      if (level[next[k]] < 0) {
        level[next[k]] = level[v] + 1;
        queue[last++] = next[k];
      }
  }
  for (int v = 0; v < 64; v++) put(level[v]);
}

/* The first 32 bits after the point of the power-th root of prime. */
static uint32_t root_fraction(int prime, int power) {
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << 36; bit; bit >>= 1) {
    u128 r = root | bit, value = power == 3 ? r * r * r : r * r;
    if (value <= (u128)prime << 32 * power) root |= bit;
  }
  return (uint32_t)root;
}

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_compress(const uint32_t *message, const uint32_t *constants,
                            const uint32_t *start) {
  uint32_t w[64], v[8];
  memcpy(w, message, 16 * sizeof *w);
  memcpy(v, start, sizeof v);
  for (int i = 16; i < 64; i++) {
    uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  for (int i = 0; i < 64; i++) {
    uint32_t a = v[0], e = v[4], choice = (e & v[5]) ^ (~e & v[6]);
    uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
    uint32_t t1 = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + constants[i] + w[i];
    uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int k = 0; k < 8; k++) put_unsigned(start[k] + v[k]);
}

static void sha256_block(const struct list *in) {
  uint32_t constants[64], start[8], message[16];
  for (int p = 2, found = 0; found < 64; p++) {
    int q = 2;
    while (p % q) q++;
    if (q < p) continue;
    if (found < 8) start[found] = root_fraction(p, 2);
    constants[found++] = root_fraction(p, 3);
  }
  for (uint32_t thread = 0; thread < 32; thread++) {
    for (int k = 0; k < 16; k++) message[k] = (uint32_t)in->i[k] + thread;
    sha256_compress(message, constants, start);
  }
}

static void lu_decompose(const struct list *in) {
  double a[8][8];
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      a[i][j] = in->f[8 * i + j] * (i == j ? 5 : 1) / (1 + j) + (i == j ? 11 : 0);
  for (int k = 0; k < 7; k++)
    for (int i = k + 1; i < 8; i++) {
      a[i][k] /= a[k][k];
      for (int j = k + 1; j < 8; j++) a[i][j] -= a[i][k] * a[k][j];
    }
  for (int k = 0; k < 64; k++) put_float(a[k / 8][k % 8]);
}

static uint64_t power_modulo(uint64_t x, uint64_t n, uint64_t m) {
  u128 result = 1, square = x % m;
  for (; n; n >>= 1, square = square * square % m)
    if (n & 1) result = result * square % m;
  return (uint64_t)(result % m);
}

static void ntt(const struct list *in) {
  const uint64_t p = 998244353, root = power_modulo(3, (p - 1) / 64, p);
  for (uint64_t k = 0; k < 64; k++) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 64; i++)
      sum = (sum + (uint64_t)in->i[i] * 31 % p * power_modulo(root, i * k, p)) % p;
    put_unsigned(sum);
  }
}

struct complex {
  double re, im;
};

/* The transform of v's `count` elements, `stride` apart, into out. */
static void transform(const struct complex *v, int count, int stride, int stage,
                      struct complex *out) {
  static const double cosine[] = {-1, 0, 0.70710678118654752440, 0.92387953251128675613,
                                  0.98078528040323044913};
  static const double sine[] = {0, -1, -0.70710678118654752440, -0.38268343236508977173,
                                -0.19509032201612826785};
  if (count == 1) {
    *out = *v;
    return;
  }
  int middle = count / 2;
  transform(v, middle, 2 * stride, stage - 1, out);
  transform(v + stride, middle, 2 * stride, stage - 1, out + middle);
  struct complex w = {1, 0};
  for (int j = 0; j < middle; j++) {
    struct complex x = out[j], y = out[j + middle];
    struct complex t = {y.re * w.re - y.im * w.im, y.re * w.im + y.im * w.re};
    out[j] = (struct complex){x.re + t.re, x.im + t.im};
    out[j + middle] = (struct complex){x.re - t.re, x.im - t.im};
    w = (struct complex){w.re * cosine[stage] - w.im * sine[stage],
                         w.re * sine[stage] + w.im * cosine[stage]};
  }
}

static void fft_double(const struct list *in) {
  struct complex v[32], out[32];
  for (int k = 0; k < 32; k++) v[k] = (struct complex){in->f[k], in->f[k] * in->f[k] / 8};
  transform(v, 32, 1, 4, out);
  for (int k = 0; k < 32; k++) {
    put_float(out[k].re);
    put_float(out[k].im);
  }
}

static void mandelbrot(const struct list *in) {
  (void)in;
  for (int k = 0; k < 256; k++) {
    double x = k % 16 * 0.1875 - 2, y = k / 16 * 0.15625 - 1.25, a = 0, b = 0;
    int n = 0;
    for (; n < 100 && a * a + b * b < 4; n++) {
      double next = a * a - b * b + x;
      b = 2 * a * b + y;
      a = next;
    }
    put(n);
  }
}

static void nbody(const struct list *in) {
  double p[16][3];
  for (int k = 0; k < 48; k++) p[k / 3][k % 3] = (double)((int)in->f[k] * 37 % 101);
  for (int i = 0; i < 16; i++) {
    double v[3] = {0};
    for (int j = 0; j < 16; j++) {
      double d[3], r2 = 0.5;
      for (int k = 0; k < 3; k++) {
        d[k] = p[j][k] - p[i][k];
        r2 += d[k] * d[k];
      }
      double f = 1 / (r2 * sqrt(r2));
      for (int k = 0; k < 3; k++) v[k] += d[k] * f;
    }
    for (int k = 0; k < 3; k++) put_float(p[i][k] + v[k] * 0.01);
  }
}

static void string_search(const struct list *in) {
  static const char *const words[] = {"abc", "cabcab", "bca"};
  char text[MAX_ELEMENTS + 1] = "";
  for (int k = 0; k < in->count; k++) text[k] = (char)('a' + in->i[k] % 3);
  for (int k = 0; k < 128; k++) {
    int found = 0;
    for (int j = 0; j < 3; j++) found |= !strncmp(text + k, words[j], strlen(words[j])) << j;
    put(found);
  }
}

static void crc32(const struct list *in) {
  for (int words = 1; words <= 20; words++) {
    uint32_t crc = ~(uint32_t)0;
    for (int bit = 0; bit < 32 * words; bit++) {
      uint32_t differs = (crc ^ (uint32_t)(in->i[bit / 8] >> bit % 8)) & 1;
      crc = crc >> 1 ^ (differs ? 0xedb88320u : 0);
    }
    put_unsigned(~crc);
  }
}

static void transpose_padded(const struct list *in) {
  for (int k = 0; k < 256; k++) put(in->i[16 * (k % 16) + k / 16]);
}

static void compact(const struct list *in) {
  int kept = 0;
  for (int k = 0; k < in->count; k++)
    if (in->i[k] * 7 % 31 % 3 == 0) {
      put(in->i[k] * 7 % 31);
      kept++;
    }
  for (int k = kept; k < 99; k++) put(0);
  put(kept);
}

static void radix_sort(const struct list *in) {
  int64_t v[32];
  for (int k = 0; k < 32; k++) v[k] = in->i[k] * 40503 & 0xffff;
  put_sorted(v, 32);
}

static void game_of_life(const struct list *in) {
  uint64_t alive = 0x0000381810040e00;
  for (int64_t step = 0; step < in->i[0]; step++) {
    uint64_t next = 0;
    for (int cell = 0; cell < 64; cell++) {
      int neighbours = 0;
      for (int y = 7; y <= 9; y++)
        for (int x = 7; x <= 9; x++)
          if (x != 8 || y != 8)
            neighbours += alive >> ((cell / 8 + y) % 8 * 8 + (cell + x) % 8) & 1;
      if (neighbours == 3 || (neighbours == 2 && alive >> cell & 1)) next |= (uint64_t)1 << cell;
    }
    alive = next;
  }
  for (int cell = 0; cell < 64; cell++) put((int64_t)(alive >> cell & 1));
}

/* The edits between the first m characters of x[1...] and the first n of y[0...]. */
static void levenshtein(const struct list *in) {
  for (int n = 1; n <= 24; n++) {
    int table[13][25];
    for (int i = 0; i <= 12; i++)
      for (int j = 0; j <= n; j++) {
        if (!i || !j) {
          table[i][j] = i + j;
          continue;
        }
        int best = table[i - 1][j - 1] + (in->i[i] * 5 % 7 != in->i[j - 1] % 4);
        if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
        if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
        table[i][j] = best;
      }
    put(table[12][n]);
  }
}

static int is_composite(int64_t x) {
  for (int64_t q = 2; q < x; q++)
    if (x % q == 0) return 1;
  return x < 2;
}

static void sieve(const struct list *in) {
  int primes = 0;
  for (int64_t k = 0; k < in->i[0]; k++) primes += !is_composite(k);
  put(primes);
  next_list();
  for (int64_t k = 0; k < in->i[0]; k++) put(is_composite(k));
}

static void powmod(const struct list *in) {
  for (int k = 0; k < in->count; k++) {
    uint64_t x = (uint64_t)in->i[k];
    put_unsigned(power_modulo(x * 0x9e3779b97f4a7c15, x * 12345 + 3, 0xffffffffffffffc5));
  }
}

static void heap_sort(const struct list *in) {
  for (int first = 0; first < 64; first += 16) {
    int64_t v[16];
    for (int k = 0; k < 16; k++) v[k] = (int32_t)((uint32_t)in->i[first + k] * 1103515245u) >> 16;
    put_sorted(v, 16);
  }
}

static void quick_sort(const struct list *in) {
  for (int first = 0; first < 64; first += 16) {
    int64_t v[16];
    for (int k = 0; k < 16; k++) v[k] = in->i[first + k] * 69069 % 1000;
    put_sorted(v, 16);
  }
}

/* Every choice of things is tried. */
static void knapsack(const struct list *in) {
  int64_t best[32] = {0};
  for (int choice = 0; choice < 1 << in->count; choice++) {
    int64_t weight = 0, worth = 0;
    for (int k = 0; k < in->count; k++)
      if (choice >> k & 1) {
        weight += in->i[k] % 7 + 1;
        worth += in->i[k] * in->i[k] % 19 + 1;
      }
    for (int64_t room = weight; room < 32; room++)
      if (worth > best[room]) best[room] = worth;
  }
  for (int room = 0; room < 32; room++) put(best[room]);
}

static void components(const struct list *in) {
  int64_t least[48];
  for (int v = 0; v < 48; v++) least[v] = v;
  for (int round = 0; round < 48; round++)
    for (int k = 0; k < in->count; k++) {
      int64_t *u = &least[in->i[k]], *v = &least[(in->i[k] * 6 + 9) % 48];
      *u = *v = *u < *v ? *u : *v;
    }
  for (int v = 0; v < 48; v++) put(least[v]);
}

/* From each vertex by itself: seven rounds over all edges. */
static void floyd_warshall(const struct list *in) {
  for (int from = 0; from < 8; from++) {
    int64_t distance[8];
    for (int v = 0; v < 8; v++) distance[v] = v == from ? 0 : INT32_MAX;
    for (int round = 0; round < 7; round++)
      for (int edge = 0; edge < 64; edge++) {
        int64_t through = distance[edge / 8] + in->i[edge] * 29 % 97 + 1;
        if (through < distance[edge % 8]) distance[edge % 8] = through;
      }
    for (int v = 0; v < 8; v++) put(distance[v]);
  }
}

static void base64(const struct list *in) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static const int factors[] = {77, 101, 211};
  for (int k = 0; k + 2 < in->count; k += 3) {
    int bits = 0;
    for (int j = 0; j < 3; j++) bits = bits << 8 | (in->i[k + j] * factors[j] & 255);
    for (int shift = 18; shift >= 0; shift -= 6) put(digits[bits >> shift & 63]);
  }
}

/* In digits of 16 bits, column by column. */
static void bigint_multiply(const struct list *in) {
  for (uint64_t t = 0; t < 8; t++) {
    uint64_t x[16], y[16], carry = 0, word = 0;
    for (int k = 0; k < 16; k++) {
      uint64_t a = (uint64_t)in->i[k / 4], b = (uint64_t)in->i[k / 4 + 4];
      x[k] = ((a + 1) * 0xdeadbeefcafebabe + t) >> 16 * (k % 4) & 0xffff;
      y[k] = (~(b * 0x0123456789abcdef) - t) >> 16 * (k % 4) & 0xffff;
    }
    for (int column = 0; column < 32; column++) {
      for (int k = 0; k < 16; k++)
        if (column - k >= 0 && column - k < 16) carry += x[k] * y[column - k];
      word |= (carry & 0xffff) << 16 * (column % 4);
      carry >>= 16;
      if (column % 4 == 3) {
        put_unsigned(word);
        word = 0;
      }
    }
  }
}

static void isqrt(const struct list *in) {
  for (int k = 0; k < in->count; k++) {
    uint64_t n = (uint64_t)in->i[k] * (uint64_t)in->i[k] * 0x2545f4914f6cdd1d;
    uint64_t low = 0, high = (uint64_t)1 << 32;
    while (high - low > 1) {
      uint64_t middle = (low + high) / 2;
      if (middle * middle <= n) low = middle;
      else high = middle;
    }
    put_unsigned(low);
  }
}

static void spmv(const struct list *in) {
  for (int t = 0; t < 32; t++) {
    double sum = 0;
    for (int k = 0; k < t % 5 + 1; k++) sum += 1.0 / (t + k + 1) * in->f[(t * 7 + k * k * 3) % 32];
    put_float(sum);
  }
}

static void warp_scan(const struct list *in) {
  for (int k = 0; k < 128; k++) {
    int64_t before = 0, all = 0;
    for (int j = k / 32 * 32; j < k / 32 * 32 + 32; j++) {
      int64_t v = in->i[j] * in->i[j] % 17;
      all += v;
      before += j <= k ? v : 0;
    }
    put(before + all * 1000);
  }
}

/* The Walsh-Hadamard transform by its definition; its sums are exact. */
static void warp_butterfly(const struct list *in) {
  for (int k = 0; k < 64; k++) {
    double sum = 0;
    for (int j = 0; j < 32; j++) {
      int sign = 1;
      for (int common = j & k; common; common &= common - 1) sign = -sign;
      sum += sign * (in->f[k / 32 * 32 + j] * 0.75 + 1);
    }
    put_float(sum);
  }
}

static uint32_t xorshift(uint32_t x) {
  x ^= x << 13;
  x ^= x >> 17;
  return x ^ x << 5;
}

static void monte_carlo(const struct list *in) {
  (void)in;
  int64_t inside = 0;
  for (uint32_t thread = 0; thread < 128; thread++) {
    uint32_t x = 12345 + thread * 747796405;
    for (int k = 0; k < 50; k++) {
      uint64_t a = (x = xorshift(x)) >> 8, b = (x = xorshift(x)) >> 8;
      inside += a * a + b * b < (uint64_t)1 << 48;
    }
  }
  put(inside);
}

static void run_length(const struct list *in) {
  for (int t = 0; t < 8; t++) {
    int64_t code = 0, length = 0;
    for (int k = 0; k < 16; k++) {
      int64_t v = in->i[16 * t + k] / 3 % 4;
      length++;
      if (k < 15 && in->i[16 * t + k + 1] / 3 % 4 == v) continue;
      code = v == 0   ? code * 5 + length
             : v == 1 ? code ^ length << 7
             : v == 2 ? code + 1000 * length
                      : length - code;
      length = 0;
    }
    put(code);
  }
}

static void state_machine(const struct list *in) {
  for (int t = 0; t < 32; t++) {
    uint32_t value = 0;
    int state = 0, i = 0, limit = 3 * (t % 4) + 40 < 96 ? 3 * (t % 4) + 40 : 96;
    for (; i < limit && state != 99; i++) {
      uint32_t c = (uint32_t)(in->i[(i * 7 + t) % 96] % 5);
      switch (state) {
        case 0:
          state = c < 2;
          value += c < 2 ? 0 : c;
          break;
        case 1:
          value = value * 3 + c;
          state = c == 4 ? 7 : c == 0 ? 2 : 1;
          break;
        case 2:
          value -= c;
          state = c & 1 ? 0 : 2;
          break;
        default: value ^= 85; state = c == 3 ? 99 : 0;
      }
    }
    put((int32_t)(state == 99 && i < limit ? value : value * 8 + (uint32_t)state % 8));
  }
}

static void struct_passing(const struct list *in) {
  for (int t = 0; t < in->count; t++) {
    float x = (float)in->f[t], low[3] = {x, 1, 2}, high[3] = {x + 1, 3, 5}, v = (float)(t + 6);
    for (int k = 0; k < 3; k++) v *= (high[k] + 0.75f * (float)(k + 1)) - (low[k] - 0.75f);
    put_float((double)v);
  }
}

static void function_table(const struct list *in) {
  for (int t = 0; t < in->count; t++) {
    uint32_t v = (uint32_t)in->i[t] + 5;
    for (uint32_t k = 0; k < 4; k++) {
      uint32_t which = ((uint32_t)t + k) % 3;
      v = which == 0 ? v + (k + 2) : which == 1 ? v * (k + 2) : v << 3 ^ (k + 2);
    }
    put((int32_t)v);
  }
}

static void grid_strides(const struct list *in) {
  for (int k = 0; k < in->count; k++) put(in->i[k] * in->i[k] / 3 - in->i[k] % 7);
}

static void dot_half(const struct list *in) {
  for (int t = 0; t < 8; t++) {
    double sum = 0;
    for (int k = 0; k < 8; k++)
      sum = half(sum + half(half(in->f[8 * t + k] * 0.125) * half(in->f[k] + 1)));
    put_float(sum);
  }
}

static void polynomial(const struct list *in) {
  static const float coefficients[] = {1, -0.5f, 0.25f, 3, -2, 0.125f};
  for (int t = 0; t < in->count; t++) {
    float x = (float)in->f[t] * 0.03125f - 1, y = 0;
    for (int k = 0; k < 6; k++) y = fmaf(y, x, coefficients[k]);
    put_float((double)((fabsf(y) + floorf(x * 4)) + sqrtf(x * x + 1)));
  }
}

int main(int count, char **words) {
  static const struct reference table[] = {{"base64", base64, 1},
                                           {"bfs_levels", bfs_levels, 1},
                                           {"bigint_multiply", bigint_multiply, 1},
                                           {"bitonic_sort", bitonic_sort, 1},
                                           {"compact", compact, 1},
                                           {"components", components, 1},
                                           {"convolution", convolution, 1},
                                           {"crc32", crc32, 1},
                                           {"dot_half", dot_half, 1},
                                           {"fft_double", fft_double, 1},
                                           {"floyd_warshall", floyd_warshall, 1},
                                           {"function_table", function_table, 1},
                                           {"game_of_life", game_of_life, 1},
                                           {"grid_strides", grid_strides, 1},
                                           {"heap_sort", heap_sort, 1},
                                           {"histogram_shared", histogram_shared, 1},
                                           {"isqrt", isqrt, 1},
                                           {"knapsack", knapsack, 1},
                                           {"levenshtein", levenshtein, 1},
                                           {"lu_decompose", lu_decompose, 1},
                                           {"mandelbrot", mandelbrot, 0},
                                           {"matmul_tiled", matmul_tiled, 2},
                                           {"monte_carlo", monte_carlo, 0},
                                           {"nbody", nbody, 1},
                                           {"ntt", ntt, 1},
                                           {"polynomial", polynomial, 1},
                                           {"powmod", powmod, 1},
                                           {"quick_sort", quick_sort, 1},
                                           {"radix_sort", radix_sort, 1},
                                           {"reduce_tree", reduce_tree, 1},
                                           {"run_length", run_length, 1},
                                           {"scan_blelloch", scan_blelloch, 1},
                                           {"sha256_block", sha256_block, 1},
                                           {"sieve", sieve, 1},
                                           {"spmv", spmv, 1},
                                           {"state_machine", state_machine, 1},
                                           {"stencil_jacobi", stencil_jacobi, 1},
                                           {"string_search", string_search, 1},
                                           {"struct_passing", struct_passing, 1},
                                           {"transpose_padded", transpose_padded, 1},
                                           {"warp_butterfly", warp_butterfly, 1},
                                           {"warp_scan", warp_scan, 1}};
  return reference_main(count, words, table, sizeof table / sizeof *table);
}
