// Convolutions of float32 images, height × width × channel, in one thread.
#pragma once
#include <stddef.h>

enum { forward = 0, by_input = 1, by_kernel = 2 }; // by_input has the kernel's channels in the other order
enum { greatest_side = 7 };                        // of a kernel

// A convolution of n images [height, width, channels] with kernels of kernel_height × kernel_width, to [out_height, out_width,
// features]. Row i of the kernel meets row p·stride + i − top of the images, whose rows are dilation apart. Of by_kernel,
// channels and features are those of the two images, and top, left as in the forward convolution.
typedef struct {
	int kind, stride, dilation, top, left;
	int n, height, width, channels;
	int kernel_height, kernel_width;
	int out_height, out_width, features;
} geometry;

typedef struct {
	const char *name;
	int pixels; // of a tile
	// The kernel in the order of convolve: packed_size floats.
	void (*pack)(const geometry *g, const float *kernel, float *packed);
	// Images first to last of a forward or by_input convolution; scratch has scratch_size floats.
	void (*convolve)(const geometry *g, const float *x, const float *packed, float *y, int first, int last, float *scratch);
	// The sum over images first to last of the gradient by the kernel, with features rounded up to a multiple of 16.
	void (*correlate)(const geometry *g, const float *x, const float *dy, float *sum, int first, int last, float *scratch);
	// Of a form that rounds the factors: what it gives, bit for bit, in plain C. NULL for float32.
	void (*emulate)(const geometry *g, const float *one, const float *other, double *result);
} form;

enum { max_forms = 5 };
enum { winograd_strip = 32 }; // tiles of a gradient by the kernel that are transformed together

// forms of this processor, the direct ones in float32 first, each kind by speed, and how many.
int kernel_forms(const form *list[max_forms]);

// How the images lie in scratch.
typedef struct {
	int above, below, before, after; // rows and columns of zeros; below and after may be negative: rows that nothing meets
	int rows, columns;               // with them
	int group;                       // channels that lie together: 16, or all where there are few
} layout;

layout layout_of(const geometry *g);
size_t packed_size(const geometry *g);
size_t scratch_size(const geometry *g);
size_t sum_size(const geometry *g);

// met says which row of x the row a of the kernel meets for the row p of y; −1 for none.
int met(const geometry *g, int side, int p, int a, int start);

// kernel_check compares a form with direct sums in float64 on two small images of these channels; it returns the greatest difference
// in units of the rounding of float32 times the sum of the absolute products. A form that rounds the factors must give the very bits of its
// emulation; the result is infinite where it does not.
double kernel_check(const form *f, geometry g);
