#pragma once
#include <stdint.h>

// load_plugin opens a plugin and registers the handler of the kernels with it. It returns a copy of its table of functions
// whose compile function asks Go first, and the slot by which Go knows it; or NULL, and why.
void *load_plugin(const char *path, int *slot, char *why, int why_size);
