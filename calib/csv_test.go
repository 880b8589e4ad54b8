package calib

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Table
	}{
		"confidences": {"correct,confidence\n1,0.9\n0,0.25\n", Table{Correct: []bool{true, false}, Confidence: []float64{.9, .25}}},
		"intervals":   {"correct,lower,upper\n1,0,1\n", Table{Correct: []bool{true}, Lower: []float64{0}, Upper: []float64{1}}},
		"everything, another order, more columns": {"id,upper,confidence,lower,correct,note\nx,.9,.5,.1,true,\"a, \"\"b\"\"\nc\"\ny,1e-1,1e-1,1e-1,FALSE,\n",
			Table{Correct: []bool{true, false}, Confidence: []float64{.5, .1}, Lower: []float64{.1, .1}, Upper: []float64{.9, .1}}},
		"byte order mark, quotes, spaces, Windows": {"\ufeff\"correct\", confidence \r\n\"1\",\" 0.5 \"\r\n\r\n0.0,1.0\r\n", Table{Correct: []bool{true, false}, Confidence: []float64{.5, 1}}},
		"no last line end":                         {"correct,confidence\n1,0.5", Table{Correct: []bool{true}, Confidence: []float64{.5}}},
		"label and prediction":                     {"confidence,label,prediction\n0.9,3,3\n0.25,cat, dog\n", Table{Correct: []bool{true, false}, Confidence: []float64{.9, .25}}},
		"other words":                              {"Target,Pred,Conf\n3,3,0.9\n1,2,0.25\n", Table{Correct: []bool{true, false}, Confidence: []float64{.9, .25}}},
		"semicolons":                               {"correct;confidence\n1;0,9\n0;0.25\n", Table{Correct: []bool{true, false}, Confidence: []float64{.9, .25}}},
		"tabs":                                     {"correct\tconfidence\n1\t0.9\n0\t0.25\n", Table{Correct: []bool{true, false}, Confidence: []float64{.9, .25}}},
		"no rows":                                  {"correct,confidence\n", Table{Confidence: []float64{}}},
	} {
		got, err := ReadCSV("f.csv", strings.NewReader(c.text))
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestReadCSVErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                             "f.csv: the file is empty, expected a header with the columns correct, confidence or correct, lower, upper",
		"\ufeff":                                       "f.csv: the file is empty",
		"correct\n1\n":                                 `f.csv:1: no column confidence (or lower and upper); the header has ["correct"]`,
		"confidence\n1\n":                              "f.csv:1: no column correct",
		"correct,lower\n1,0\n":                         "f.csv:1: no column upper",
		"correct,upper\n1,0\n":                         "f.csv:1: no column lower",
		"correct;confidence\n1;0;1\n":                  "f.csv:2:1: wrong number of fields",
		"right or wrong,score\n1,0\n":                  `f.csv:1: no column correct (or label and prediction); the header has ["right or wrong" "score"]; expected columns correct`,
		"label,prediction,confidence\n1,,0.5\n":        "f.csv:2:1: label or prediction is empty",
		"label,confidence\n1,0.5\n":                    "f.csv:1: no column correct (or label and prediction)",
		"correct,confidence,correct\n1,1,1\n":          "f.csv:1:20: a second column correct",
		"correct,confidence\n1,nan\n":                  `f.csv:2:3: confidence is "nan", expected a number in [0, 1]`,
		"correct,confidence\n1,0.5\n1,inf\n":           `f.csv:3:3: confidence is "inf"`,
		"correct,confidence\n1,1e999\n":                `f.csv:2:3: confidence is "1e999"`,
		"correct,confidence\n1,-0.1\n":                 `f.csv:2:3: confidence is "-0.1"`,
		"correct,confidence\n1,1.0000000000001\n":      `f.csv:2:3: confidence is "1.0000000000001"`,
		"correct,confidence\n1,\n":                     `f.csv:2:3: confidence is ""`,
		"correct,confidence\n1,0x\n":                   `f.csv:2:3: confidence is "0x"`,
		"correct,confidence\n2,0.5\n":                  `f.csv:2:1: correct is "2", expected 1 or 0, true or false`,
		"correct,confidence\nyes,0.5\n":                `f.csv:2:1: correct is "yes"`,
		"correct,confidence\r\n1,.5\r\n0,\"a\nb\"\r\n": `f.csv:3:3: confidence is "a\nb"`,
		"correct,confidence\n1\n":                      "f.csv:2:1: wrong number of fields",
		"correct,confidence\n1,0,0\n":                  "f.csv:2:1: wrong number of fields",
		"correct,confidence\n1,\"0\n":                  "f.csv:2:6: extraneous or missing \" in quoted-field",
		"correct,upper,lower\n1,0.2,0.3\n":             "f.csv:2:7: lower is 0.3, expected at most upper, which is 0.2",
	} {
		got, err := ReadCSV("f.csv", strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{strings.Repeat("a", 1e6), strings.Repeat("a,", 1e5), "correct,confidence\n1," + strings.Repeat("9", 1e6), "correct,confidence\n" + strings.Repeat("x", 1e6) + ",1"} {
		if _, err := ReadCSV("f.csv", strings.NewReader(text)); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.30q…: error of %d bytes", text, len(err.Error()))
		}
	}
	broken := errors.New("broken disk")
	if _, err := ReadCSV("f.csv", iotest.ErrReader(broken)); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f.csv: ") {
		t.Errorf("broken reader: %v", err)
	}
}

// Whatever is read: an error, or a table that the solver accepts.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"correct,confidence\n1,0.9\n", "correct,lower,upper,confidence\n0,0.1,0.2,0.15\n", "\ufeffcorrect,lower,upper\r\n\"1\",0,1\r\n",
		"correct,confidence\n1,nan\n", "correct,lower,upper\n1,-0,0\n", "\"", "correct,lower,upper\n1,1,0\n", "a\n\n\n", "correct,confidence\n1,0x1p-3\n",
	} {
		f.Add([]byte(seed))
	}
	edges := must(UniformEdges(15))
	bins := must(Uniform(15, LeftClosed))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := ReadCSV("f", strings.NewReader(string(text)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("the error names no file: %v", err)
			}
			return
		}
		if table.Confidence == nil && table.Lower == nil {
			t.Fatal("neither confidences nor intervals")
		}
		if table.Confidence != nil {
			if _, err := ECE(table.Correct, table.Confidence, bins); err != nil && !(errors.Is(err, ErrNoSamples) && len(table.Correct) == 0) {
				t.Fatal(err)
			}
		}
		if table.Lower != nil {
			if _, err := ExactCCE(table.Correct, table.Lower, table.Upper, edges); err != nil && !(errors.Is(err, ErrNoSamples) && len(table.Correct) == 0) {
				t.Fatal(err)
			}
		}
	})
}
