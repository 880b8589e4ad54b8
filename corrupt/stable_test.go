package corrupt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

var update = flag.Bool("update", false, "write the digests of testdata/digests.json anew")

// The bytes of every corruption at every severity, as digests: what was made with a seed can be made again, on every platform and with
// every set of instructions. They are our own output; the other tests and the comparison with imagecorruptions say that it is right.
// After a change of an algorithm, give the streams another version and run the test with -update.
func TestSameBytesEverywhere(t *testing.T) {
	const path = "testdata/digests.json"
	got := map[string]string{}
	for _, shape := range []pixel.Shape{colour32, grey28} {
		src := scenes(shape, 3)
		for _, e := range registry {
			for _, s := range e.Severities {
				settings := []Setting{{Name: e.Name, Severity: int(s)}}
				if e.Family == F {
					settings = []Setting{{Name: e.Name, Centre: 3, Decay: 0.5, Norm: s}, {Name: e.Name, Centre: 3, Decay: 0.5, Norm: s, Archive: true}}
				}
				for _, setting := range settings {
					if e.check(setting, shape) != nil {
						continue
					}
					sum := sha256.Sum256(corrupted(t, setting, shape, testKey, src, 0, 1))
					got[shape.String()+" "+setting.String()] = hex.EncodeToString(sum[:8])
				}
			}
		}
	}
	if *update {
		data, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, append(data, '\n'), path)
		return
	}
	data := testkit.Read(t, path)
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(got) {
		t.Errorf("%d digests; expected %d", len(got), len(want))
	}
	for name, sum := range got {
		if want[name] != sum {
			t.Errorf("%s has the digest %s; expected %s", name, sum, want[name])
		}
	}
}
