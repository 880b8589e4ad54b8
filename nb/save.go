package nb

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Save writes a figure or a table, or what Table makes of a value, to files in the forms that their endings say: .svg,
// .png, .pdf or .csv of a figure; .tex, .html, .md, .csv or .txt of a table. An error, and another ending is one, ends
// the cell.
func Save(value any, paths ...string) {
	end(save(value, paths))
}

func save(value any, paths []string) error {
	if len(paths) == 0 {
		return errors.New("nb.Save: no path; expected one or more, such as curve.pdf")
	}
	saver, ok := value.(interface{ Save(path string) error })
	if !ok {
		if t := tableOf(value); t != nil {
			saver, ok = t, true
		}
	}
	if !ok {
		return fmt.Errorf("nb.Save: a %T is neither a figure nor a table: nb.Table makes a table of runs and results", value)
	}
	for _, path := range paths {
		if err := saver.Save(path); err != nil {
			return err
		}
	}
	return nil
}

//go:embed save.js
var saveScript string

// mostKept is the longest file that a page keeps for its menu "save as", in bytes.
const mostKept = 48 << 10

// saveMenu is a menu of the page that saves what stands before it, without a kernel: in the forms that files hold, and
// those that the page makes of a picture. It is hidden where no script runs.
func saveMenu(name string, files map[string][]byte, kinds ...string) string {
	packed := map[string][]byte{} // JSON writes bytes as base64
	var options strings.Builder
	for _, kind := range kinds {
		if data, ok := files[kind]; ok {
			var b bytes.Buffer
			w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			_, _ = w.Write(data) // a bytes.Buffer takes everything
			_ = w.Close()
			if b.Len() > mostKept {
				continue
			}
			packed[kind] = b.Bytes()
		}
		fmt.Fprintf(&options, "<option value=\"%s\">%s</option>", kind, forms[kind])
	}
	encoded, err := json.Marshal(packed)
	end(err)
	id := fmt.Sprintf("%x", sha256.Sum256(append(encoded, name...)))[:16]
	script := strings.NewReplacer("MENU", id, "FILES", string(encoded), "NAME",
		fmt.Sprintf("%q", name)).Replace(saveScript)
	return fmt.Sprintf("<select data-certspec-save=\"%s\" aria-label=\"save as\" hidden style=\"font:11px sans-serif;"+
		"color:#777;width:5.5em;height:15px;border:0;background:none;padding:0\">"+
		"<option value=\"\">save as</option>%s</select>\n"+
		"<script>\n%s</script>\n", id, options.String(), script)
}

// forms are how a reader calls the kinds of files.
var forms = map[string]string{"pdf": "PDF", "svg": "SVG", "png": "PNG", "csv": "CSV, the numbers", "tex": "LaTeX"}

// menu saves the figure above it.
func (f *Figure) menu() (string, error) {
	files, kinds := map[string][]byte{}, []string{"pdf", "svg", "png"}
	document, err := f.pdf()
	if err != nil {
		return "", err
	}
	files["pdf"] = document
	if f.numbers != nil {
		files["csv"], kinds = []byte(f.numbers().CSV()), append(kinds, "csv")
	}
	return saveMenu(cmp.Or(fileName(f.Title), fileName(f.Caption), "figure"), files, kinds...), nil
}

// menuBundle is the menu as an output of its own: web pages that show notebooks without scripts keep the picture.
func (f *Figure) menuBundle() (map[protocol.MIMEType]any, error) {
	menu, err := f.menu()
	return map[protocol.MIMEType]any{protocol.MIMETextPlain: "save as", protocol.MIMETextHTML: menu}, err
}

// tablePage is a table with its menu.
func tablePage(t *Tabular) string {
	name := cmp.Or(fileName(t.Title), fileName(strings.Join(t.Columns, " ")), "table")
	return t.HTML() + "\n" + saveMenu(name, map[string][]byte{"tex": []byte(t.LaTeX()), "csv": []byte(t.CSV())}, "tex",
		"csv")
}

// fileName is the beginning of a caption as the name of a file.
func fileName(caption string) string {
	words := strings.FieldsFunc(strings.ToLower(caption), func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsDigit(r)) || r > unicode.MaxASCII
	})
	return strings.Join(words[:min(len(words), 5)], "-")
}
