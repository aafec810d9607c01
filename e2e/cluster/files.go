package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errInterrupted is the end of a command that the user stopped.
var errInterrupted = errors.New("interrupted")

// fileLock is an flock: the kernel drops it when its process ends in whatever way.
type fileLock struct{ file *os.File }

// tryLock takes the lock, or returns nil and who holds it. The file stays: removing it would open a race.
func tryLock(path string) (*fileLock, string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer file.Close()
		holder := make([]byte, 64)
		n, _ := file.ReadAt(holder, 0)
		return nil, strings.TrimSpace(string(holder[:n])), nil
	}
	if err != nil {
		file.Close()
		return nil, "", fmt.Errorf("lock %s: %w", path, err)
	}
	if err := file.Truncate(0); err == nil { // the text is only for people
		fmt.Fprintf(file, "pid %d\n", os.Getpid())
	}
	return &fileLock{file}, "", nil
}

func (l *fileLock) release() { l.file.Close() }

// waitForLock takes the lock within limit; waiting is called once if somebody else has it.
func waitForLock(ctx context.Context, path string, limit time.Duration, waiting func(holder string)) (*fileLock, error) {
	var lock *fileLock
	var failure error
	told := false
	err := pollUntil(ctx, limit, func() bool {
		var holder string
		lock, holder, failure = tryLock(path)
		if lock == nil && failure == nil && !told {
			told = true
			waiting(holder)
		}
		return lock != nil || failure != nil
	})
	if failure != nil {
		return nil, failure
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock, nil
}

// pollUntil calls done every 20 ms until it says true. The error is errInterrupted or os.ErrDeadlineExceeded.
func pollUntil(ctx context.Context, limit time.Duration, done func() bool) error {
	return pollEvery(ctx, 20*time.Millisecond, limit, done)
}

func pollEvery(ctx context.Context, pause, limit time.Duration, done func() bool) error {
	deadline := time.After(limit)
	for !done() {
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-deadline:
			return os.ErrDeadlineExceeded
		case <-time.After(pause):
		}
	}
	return nil
}

// writeFileAtomically never lets a reader see half of the content.
func writeFileAtomically(path string, content []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+temporarySuffix)
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // does nothing once it is renamed
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// lastLines of a text, without blank ones at its end.
func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// jsonField takes one text field from a JSON object.
func jsonField(content []byte, name string) (string, error) {
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return "", err
	}
	text, ok := object[name].(string)
	if !ok {
		return "", fmt.Errorf("no field %s", name)
	}
	return text, nil
}
