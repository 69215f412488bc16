// What the kernels of gen_cuda.py need of CUDA, without the toolkit's headers: clang reads 60,000
// lines less.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define DEV static __device__ __forceinline__
#define FULL 0xffffffffu
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Float16 half;

struct __attribute__((aligned(8))) uint2 {
  u32 x, y;
};
struct __attribute__((aligned(16))) uint4 {
  u32 x, y, z, w;
};
struct __attribute__((aligned(16))) float4 {
  float x, y, z, w;
};
struct __attribute__((aligned(4))) uchar4 {
  u8 x, y, z, w;
};

#define threadIdx_x ((u32)__nvvm_read_ptx_sreg_tid_x())
#define threadIdx_y ((u32)__nvvm_read_ptx_sreg_tid_y())
#define blockIdx_x ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define blockDim_x ((u32)__nvvm_read_ptx_sreg_ntid_x())

DEV void __syncwarp(u32 mask = FULL) { __nvvm_bar_warp_sync(mask); }
DEV s32 __syncthreads_count(s32 x) { return __nvvm_bar0_popc(x); }
DEV s32 __syncthreads_and(s32 x) { return __nvvm_bar0_and(x); }
DEV s32 __syncthreads_or(s32 x) { return __nvvm_bar0_or(x); }

#define SHUFFLE(name, how, clamp)                                                        \
  DEV u32 name(u32 mask, u32 v, u32 x, u32 width = 32) {                                 \
    return __nvvm_shfl_sync_##how##_i32(mask, v, x, (32 - width) << 8 | (clamp));        \
  }                                                                                      \
  DEV s32 name(u32 mask, s32 v, u32 x, u32 width = 32) {                                 \
    return (s32)name(mask, (u32)v, x, width);                                            \
  }                                                                                      \
  DEV float name(u32 mask, float v, u32 x, u32 width = 32) {                             \
    return __nvvm_shfl_sync_##how##_f32(mask, v, x, (32 - width) << 8 | (clamp));        \
  }                                                                                      \
  DEV u64 name(u32 mask, u64 v, u32 x, u32 width = 32) {                                 \
    u32 low = name(mask, (u32)v, x, width), high = name(mask, (u32)(v >> 32), x, width); \
    return (u64)high << 32 | low;                                                        \
  }                                                                                      \
  DEV double name(u32 mask, double v, u32 x, u32 width = 32) {                           \
    u32 parts[2];                                                                        \
    __builtin_memcpy(parts, &v, 8);                                                      \
    parts[0] = name(mask, parts[0], x, width);                                           \
    parts[1] = name(mask, parts[1], x, width);                                           \
    __builtin_memcpy(&v, parts, 8);                                                      \
    return v;                                                                            \
  }
SHUFFLE(__shfl_sync, idx, 31)
SHUFFLE(__shfl_up_sync, up, 0)
SHUFFLE(__shfl_down_sync, down, 31)
SHUFFLE(__shfl_xor_sync, bfly, 31)

DEV u32 __ballot_sync(u32 mask, s32 p) { return __nvvm_vote_ballot_sync(mask, p); }
DEV s32 __all_sync(u32 mask, s32 p) { return __nvvm_vote_all_sync(mask, p); }
DEV s32 __any_sync(u32 mask, s32 p) { return __nvvm_vote_any_sync(mask, p); }
DEV s32 __uni_sync(u32 mask, s32 p) { return __nvvm_vote_uni_sync(mask, p); }
DEV u32 __match_any_sync(u32 mask, u32 v) { return __nvvm_match_any_sync_i32(mask, v); }
DEV u32 __match_any_sync(u32 mask, u64 v) { return __nvvm_match_any_sync_i64(mask, v); }
DEV u32 __match_all_sync(u32 mask, u32 v, s32 *p) { return __nvvm_match_all_sync_i32p(mask, v, p); }

DEV s32 __popc(u32 x) { return __builtin_popcount(x); }
DEV s32 __popcll(u64 x) { return __builtin_popcountll(x); }
DEV s32 __clz(u32 x) { return x ? __builtin_clz(x) : 32; }
DEV s32 __clzll(u64 x) { return __builtin_clzg(x, 64); }
DEV s32 __ffs(u32 x) { return __builtin_ffs((s32)x); }
DEV u32 __brev(u32 x) { return __builtin_bitreverse32(x); }
DEV u64 __brevll(u64 x) { return __builtin_bitreverse64(x); }
DEV u32 __byte_perm(u32 x, u32 y, u32 s) { return __nvvm_prmt(x, y, s); }
DEV u32 __funnelshift_l(u32 lo, u32 hi, u32 s) {
  return (u32)(((u64)hi << 32 | lo) << (s & 31) >> 32);
}
DEV u32 __funnelshift_r(u32 lo, u32 hi, u32 s) { return (u32)(((u64)hi << 32 | lo) >> (s & 31)); }
DEV u32 rotate(u32 x, u32 s) { return __builtin_rotateleft32(x, s); }
DEV u64 rotate64(u64 x, u32 s) { return __builtin_rotateright64(x, s); }
DEV u32 __umulhi(u32 a, u32 b) { return __nvvm_mulhi_ui(a, b); }
DEV s32 __mulhi(s32 a, s32 b) { return __nvvm_mulhi_i(a, b); }
DEV u64 __umul64hi(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }
DEV u32 __umul24(u32 a, u32 b) { return __nvvm_mul24_ui(a, b); }
DEV u32 __usad(u32 a, u32 b, u32 c) { return __nvvm_sad_ui(a, b, c); }
template <class T>
DEV T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
DEV T max(T a, T b) {
  return a < b ? b : a;
}

// Where signed arithmetic would overflow.
DEV s32 wrap_add(s32 a, s32 b) { return (s32)((u32)a + (u32)b); }
DEV s32 wrap_sub(s32 a, s32 b) { return (s32)((u32)a - (u32)b); }
DEV s32 wrap_mul(s32 a, s32 b) { return (s32)((u32)a * (u32)b); }
DEV s64 wrap_add(s64 a, s64 b) { return (s64)((u64)a + (u64)b); }
DEV s64 wrap_sub(s64 a, s64 b) { return (s64)((u64)a - (u64)b); }
DEV s64 wrap_mul(s64 a, s64 b) { return (s64)((u64)a * (u64)b); }
DEV s32 to_int(double x) { return x > -1e9 && x < 1e9 ? (s32)x : -7; }
DEV u32 to_unsigned(float x) { return x > -1.0f && x < 4e9f ? (u32)x : 9u; }

// The bits of a number, one NaN for all; and a number that is no NaN.
DEV u32 bits_of(float x) {
  u32 b = __builtin_bit_cast(u32, x);
  return x == x ? b : 0x7fc00000u;
}
DEV u64 bits_of(double x) {
  u64 b = __builtin_bit_cast(u64, x);
  return x == x ? b : 0x7ff8000000000000ull;
}
DEV u16 bits_of(half x) {
  u16 b = __builtin_bit_cast(u16, x);
  return x == x ? b : (u16)0x7e00;
}
template <class T>
DEV T number(T x) {
  return x == x ? x : (T)3;
}

// In the three forms in which clang is given them.
#define ATOMIC(name, op, builtin)                                                     \
  template <class T>                                                                  \
  DEV T name(T *p, T v) {                                                             \
    return __atomic_fetch_##op(p, v, __ATOMIC_RELAXED);                               \
  }                                                                                   \
  template <class T>                                                                  \
  DEV T name##_block(T *p, T v) {                                                     \
    return __scoped_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP); \
  }
ATOMIC(atomicAdd, add, add)
ATOMIC(atomicSub, sub, sub)
ATOMIC(atomicAnd, and, and)
ATOMIC(atomicOr, or, or)
ATOMIC(atomicXor, xor, xor)
ATOMIC(atomicMin, min, min)
ATOMIC(atomicMax, max, max)
DEV s32 atomicAdd_builtin(u32 *p, u32 v) { return __nvvm_atom_add_gen_i((s32 *)p, (s32)v); }
DEV u32 atomicInc(u32 *p, u32 v) { return __nvvm_atom_inc_gen_ui(p, v); }
DEV u32 atomicDec(u32 *p, u32 v) { return __nvvm_atom_dec_gen_ui(p, v); }
DEV u32 atomicExch(u32 *p, u32 v) { return (u32)__nvvm_atom_xchg_gen_i((s32 *)p, (s32)v); }
DEV u32 atomicCAS(u32 *p, u32 c, u32 v) {
  return (u32)__nvvm_atom_cas_gen_i((s32 *)p, (s32)c, (s32)v);
}
DEV u64 atomicCAS(u64 *p, u64 c, u64 v) {
  __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return c;
}
