package main

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// written knows the statuses that the cache does not show yet: without it, a reconcile that the children's events cause
// writes the same status once more whenever it is faster than the echo of the first write.
type written struct {
	mutex sync.Mutex
	last  map[types.UID]lastStatus
}

type lastStatus struct {
	version uint64 // resourceVersion after the write; a larger one is newer
	sum     [sha256.Size]byte
}

// covers says whether this very status was written already and the cache is only behind.
func (w *written) covers(model *InferenceDeployment, body []byte) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last, found := w.last[model.UID]
	cached, err := strconv.ParseUint(model.ResourceVersion, 10, 64)
	return found && err == nil && cached < last.version && last.sum == sha256.Sum256(body)
}

func (w *written) remember(uid types.UID, body, answer []byte) error {
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(answer, &object); err != nil {
		return err
	}
	version, err := strconv.ParseUint(object.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.last == nil {
		w.last = map[types.UID]lastStatus{}
	}
	w.last[uid] = lastStatus{version, sha256.Sum256(body)}
	return nil
}

func (w *written) forget(uid types.UID) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.last, uid)
}
