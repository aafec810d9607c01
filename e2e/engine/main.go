// Command engine stands for an inference engine in tests. It takes the arguments that are rendered for vLLM, for SGLang or for the
// plain contract, answers and dies as they do, their faults included, and generates nothing but the word "token". What the real
// ones do is told beside each behaviour, with the release in which it was seen (vLLM 0.32.0) or read (SGLang 0.5.23).
//
//	vllm serve [MODEL] …                what the program is called tells which engine it is
//	python3 -m sglang.launch_server …
//	engine …                            the contract: GET /health, GET /health/ready, POST /drain
//	engine load …                       the other side: streams from a server, and counts which streams were cut
//
// How long things take, and which of several faults it shows, comes by environment: see settings.go.
package main

import (
	"log"
	"os"
	"path/filepath"
)

// kind is which engine it stands for.
type kind string

const (
	vllm    kind = "vllm"
	sglang  kind = "sglang"
	generic kind = "generic"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if len(os.Args) > 1 && os.Args[1] == "load" {
		os.Exit(loadCommand(os.Args[2:]))
	}
	os.Exit(serve(os.Args))
}

// recognize tells by the command line which engine is meant, and which of its words are arguments.
func recognize(argv []string) (kind, []string) {
	words := argv[1:]
	switch {
	case filepath.Base(argv[0]) == "vllm" && len(words) > 0 && words[0] == "serve":
		return vllm, words[1:]
	case len(words) > 1 && words[0] == "-m" && words[1] == "sglang.launch_server":
		return sglang, words[2:]
	default:
		return generic, words
	}
}

// serve runs an engine from its first import to its end, and returns its exit code.
func serve(argv []string) int {
	which, words := recognize(argv)
	given, err := parseArguments(which, words)
	if err != nil {
		log.Printf("%s: error: %s", which, err)
		return 2 // vLLM 0.32.0: argparse's code
	}
	set, err := readSettings(os.Getenv)
	if err != nil {
		log.Print(err)
		return 2
	}
	for _, word := range given.ignored {
		log.Printf("ignored argument: %s", word)
	}
	record, err := openJournal(set.journal)
	if err != nil {
		log.Print(err)
		return 2
	}
	return newEngine(which, given, set, record).live()
}
