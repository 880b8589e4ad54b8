// The tiles of 16-bit activations (see tiles in vector.go) for NEON and WebAssembly, compiled without a library.
// ../assembly/kernel_test.go has the command. No function may use memory of its own: a module works in that of Go.
#include <stdint.h>

typedef struct {
	int64_t in, out, res, rows, nrows, run, weights, bias, scale, pixel, nx, ny, left, in_x, in_y, out_x, out_y, res_x,
		res_y, out_pixel, res_pixel, shift, mode, factor, down;
} tiles;

enum { to_bytes, plus_bytes, to_wide, plus_wide_bytes, to_raw };

#define AT(type, address) ((type *)(uintptr_t)(address))
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")

#ifdef __wasm__
#include <wasm_simd128.h>
typedef v128_t sums, halves;
enum { vectors = 2 };  // of sums that a pass holds for a pixel: V8 has 16 registers
#define SUMS(p) wasm_v128_load(p)
#define HALVES(p) wasm_v128_load(p)
#define STORE(p, x) wasm_v128_store(p, x)
#define SPLAT(x) wasm_i16x8_splat(x)
#define SHIFT(a, s) wasm_i32x4_shr(a, s)
#define PACK(a, b) wasm_i16x8_narrow_i32x4(a, b)
#define SCALED(a, m) wasm_i16x8_q15mulr_sat(a, m)
#define PLUS(a, b) wasm_i16x8_add_sat(a, b)
#define TIMES128(a) wasm_i16x8_shl(a, 7)
#define CLIP(a) wasm_i16x8_min(wasm_i16x8_max(a, SPLAT(0)), SPLAT(255))
INLINE void step(int pixels, sums acc[][vectors], const char *x, int64_t pixel, const char *w) {
	v128_t weight[vectors];
	UNROLL for (int v = 0; v < vectors; v++) weight[v] = wasm_v128_load(w + 16 * v);
	UNROLL for (int p = 0; p < pixels; p++) {
		v128_t pair = wasm_v128_load32_splat(x + p * (int32_t)pixel);
		UNROLL for (int v = 0; v < vectors; v++)
			acc[p][v] = wasm_i32x4_add(acc[p][v], wasm_i32x4_dot_i16x8(pair, weight[v]));
	}
}
#else
#include <arm_neon.h>
typedef int32x4_t sums;
typedef int16x8_t halves;
enum { vectors = 4 };
#define SUMS(p) vld1q_s32((const int32_t *)(p))
#define HALVES(p) vld1q_s16((const int16_t *)(p))
#define STORE(p, x) vst1q_u8((uint8_t *)(p), (uint8x16_t)(x))
#define SPLAT(x) vdupq_n_s16(x)
#define SHIFT(a, s) vshlq_s32(a, vdupq_n_s32(-(s)))
#define PACK(a, b) vqmovn_high_s32(vqmovn_s32(a), b)
#define SCALED(a, m) vqrdmulhq_s16(a, m)
#define PLUS(a, b) vqaddq_s16(a, b)
#define TIMES128(a) vshlq_n_s16(a, 7)
#define CLIP(a) vminq_s16(vmaxq_s16(a, SPLAT(0)), SPLAT(255))
// Weights of an output stand side by side; even and odd ones meet the two numbers of a pixel.
INLINE void step(int pixels, sums acc[][vectors], const char *x, int64_t pixel, const char *w) {
	int16x8x2_t weight[vectors / 2];
	UNROLL for (int v = 0; v < vectors / 2; v++) weight[v] = vld2q_s16((const int16_t *)(w + 32 * v));
	UNROLL for (int p = 0; p < pixels; p++) {
		int32_t both;
		__builtin_memcpy(&both, x + p * pixel, 4);
		int16x4_t pair = vreinterpret_s16_s32(vdup_n_s32(both));
		UNROLL for (int v = 0; v < vectors; v++) {
			int16x8x2_t u = weight[v / 2];
			acc[p][v] = v % 2 ? vmlal_high_lane_s16(vmlal_high_lane_s16(acc[p][v], u.val[0], pair, 0), u.val[1], pair, 1)
			                  : vmlal_lane_s16(vmlal_lane_s16(acc[p][v], vget_low_s16(u.val[0]), pair, 0), vget_low_s16(u.val[1]), pair, 1);
		}
	}
}
#endif

// pass computes some outputs of the pixels of a tile, from output first on.
INLINE void pass(const tiles *t, int pixels, int first, const char *in, char *out, const char *res) {
	sums acc[4][vectors];
	UNROLL for (int v = 0; v < vectors; v++) {
		acc[0][v] = SUMS(AT(char, t->bias) + 4 * first + 16 * v);
		UNROLL for (int p = 1; p < pixels; p++) acc[p][v] = acc[0][v];
	}
	const char *w = AT(char, t->weights) + 4 * first;
	for (int64_t r = 0; r < t->nrows; r++) {
		const char *x = in + AT(int64_t, t->rows)[r];
		for (int64_t s = t->run; s > 0; s--, x += 4, w += 64) step(pixels, acc, x, t->pixel, w);
	}
	UNROLL for (int p = 0; p < pixels; p++) UNROLL for (int v = 0; v < vectors; v += 2) {
		int64_t at = first + 4 * v;
		if (t->mode == to_raw) {
			char *to = out + p * t->out_pixel + 4 * at;
			STORE(to, acc[p][v]);
			STORE(to + 16, acc[p][v + 1]);
			continue;
		}
		halves a = SCALED(PACK(SHIFT(acc[p][v], t->shift), SHIFT(acc[p][v + 1], t->shift)),
			HALVES(AT(char, t->scale) + 2 * at));
		if (t->mode == plus_bytes || t->mode == plus_wide_bytes) {
			halves r = HALVES(res + p * t->res_pixel + 2 * at);
			if (t->mode == plus_bytes) r = SCALED(TIMES128(r), SPLAT(t->factor));
			a = SCALED(PLUS(a, r), SPLAT(t->down));
		}
		STORE(out + p * t->out_pixel + 2 * at, t->mode == to_wide ? a : CLIP(a));
	}
}

INLINE void all(const tiles *t, int pixels) {
	for (int64_t y = 0; y < t->ny; y++)
		for (int64_t x = 0; x < t->nx; x++) {
			const char *in = AT(char, t->in + y * t->in_y + x * t->in_x);
			char *out = AT(char, t->out + y * t->out_y + x * t->out_x);
			const char *res = AT(char, t->res + y * t->res_y + x * t->res_x);
			UNROLL for (int first = 0; first < 16; first += 4 * vectors) pass(t, pixels, first, in, out, res);
		}
}

void tiles4(const tiles *t) { all(t, 4); }
void tiles1(const tiles *t) { all(t, 1); }
