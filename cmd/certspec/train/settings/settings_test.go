package settings

import (
	"math"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/train"
)

func TestSettings(t *testing.T) {
	var r train.Options
	for _, k := range Of(&r) {
		if k.Name == "" || k.Usage == "" || k.Type() == "" {
			t.Errorf("setting %+v", k)
		}
		text := map[string]string{"string": "resnet8", "int": "3", "uint": "18446744073709551615", "float": "0", "bool": "true", "ints": "1, 2", "setting": "lambda=20"}[k.Type()]
		if err := k.Set(text); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if bad := map[string]string{"int": "x", "float": "x", "bool": "x", "ints": "1,x", "uint": "-1", "setting": "x"}[k.Type()]; bad != "" && k.Set(bad) == nil {
			t.Errorf("%s takes %q", k.Name, bad)
		}
	}
	if r.Network != "resnet8" || r.Epochs == 0 || *r.Sigma != 0 || *r.Momentum != 0 || r.Seed != 0 && r.Seed != math.MaxUint64 || r.Options["lambda"] != 20. {
		t.Errorf("recipe %+v", r)
	}
}
