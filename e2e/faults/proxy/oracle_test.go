package main

import (
	"net/http/httptest"
	"slices"
	"testing"
)

func TestRequestsAreToldApart(t *testing.T) {
	for _, each := range []struct {
		method, target string
		want           request
	}{
		{"GET", "/api/v1/namespaces/n/services/m", request{verb: "GET", resource: "services"}},
		{"GET", "/api/v1/pods?limit=500", request{verb: "LIST", resource: "pods"}},
		{"GET", "/api/v1/pods?limit=500&continue=x", request{verb: "LIST", resource: "pods", further: true}},
		{"GET", "/apis/apps/v1/deployments?watch=true&sendInitialEvents=true", request{verb: "WATCH", resource: "deployments", streamed: true}},
		{"PATCH", "/apis/g/v1/namespaces/n/things/m/status?force=true", request{verb: "PATCH", resource: "things/status"}},
		{"POST", "/apis/events.k8s.io/v1/namespaces/n/events", request{verb: "POST", resource: "events"}},
		{"GET", "/apis/apps/v1", request{verb: "GET"}},
		{"GET", "/version", request{verb: "GET", resource: "version"}},
	} {
		if got := describe(httptest.NewRequest(each.method, each.target, nil)); got != each.want {
			t.Errorf("%s %s: %+v", each.method, each.target, got)
		}
	}
}

func fates(o *oracle, r request, count int) []fate {
	var all []fate
	for range count {
		all = append(all, o.ask(r))
	}
	return all
}

func TestTheSameSeedMeansTheSameFateWhateverElseIsAsked(t *testing.T) {
	patch, watch := request{verb: "PATCH", resource: "services"}, request{verb: "WATCH", resource: "pods"}
	one, other := newOracle(7), newOracle(7)
	patches := fates(one, patch, 300)
	watches := fates(one, watch, 300)
	var mixed, mixedWatches []fate
	for range 300 {
		mixedWatches = append(mixedWatches, other.ask(watch))
		mixed = append(mixed, other.ask(patch))
	}
	if !slices.Equal(patches, mixed) || !slices.Equal(watches, mixedWatches) {
		t.Error("two oracles of one seed differ")
	}
	if slices.Equal(patches, fates(newOracle(8), patch, 300)) {
		t.Error("two seeds say the same")
	}
}

func TestEveryFaultHappensAndMostRequestsWork(t *testing.T) {
	seen := map[fault]int{}
	for _, r := range []request{
		{verb: "PATCH", resource: "services"}, {verb: "LIST", resource: "pods", further: true}, {verb: "WATCH", resource: "pods", streamed: true},
	} {
		for _, each := range fates(newOracle(3), r, 2000) {
			seen[each.fault]++
		}
	}
	all := append(append([]fault{}, invented...), afterwards...)
	all = append(all, late, dropped)
	for each := range inWatch {
		all = append(all, each)
	}
	for _, each := range all {
		if seen[each] == 0 {
			t.Errorf("%q never happens", each)
		}
	}
	if seen[none] < 3000 {
		t.Errorf("only %d of 6000 work", seen[none])
	}
}

func TestNothingHappensOnceItIsCalm(t *testing.T) {
	o := newOracle(1)
	o.calm.Store(true)
	for _, each := range fates(o, request{verb: "WATCH"}, 100) {
		if each.fault != none {
			t.Fatal(each)
		}
	}
}
