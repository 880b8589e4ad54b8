//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "abi.h"
#include "handler.h"

// A compile function is told its client, not its table: each table that was handed out has a function of its own.
enum { slots = 8 };
static const pjrt_api *real[slots];
static int used;

static pjrt_error *compile(int slot, pjrt_compile_args *args) {
	pjrt_compile *original = (pjrt_compile *)real[slot]->function[pjrt_client_compile];
	const pjrt_program *program = args->program;
	if (args->size < offsetof(pjrt_compile_args, executable) || program == NULL || program->size < sizeof(pjrt_program) ||
		program->format_size != 4 || memcmp(program->format, "mlir", 4) != 0)
		return original(args);
	size_t size = 0;
	int calls = 0;
	char *text = certspecRewrite(slot, program->code, program->code_size, &size, &calls);
	if (text == NULL) return original(args);
	pjrt_program rewritten = *program;
	rewritten.size = sizeof rewritten;
	rewritten.code = text;
	rewritten.code_size = size;
	args->program = &rewritten;
	pjrt_error *failed = original(args);
	args->program = program;
	free(text);
	if (failed == NULL) return NULL;
	pjrt_error_args asked = {.size = sizeof asked, .error = failed};
	((void (*)(pjrt_error_args *))real[slot]->function[pjrt_error_message])(&asked);
	certspecRefused(slot, calls, (char *)asked.message, asked.message_size);
	pjrt_error_args freed = {.size = offsetof(pjrt_error_args, message), .error = failed};
	((void (*)(pjrt_error_args *))real[slot]->function[pjrt_error_destroy])(&freed);
	return original(args);
}

static pjrt_error *compile0(pjrt_compile_args *args) { return compile(0, args); }
static pjrt_error *compile1(pjrt_compile_args *args) { return compile(1, args); }
static pjrt_error *compile2(pjrt_compile_args *args) { return compile(2, args); }
static pjrt_error *compile3(pjrt_compile_args *args) { return compile(3, args); }
static pjrt_error *compile4(pjrt_compile_args *args) { return compile(4, args); }
static pjrt_error *compile5(pjrt_compile_args *args) { return compile(5, args); }
static pjrt_error *compile6(pjrt_compile_args *args) { return compile(6, args); }
static pjrt_error *compile7(pjrt_compile_args *args) { return compile(7, args); }
static pjrt_compile *const compiles[slots] = {compile0, compile1, compile2, compile3, compile4, compile5, compile6, compile7};

// register_handler makes the handler known to the plugin, once for all tables.
static int register_handler(const pjrt_api *api, char *why, int why_size) {
	for (extension *e = api->extensions; e != NULL; e = e->next) {
		if (e->type != pjrt_extension_ffi) continue;
		if (e->size < sizeof(pjrt_ffi)) break;
		ffi_register_args args = {
			.size = ffi_register_args_size, .target = handler_name, .target_size = strlen(handler_name),
			.handler = (void *)convolution_handler, .platform = "Host", .platform_size = 4};
		pjrt_error *failed = ((pjrt_ffi *)e)->register_handler(&args);
		if (failed == NULL) return 1;
		pjrt_error_args asked = {.size = sizeof asked, .error = failed};
		((void (*)(pjrt_error_args *))api->function[pjrt_error_message])(&asked);
		snprintf(why, why_size, "it refuses them: %.*s", (int)asked.message_size, asked.message);
		pjrt_error_args freed = {.size = offsetof(pjrt_error_args, message), .error = failed};
		((void (*)(pjrt_error_args *))api->function[pjrt_error_destroy])(&freed);
		return 0;
	}
	snprintf(why, why_size, "it has no foreign function interface in the form of PJRT 0.81");
	return 0;
}

void *load_plugin(const char *path, int *slot, char *why, int why_size) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); // never closed: XLA's threads do not end
	const pjrt_api *(*get)(void) = library == NULL ? NULL : (const pjrt_api *(*)(void))dlsym(library, "GetPjrtApi");
	const pjrt_api *api = get == NULL ? NULL : get();
	if (api == NULL) {
		snprintf(why, why_size, "it cannot be loaded");
		return NULL;
	}
	if (api->version.major != 0 || api->size < offsetof(pjrt_api, function) + pjrt_needed * sizeof(void *)) {
		snprintf(why, why_size, "its table of functions is not that of PJRT 0");
		return NULL;
	}
	if (used == slots) {
		snprintf(why, why_size, "there are kernels in %d plugins already", slots);
		return NULL;
	}
	int known = 0;
	for (int i = 0; i < used; i++) known |= real[i] == api;
	if (!known && !register_handler(api, why, why_size)) return NULL;
	// go-xla reads its own, longer table: what this plugin lacks must read as NULL. XLA keeps the copy for good.
	size_t size = api->size > 4096 ? api->size : 4096;
	pjrt_api *copy = calloc(1, size);
	if (copy == NULL) {
		snprintf(why, why_size, "there is no memory");
		return NULL;
	}
	memcpy(copy, api, api->size);
	*slot = used++;
	real[*slot] = api;
	copy->function[pjrt_client_compile] = (void *)compiles[*slot];
	return copy;
}
