//go:build cgo && !noxla && linux

#include <immintrin.h>
#include "kernels.h"
#define FORM form_avx512
#define FORM_WINOGRAD form_avx512_winograd
#define NAME "avx512"
#define TARGET __attribute__((target("avx512f")))
#define PIXELS 16
#define LANES 16
#define VECTOR __m512
#define ZERO _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ALL(s) _mm512_set1_ps(s)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUB(a, b) _mm512_sub_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#include "kernels.inc"
#include "winograd.inc"
