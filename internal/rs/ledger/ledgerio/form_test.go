package ledgerio

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/ledger"
)

// forms change a header so that readers may disagree on what it says, or on whether it is one. The first has a key and its value.
var forms = [][2]string{
	{`"alpha":0.001,`, `"alpha":0.000001,"ALPHA":0.001,`}, {`"alpha":0.001,`, `"ALPHA":0.000001,"alpha":0.001,`}, {`"alpha":0.001,`, `"alpha":0.000001,"alpha":0.001,`},
	{`"alpha":0.001,`, `"Alpha":0.001,`}, {`"alpha":0.001,`, `"alpha":1e-3,`}, {`"alpha":0.001,`, `"alpha": 0.001,`}, {`"alpha":0.001,`, `"alpha":0.001,"extra":1,`},
	{`"sigma":0.25,"noise":"grid/1"`, `"noise":"grid/1","sigma":0.25`}, {`"sigma":0.25`, `"ſigma":0.25`}, // the long s, which Go takes for an s
	{`"classes":5`, `"classes":500,"classes":5`}, {`"classes":5`, `"classes":5,"Classes":5`}, {`"height":`, `"HEIGHT":`}, {`"height":1,"width":1`, `"width":1,"height":1`},
	{`"engine":"toy"`, `"engine":"other","engine":"toy"`}, {`"digest":`, `"Digest":"x","digest":`}, {`{"copies":`, `{"alpha":1,"copies":`}, {`"order":"data"`, `"order":"data","shard":null`},
	{`"order":"data"`, `"order":"data","scores":""`}, {`"order":"data"`, `"order":"d\u0061ta"`}, {`"order":"data"`, `"order":"data","order":null`}, {`"seed":"`, `"seed":"9","seed":"`},
	{`{"format":"certspec-ledger","version":`, `{"version":1,"format":"certspec-ledger","version":`}, {`{"format"`, `{"Format":"x","format"`}, {`{"format"`, " {\"format\""}, {`{"format"`, "\ufeff{\"format\""},
}

// A header has one form. Whatever is closed with a digest of its own is refused where its header has another.
func TestHeaderHasOneForm(t *testing.T) {
	good := testkit.Read(t, "../../../../rs/testdata/v1-staged.ledger")
	for _, form := range forms {
		altered := bytes.Replace(good, []byte(form[0]), []byte(form[1]), 1)
		if bytes.Equal(altered, good) {
			t.Fatalf("the ledger has no %s", form[0])
		}
		altered = altered[:bytes.LastIndex(altered, []byte("sha256 "))]
		altered = fmt.Appendf(altered, "sha256 %x\n", sha256.Sum256(altered))
		path := filepath.Join(t.TempDir(), "x")
		os.WriteFile(path, altered, 0o666)
		var format *ledger.FormatError
		if _, err := Read(path); !errors.As(err, &format) || format.Line != 1 {
			t.Errorf("%s: %v", form[1], err)
		}
	}
}

// So have looks, claims and figures.
func TestLinesHaveOneForm(t *testing.T) {
	good := testkit.Read(t, "../../../../rs/testdata/v1-staged.ledger")
	lines := strings.SplitAfter(string(good), "\n")
	for i, line := range lines[1 : len(lines)-2] {
		fields := strings.Split(line, " ")
		for _, altered := range []string{" " + line, strings.Replace(line, " ", "  ", 1), strings.Replace(line, " ", "\t", 1), strings.Replace(line, "\n", " \n", 1), strings.Replace(line, "\n", "\r\n", 1),
			"0" + line, "+" + line, strings.Replace(line, fields[1], "0"+fields[1], 1), strings.Replace(line, ":", ":0", 1), strings.ToUpper(line), strings.Replace(line, " ", "\u00a0", 1)} {
			if altered == line {
				continue
			}
			text := strings.Join(lines[:1+i], "") + altered + strings.Join(lines[2+i:len(lines)-2], "")
			text += fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(text)))
			path := filepath.Join(t.TempDir(), "x")
			os.WriteFile(path, []byte(text), 0o666)
			if _, err := Read(path); err == nil {
				t.Errorf("line %d: %q is read like %q", 2+i, altered, line)
			}
		}
	}
}

// A name that is no text would stand in the file as another one.
func TestNamesAreText(t *testing.T) {
	h := header()
	h.Model.Name = "net\xff"
	if _, _, err := Open(filepath.Join(t.TempDir(), "x"), h); err == nil || !strings.Contains(err.Error(), `"net\xff" is not UTF-8`) {
		t.Error(err)
	}
}
