//go:build cgo && !noxla && (linux || darwin)

#include <arm_neon.h>
#include "kernels.h"
#define FORM form_neon
#define FORM_WINOGRAD form_neon_winograd
#define NAME "neon"
#define TARGET
#define PIXELS 6
#define LANES 4
#define VECTOR float32x4_t
#define ZERO vdupq_n_f32(0)
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
#define ALL(s) vdupq_n_f32(s)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define ADD(a, b) vaddq_f32(a, b)
#define SUB(a, b) vsubq_f32(a, b)
#define MUL(a, b) vmulq_f32(a, b)
#include "kernels.inc"
#include "winograd.inc"
