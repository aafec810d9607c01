package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// generation is one request inside the engine.
type generation struct {
	prompt int // bytes
	limit  int // tokens
	made   atomic.Int64
	news   chan struct{} // of capacity 1: there are more tokens than before
	gone   atomic.Bool   // nobody waits for it any more
}

func newGeneration(prompt, limit int) *generation {
	return &generation{prompt: prompt, limit: limit, news: make(chan struct{}, 1)}
}

func (g *generation) done() bool { return int(g.made.Load()) >= g.limit }

// core is one scheduler with its model. It works in steps: what arrives during a step is seen by nobody before the next, and the
// gauges tell of the last step that has ended (vLLM 0.32.0: with 60,000 tokens of prefill in one step, both gauges read 0 for 13 s
// while two requests were accepted).
type core struct {
	set      settings
	seats    int
	interval int           // steps between two updates of the gauges
	wake     chan struct{} // of capacity 1: something arrived, or left
	frozen   chan struct{} // closed: not one token more

	mutex   sync.Mutex
	arrived []*generation
	shown   gauges

	// Of the goroutine that works, alone.
	waiting, running []*generation
	steps            int
}

// gauges are what /metrics tells of one core.
type gauges struct{ running, waiting int }

// sglangInterval: SGLang 0.5.23 updates its gauges when it takes prompts in and each 40 steps (--decode-log-interval), and so leaves
// what it said last for up to half a minute when it becomes idle.
const (
	sglangInterval = 40
	sglangIdle     = 30 * time.Second
)

func newCore(which kind, seats int, set settings) *core {
	c := &core{set: set, seats: max(1, seats), interval: 1, wake: make(chan struct{}, 1), frozen: make(chan struct{})}
	if which == sglang {
		c.interval = sglangInterval
	}
	return c
}

func (c *core) add(g *generation) {
	c.mutex.Lock()
	c.arrived = append(c.arrived, g)
	c.mutex.Unlock()
	c.rouse()
}

// drop takes back a generation whose client left.
func (c *core) drop(g *generation) {
	g.gone.Store(true)
	c.rouse()
}

func (c *core) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *core) gauges() gauges {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.shown
}

// work runs until the core is frozen.
func (c *core) work() {
	for {
		prompt := c.takeIn()
		pause := c.set.step + time.Duration(prompt)*c.set.prefill
		if len(c.running) == 0 {
			if !c.rest() {
				return
			}
			continue
		}
		select {
		case <-time.After(pause):
		case <-c.frozen:
			return
		}
		c.emit()
		c.steps++
		if prompt > 0 || c.steps%c.interval == 0 {
			c.publish()
		}
	}
}

// rest waits for work; false is the end.
func (c *core) rest() bool {
	var idle <-chan time.Time
	if c.interval > 1 {
		idle = time.After(sglangIdle)
	} else {
		c.publish() // the last client may have left before its step began
	}
	for {
		select {
		case <-c.wake:
			return true
		case <-idle:
			c.publish()
		case <-c.frozen:
			return false
		}
	}
}

// takeIn fills the seats, and returns how many bytes of prompts are new.
func (c *core) takeIn() int {
	c.mutex.Lock()
	c.waiting = append(c.waiting, c.arrived...)
	c.arrived = nil
	c.mutex.Unlock()
	c.forget()
	prompt := 0
	for len(c.waiting) > 0 && len(c.running) < c.seats {
		prompt += max(1, c.waiting[0].prompt)
		c.running = append(c.running, c.waiting[0])
		c.waiting = c.waiting[1:]
	}
	return prompt
}

func (c *core) forget() {
	over := func(g *generation) bool { return g.gone.Load() || g.done() }
	c.waiting = slices.DeleteFunc(c.waiting, over)
	c.running = slices.DeleteFunc(c.running, over)
}

func (c *core) emit() {
	for _, g := range c.running {
		g.made.Add(1)
		select {
		case g.news <- struct{}{}:
		default:
		}
	}
	c.forget()
}

func (c *core) publish() {
	c.mutex.Lock()
	c.shown = gauges{running: len(c.running), waiting: len(c.waiting)}
	c.mutex.Unlock()
}
