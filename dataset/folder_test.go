package dataset

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// A subset decodes its own pictures alone: those beside it may be damaged or of another size. It is the
// same whether the whole folder was decoded before or not.
func TestFolderSubsetDecodesItsOwn(t *testing.T) {
	var entries []entry
	dir := t.TempDir()
	for i := range 12 {
		picture := patternImage(i, 4, 5)
		entries = append(entries, entry{fmt.Sprintf("%c/%02d.png", 'a'+i%3, i), pngBytes(t, picture)})
	}
	slices.Reverse(entries) // in an archive, unlike the order of the paths
	good := testkit.Write(t, tarBytes(t, entries...), dir, "good.tar")
	for _, e := range entries {
		testkit.Write(t, e.data, dir, "good", e.name)
	}
	// Ids follow the paths: a/00, a/03, a/06, a/09, b/01, … The ones of 4 and 5 go bad.
	for i, e := range entries {
		switch e.name {
		case "b/01.png":
			entries[i].data = []byte("damaged")
		case "b/04.png":
			entries[i].data = pngBytes(t, patternImage(3, 9, 9))
		}
	}
	bad := testkit.Write(t, tarBytes(t, entries...), dir, "bad.tar")
	for _, e := range entries {
		testkit.Write(t, e.data, dir, "bad", e.name)
	}
	for _, names := range [][2]string{{good, bad}, {filepath.Join(dir, "good"), filepath.Join(dir, "bad")}} {
		for _, list := range []string{"[range=6:12]", "[skip=6]", "[max_index=4,count=2]"} {
			whole := mustOpen(t, "folder:"+names[0])
			all := mustLoad(t, whole)
			selected, err := Open("folder:" + names[0] + list)
			if err != nil {
				t.Fatal(err)
			}
			after := mustLoad(t, whole.Subset(selected.selections...))
			alone := mustLoad(t, selected)
			beside := mustLoad(t, mustOpen(t, "folder:"+names[1]+list))
			if alone.Digest != after.Digest || alone.Digest != beside.Digest || alone.Len() == 0 {
				t.Errorf("%s%s: digest %s, after the whole %s, beside bad pictures %s", names[0], list, alone.Digest, after.Digest, beside.Digest)
			}
			for i, id := range alone.IDs {
				if at := all.Index(id); !bytes.Equal(alone.Image(i), all.Image(at)) || alone.Labels[i] != all.Labels[at] {
					t.Errorf("%s%s: image %d is not that of the whole", names[0], list, id)
				}
			}
		}
		wantError(t, "folder:"+names[1], "b/0")
		wantError(t, "folder:"+names[1]+"[range=4:5]", "b/01.png", "expected PNG or JPEG")
		wantError(t, "folder:"+names[1]+"[range=5:7]", "4×5", "9×9")
		listed, err := mustOpen(t, "folder:"+names[1]).List(t.Context())
		if err != nil || listed.Len() != 12 || listed.Labels[5] != 1 || listed.Pixels != nil || listed.Digest != "" {
			t.Errorf("list %+v, %v", listed, err)
		}
	}
}

// A picture that leaves an archive between the listing and the reading is named, but for a small archive, which was read with the listing.
func TestFolderChanges(t *testing.T) {
	dir := t.TempDir()
	picture := pngBytes(t, patternImage(1, 4, 5))
	large := append(slices.Clone(picture), make([]byte, maxKept)...)
	for _, second := range [][]byte{picture, large} {
		path := testkit.Write(t, tarBytes(t, entry{"a/1.png", picture}, entry{"a/2.png", second}), dir, "set.tar")
		d := mustOpen(t, "folder:"+path)
		if _, err := d.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, tarBytes(t, entry{"a/1.png", picture}), dir, "set.tar")
		im, err := d.Load(t.Context())
		if len(second) == len(picture) {
			if err != nil || im.Len() != 2 || !bytes.Equal(im.Image(0), im.Image(1)) {
				t.Errorf("%v", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "a/2.png: it is no longer in the archive") {
			t.Errorf("error %v", err)
		}
	}
}
