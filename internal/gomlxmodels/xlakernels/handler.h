#pragma once
#include "abi.h"

// handler_name has a number that changes with the meaning of the parameters.
#define handler_name "certspec_convolution_1"

ffi_error *convolution_handler(ffi_frame *frame);
