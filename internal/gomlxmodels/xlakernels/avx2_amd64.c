//go:build cgo && !noxla && linux

#include <immintrin.h>
#include "kernels.h"
#define FORM form_avx2
#define FORM_WINOGRAD form_avx2_winograd
#define NAME "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define PIXELS 6
#define LANES 8
#define VECTOR __m256
#define ZERO _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define ALL(s) _mm256_set1_ps(s)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SUB(a, b) _mm256_sub_ps(a, b)
#define MUL(a, b) _mm256_mul_ps(a, b)
#include "kernels.inc"
#include "winograd.inc"
