package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// kept says what removeState leaves behind.
type kept int

const (
	nothing kept = iota
	keepLogs
)

// down stops the cluster and removes its state. Nothing there is a success: the wanted state is reached.
func down(ctx context.Context, state string, keep kept, say *progress) error {
	lock, err := lockState(ctx, state, time.Minute, say)
	if err != nil {
		return err
	}
	defer lock.release()
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && onlyLogs(entries)) {
		say.note("nothing runs in %s", state)
		return errors.Join(clearCgroups(state), removeState(state, keep))
	}
	if err != nil {
		return err
	}
	if err := mayClear(state, entries); err != nil {
		return err
	}
	c := &cluster{state: state}
	return say.step("cluster stopped", func() error {
		if _, err := c.stopAll(say); err != nil {
			return err
		}
		return removeState(state, keep)
	})
}

// removeState deletes the state folder, once nothing runs any more.
func removeState(state string, keep kept) error {
	if keep == nothing {
		return os.RemoveAll(state)
	}
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Name() != "logs" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(state, entry.Name())))
		}
	}
	return err
}

// stateEntries is everything that a state folder may hold.
var stateEntries = map[string]bool{
	recordFile: true, "kubeconfig": true, "audit.log": true,
	"pki": true, "conf": true, "data": true, "logs": true, "run": true, machineName: true,
}

// mayClear refuses to empty a folder that is not ours: --state may be mistyped.
func mayClear(state string, entries []os.DirEntry) error {
	for _, entry := range entries {
		name := entry.Name()
		partial := filepath.Ext(name) == temporarySuffix
		component := filepath.Ext(name) == ".log" || filepath.Ext(name) == ".gz" // a rotated audit log
		if !stateEntries[name] && !partial && !component {
			return fmt.Errorf("%s is no state folder of a cluster (it holds %s): not touched", state, name)
		}
	}
	return nil
}

func onlyLogs(entries []os.DirEntry) bool {
	return len(entries) == 0 || (len(entries) == 1 && entries[0].Name() == "logs")
}
