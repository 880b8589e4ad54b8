// Package fetch downloads files whose size and SHA-256 are known beforehand.
// Every download of certspec goes through it.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/progress"
)

// File describes a file before it is downloaded.
type File struct {
	URLs   []string // sources of the same bytes, tried in turn
	Size   int64    // in bytes
	SHA256 string   // hexadecimal
}

// connectTimeout and the limits below let a machine without network give up within ten seconds for
// two sources, while a slow but living download takes as long as it needs.
const connectTimeout = 4 * time.Second // name look-up and connection; then again encryption

var stallTimeout = 20 * time.Second // without a single byte

// Get makes sure that path holds the file: it downloads what is missing and checks
// size and SHA-256. A file that is already there and right is left alone. The download
// grows in path + ".part", which the next Get continues, and gets its name only when it
// is whole and right. The error names every source and what was wrong with it.
func Get(ctx context.Context, file File, path string, report progress.Reporter) error {
	if check(file, path) == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	part := path + ".part"
	meter := &meter{task: "download " + filepath.Base(path), total: file.Size, report: report}
	defer meter.tell(true)
	var failures []error
	for _, url := range file.URLs {
		before, err := int64(-1), error(nil)
		for size := int64(0); size > before; size = sizeOf(part) {
			before = size
			if err = download(ctx, url, file, part, meter); err == nil || ctx.Err() != nil {
				break
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", url, err))
			continue
		}
		if err := atomicfile.Rename(part, path); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		return nil
	}
	if sizeOf(part) == 0 {
		os.Remove(part)
	}
	return fmt.Errorf("fetch: %s could not be downloaded: %w", filepath.Base(path), errors.Join(failures...))
}

// sizeOf is the size of a file, 0 where there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// download makes part hold the whole and right file, going on where an earlier download stopped.
func download(ctx context.Context, url string, file File, part string, meter *meter) error {
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if have > file.Size {
		if have, err = 0, restart(out); err != nil {
			return err
		}
	}
	if have < file.Size {
		if err := transfer(ctx, url, file.Size, out, have, meter); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	err = check(file, part)
	if err != nil {
		// Keeping what is wrong would make every later attempt fail.
		err = errors.Join(err, os.Remove(part))
		if have > 0 { // the part was of another file
			return download(ctx, url, file, part, meter)
		}
	}
	return err
}

func restart(out *os.File) error {
	if err := out.Truncate(0); err != nil {
		return err
	}
	_, err := out.Seek(0, io.SeekStart)
	return err
}

// transfer appends the bytes from have to size to out.
func transfer(ctx context.Context, url string, size int64, out *os.File, have int64, meter *meter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("no data for %v", stallTimeout)) })
	defer watchdog.Stop()

	response, err := request(ctx, url, have)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		have, err = 0, restart(out)
	case http.StatusPartialContent:
		if got, want := response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/%d", have, size-1,
			size); got != want {
			err = errors.Join(fmt.Errorf("the server offers %s; expected %s", got, want), restart(out))
		}
	default:
		err = fmt.Errorf("the server answered %s", response.Status)
	}
	if err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/html" {
		return errors.New("the server sent a web page instead of the file (a log-in page of the network?)")
	}
	if n := response.ContentLength; n >= 0 && have+n != size {
		return fmt.Errorf("the server offers %d bytes; expected %d", have+n, size)
	}

	meter.begin(have)
	buffer := make([]byte, 1<<17)
	body := io.LimitReader(response.Body, size-have+1)
	for {
		n, err := body.Read(buffer)
		watchdog.Reset(stallTimeout)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return err
			}
			meter.done += int64(n)
			meter.tell(false)
		}
		if errors.Is(err, io.EOF) && meter.done >= size {
			return out.Sync()
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return fmt.Errorf("the transfer broke off after %d of %d bytes: %w", meter.done, size, err)
		}
	}
}

// request asks for the bytes from have on.
func request(ctx context.Context, url string, have int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "certspec")
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		DisableCompression:  true, // the check is on the bytes as they are stored
		DisableKeepAlives:   true,
	}}
	response, err := client.Do(request)
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return nil, fmt.Errorf("no connection (is this machine offline?): %w", operation)
	}
	var wrapped *neturl.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the address is named already
	}
	return response, err
}

// check verifies size and SHA-256 of the file at path.
func check(file File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, in)
	if err != nil {
		return err
	}
	if size != file.Size {
		return fmt.Errorf("%d bytes; expected %d", size, file.Size)
	}
	want, err := hex.DecodeString(file.SHA256)
	if err != nil || len(want) != sha256.Size {
		panic("fetch: File.SHA256 is not a SHA-256: " + file.SHA256)
	}
	if got := hash.Sum(nil); !bytes.Equal(got, want) {
		return fmt.Errorf("SHA-256 is %x; expected %x", got, want)
	}
	return nil
}

// meter reports how far a file has come.
type meter struct {
	task        string
	total       int64
	first, done int64 // bytes at the begin of this transfer and now
	start, last time.Time
	report      progress.Reporter
}

func (m *meter) begin(have int64) { m.first, m.done, m.start = have, have, time.Now() }

func (m *meter) tell(final bool) {
	now := time.Now()
	if m.report == nil || m.start.IsZero() || !final && now.Sub(m.last) < 100*time.Millisecond {
		return
	}
	m.last = now
	const megabyte = 1e6
	state := progress.State{
		Task:  m.task,
		Done:  float64(m.done) / megabyte,
		Total: float64(m.total) / megabyte,
		Unit:  "MB",
		Left:  -1,
		Final: final,
	}
	if seconds := now.Sub(m.start).Seconds(); seconds > 0 && m.done > m.first {
		state.Rate = float64(m.done-m.first) / megabyte / seconds
		state.Left = time.Duration((state.Total - state.Done) / state.Rate * float64(time.Second))
	}
	m.report(state)
}
