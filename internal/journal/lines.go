// Package journal writes files that processes append to or replace: a header of JSON, a line for each finished
// piece of work in its order, claims, and a digest at the end. A Writer has its file for itself, as a run has its
// ledger; Append and Update are for files that several processes add to. All of them lock, sync, and cut off a
// line that a kill, a power cut or a full disk tore.
package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// Quote shows the beginning of a foreign line.
func Quote(b []byte) string {
	const most = 64 // a digest is not cut
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "…"
	}
	return strconv.Quote(string(b))
}

// FirstByte finds where two lines differ, and what each has there; −1: they are equal.
func FirstByte(want, have []byte) (at int, rest, other []byte) {
	if bytes.Equal(want, have) {
		return -1, nil, nil
	}
	for at < min(len(want), len(have)) && want[at] == have[at] {
		at++
	}
	return at, want[at:], have[at:]
}

// FirstDifference is the first field, by the names of JSON, in which two values of one struct type differ, and
// both as JSON.
func FirstDifference(a, b any) (at, left, right string, differ bool) {
	at, left, right, differ = firstDifference("", reflect.ValueOf(a), reflect.ValueOf(b))
	return strings.TrimPrefix(at, "."), left, right, differ
}

func firstDifference(name string, a, b reflect.Value) (at, left, right string, differ bool) {
	if a.Kind() == reflect.Struct {
		for i := range a.NumField() {
			tag, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			if tag == "-" { // in no file
				continue
			}
			if at, left, right, differ = firstDifference(name+"."+tag, a.Field(i), b.Field(i)); differ {
				return at, left, right, true
			}
		}
		return "", "", "", false
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return "", "", "", false
	}
	l, _ := json.Marshal(a.Interface())
	r, _ := json.Marshal(b.Interface())
	return name, string(l), string(r), true
}

// Begins reports whether a file begins with a text, as that of a header.
func Begins(path, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(text))
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == text
}

// Whole is the length of the whole lines of data.
func Whole(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }
