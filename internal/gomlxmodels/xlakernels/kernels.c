//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

#include "kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)
extern const form form_avx512, form_avx2, form_avx512_winograd, form_avx2_winograd, form_avx512_bf16;
int kernel_forms(const form *list[max_forms]) {
	int count = 0;
	__builtin_cpu_init();
	const int wide = __builtin_cpu_supports("avx512f"), narrow = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (wide) list[count++] = &form_avx512;
	if (narrow) list[count++] = &form_avx2;
	if (wide) list[count++] = &form_avx512_winograd;
	if (narrow) list[count++] = &form_avx2_winograd;
	if (wide && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16")) list[count++] = &form_avx512_bf16;
	return count;
}
#elif defined(__aarch64__)
extern const form form_neon, form_neon_winograd;
int kernel_forms(const form *list[max_forms]) {
	list[0] = &form_neon, list[1] = &form_neon_winograd;
	return 2;
}
#endif

static int most(int a, int b) { return a > b ? a : b; }

// margins are the zeros before and after a side of so many values, for the taps of an output of `out`.
static void margins(const geometry *g, int side, int out, int kernel, int start, int *before, int *after) {
	const int last = (out - 1) * g->stride + kernel - 1 - start; // greatest place that a tap meets, in dilated values
	*before = most(0, (start + g->dilation - 1) / g->dilation);
	*after = (last >= 0 ? last / g->dilation : -1) - (side - 1);
}

layout layout_of(const geometry *g) {
	layout l;
	margins(g, g->height, g->out_height, g->kernel_height, g->top, &l.above, &l.below);
	margins(g, g->width, g->out_width, g->kernel_width, g->left, &l.before, &l.after);
	l.rows = g->height + l.above + l.below;
	l.columns = g->width + l.before + l.after;
	l.group = g->channels <= 5 ? g->channels : 16;
	return l;
}

size_t packed_size(const geometry *g) {
	const size_t taps = (size_t)g->kernel_height * g->kernel_width;
	return (taps > 16 ? taps : 16) * g->channels * ((g->features + 15) / 16 * 16); // 16 values of a kernel of 3×3 in Winograd's form
}

size_t scratch_size(const geometry *g) {
	const layout l = layout_of(g);
	size_t size = (size_t)l.rows * l.columns * l.group * ((g->channels + l.group - 1) / l.group);
	const size_t pairs = (size_t)l.rows * l.columns * 8 * ((g->channels + 15) / 16);
	size = (size > pairs ? size : pairs) + (size_t)(l.columns + 4) * 16; // with a row in float32
	if (g->kind == by_kernel) size += (size_t)g->out_height * (g->out_width + 1) * ((g->features + 15) / 16 * 16);
	const size_t c = g->channels, f = g->features, winograd = 16 * (winograd_strip * (c + f) + c + 32 + c * f) + g->width * c;
	return (size > winograd ? size : winograd) + 64;
}

size_t sum_size(const geometry *g) {
	return (size_t)g->kernel_height * g->kernel_width * g->channels * ((g->features + 15) / 16 * 16);
}

// values fills with numbers in [−0.5, 0.5], the same on every machine.
static void values(float *v, size_t n, uint32_t seed) {
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		v[i] = (float)(seed >> 8) / 16777216 - 0.5f;
	}
}

int met(const geometry *g, int side, int p, int a, int start) {
	const int u = p * g->stride + a - start;
	return u < 0 || u % g->dilation != 0 || u / g->dilation >= side ? -1 : u / g->dilation;
}

// direct computes one kind in float64, and for every output the sum of the absolute products.
static void direct(const geometry *g, const float *one, const float *other, double *sum, double *size) {
	for (int n = 0; n < g->n; n++)
		for (int p = 0; p < g->out_height; p++)
			for (int q = 0; q < g->out_width; q++)
				for (int a = 0; a < g->kernel_height; a++)
					for (int b = 0; b < g->kernel_width; b++) {
						const int i = met(g, g->height, p, a, g->top), j = met(g, g->width, q, b, g->left);
						if (i < 0 || j < 0) continue;
						for (int c = 0; c < g->channels; c++)
							for (int f = 0; f < g->features; f++) {
								const size_t x = (((size_t)n * g->height + i) * g->width + j) * g->channels + c;
								const size_t y = (((size_t)n * g->out_height + p) * g->out_width + q) * g->features + f;
								const size_t tap = (size_t)a * g->kernel_width + b;
								const size_t k = g->kind == by_input ? (tap * g->features + f) * g->channels + c : (tap * g->channels + c) * g->features + f;
								const double product = (double)one[x] * (double)other[g->kind == by_kernel ? y : k];
								sum[g->kind == by_kernel ? k : y] += product;
								size[g->kind == by_kernel ? k : y] += fabs(product);
							}
					}
}

double kernel_check(const form *f, geometry g) {
	const size_t x = (size_t)g.n * g.height * g.width * g.channels, y = (size_t)g.n * g.out_height * g.out_width * g.features;
	const size_t k = (size_t)g.kernel_height * g.kernel_width * g.channels * g.features, outputs = g.kind == by_kernel ? k : y;
	float *one = malloc(x * sizeof(float)), *other = malloc((g.kind == by_kernel ? y : k) * sizeof(float));
	float *got = malloc((g.kind == by_kernel ? sum_size(&g) : y) * sizeof(float)), *packed = malloc(packed_size(&g) * sizeof(float));
	float *scratch = malloc(scratch_size(&g) * sizeof(float));
	double *sum = calloc(outputs, sizeof(double)), *size = calloc(outputs, sizeof(double)), greatest = NAN;
	if (one != NULL && other != NULL && got != NULL && packed != NULL && scratch != NULL && sum != NULL && size != NULL) {
		values(one, x, 1);
		values(other, g.kind == by_kernel ? y : k, 2);
		if (f->emulate != NULL)
			f->emulate(&g, one, other, sum);
		else
			direct(&g, one, other, sum, size);
		if (g.kind == by_kernel) {
			f->correlate(&g, one, other, got, 0, g.n, scratch);
		} else {
			f->pack(&g, other, packed);
			f->convolve(&g, one, packed, got, 0, g.n, scratch);
		}
		greatest = 0;
		const size_t wide = (g.features + 15) / 16 * 16;
		for (size_t i = 0; i < outputs; i++) {
			const double found = got[g.kind == by_kernel ? i / g.features * wide + i % g.features : i];
			const double unit = f->emulate != NULL ? 0 : size[i] * 0x1p-24 + 0x1p-126;
			const double difference = found == sum[i] ? 0 : fabs(found - sum[i]) / unit;
			if (!(difference <= greatest)) greatest = isnan(difference) ? INFINITY : difference;
		}
	}
	free(one), free(other), free(got), free(packed), free(scratch), free(sum), free(size);
	return greatest;
}
