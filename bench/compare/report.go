package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rows of the table, in its order; a figure that a contestant has not is left out.
var rows = []struct{ name, text, format string }{
	{"converge_seconds", "from nothing to all written, s", "%.1f"},
	{"converge_cpu_seconds", "  CPU of the process, s", "%.2f"},
	{"converge_apiserver_cpu_second", "  CPU of the API server, s", "%.1f"},
	{"converge_writes_per_object", "  writes an object", "%.2f"},
	{"requests_get_per_object", "  GET requests an object", "%.2f"},
	{"requests_patch_per_object", "  PATCH requests an object", "%.2f"},
	{"requests_post_per_object", "  POST requests an object", "%.2f"},
	{"reconciles_per_object", "  reconciles an object", "%.2f"},
	{"ready_cpu_seconds", "CPU until all are Ready, s", "%.2f"},
	{"status_writes_per_object", "  writes an object since it was written", "%.2f"},
	{"event_writes_per_object", "  Events an object", "%.2f"},
	{"peak_rss_mb", "peak memory, MB", "%.1f"},
	{"settled_rss_mb", "settled memory, MB", "%.1f"},
	{"settled_writes", "settled: writes", "%.0f"},
	{"settled_cpu_seconds", "settled: CPU, s", "%.2f"},
	{"restart_synced_seconds", "restart: caches whole after, s", "%.2f"},
	{"restart_seconds", "restart: nothing left to do after, s", "%.2f"},
	{"restart_cpu_seconds", "restart: CPU, s", "%.2f"},
	{"restart_writes", "restart: writes", "%.0f"},
	{"change_p50_ms", "one change, p50, ms", "%.1f"},
	{"change_p99_ms", "one change, p99, ms", "%.1f"},
	{"startup_ms", "start to ready, no models, ms", "%.0f"},
	{"empty_rss_mb", "memory without models, MB", "%.1f"},
	{"binary_mb", "program, stripped, MB", "%.1f"},
	{"libraries_mb", "shared libraries that it loads, MB", "%.1f"},
}

// results of all rounds, by contestant.
type results map[string][]figures

func quantile(sorted []float64, q float64) float64 {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if half := len(sorted) / 2; len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[len(sorted)/2]
}

func (r results) all(who, name string) []float64 {
	var values []float64
	for _, f := range r[who] {
		if value, found := f[name]; found {
			values = append(values, value)
		}
	}
	return values
}

// ratio is the median of the rounds' ratios: what else the machine does slows all contestants of a round.
func (r results) ratio(name, above, below string) float64 {
	var ratios []float64
	for round := range min(len(r[above]), len(r[below])) {
		ratios = append(ratios, r[above][round][name]/r[below][round][name])
	}
	return median(ratios)
}

func (r results) most(who, name string) float64 { return slices.Max(r.all(who, name)) }

// target is one promise: the value may not be above the limit.
type target struct {
	name  string
	value float64
	limit float64
}

func (r results) targets() []target {
	return []target{
		{"convergence_vs_raw", r.ratio("converge_seconds", "operator", "raw"), 1.15},
		{"convergence_vs_peer", r.ratio("converge_seconds", "operator", "peer"), 1},
		{"cpu_vs_peer", r.ratio("converge_cpu_seconds", "operator", "peer"), 0.5},
		{"memory_vs_peer", r.ratio("settled_rss_mb", "operator", "peer"), 0.25},
		{"settled_writes", r.most("operator", "settled_writes"), 0},
		{"restart_writes", r.most("operator", "restart_writes"), 0},
		{"change_p99_vs_peer", r.ratio("change_p99_ms", "operator", "peer"), 1},
	}
}

func (r results) names() []string {
	order := []string{"operator", "peer", "raw"}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}

// print writes the table as Markdown: medians, and the least and the most where rounds differ.
func (r results) print(out io.Writer) {
	names := r.names()
	fmt.Fprintf(out, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
	for _, row := range rows {
		fmt.Fprintf(out, "| %s |", row.text)
		for _, name := range names {
			fmt.Fprintf(out, " %s |", cell(r.all(name, row.name), row.format))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "\n| target | is | at most | |\n|---|---:|---:|---|")
	for _, t := range r.targets() {
		verdict := "met"
		if t.value > t.limit {
			verdict = "**missed**"
		}
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %s |\n", t.name, t.value, t.limit, verdict)
	}
}

func cell(values []float64, format string) string {
	if len(values) == 0 {
		return ""
	}
	text := fmt.Sprintf(format, median(values))
	least, most := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
	if least == most {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, least, most)
}

func printCurve(out io.Writer, who string, curve []figures) {
	fmt.Fprintf(out, "\n| %s: objects | CPU ms an object | KB an object | ms an object |\n|---:|---:|---:|---:|\n", who)
	for _, f := range curve {
		fmt.Fprintf(out, "| %.0f | %.2f | %.1f | %.1f |\n", f["objects"], f["cpu_ms_per_object"], f["kb_per_object"], f["ms_per_object"])
	}
}

// save writes build/bench/latest.json: the targets' values by name, and every raw figure.
func save(o options, r results, curves map[string][]figures) error {
	all := map[string]any{
		"cores": o.cores, "objects": o.objects, "rounds": o.rounds, "workers": o.workers, "raw_figures": r,
	}
	for _, t := range r.targets() {
		all[t.name] = t.value
	}
	if len(curves) > 0 {
		all["curve"] = curves
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(o.out, "latest.json"), append(text, '\n'))
}

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o644) }
