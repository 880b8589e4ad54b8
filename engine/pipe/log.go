package pipe

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	longestLine = 8 << 10
	tailLines   = 12
)

// log passes standard error on, a whole line at a time, and keeps the last lines for error messages.
type log struct {
	out    io.Writer
	prefix string

	mu      sync.Mutex
	partial []byte
	last    []string
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n") // a progress bar ends its lines with the first
		if end < 0 {
			l.partial = append(l.partial, rest...)
			if len(l.partial) > longestLine {
				l.emit()
			}
			break
		}
		l.partial = append(l.partial, rest[:end]...)
		l.emit()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// line passes a line of our own on.
func (l *log) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit()
	io.WriteString(l.out, l.prefix+text+"\n")
}

func (l *log) emit() {
	text := string(l.partial)
	l.partial = l.partial[:0]
	if strings.TrimSpace(text) == "" {
		return
	}
	l.last = append(l.last, text)
	if len(l.last) > tailLines {
		l.last = l.last[1:]
	}
	io.WriteString(l.out, l.prefix+text+"\n")
}

// tail gives the last lines, indented, and forgets them, so that those of the next process are its own.
func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit()
	var b strings.Builder
	for i, text := range l.last {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + text)
	}
	l.last = nil
	return b.String()
}

func (l *log) lastWords() string {
	if text := l.tail(); text != "" {
		return "; its last words:\n" + text
	}
	return ""
}
