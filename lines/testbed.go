package lines

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// The 28 torchvision models and the five robustness models that stand behind the ImageNet part of Fridovich-Keil et al.
// 2022, in the testbed's names. The paper's own list is lost; these are inferred from its references.
var (
	torchvision28 = []string{
		"alexnet", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
		"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "squeezenet1_0", "squeezenet1_1",
		"densenet121", "densenet161", "densenet169", "densenet201", "googlenet/inceptionv1", "shufflenet_v2_x1_0",
		"mobilenet_v2",
		"resnext50_32x4d", "resnext101_32x8d", "wide_resnet50_2", "wide_resnet101_2", "mnasnet1_0",
	}
	robustness5 = []string{
		"resnet50_trained_on_SIN", "resnet50_trained_on_SIN_and_IN",
		"resnet50_trained_on_SIN_and_IN_then_finetuned_on_IN",
		"resnet50_deepaugment_augmix", "resnet50_augmix",
	}
)

// testbedFields are the testbed's columns that get a short name here, and the images behind them.
var testbedFields = map[string]struct {
	field string
	n     int
}{
	"val":                {"val", 50_000},
	"imagenet-a":         {"imagenet-a", 7_500},
	"imagenet-r":         {"imagenet-r", 30_000},
	"imagenet-sketch":    {"imagenet-sketch", 50_889},
	"objectnet-1.0-beta": {"objectnet", 18_514},
	"imagenetv2-matched-frequency-format-val": {"imagenetv2", 10_000},
}

// readTestbed reads the table of the ImageNet testbed (Taori et al. 2020): a model a line, its accuracies in percent,
// blank where it was not evaluated. The paper's columns get the names imagenetv2, imagenet-r, objectnet, imagenet-a,
// imagenet-sketch and val. A corruption's five on-disk severities become their mean, named after it, on 250,000 images.
// All other columns keep their names, with an unknown number of images. The label group is torchvision, robustness
// (torchvision28, robustness5), clip (zero-shot) or other. Blank cells are missing fields (Models.Blank).
func readTestbed(path string, in io.Reader) (Models, error) {
	r := csv.NewReader(textfile.NewReader(in))
	header, err := r.Read()
	if err != nil || header[0] != "model" || !slices.Contains(header, "val") {
		return nil, &FieldError{File: path, Line: 1,
			Reason: "not the ImageNet testbed's table, whose first column is model and which has a column val"}
	}
	var models Models
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return models, nil
		}
		if err != nil {
			return nil, &FieldError{File: path, Reason: err.Error()}
		}
		line, _ := r.FieldPos(0)
		m := Model{Name: row[0], Labels: map[string]string{"group": testbedGroup(row[0])},
			Accuracies: map[string]Accuracy{}}
		for i, cell := range row[1:] {
			column := header[i+1]
			if cell == "" {
				continue
			}
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, &FieldError{path, line, column, fmt.Sprintf("%q is no number", cell)}
			}
			known, ok := testbedFields[column]
			if !ok {
				known.field = column
			}
			if m.Accuracies[known.field], err = percent(v, known.n); err != nil {
				return nil, &FieldError{path, line, column, err.Error()}
			}
		}
		joinSeverities(&m)
		models = append(models, m)
	}
}

func testbedGroup(model string) string {
	switch {
	case slices.Contains(torchvision28, model):
		return "torchvision"
	case slices.Contains(robustness5, model):
		return "robustness"
	case strings.HasSuffix(model, "_clip_zeroshot"):
		return "clip"
	}
	return "other"
}

// joinSeverities adds the mean over five severities for every corruption that has all of them.
func joinSeverities(m *Model) {
	sum, count := map[string]float64{}, map[string]int{}
	for column, a := range m.Accuracies {
		name, ok := strings.CutPrefix(column, "imagenet-c.")
		if !ok {
			continue
		}
		if name, ok = strings.CutSuffix(name, "_on-disk"); !ok {
			continue
		}
		corruption, _, ok := strings.Cut(name, ".")
		if ok {
			sum[corruption] += a.Share
			count[corruption]++
		}
	}
	for corruption, n := range count {
		if _, taken := m.Accuracies[corruption]; n == 5 && !taken {
			m.Accuracies[corruption] = Accuracy{Share: sum[corruption] / 5, N: 250_000}
		}
	}
}
