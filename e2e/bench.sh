# shellcheck shell=bash
# ./dev bench: speed and size of what is shipped, for which it uses the functions of e2e/demo.sh; and ./dev bench --peer. Sourced by ./dev.

readonly BENCH_MODELS=200

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
  bench_memory
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

# Resident memory of the operator once 200 models are settled on the local cluster.
bench_memory() {
  mkdir -p "$DEMO"
  localcluster up --name demo --nodes 10 >/dev/null
  # shellcheck disable=SC2034  # read by k in e2e/demo.sh
  KUBECTL=("$(local_kubectl "$ROOT/build/cluster/demo")" --kubeconfig "$ROOT/build/cluster/demo/kubeconfig")
  trap 'demo_cleanup' EXIT
  install_operator_objects >/dev/null
  start_operator >/dev/null
  local number pid
  for number in $(seq "$BENCH_MODELS"); do
    printf -- '---\napiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: m%s}\n' "$number"
    printf 'spec: {model: {uri: "file:///models/m"}, parallelism: {tensor: 1}, suspend: true}\n'
  done | k apply --server-side -n "$SAMPLE_NAMESPACE" -f - >/dev/null
  until (($(k get deployments -n "$SAMPLE_NAMESPACE" -o name | wc -l) == BENCH_MODELS)) &&
    k wait --for=condition=Ready --timeout=120s inferencedeployments --all -n "$SAMPLE_NAMESPACE" >/dev/null; do
    operator_runs || die "the operator died, see build/demo/operator.log"
    sleep 1
  done
  sleep 5
  read -r pid _ <"$DEMO/operator.pid"
  printf 'operator, %s models        %s MB resident (target: under 40)\n' "$BENCH_MODELS" \
    "$(awk '/VmRSS/ { printf "%.1f", $2 / 1000 }' "/proc/$pid/status")"
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
