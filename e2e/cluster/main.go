// Command cluster builds and runs a real Kubernetes control plane on this machine, for tests: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, the LeaderWorkerSet manager, and kwok that plays the GPU nodes; with --node also
// a real node. Every program is built from its Go module; no container engine is needed. All listeners are on 127.0.0.1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is one verb of the command line. run gets the arguments after the verb.
type command struct {
	verb, args, about string
	run               func(ctx context.Context, set *flag.FlagSet, args []string) error
}

func commands() []command {
	return []command{
		{"build", "", "Build the programs that the cache lacks; prints their folder.", runBuild},
		{"up", "", "Start a cluster, or say that it runs; prints its KUBECONFIG.", runUp},
		{"down", "", "Stop a cluster and remove its state.", runDown},
		{"status", "", "Tell what runs; exit code 1 when the cluster is not fully up.", runStatus},
		{"start", "COMPONENT", "Start a stopped component with the same ports and data.", runComponent("start")},
		{"stop", "COMPONENT", "Stop one component: " + componentNames() + ".", runComponent("stop")},
		{"kill", "COMPONENT", "End one component as a crash would, by SIGKILL.", runComponent("kill")},
		{"restart", "COMPONENT", "Stop and start one component.", runComponent("restart")},
		{"nodes", "add COUNT | remove NAME", "Add fake GPU nodes and wait until they take pods, or remove one.", runNodes},
		{"load-image", "FILE", "Give the real node of a cluster that is up --node an image: a docker or OCI archive.", runLoadImage},
		{"install-lws", "", "Add LeaderWorkerSet to a cluster that is up --without lws.", runInstallLWS},
	}
}

// ownVerbs are those that the program calls itself with.
var ownVerbs = map[string]func(args []string) error{
	becomeVerb:  become,
	machineVerb: becomeMachine,
	portVerb:    tryPort,
}

func componentNames() string {
	var names []string
	for _, each := range components {
		names = append(names, each.name)
	}
	return strings.Join(names, ", ")
}

func main() { os.Exit(dispatch(os.Args[1:])) }

// dispatch runs the verb and turns its error into an exit code: 0 done, 1 failed, 2 misused.
func dispatch(args []string) int {
	if len(args) > 0 && ownVerbs[args[0]] != nil {
		return exitCode(ownVerbs[args[0]](args[1:]))
	}
	if len(args) == 0 {
		usage(os.Stderr)
		return 2
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(os.Stdout)
		return 0
	}
	for _, each := range commands() {
		if each.verb != args[0] {
			continue
		}
		ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer cancel()
		context.AfterFunc(ctx, cancel) // a second signal ends the program at once
		set := flag.NewFlagSet(each.verb, flag.ContinueOnError)
		err := each.run(ctx, set, args[1:])
		if errors.Is(err, flag.ErrHelp) {
			help(each, set)
			return 0
		}
		return exitCode(err)
	}
	return exitCode(misuse("no command %q: see --help", args[0]))
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "cluster: %s\n", err)
	var wrong misuseError
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}

func usage(out *os.File) {
	fmt.Fprintf(out, "A real Kubernetes control plane on this machine, with fake GPU nodes.\n\nUsage: cluster VERB [FLAGS]\n\n")
	for _, each := range commands() {
		fmt.Fprintf(out, "  %-36s %s\n", strings.TrimSpace(each.verb+" "+each.args), each.about)
	}
	fmt.Fprintf(out, "\nVERB --help tells the flags. Exit codes: 0 done, 1 failed, 2 misused.\n")
}

func help(each command, set *flag.FlagSet) {
	fmt.Printf("Usage: cluster %s [FLAGS]\n\n%s\n\n", strings.TrimSpace(each.verb+" "+each.args), each.about)
	set.SetOutput(os.Stdout)
	set.PrintDefaults()
}

func toTerminal() *progress { return &progress{os.Stderr} }

func noWords(words []string) error {
	if len(words) > 0 {
		return misuse("unexpected %q", words[0])
	}
	return nil
}

func runBuild(ctx context.Context, set *flag.FlagSet, args []string) error {
	var t target
	var with []string
	set.StringVar(&t.binDir, "bin-dir", "", "folder of the programs (default: keyed in the user's cache)")
	withFlag(set, &with)
	words, err := parse(set, args)
	if err = errors.Join(err, noWords(words)); err != nil {
		return err
	}
	bin, _, err := t.build(ctx, with, toTerminal())
	if err != nil {
		return err
	}
	fmt.Println(bin)
	return nil
}

func runUp(ctx context.Context, set *flag.FlagSet, args []string) error {
	var o upOptions
	o.flags(set)
	words, err := parse(set, args)
	if err = errors.Join(err, noWords(words)); err != nil {
		return err
	}
	if err := o.check(set); err != nil {
		return err
	}
	c, err := up(ctx, o, toTerminal())
	if err != nil {
		return err
	}
	fmt.Printf("KUBECONFIG=%s\n", c.kubeconfig())
	return nil
}

func runDown(ctx context.Context, set *flag.FlagSet, args []string) error {
	logs := set.Bool("keep-logs", false, "keep the components' logs")
	t, _, err := parseTarget(set, args, 0)
	if err != nil {
		return err
	}
	keep := nothing
	if *logs {
		keep = keepLogs
	}
	return down(ctx, t.state, keep, toTerminal())
}

func runStatus(ctx context.Context, set *flag.FlagSet, args []string) error {
	format := set.String("o", "text", "text or json")
	t, _, err := parseTarget(set, args, 0)
	if err != nil {
		return err
	}
	if *format != "text" && *format != "json" {
		return misuse("-o %s: text or json", *format)
	}
	c, err := requireCluster(t.state)
	if err != nil {
		return err
	}
	r := c.report(ctx)
	print := r.printText
	if *format == "json" {
		print = r.printJSON
	}
	if err := print(os.Stdout); err != nil {
		return err
	}
	if !r.Up {
		return fmt.Errorf("cluster %s is not fully up", c.Name)
	}
	return nil
}

// parseTarget is for the commands that take --name, --state and a fixed number of words.
func parseTarget(set *flag.FlagSet, args []string, words int) (target, []string, error) {
	var t target
	t.flags(set)
	got, err := parse(set, args)
	if err != nil {
		return t, nil, err
	}
	if len(got) != words {
		return t, nil, misuse("%s takes %d words, not %d: see --help", set.Name(), words, len(got))
	}
	return t, got, t.resolve()
}

// change runs work on a cluster that exists, while no other command changes it.
func change(ctx context.Context, t target, work func(c *cluster) error) error {
	if _, err := requireCluster(t.state); err != nil {
		return err
	}
	lock, err := lockState(ctx, t.state, time.Minute, toTerminal())
	if err != nil {
		return err
	}
	defer lock.release()
	c, err := requireCluster(t.state) // only now it holds still
	if err != nil {
		return err
	}
	return work(c)
}

func runComponent(verb string) func(context.Context, *flag.FlagSet, []string) error {
	return func(ctx context.Context, set *flag.FlagSet, args []string) error {
		t, words, err := parseTarget(set, args, 1)
		if err != nil {
			return err
		}
		each, err := findComponent(words[0])
		if err != nil {
			return err
		}
		if each.name == machineName && verb != "kill" {
			return misuse("%s the machine: everything runs in it, use `down` and `up`", verb)
		}
		return change(ctx, t, func(c *cluster) error {
			if verb == "kill" {
				return c.kill(each, toTerminal())
			}
			if verb != "start" {
				if err := c.stop(each, toTerminal()); err != nil || verb == "stop" {
					return err
				}
			}
			return c.start(ctx, each, toTerminal())
		})
	}
}

func runNodes(ctx context.Context, set *flag.FlagSet, args []string) error {
	t, words, err := parseTarget(set, args, 2)
	if err != nil {
		return err
	}
	switch words[0] {
	case "remove":
		return change(ctx, t, func(c *cluster) error { return c.removeNode(ctx, words[1]) })
	case "add":
		count, err := strconv.Atoi(words[1])
		if err != nil || count < 1 || count > 5000 {
			return misuse("nodes add %s: a number from 1 to 5000", words[1])
		}
		return change(ctx, t, func(c *cluster) error {
			names, err := c.addNodes(ctx, count, toTerminal())
			fmt.Println(strings.Join(names, "\n"))
			return err
		})
	}
	return misuse("nodes %s: add or remove", words[0])
}

func runLoadImage(ctx context.Context, set *flag.FlagSet, args []string) error {
	t, words, err := parseTarget(set, args, 1)
	if err != nil {
		return err
	}
	return change(ctx, t, func(c *cluster) error {
		names, err := c.loadImage(ctx, words[0])
		if err != nil {
			return err
		}
		fmt.Println(strings.Join(names, "\n"))
		return nil
	})
}

func runInstallLWS(ctx context.Context, set *flag.FlagSet, args []string) error {
	t, _, err := parseTarget(set, args, 0)
	if err != nil {
		return err
	}
	return change(ctx, t, func(c *cluster) error { return c.installLWS(ctx, toTerminal()) })
}
