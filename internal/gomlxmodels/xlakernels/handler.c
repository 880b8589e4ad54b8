//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

#include "handler.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"

enum { convolve_chunks = 64, correlate_chunks = 16 };

// work is a loop over chunks on XLA's threads. The caller takes chunks like the others, and waits only for those that another
// thread has taken: it cannot wait for a thread that is busy elsewhere.
typedef struct {
	void (*run)(void *what, int chunk);
	void *what;
	int chunks;
	atomic_int next, done, holders;
} work;

static void take_chunks(work *w) {
	for (int c; (c = atomic_fetch_add(&w->next, 1)) < w->chunks;) {
		w->run(w->what, c);
		atomic_fetch_add(&w->done, 1);
	}
}

static void let_go(work *w) {
	if (atomic_fetch_sub(&w->holders, 1) == 1) free(w);
}

static void helper(void *data) {
	take_chunks(data);
	let_go(data);
}

static void drop(const ffi_api *api, ffi_error *failed) {
	if (failed != NULL) api->error_destroy(&(ffi_error_destroy_args){.size = sizeof(ffi_error_destroy_args), .error = failed});
}

static void run_chunks(const ffi_frame *frame, int chunks, void (*run)(void *, int), void *what) {
	const ffi_api *api = frame->api;
	int64_t threads = 1;
	ffi_threads_args asked = {.size = sizeof asked, .context = frame->context, .threads = &threads};
	ffi_error *failed = api->threads(&asked);
	if (failed != NULL) threads = 1;
	drop(api, failed);
	work *w = threads > 1 && chunks > 1 ? malloc(sizeof *w) : NULL;
	if (w == NULL) {
		for (int c = 0; c < chunks; c++) run(what, c);
		return;
	}
	const int helpers = threads < chunks ? (int)threads - 1 : chunks - 1;
	w->run = run, w->what = what, w->chunks = chunks;
	atomic_init(&w->next, 0), atomic_init(&w->done, 0), atomic_init(&w->holders, helpers + 1);
	for (int i = 0; i < helpers; i++) {
		ffi_schedule_args args = {.size = sizeof args, .context = frame->context, .task = helper, .data = w};
		failed = api->schedule(&args);
		if (failed != NULL) let_go(w);
		drop(api, failed);
	}
	take_chunks(w);
	for (int spins = 0; atomic_load(&w->done) < chunks; spins++)
		if (spins > 1200)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); // its processor serves another program
		else if (spins > 1000)
			sched_yield();
	let_go(w);
}

// call is what the chunks of one convolution share.
typedef struct {
	geometry g;
	const form *f;
	const float *x, *other; // other: the packed kernel, or the gradient of the outputs
	float *out;
	int chunks;
	atomic_int starved; // a chunk had no memory
} call;

// floats is memory for so many, at the start of a line of the cache.
static float *floats(size_t count) { return aligned_alloc(64, count / 16 * 64 + 64); }

// own is the memory of a thread, kept from call to call.
static float *own(size_t size) {
	static _Thread_local float *memory;
	static _Thread_local size_t held;
	if (size > held) {
		free(memory);
		held = 0;
		memory = floats(size);
		if (memory != NULL) held = size;
	}
	return memory;
}

static void one_chunk(void *what, int chunk) {
	call *c = what;
	const int first = (int)((int64_t)c->g.n * chunk / c->chunks), last = (int)((int64_t)c->g.n * (chunk + 1) / c->chunks);
	float *scratch = own(scratch_size(&c->g));
	if (scratch == NULL)
		atomic_store(&c->starved, 1);
	else if (c->g.kind == by_kernel)
		c->f->correlate(&c->g, c->x, c->other, c->out + sum_size(&c->g) * chunk, first, last, scratch);
	else
		c->f->convolve(&c->g, c->x, c->other, c->out, first, last, scratch);
}

static ffi_error *problem(const ffi_frame *frame, int code, const char *message) {
	return frame->api->error_create(&(ffi_error_args){.size = sizeof(ffi_error_args), .message = message, .code = code});
}

static const ffi_tensor *image(const ffi_tensors *list, int64_t i) {
	if (i >= list->count || list->types[i] != ffi_buffer) return NULL;
	const ffi_tensor *t = list->values[i];
	return t->size >= sizeof(ffi_tensor) && t->type == ffi_f32 && t->rank == 4 ? t : NULL;
}

// read_geometry reads the parameters (form, kind, stride, dilation, top, left) and the shapes.
static int read_geometry(const ffi_frame *frame, const form **f, geometry *g) {
	const ffi_attributes *a = &frame->attributes;
	if (a->count != 1 || a->types[0] != ffi_array) return 0;
	const ffi_values *values = a->values[0];
	if (values->type != ffi_s64 || values->size != 6) return 0;
	const int64_t *p = values->data;
	const form *forms[max_forms];
	const int count = kernel_forms(forms);
	if (p[0] < 0 || p[0] >= count) return 0;
	*f = forms[p[0]];
	const ffi_tensor *one = image(&frame->arguments, 0), *other = image(&frame->arguments, 1), *out = image(&frame->results, 0);
	if (one == NULL || other == NULL || out == NULL || p[1] < forward || p[1] > by_kernel) return 0;
	const ffi_tensor *y = p[1] == by_kernel ? other : out, *k = p[1] == by_kernel ? out : other;
	const int by_in = p[1] == by_input;
	*g = (geometry){.kind = (int)p[1], .stride = (int)p[2], .dilation = (int)p[3], .top = (int)p[4], .left = (int)p[5],
		.n = (int)one->dims[0], .height = (int)one->dims[1], .width = (int)one->dims[2], .channels = (int)one->dims[3],
		.kernel_height = (int)k->dims[0], .kernel_width = (int)k->dims[1],
		.out_height = (int)y->dims[1], .out_width = (int)y->dims[2], .features = (int)y->dims[3]};
	return y->dims[0] == one->dims[0] && k->dims[2 + by_in] == g->channels && k->dims[3 - by_in] == g->features &&
		g->kernel_height <= greatest_side && g->kernel_width <= greatest_side && g->stride >= 1 && g->dilation >= 1;
}

ffi_error *convolution_handler(ffi_frame *frame) {
	for (extension *e = frame->extensions; e != NULL; e = e->next)
		if (e->type == ffi_metadata) { // XLA asks what the handler is made for
			ffi_metadata_values *values = ((ffi_metadata_extension *)e)->values;
			values->version.major = ffi_major, values->version.minor = ffi_minor, values->traits = 0;
			return NULL;
		}
	if (frame->stage != ffi_execute) return NULL;
	const ffi_api *api = frame->api;
	if (frame->size < sizeof(ffi_frame) || api->size < sizeof(ffi_api) || api->version.major != ffi_major || api->version.minor != ffi_minor)
		return problem(frame, ffi_internal, "certspec's kernels are made for version 0.2 of XLA's foreign function interface");
	call c = {.chunks = 1};
	if (!read_geometry(frame, &c.f, &c.g)) return problem(frame, ffi_invalid_argument, "certspec's kernels do not know this convolution");
	const geometry *g = &c.g;
	const ffi_tensor *out = frame->results.values[0];
	c.x = ((ffi_tensor *)frame->arguments.values[0])->data;
	const float *other = ((ffi_tensor *)frame->arguments.values[1])->data;
	const int most = g->kind == by_kernel ? correlate_chunks : convolve_chunks;
	c.chunks = g->n < most ? g->n : most;
	float *memory = floats(g->kind == by_kernel ? sum_size(g) * (c.chunks + 1) : packed_size(g));
	if (memory == NULL) return problem(frame, ffi_internal, "certspec's kernels: no memory");
	if (g->kind == by_kernel) {
		c.other = other, c.out = memory;
	} else {
		c.f->pack(g, other, memory);
		c.other = memory, c.out = out->data;
	}
	run_chunks(frame, c.chunks, one_chunk, &c);
	if (g->kind == by_kernel) { // the sums of the chunks, in their order
		const size_t wide = (g->features + 15) / 16 * 16, size = sum_size(g);
		float *to = out->data;
		for (size_t row = 0; row < size / wide; row++, to += g->features) {
			const float *from = memory + row * wide;
			for (int f = 0; f < g->features; f++) to[f] = c.chunks > 0 ? from[f] : 0;
			for (int chunk = 1; chunk < c.chunks; chunk++)
				for (int f = 0; f < g->features; f++) to[f] += from[size * chunk + f];
		}
	}
	free(memory);
	return atomic_load(&c.starved) ? problem(frame, ffi_internal, "certspec's kernels: no memory") : NULL;
}
