package xlakernels

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// kind of a convolution, with the numbers in kernels.h.
type kind int

const (
	forward kind = iota
	byInput
	byKernel
)

// kinds by the order of the dimensions of images, kernel and result.
var kinds = map[string]kind{
	"#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>": forward,
	"#stablehlo.conv<[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]>": byInput,
	"#stablehlo.conv<[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]>": byKernel,
}

const greatestSide = 7 // of a kernel

// convolution is an instruction whose form the kernels know; see geometry in kernels.h.
type convolution struct {
	kind                          kind
	stride, dilation, top, left   int
	n, height, width, channels    int
	kernelHeight, kernelWidth     int
	outHeight, outWidth, features int
}

// instruction is a convolution as go-xla writes it: operands, attributes, types.
var instruction = regexp.MustCompile(`"stablehlo\.convolution"(\(%[^(),]+, %[^(),]+\)) \{([^{}]*)\}` +
	`( : \(tensor<([^<>]*)>, tensor<([^<>]*)>\) -> tensor<([^<>]*)>)`)

// callTarget is handler_name in handler.h.
const callTarget = "certspec_convolution_1"

// replace puts calls in the place of the convolutions that accept takes. It tells all others to
// native, with the reason.
func replace(program string, form int, accept func(convolution) error, native func(reason string)) (text string,
	replaced int) {
	var b strings.Builder
	end := 0
	for _, at := range instruction.FindAllStringSubmatchIndex(program, -1) {
		group := func(i int) string { return program[at[2*i]:at[2*i+1]] }
		c, err := parse(group(2), group(4), group(5), group(6))
		if err == nil {
			err = accept(c)
		}
		if err != nil {
			native(err.Error())
			continue
		}
		b.WriteString(program[end:at[0]])
		fmt.Fprintf(&b, `"stablehlo.custom_call"%s {
      api_version = 4 : i32,
      backend_config = {geometry = array<i64: %d, %d, %d, %d, %d, %d>},
      call_target_name = "%s",
      has_side_effect = false,
      operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>],
      result_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>]
    }%s`, group(1), form, c.kind, c.stride, c.dilation, c.top, c.left, callTarget, group(3))
		end = at[1]
		replaced++
	}
	b.WriteString(program[end:])
	return b.String(), replaced
}

// parse reads a convolution; the error says why the kernels do not know it.
func parse(attributes, lhs, rhs, result string) (convolution, error) {
	known := map[string]string{}
	for line := range strings.SplitSeq(attributes, ",\n") {
		key, value, found := strings.Cut(strings.TrimSpace(line), " = ")
		if !found {
			return convolution{}, fmt.Errorf("attribute %q", strings.TrimSpace(line))
		}
		known[key] = value
	}
	one, two, three := shape(lhs), shape(rhs), shape(result)
	if one == nil || two == nil || three == nil {
		return convolution{}, fmt.Errorf("%d-dimensional or not float32", strings.Count(lhs, "x"))
	}
	kind, found := kinds[known["dimension_numbers"]]
	switch {
	case !found:
		return convolution{}, fmt.Errorf("dimensions %s", strings.TrimPrefix(known["dimension_numbers"],
			"#stablehlo.conv"))
	case known["feature_group_count"] != "1 : i64" || known["batch_group_count"] != "1 : i64":
		return convolution{}, errors.New("groups")
	case known["window_reversal"] != "array<i1: false, false>":
		return convolution{}, errors.New("reversed window")
	case known["precision_config"] != "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]":
		return convolution{}, errors.New("a precision of its own")
	}
	stride, ok1 := same(known["window_strides"])
	dilation, ok2 := same(known["lhs_dilation"])
	spread, ok3 := same(known["rhs_dilation"])
	if kind == byKernel {
		stride, spread = spread, stride // the gradient of the outputs stands where the kernel stands in the others
	}
	if !ok1 || !ok2 || !ok3 || spread != 1 || stride > 2 || dilation > 2 || stride*dilation > 2 {
		return convolution{}, fmt.Errorf("strides %s, dilations %s and %s", known["window_strides"],
			known["lhs_dilation"], known["rhs_dilation"])
	}
	var top, below, left, after int
	if _, err := fmt.Sscanf(known["padding"], "dense<[[%d, %d], [%d, %d]]> : tensor<2x2xi64>", &top, &below, &left,
		&after); err != nil || min(top, left) < 0 {
		return convolution{}, fmt.Errorf("padding %s", known["padding"])
	}
	kernel, out := two, three
	if kind == byKernel {
		kernel, out = three, two
		if dilation != 1 {
			return convolution{}, errors.New("dilated images in a gradient by the kernel")
		}
	}
	if max(kernel[0], kernel[1]) > greatestSide {
		return convolution{}, fmt.Errorf("kernel of %d×%d", kernel[0], kernel[1])
	}
	return convolution{
		kind: kind, stride: stride, dilation: dilation, top: top, left: left,
		n: one[0], height: one[1], width: one[2], channels: one[3],
		kernelHeight: kernel[0], kernelWidth: kernel[1],
		outHeight: out[1], outWidth: out[2], features: out[3],
	}, nil
}

// shape reads the dimensions of a float32 tensor of rank 4, all above 0 and below 2³¹; nil is another.
func shape(text string) []int {
	list := strings.Split(text, "x")
	if len(list) != 5 || list[4] != "f32" {
		return nil
	}
	dims := make([]int, 4)
	for i := range dims {
		v, err := strconv.ParseInt(list[i], 10, 32)
		if err != nil || v < 1 {
			return nil
		}
		dims[i] = int(v)
	}
	return dims
}

// same reads an array of two equal numbers above 0.
func same(text string) (int, bool) {
	var a, b int
	_, err := fmt.Sscanf(text, "array<i64: %d, %d>", &a, &b)
	return a, err == nil && a == b && a >= 1
}

// sample is a small convolution with the same code paths: the comparison with direct sums takes it.
func (c convolution) sample() convolution {
	c.n = 2
	shrink := func(side, out int) (int, int) {
		less := max(0, side-8) / 2 * 2
		return side - less, out - less*c.dilation/c.stride
	}
	c.height, c.outHeight = shrink(c.height, c.outHeight)
	c.width, c.outWidth = shrink(c.width, c.outWidth)
	few := func(channels int) int {
		if channels <= 48 {
			return channels
		}
		return 32 + channels%16
	}
	c.channels, c.features = few(c.channels), few(c.features)
	return c
}
