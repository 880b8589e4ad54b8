package heatmap

import (
	"errors"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/testkit/journaltest"
	"github.com/certspec/certspec/spectral"
)

func TestErrorsAreSafe(t *testing.T) {
	head := errorsHead{Data: "d", Epsilon: 4}
	// A run has the file for itself, as long as it takes.
	open := func(folder string) (e *errorsFile, err error) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if e, err = openErrors(folder, head); !errors.Is(err, journal.ErrLocked) || time.Now().After(end) {
				return e, err
			}
		}
	}
	journaltest.Test(t, journaltest.User{
		File: errorsName,
		Put: func(folder string, item int) error {
			e, err := open(folder)
			if err != nil {
				return err
			}
			_, err = e.of(spectral.Frequency{U: item}, func() (float64, error) { return .5, nil })
			return errors.Join(err, e.Close())
		},
		Items: func(folder string) (items []int, err error) {
			e, err := open(folder)
			if err != nil {
				return nil, err
			}
			for f := range e.known {
				items = append(items, f.U)
			}
			return items, e.Close()
		},
	})
}

func TestErrorsOfOtherRuns(t *testing.T) {
	folder, head := t.TempDir(), errorsHead{Data: "d", Epsilon: 4}
	e, err := openErrors(folder, head)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openErrors(folder, head); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openErrors(folder, errorsHead{Data: "other"}); err == nil {
		t.Error("a map of other images goes on")
	}
}
