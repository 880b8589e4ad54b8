package xlakernels

import (
	"strings"
	"testing"
)

// program has a convolution as go-xla v0.4.2 writes it, with some of its words exchanged.
func program(exchange ...string) string {
	return strings.NewReplacer(exchange...).Replace(`    %0 = "stablehlo.convolution"(%arg0, %arg1) {
      batch_group_count = 1 : i64,
      dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
      feature_group_count = 1 : i64,
      lhs_dilation = array<i64: 1, 1>,
      padding = dense<[[1, 0], [1, 2]]> : tensor<2x2xi64>,
      precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>],
      rhs_dilation = array<i64: 1, 1>,
      window_reversal = array<i1: false, false>,
      window_strides = array<i64: 2, 2>
    } : (tensor<2x8x9x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x4x5x32xf32>
    %1 = "stablehlo.negate"(%0) : (tensor<2x4x5x32xf32>) -> tensor<2x4x5x32xf32>
`)
}

func TestReplace(t *testing.T) {
	var got convolution
	text, replaced := replace(program(), 1, func(c convolution) error { got = c; return nil }, func(reason string) { t.Error(reason) })
	want := convolution{kind: forward, stride: 2, dilation: 1, top: 1, left: 1, n: 2, height: 8, width: 9, channels: 16,
		kernelHeight: 3, kernelWidth: 3, outHeight: 4, outWidth: 5, features: 32}
	if replaced != 1 || got != want {
		t.Errorf("%d replaced, %+v; expected %+v", replaced, got, want)
	}
	if strings.Contains(text, "stablehlo.convolution") ||
		!strings.Contains(text, `%0 = "stablehlo.custom_call"(%arg0, %arg1) {`) || !strings.Contains(text, "array<i64: 1, 0, 2, 1, 1, 1>") ||
		!strings.Contains(text, "} : (tensor<2x8x9x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x4x5x32xf32>\n    %1 = ") {
		t.Error(text)
	}
}

// What the kernels do not know stays as it is, and the reason is told.
func TestLeftNative(t *testing.T) {
	for name, exchange := range map[string][]string{
		"groups":            {"feature_group_count = 1", "feature_group_count = 4"},
		"batch groups":      {"batch_group_count = 1", "batch_group_count = 2"},
		"dilated kernel":    {"rhs_dilation = array<i64: 1, 1>", "rhs_dilation = array<i64: 2, 2>"},
		"stride 3":          {"window_strides = array<i64: 2, 2>", "window_strides = array<i64: 3, 3>"},
		"unequal strides":   {"window_strides = array<i64: 2, 2>", "window_strides = array<i64: 2, 1>"},
		"strides, dilation": {"lhs_dilation = array<i64: 1, 1>", "lhs_dilation = array<i64: 2, 2>"},
		"reversed":          {"window_reversal = array<i1: false", "window_reversal = array<i1: true"},
		"other order":       {"[b, 0, 1, f]x", "[b, f, 0, 1]x"},
		"float64":           {"xf32>", "xf64>"},
		"bfloat16":          {"xf32>", "xbf16>"},
		"three dimensions":  {"2x8x9x16xf32", "2x8x9x4x16xf32"},
		"precision":         {"[#stablehlo<precision DEFAULT>,", "[#stablehlo<precision HIGHEST>,"},
		"great kernel":      {"3x3x16x32", "9x9x16x32"},
		"cropped":           {"[[1, 0]", "[[-1, 2]"},
		"dynamic":           {"tensor<2x8x9x16xf32>", "tensor<?x8x9x16xf32>"},
	} {
		t.Run(name, func(t *testing.T) {
			reasons := 0
			text, replaced := replace(program(exchange...), 0, func(convolution) error { return nil }, func(string) { reasons++ })
			if replaced != 0 || reasons != 1 || text != program(exchange...) {
				t.Errorf("%d replaced, %d reasons:\n%s", replaced, reasons, text)
			}
		})
	}
	reasons := 0
	if _, replaced := replace(program(), 0, func(convolution) error { return errNever }, func(string) { reasons++ }); replaced != 0 || reasons != 1 {
		t.Errorf("%d replaced, %d reasons for what is not accepted", replaced, reasons)
	}
}

type never struct{}

func (never) Error() string { return "never" }

var errNever error = never{}
