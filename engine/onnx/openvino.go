//go:build cgo && !noonnx && (linux || darwin)

package onnx

/*
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What is used of OpenVINO's C API: openvino/c of version 2026.4.
typedef struct { int64_t rank; int64_t *dims; } ov_shape_t;
typedef struct { const char *key; const void *value; } ov_property_t;

#define API(F) \
	F(int, ov_core_create, (void **)) \
	F(int, ov_core_read_model_from_memory_buffer, (const void *, const char *, size_t, const void *, void **)) \
	F(int, ov_core_compile_model_props, \
		(const void *, const void *, const char *, size_t, const ov_property_t *, void **)) \
	F(void, ov_model_free, (void *)) \
	F(int, ov_compiled_model_inputs_size, (const void *, size_t *)) \
	F(int, ov_compiled_model_get_property, (const void *, const char *, char **)) \
	F(int, ov_compiled_model_create_infer_request, (const void *, void **)) \
	F(void, ov_compiled_model_free, (void *)) \
	F(int, ov_infer_request_get_tensor, (const void *, const char *, void **)) \
	F(int, ov_infer_request_infer, (void *)) \
	F(void, ov_infer_request_free, (void *)) \
	F(int, ov_tensor_set_shape, (void *, ov_shape_t)) \
	F(int, ov_tensor_get_shape, (const void *, ov_shape_t *)) \
	F(int, ov_tensor_get_element_type, (const void *, int *)) \
	F(int, ov_tensor_get_byte_size, (const void *, size_t *)) \
	F(int, ov_tensor_data, (const void *, void **)) \
	F(void, ov_tensor_free, (void *)) \
	F(int, ov_shape_free, (ov_shape_t *)) \
	F(void, ov_free, (const char *)) \
	F(const char *, ov_get_last_err_msg, (void))

#define POINTER(result, name, arguments) static result (*name) arguments;
API(POINTER)

static void *core;

// Functions give what is wrong, or NULL.
static const char *told(int status) {
	if (status == 0)
		return NULL;
	const char *text = ov_get_last_err_msg();
	return text == NULL || *text == 0 ? "no reason given" : text;
}

static const char *vino_load(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return dlerror();
#define FIND(result, name, arguments) \
	if ((name = (result (*) arguments)dlsym(library, #name)) == NULL) \
		return dlerror();
	API(FIND)
	return told(ov_core_create(&core));
}

static const char *vino_compile(const char *file, size_t size, const char *precision, const char *streams,
		const char *threads, void **compiled, size_t *inputs, char **computes) {
	void *model;
	if (ov_core_read_model_from_memory_buffer(core, file, size, NULL, &model) != 0)
		return told(-1);
	const ov_property_t properties[] = {
		{"INFERENCE_PRECISION_HINT", precision}, {"NUM_STREAMS", streams}, {"INFERENCE_NUM_THREADS", threads},
		{"ENABLE_CPU_PINNING", "NO"}, {"CPU_DENORMALS_OPTIMIZATION", "NO"},
	};
	int failed = ov_core_compile_model_props(core, model, "CPU", sizeof properties / sizeof *properties, properties,
		compiled) != 0 || ov_compiled_model_inputs_size(*compiled, inputs) != 0 ||
		ov_compiled_model_get_property(*compiled, "INFERENCE_PRECISION_HINT", computes) != 0;
	const char *problem = told(-failed);
	ov_model_free(model);
	return problem;
}

static const char *vino_request(void *compiled, void **made) {
	return told(ov_compiled_model_create_infer_request(compiled, made));
}

static const char *vino_infer(void *request, const char *input, int type, int64_t rank, int64_t *dims, void *values,
		size_t size) {
	void *tensor, *memory;
	int takes;
	size_t room;
	if (ov_infer_request_get_tensor(request, input, &tensor) != 0)
		return told(-1);
	ov_shape_t shape = {rank, dims};
	const char *problem = NULL;
	if (ov_tensor_set_shape(tensor, shape) != 0 || ov_tensor_get_element_type(tensor, &takes) != 0 ||
			ov_tensor_get_byte_size(tensor, &room) != 0 || ov_tensor_data(tensor, &memory) != 0)
		problem = told(-1);
	else if (takes != type || room != size)
		problem = "the input has another type or size than the file says";
	else
		memcpy(memory, values, size);
	ov_tensor_free(tensor);
	return problem != NULL ? problem : told(ov_infer_request_infer(request));
}

static const char *vino_output(void *request, const char *name, void **tensor, int *type, ov_shape_t *shape,
		void **values, size_t *size) {
	if (ov_infer_request_get_tensor(request, name, tensor) != 0)
		return told(-1);
	int failed = ov_tensor_get_element_type(*tensor, type) != 0 || ov_tensor_get_byte_size(*tensor, size) != 0 ||
		ov_tensor_data(*tensor, values) != 0 || ov_tensor_get_shape(*tensor, shape) != 0;
	const char *problem = told(-failed);
	if (failed)
		ov_tensor_free(*tensor);
	return problem;
}

static void vino_release_output(void *tensor, ov_shape_t *shape) {
	ov_shape_free(shape);
	ov_tensor_free(tensor);
}

static void vino_release_request(void *request) { ov_infer_request_free(request); }
static void vino_release_text(char *text) { ov_free(text); }
static void vino_release_model(void *compiled) { ov_compiled_model_free(compiled); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/openvino"
)

// openVINOSession is a network that OpenVINO has compiled.
type openVINOSession struct {
	compiled unsafe.Pointer
	input    *C.char
	outputs  []*C.char

	mu   sync.Mutex
	idle []unsafe.Pointer // requests
}

var loadOpenVINO = sync.OnceValue(func() error {
	library, err := openvino.Library()
	if err != nil {
		return err
	}
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	return problem(C.vino_load(path))
})

func problem(text *C.char) error {
	if text == nil {
		return nil
	}
	return explain(errors.New(C.GoString(text)))
}

// openOpenVINO compiles a file that holds all its values, for as many concurrent calls as there are processors for, of
// some threads each. Errors: a file that OpenVINO does not take, several inputs, a precision that this processor does
// not have: OpenVINO itself would compute in float32 then.
func openOpenVINO(file []byte, input string, outputs []string, options Options) (session, error) {
	if err := loadOpenVINO(); err != nil {
		return nil, err
	}
	streams := max(2, (runtime.GOMAXPROCS(0)+options.Threads-1)/options.Threads)
	texts := make([]*C.char, 3)
	for i, text := range []string{options.precision, strconv.Itoa(streams), strconv.Itoa(streams * options.Threads)} {
		texts[i] = C.CString(text)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	s := &openVINOSession{}
	var inputs C.size_t
	var computes *C.char
	if err := problem(C.vino_compile((*C.char)(unsafe.Pointer(unsafe.SliceData(file))), C.size_t(len(file)), texts[0],
		texts[1], texts[2], &s.compiled, &inputs, &computes)); err != nil {
		return nil, err
	}
	defer C.vino_release_text(computes)
	s.input = C.CString(input)
	for _, name := range outputs {
		s.outputs = append(s.outputs, C.CString(name))
	}
	if inputs != 1 {
		s.close()
		return nil, fmt.Errorf("its graph has %d inputs; expected one, of images", inputs)
	}
	if found := C.GoString(computes); found != options.precision {
		s.close()
		return nil, fmt.Errorf("this processor does not compute in %s, and it would take %s; take precision=%[2]s",
			options.precision, found)
	}
	return s, nil
}

// openVINOTypes are the types of tensors as ov_element_type_e has them.
var openVINOTypes = map[onnxfile.Type]C.int{onnxfile.Float16: 3, onnxfile.Float32: 4, onnxfile.Float64: 5,
	onnxfile.Int64: 10, onnxfile.Uint8: 16}

func (s *openVINOSession) evaluate(in, out *array) error {
	found, err := s.discover(in, 1)
	if err != nil {
		return err
	}
	if got := found[0]; got.kind != out.kind || !slices.Equal(got.dims, out.dims) {
		return fmt.Errorf("its output has type %v and shape %v; expected %v and %v", got.kind, got.dims, out.kind, out.dims)
	}
	out.values = found[0].values
	return nil
}

func (s *openVINOSession) discover(in *array, n int) ([]array, error) {
	request, err := s.take()
	if err != nil {
		return nil, err
	}
	defer s.giveBack(request)
	values := in.raw()
	if err := problem(C.vino_infer(request, s.input, openVINOTypes[in.kind], C.int64_t(len(in.dims)),
		(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(in.dims))), unsafe.Pointer(unsafe.SliceData(values)),
		C.size_t(len(values)))); err != nil {
		return nil, err
	}
	all := make([]array, n)
	for i, name := range s.outputs {
		var tensor, values unsafe.Pointer
		var its C.int
		var shape C.ov_shape_t
		var size C.size_t
		if err := problem(C.vino_output(request, name, &tensor, &its, &shape, &values, &size)); err != nil {
			return nil, err
		}
		all[i].dims = slices.Clone(unsafe.Slice((*int64)(unsafe.Pointer(shape.dims)), shape.rank))
		for kind, known := range openVINOTypes {
			if known == its {
				all[i] = *newArray(kind, all[i].dims...)
				copy(all[i].raw(), unsafe.Slice((*byte)(values), size))
			}
		}
		C.vino_release_output(tensor, &shape)
	}
	return all, nil
}

func (s *openVINOSession) take() (request unsafe.Pointer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		request, s.idle = s.idle[last], s.idle[:last]
		return request, nil
	}
	err = problem(C.vino_request(s.compiled, &request))
	return request, err
}

func (s *openVINOSession) giveBack(request unsafe.Pointer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, request)
}

func (s *openVINOSession) close() {
	for _, request := range s.idle {
		C.vino_release_request(request)
	}
	C.vino_release_model(s.compiled)
	for _, name := range append(s.outputs, s.input) {
		C.free(unsafe.Pointer(name))
	}
}
