// The parts of XLA's C interfaces that the kernels use: PJRT's table of functions (0.81) and the foreign function
// interface (0.2). Written from their documentation; every size that XLA states is compared before anything is read.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct extension {
	size_t size;
	int type;
	struct extension *next;
} extension;

typedef struct {
	size_t size;
	extension *extensions;
	int major, minor;
} api_version;

// PJRT

typedef struct pjrt_error pjrt_error;

typedef struct {
	size_t size;
	extension *extensions;
	api_version version;
	void *function[];
} pjrt_api;

enum { // positions in pjrt_api.function
	pjrt_error_destroy = 0,
	pjrt_error_message = 1,
	pjrt_client_compile = 20,
	pjrt_needed = 21,
};

enum { pjrt_extension_ffi = 5 };

typedef struct {
	size_t size;
	extension *extensions;
	pjrt_error *error;
	const char *message; // not of Destroy
	size_t message_size; // not of Destroy
} pjrt_error_args;

typedef struct {
	size_t size;
	extension *extensions;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
} pjrt_program;

typedef struct {
	size_t size;
	extension *extensions;
	void *client;
	const pjrt_program *program;
	const char *options;
	size_t options_size;
	void *executable;
} pjrt_compile_args;

typedef pjrt_error *pjrt_compile(pjrt_compile_args *);

typedef struct {
	size_t size;
	const char *target;
	size_t target_size;
	void *handler;
	const char *platform;
	size_t platform_size;
	int traits;
} ffi_register_args;

enum { ffi_register_args_size = offsetof(ffi_register_args, traits) + sizeof(int) };

typedef struct {
	extension base;
	void *type_id, *user_data;
	pjrt_error *(*register_handler)(ffi_register_args *);
} pjrt_ffi;

// XLA's foreign function interface

enum { ffi_major = 0, ffi_minor = 2 };
enum { ffi_f32 = 11, ffi_s64 = 5 };
enum { ffi_buffer = 1, ffi_array = 1 };
enum { ffi_execute = 3 };
enum { ffi_metadata = 1 };
enum { ffi_internal = 13, ffi_invalid_argument = 3 };

typedef struct ffi_error ffi_error;

typedef struct {
	size_t size;
	extension *extensions;
	const char *message;
	int code;
} ffi_error_args;

typedef struct {
	size_t size;
	extension *extensions;
	ffi_error *error;
} ffi_error_destroy_args;

typedef struct {
	size_t size;
	extension *extensions;
	int type;
	void *data;
	int64_t rank;
	int64_t *dims;
} ffi_tensor;

typedef struct {
	const char *text;
	size_t size;
} ffi_text;

typedef struct {
	int type;
	size_t size;
	void *data;
} ffi_values;

typedef struct {
	size_t size;
	extension *extensions;
	int64_t count;
	int *types;
	void **values;
} ffi_tensors;

typedef struct {
	size_t size;
	extension *extensions;
	int64_t count;
	int *types;
	ffi_text **names;
	void **values;
} ffi_attributes;

typedef struct {
	size_t size;
	extension *extensions;
	void *context;
	void (*task)(void *);
	void *data;
} ffi_schedule_args;

typedef struct {
	size_t size;
	extension *extensions;
	void *context;
	int64_t *threads;
} ffi_threads_args;

typedef struct {
	size_t size;
	extension *extensions;
	api_version version;
	void *internal;
	ffi_error *(*error_create)(ffi_error_args *);
	void *error_get_message;
	void (*error_destroy)(ffi_error_destroy_args *);
	void *others[8];
	ffi_error *(*schedule)(ffi_schedule_args *);
	ffi_error *(*threads)(ffi_threads_args *);
} ffi_api;

typedef struct {
	size_t size;
	extension *extensions;
	const ffi_api *api;
	void *context;
	int stage;
	ffi_tensors arguments, results;
	ffi_attributes attributes;
} ffi_frame;

typedef struct {
	size_t size;
	api_version version;
	uint32_t traits;
} ffi_metadata_values;

typedef struct {
	extension base;
	ffi_metadata_values *values;
} ffi_metadata_extension;
