package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
)

// pluginCheck is the result of one trial of a plugin file. It is kept in the cache for as
// long as the file does not change.
type pluginCheck struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Client   string    `json:"client"`          // go-xla's version; a newer one tries again
	Flags    string    `json:"flags,omitempty"` // XLA_FLAGS, which a plugin may refuse by ending the process
	Digest   string    `json:"digest"`          // first digits of the file's SHA-256
	Major    int       `json:"major"`           // of the plugin's PJRT C API
	Minor    int       `json:"minor"`
	Platform string    `json:"platform"` // "cpu" or "cuda"
}

// of reports whether the check is of the same file, by the same client.
func (c pluginCheck) of(file pluginCheck) bool {
	return c.Path == file.Path && c.Size == file.Size && c.Modified.Equal(file.Modified) && c.Client == file.Client &&
		c.Flags == file.Flags && c.Digest != ""
}

// failed holds the errors of trials, by file, for the life of this process.
var failed sync.Map

// clientAPI is the PJRT C API that go-xla v0.4.2 is compiled against
// (PJRT_API_MAJOR and PJRT_API_MINOR in its pjrt_c_api.h).
const clientAPI = "0.104"

// flagsVariable holds settings of XLA. A plugin that does not know one of them ends the process.
const flagsVariable = "XLA_FLAGS"

// checkPlugin makes sure that a plugin file can be loaded and runs a small program,
// without risk for this process.
func checkPlugin(path string) (pluginCheck, error) {
	if err := inspectPlugin(path); err != nil {
		return pluginCheck{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return pluginCheck{}, fmt.Errorf("XLA plugin: %w", err)
	}
	want := pluginCheck{
		Path: path, Size: info.Size(), Modified: info.ModTime().UTC(),
		Client: moduleVersion(xlaModule), Flags: os.Getenv(flagsVariable),
	}
	record, recordErr := recordPath(path, want.Flags)
	if recordErr == nil {
		var old pluginCheck
		if text, err := os.ReadFile(record); err == nil && json.Unmarshal(text, &old) == nil && old.of(want) {
			return old, nil
		}
	}

	if err, found := failed.Load(want); found {
		return pluginCheck{}, err.(error)
	}
	found, err := probe(path)
	if err != nil {
		failed.Store(want, err)
		return pluginCheck{}, err
	}
	want.Major, want.Minor, want.Platform = found.Major, found.Minor, found.Platform
	digest, err := fileDigest(path)
	if err != nil {
		return pluginCheck{}, fmt.Errorf("XLA plugin: %w", err)
	}
	want.Digest = "sha256:" + digest[:16]
	if recordErr == nil { // a cache that cannot be written costs a second at each start, no more
		if text, err := json.Marshal(want); err == nil {
			_ = atomicfile.Write(record, text)
		}
	}
	return want, nil
}

// recordPath has a file for each plugin and, where there are some, flags.
func recordPath(plugin, flags string) (string, error) {
	dir, err := cache.Dir("plugins", "checked")
	if err != nil {
		return "", err
	}
	if flags != "" {
		plugin += "\n" + flags
	}
	name := sha256.Sum256([]byte(plugin))
	return filepath.Join(dir, hex.EncodeToString(name[:8])+".json"), nil
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// probeVariable, set to the path of a plugin, turns any program that links this package
// into a trial of that plugin: it ends before main. The loader may crash the process.
const probeVariable = "CERTSPEC_INTERNAL_TRY_PLUGIN"

// finding is one line that the trial prints: the first when the plugin is loaded, with
// its version; the last when the program ran, with the platform.
type finding struct {
	Major, Minor int
	Platform     string
	Error        string
}

func init() {
	path := os.Getenv(probeVariable)
	if path == "" {
		return
	}
	report := json.NewEncoder(os.Stdout)
	var last finding
	err := tryPlugin(path, func(major, minor int, platform string) {
		last = finding{Major: major, Minor: minor, Platform: platform}
		_ = report.Encode(last)
	})
	if err != nil {
		last.Error = firstLine(err.Error())
		_ = report.Encode(last)
	}
	os.Exit(0)
}

const probeTime = 5 * time.Minute // a second, on a machine that is not busy

// refusedFlags are those in the last words of a plugin that does not know them; fatal is how XLA's
// logs mark such words.
var (
	refusedFlags = regexp.MustCompile(`Unknown flags? in ` + flagsVariable + `:(.*)`)
	fatal        = regexp.MustCompile(`(?m)^F\d{4} [^\]\n]*\] (.*)$`)
)

// lastWords are the line of a log that says why a process ended, or its first line.
func lastWords(log string) string {
	if words := fatal.FindStringSubmatch(log); words != nil {
		return words[1]
	}
	return firstLine(log)
}

// probe tries a plugin in a process of its own.
func probe(path string) (finding, error) {
	program, err := os.Executable()
	if err != nil {
		return finding{}, fmt.Errorf("XLA plugin %s: cannot be tried: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	flags := os.Getenv(flagsVariable)
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), probeVariable+"="+path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()

	var last finding
	for line := range strings.Lines(stdout.String()) {
		var f finding
		if json.Unmarshal([]byte(line), &f) == nil {
			last = f
		}
	}
	version := ""
	if last.Major != 0 || last.Minor != 0 {
		version = fmt.Sprintf(" (its PJRT C API is %d.%d; this program speaks %s)", last.Major, last.Minor, clientAPI)
	}
	switch {
	case last.Error != "":
		return finding{}, fmt.Errorf("XLA plugin %s: %s%s", path, last.Error, version)
	case ctx.Err() != nil:
		return finding{}, fmt.Errorf("XLA plugin %s: a trial of it did not end within %v%s", path, probeTime, version)
	case runErr != nil && flags != "":
		why := lastWords(stderr.String())
		if unknown := refusedFlags.FindStringSubmatch(why); unknown != nil {
			flags, why = strings.TrimSpace(unknown[1]), "it does not know that"
		}
		return finding{}, fmt.Errorf("XLA passed over: %s has %s, with which the plugin %s ends the program (%s); "+
			"correct it, or unset %[1]s", flagsVariable, flags, path, why)
	case runErr != nil || last.Platform == "":
		return finding{}, fmt.Errorf("XLA plugin %s: a trial of it crashed: %s%s; it is damaged, too old or for "+
			"another machine",
			path, lastWords(stderr.String()), version)
	}
	return last, nil
}

func firstLine(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	if line == "" {
		return "no message"
	}
	return line
}
