package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

var content = bytes.Repeat([]byte("certspec downloads this. "), 40_000) // 1 MB

func fileAt(urls ...string) File {
	return File{URLs: urls, Size: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
}

// serve answers ranges as real servers do.
func serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "data.gz", time.Time{}, bytes.NewReader(content))
}

func newServer(t *testing.T, handler http.HandlerFunc) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func wantContent(t *testing.T, path string) {
	t.Helper()
	got := testkit.Read(t, path)
	if !bytes.Equal(got, content) {
		t.Errorf("the file holds %d other bytes", len(got))
	}
	if _, err := os.Stat(path + ".part"); err == nil {
		t.Error("the .part file is left over")
	}
}

func TestGetDownloadsOnce(t *testing.T) {
	requests := 0
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		serve(w, r)
	})
	path := filepath.Join(t.TempDir(), "new", "data.gz")
	var states []progress.State
	for range 2 {
		if err := Get(t.Context(), fileAt(url), path, func(s progress.State) { states = append(states, s) }); err != nil {
			t.Fatal(err)
		}
	}
	wantContent(t, path)
	if requests != 1 {
		t.Errorf("%d requests; expected 1", requests)
	}
	last := states[len(states)-1]
	if !last.Final || last.Done != 1 || last.Total != 1 || last.Unit != "MB" {
		t.Errorf("last state is %+v; expected 1 of 1 MB", last)
	}
	for _, s := range states[:len(states)-1] {
		if s.Final {
			t.Errorf("final before the end: %+v", s)
		}
	}
}

func TestGetResumes(t *testing.T) {
	var ranges []string
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		serve(w, r)
	})
	path := filepath.Join(t.TempDir(), "data.gz")
	testkit.Write(t, content[:300_000], path+".part")
	if err := Get(t.Context(), fileAt(url), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
	if len(ranges) != 1 || ranges[0] != "bytes=300000-" {
		t.Errorf("asked for ranges %q; expected only the missing one", ranges)
	}
}

func TestGetResumesWhereRangesAreIgnored(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write(content) })
	path := filepath.Join(t.TempDir(), "data.gz")
	testkit.Write(t, content[5:300], path+".part")
	if err := Get(t.Context(), fileAt(url), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
}

func TestGetDropsThePartOfAnotherFile(t *testing.T) {
	for _, size := range []int{300, len(content), len(content) + 1} {
		path := filepath.Join(t.TempDir(), "data.gz")
		testkit.Write(t, make([]byte, size), path+".part")
		if err := Get(t.Context(), fileAt(newServer(t, serve)), path, nil); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path)
	}
}

func TestGetGoesOnAfterBrokenTransfers(t *testing.T) {
	requests := 0
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		if requests < 4 {
			w = &breaking{w, 200_000}
		}
		serve(w, r)
	})
	path := filepath.Join(t.TempDir(), "data.gz")
	if err := Get(t.Context(), fileAt(url), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
	if requests != 4 {
		t.Errorf("%d requests; expected 4", requests)
	}
}

// breaking cuts the connection after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	n, _ := b.ResponseWriter.Write(p[:min(len(p), b.left)])
	if b.left -= n; b.left == 0 {
		b.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func TestGetTriesTheNextSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.gz")
	if err := Get(t.Context(), fileAt(newServer(t, http.NotFound), newServer(t, serve)), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
}

func TestGetReplacesAWrongFile(t *testing.T) {
	path := testkit.Write(t, []byte("damaged"), t.TempDir(), "data.gz")
	if err := Get(t.Context(), fileAt(newServer(t, serve)), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
}

func TestGetRefuses(t *testing.T) {
	defer func(d time.Duration) { stallTimeout = d }(stallTimeout)
	stallTimeout = 100 * time.Millisecond
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	wrong := bytes.Clone(content)
	wrong[len(wrong)/2] ^= 1
	for name, c := range map[string]struct {
		url  string
		want string
	}{
		"missing": {newServer(t, http.NotFound), "404 Not Found"},
		"web page": {newServer(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "<!DOCTYPE html><html>please log in</html>")
		}), "web page"},
		"other bytes": {newServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write(wrong) }), "SHA-256"},
		"other size": {newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "12")
			fmt.Fprint(w, "binary\x00\x01\x02\x03\x04\x05")
		}), "offers 12 bytes; expected 1000000"},
		"too long": {newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Write(content)
			w.(http.Flusher).Flush()
			w.Write([]byte("more"))
		}), "1000001 bytes; expected 1000000"},
		"stalled": {newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Write(content[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), "no data for 100ms"},
		"silent":  {newServer(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "no data for 100ms"},
		"offline": {"http://" + closed.Addr().String(), "is this machine offline?"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.gz")
			err := Get(t.Context(), fileAt(c.url), path, nil)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.url) || !strings.Contains(err.Error(), "data.gz") {
				t.Errorf("error is %q; expected the file, its address and %q", err, c.want)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a wrong file got its final name")
			}
			part, err := os.ReadFile(path + ".part")
			if err == nil && len(part) == 0 {
				t.Error("an empty .part file is left over")
			}
			if !bytes.HasPrefix(content, part) {
				t.Errorf("%d wrong bytes are kept for the next attempt", len(part))
			}
		})
	}
}

func TestGetStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(content[:500_000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	path := filepath.Join(t.TempDir(), "data.gz")
	err := Get(ctx, fileAt(url), path, nil)
	if err != context.Canceled {
		t.Errorf("error is %v; expected context.Canceled", err)
	}
	if err := Get(t.Context(), fileAt(newServer(t, serve)), path, nil); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path)
}
