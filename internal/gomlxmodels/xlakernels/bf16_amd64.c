//go:build cgo && !noxla && linux

#include <immintrin.h>
#include <stdint.h>
#include "kernels.h"
#define FORM form_avx512_bf16
#define NAME "avx512-bf16"
#define TARGET __attribute__((target("avx512f,avx512bw,avx512bf16,fma")))
#define PIXELS 16
#define LANES 16
#define PAIRS
#define VECTOR __m512
#define ZERO _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ALL(s) _mm512_set1_ps(s)
#define FMA(a, b, c) _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#include "kernels.inc"
