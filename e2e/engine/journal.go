package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// journal counts generations, and writes each event as a line, so that what a pod did is known after its end, however it came.
// A generation that was begun and neither finished nor left by its client was cut.
type journal struct {
	mutex sync.Mutex
	file  *os.File // nil: counts only
	tally tally
}

// tally is the sums of a journal.
type tally struct {
	Begun    int `json:"begun"`
	Finished int `json:"finished"` // all tokens and the end marker were written
	Cut      int `json:"cut"`      // the engine ended it before
	Left     int `json:"left"`     // its client went away while the engine was well
}

// event is a line's second word.
type event string

const (
	started  event = "started"
	ready    event = "ready"
	begun    event = "begun"
	finished event = "finished"
	cut      event = "cut"
	left     event = "left"
	signaled event = "signal"
	ended    event = "ended"
)

// openJournal appends to the file of this host, since a container that starts again is the same pod.
func openJournal(folder string) (*journal, error) {
	if folder == "" {
		return &journal{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, host+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &journal{file: file}, err
}

// note writes `TIME EVENT DETAIL`. What is no generation's is also logged.
func (j *journal) note(what event, format string, values ...any) {
	detail := fmt.Sprintf(format, values...)
	j.mutex.Lock()
	defer j.mutex.Unlock()
	switch what {
	case begun:
		j.tally.Begun++
	case finished:
		j.tally.Finished++
	case cut:
		j.tally.Cut++
	case left:
		j.tally.Left++
	default:
		log.Printf("%s %s", what, detail)
	}
	if j.file != nil {
		fmt.Fprintf(j.file, "%s %s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), what, detail)
	}
}

func (j *journal) sums() tally {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.tally
}
