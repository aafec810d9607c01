# shellcheck shell=bash
# ./dev bench: speed and size of what is shipped, for which it uses the functions of e2e/demo.sh; and ./dev bench --peer. Sourced by ./dev.

readonly BENCH_MODELS=200
readonly BENCH_GROUP_MODELS=50 BENCH_GROUPS_EACH=10

bench() {
  local bin=$ROOT/build/release/bin
  printf 'cores                       %s\n' "$(nproc)"
  "$bin/render_bench" render/golden/single-node-vllm/input.yaml render/golden/native-gang/input.yaml
  bench_start "$bin/kubectl-inference"
  local program
  for program in inference-operator kubectl-inference; do
    strip -o "$ROOT/build/$program.stripped" "$bin/$program"
    printf '%-27s %s MB stripped (target: under 15)\n' "$program" "$(bench_mb "$(stat -c %s "$ROOT/build/$program.stripped")")"
    rm "$ROOT/build/$program.stripped"
  done
  bench_cluster
  bench_memory
  "$ROOT/build/localcluster" nodes add 120 --name demo >/dev/null
  bench_groups Native
  bench_groups Gates
}

bench_mb() { awk -v bytes="$1" 'BEGIN { printf "%.1f", bytes / 1000000 }'; }

# The median of 31 runs, from start to exit.
bench_start() {
  local run start times=()
  for run in $(seq 31); do
    start=${EPOCHREALTIME/./}
    "$1" render -f config/samples/llama-70b.yaml >/dev/null
    times+=($((${EPOCHREALTIME/./} - start)))
  done
  : "$run"
  printf 'render one file             %s ms from start to exit (median of 31; target: under 30)\n' \
    "$(printf '%s\n' "${times[@]}" | sort -n | awk 'NR == 16 { printf "%.1f", $1 / 1000 }')"
}

# A control plane of their own for what follows, and the operator on it.
bench_cluster() {
  mkdir -p "$DEMO"
  localcluster up --name demo --nodes 10 >/dev/null
  # shellcheck disable=SC2034  # read by k in e2e/demo.sh
  KUBECTL=("$(local_kubectl "$ROOT/build/cluster/demo")" --kubeconfig "$ROOT/build/cluster/demo/kubeconfig")
  trap 'demo_cleanup' EXIT
  install_operator_objects >/dev/null
  start_operator >/dev/null
}

# Resident memory of the operator once 200 models are settled on the local cluster.
bench_memory() {
  local number pid
  for number in $(seq "$BENCH_MODELS"); do
    printf -- '---\napiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: m%s}\n' "$number"
    printf 'spec: {model: {uri: "file:///models/m"}, parallelism: {tensor: 1}, suspend: true}\n'
  done | k apply --server-side -n "$SAMPLE_NAMESPACE" -f - >/dev/null
  until (($(k get deployments -n "$SAMPLE_NAMESPACE" -o name | wc -l) == BENCH_MODELS)) && bench_all_ready "$SAMPLE_NAMESPACE"; do sleep 1; done
  sleep 5
  read -r pid _ <"$DEMO/operator.pid"
  printf 'operator, %s models        %s MB resident (target: under 40)\n' "$BENCH_MODELS" \
    "$(awk '/VmRSS/ { printf "%.1f", $2 / 1000 }' "/proc/$pid/status")"
}

bench_all_ready() {
  operator_runs || die "the operator died, see build/demo/operator.log"
  k wait --for=condition=Ready --timeout=120s inferencedeployments --all -n "$1" >/dev/null 2>&1
}

# Writes by the operator in a namespace so far, from the API server's audit log.
bench_writes() {
  grep -F '"stage":"ResponseComplete"' "$ROOT/build/cluster/demo/audit.log" | grep -cF "\"namespace\":\"$1\"" || true
}

# 500 groups of two nodes, placed whole in the given gang mode: how long, at what price, and whether it is quiet then.
bench_groups() {
  local number pid start writes groups=$((BENCH_GROUP_MODELS * BENCH_GROUPS_EACH)) namespace=bench-${1,,}
  k create namespace "$namespace" >/dev/null
  read -r pid _ <"$DEMO/operator.pid"
  start=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
  SECONDS=0
  for number in $(seq "$BENCH_GROUP_MODELS"); do
    printf -- '---\napiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: m%s}\n' "$number"
    printf 'spec: {model: {uri: "file:///models/m"}, parallelism: {tensor: 1}, nodes: 2, replicas: %s, scheduling: {gang: %s}, resources: {cpu: 1, memory: 16Gi}}\n' \
      "$BENCH_GROUPS_EACH" "$1"
  done | k apply --server-side -n "$namespace" -f - >/dev/null
  until bench_all_ready "$namespace"; do ((SECONDS < 1800)) || die "$groups groups are not Ready after half an hour"; done
  printf '%-27s %s s until all are Ready, %s s CPU of the operator\n' "$groups groups by $1" "$SECONDS" \
    "$(awk -v start="$start" '{ printf "%.1f", ($14 + $15 - start) / 100 }' "/proc/$pid/stat")"
  sleep 5
  writes=$(bench_writes "$namespace")
  printf '                            %s writes a group (one by Native for its PodGroup, two by Gates for its pods; the rest are other children and status)\n' \
    "$(awk -v writes="$writes" -v groups="$groups" 'BEGIN { printf "%.1f", writes / groups }')"
  sleep 30
  printf '                            %s writes in the 30 s after (target: 0)\n' "$(($(bench_writes "$namespace") - writes))"
  k delete namespace "$namespace" --timeout=600s >/dev/null
}

# ./dev bench --peer: the operator beside one on controller-runtime and a bare writer, on a control plane of their own.
bench_peer() {
  ensure_go
  mkdir -p build/bench
  exec 9>build/bench/.lock
  flock -n 9 || die "another ./dev bench --peer is running in this checkout"
  (cd e2e/cluster && go build -o "$ROOT/build/localcluster" .) || die "e2e/cluster does not build"
  (cd bench && go build -o "$ROOT/build/bench/" ./peer ./raw ./compare) || die "bench does not build"
  build/bench/compare "$@" 9>&-
}
