package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed check.html check.js drop.js files.js lesson.html lesson.js replay.html replay.js start.js
var parts embed.FS

// programs makes the pages that compute, each with its program inside: certcheck as it is and the replay of integer
// networks, in a worker with files in memory, and the lesson, which asks rs/bound.
func programs(ctx context.Context, root string) ([]page, error) {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	// What lets a page start a Go program comes with the compiler.
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	read := func(name string) string {
		data, err := parts.ReadFile(name)
		if err != nil {
			panic("site: " + err.Error())
		}
		return string(data)
	}
	var pages []page
	for _, p := range []struct{ file, title, source string }{
		{"check", "Check a ledger", "./cmd/certcheck"},
		{"lesson", "From votes to a radius", "./tools/site/lesson"},
		{"replay", "Replay a ledger", "./tools/site/replay"},
	} {
		binary, err := compile(ctx, root, p.source)
		if err != nil {
			return nil, err
		}
		script, drop := "<script>\n"+string(support)+"</script>\n", ""
		if p.file != "lesson" { // the worker's code, as text
			script = "<script type=\"text/plain\" id=\"worker\">\n" + read("files.js") + string(support) + "</script>\n"
			drop = read("drop.js")
		}
		if p.file == "replay" {
			kernel, err := os.ReadFile(filepath.Join(root, "internal", "intnet", "kernel", "kernel.wasm"))
			if err != nil {
				return nil, err
			}
			script += "<script type=\"application/wasm\" id=\"kernel\">" + base64.StdEncoding.EncodeToString(kernel) +
				"</script>\n"
		}
		body := read(p.file+".html") + script +
			"<script type=\"application/gzip\" id=\"program\">" + base64.StdEncoding.EncodeToString(binary) +
			"</script>\n" +
			"<script>\n" + read("start.js") + drop + read(p.file+".js") + "</script>\n"
		pages = append(pages, page{File: p.file + ".html", Title: p.title, Body: template.HTML(body),
			Policy: programPolicy})
	}
	return pages, nil
}

// compile is a program of the repository as WebAssembly, compressed.
func compile(ctx context.Context, root, source string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "certspec-site-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "program.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, source)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOEXPERIMENT=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", source, err, said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return small.Bytes(), nil
}
