//go:build !unix

package journaltest

import "errors"

func limitFiles(int) error { return errors.New("this system has no limit of the size of files") }
