package pipe

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// digest is the SHA-256 over the words of a command, each with its length before it, and behind each that names a
// file the SHA-256 of the content. The first word is looked up as it is for running.
func digest(command []string) (string, error) {
	sum := sha256.New()
	write := func(b []byte) {
		binary.Write(sum, binary.LittleEndian, uint64(len(b)))
		sum.Write(b)
	}
	for i, word := range command {
		write([]byte(word))
		path := word
		if i == 0 {
			if found, err := exec.LookPath(word); err == nil {
				path = found
			}
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		content, err := digestFile(path)
		if err != nil {
			return "", err
		}
		write(content)
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil)), nil
}

func digestFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sum.Sum(nil), nil
}
