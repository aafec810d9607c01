# shellcheck shell=bash
# ./dev demo: from nothing to two served models. Sourced by ./dev, whose functions and ROOT it uses.

readonly DEMO=$ROOT/build/demo
readonly SAMPLE_NAMESPACE=inference-demo

demo() {
  local keep="" context="" own_cluster=""
  while (($#)); do
    case $1 in
      --keep) keep=yes; shift ;;
      --context) context=${2:-}; [[ -n $context ]] || misuse "--context needs a name"; own_cluster=yes; shift 2 ;;
      *) misuse "demo does not know $1" ;;
    esac
  done
  [[ -z ${KUBECONFIG:-} ]] || own_cluster=yes
  mkdir -p "$DEMO"
  exec 9>"$DEMO/.lock"
  flock -n 9 || die "another ./dev demo is running in this checkout (it holds build/demo/.lock)"
  if operator_runs; then say "an earlier demo was killed or kept: stopping its operator"; fi
  stop_operator

  build release kubectl-inference inference-operator
  if [[ -n $own_cluster ]]; then
    command -v kubectl >/dev/null || die "with your own cluster the demo uses your kubectl, and there is none on the PATH"
    KUBECTL=(kubectl ${context:+--context "$context"})
  else
    localcluster up --name demo --nodes 10
    KUBECTL=("$(local_kubectl "$ROOT/build/cluster/demo")" --kubeconfig "$ROOT/build/cluster/demo/kubeconfig")
  fi
  # Whatever happens from here on, what the demo started is stopped, unless it succeeds and is to be kept.
  trap 'demo_cleanup' EXIT
  trap 'exit 130' INT TERM
  DEMO_OWN_CLUSTER=$own_cluster

  install_operator_objects
  start_operator
  say "applying config/samples to namespace $SAMPLE_NAMESPACE"
  k apply --server-side -n "$SAMPLE_NAMESPACE" -k config/samples >/dev/null
  wait_until_ready llama-70b llama-405b
  show_result
  if [[ -n $keep ]]; then
    trap - EXIT
    say "left running; look around with: ${KUBECTL[*]} -n $SAMPLE_NAMESPACE get idep,deploy,lws,pods"
    say "operator log: build/demo/operator.log; ./dev demo starts over${own_cluster:+; nothing was removed from your cluster}"
    [[ -n $own_cluster ]] || say "stop all: kill $(cut -d' ' -f1 "$DEMO/operator.pid"); build/localcluster down --name demo"
  fi
}

k() { "${KUBECTL[@]}" "$@"; }

# Applies CRDs, RBAC and the admission policy, and remembers which of the cluster-wide things were not there before.
install_operator_objects() {
  say "installing CRDs, RBAC and the gang admission policy from config/"
  DEMO_CREATED=()
  k get crd inferencedeployments.inference-operator.dev >/dev/null 2>&1 || DEMO_CREATED+=(install)
  k get namespace "$SAMPLE_NAMESPACE" >/dev/null 2>&1 || { k create namespace "$SAMPLE_NAMESPACE" >/dev/null; DEMO_CREATED+=(namespace); }
  k apply --server-side -k config/default >/dev/null
  k wait --for=condition=Established --timeout=30s crd/inferencedeployments.inference-operator.dev \
    crd/inferenceprofiles.inference-operator.dev >/dev/null
}

# The operator runs on this machine as its own service account: a token of an hour, and only the rights of config/rbac.
start_operator() {
  local server ca
  server=$(k config view --minify --flatten --raw -o jsonpath='{.clusters[0].cluster.server}')
  ca=$(k config view --minify --flatten --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}')
  (
    umask 077
    k create token inference-operator -n inference-system --duration 12h >"$DEMO/token"
    cat >"$DEMO/operator.kubeconfig" <<KUBECONFIG
apiVersion: v1
kind: Config
clusters: [{name: demo, cluster: {server: "$server", certificate-authority-data: "$ca"}}]
users: [{name: inference-operator, user: {tokenFile: "$DEMO/token"}}]
contexts: [{name: demo, context: {cluster: demo, user: inference-operator}}]
current-context: demo
KUBECONFIG
  )
  say "starting the operator as system:serviceaccount:inference-system:inference-operator"
  KUBECONFIG="" setsid "$ROOT/build/release/bin/inference-operator" --kubeconfig "$DEMO/operator.kubeconfig" \
    --health-address 127.0.0.1:0 >"$DEMO/operator.log" 2>&1 9>&- </dev/null &
  printf '%s %s\n' "$!" "$(start_time "$!")" >"$DEMO/operator.pid"
}

# A pid alone may belong to another process by now: it is ours only while its start time is the one we wrote down.
start_time() { awk '{print $22}' "/proc/$1/stat" 2>/dev/null || true; }
operator_runs() {
  local pid started
  [[ -r $DEMO/operator.pid ]] && read -r pid started <"$DEMO/operator.pid" && [[ -n $started && $(start_time "$pid") == "$started" ]]
}
stop_operator() {
  if operator_runs; then
    local pid waited=0
    read -r pid _ <"$DEMO/operator.pid"
    kill -TERM "$pid" 2>/dev/null || true
    while operator_runs && ((waited++ < 60)); do sleep 0.1; done
    operator_runs && kill -KILL "$pid" 2>/dev/null
  fi
  rm -f "$DEMO/operator.pid"
}

# Prints a line whenever a model's state changes; ends when all are Ready, fails after five minutes or when the operator dies.
wait_until_ready() {
  local deadline=$((SECONDS + 300)) name line ready
  declare -A last=()
  while :; do
    ready=0
    for name in "$@"; do
      line=$(k get inferencedeployment "$name" -n "$SAMPLE_NAMESPACE" -o jsonpath='{range .status.conditions[?(@.type=="Ready")]}Ready={.status} {.reason}: {.message}{end}')
      line=${line:-not seen by the operator yet}
      [[ ${last[$name]:-} == "$line" ]] || printf '    %3ds  %-12s %s\n' "$SECONDS" "$name" "$line"
      last[$name]=$line
      [[ $line == Ready=True* ]] && ready=$((ready + 1))
    done
    ((ready == $#)) && return
    operator_runs || { tail -n 5 "$DEMO/operator.log" >&2; die "the operator died, see build/demo/operator.log"; }
    ((SECONDS < deadline)) || die "not Ready after five minutes; see ./dev demo --keep, build/demo/operator.log"
    sleep 0.3
  done
}

show_result() {
  local kinds=deployments.apps,services,configmaps,poddisruptionbudgets.policy kind
  for kind in leaderworkersets.leaderworkerset.x-k8s.io podgroups.scheduling.k8s.io; do
    k get "$kind" -n "$SAMPLE_NAMESPACE" >/dev/null 2>&1 && kinds+=,$kind
  done
  printf '\n'
  k get "$kinds" -n "$SAMPLE_NAMESPACE" -l app.kubernetes.io/managed-by=inference-operator --sort-by=.kind \
    -o custom-columns='CREATED:.kind,NAME:.metadata.name,FOR:.metadata.ownerReferences[0].name'
  printf '\n'
  k get inferencedeployments -n "$SAMPLE_NAMESPACE"
  printf '\n'
}

demo_cleanup() {
  trap - EXIT
  say "stopping what the demo started (--keep leaves it running)"
  stop_operator
  if [[ -n ${DEMO_OWN_CLUSTER:-} ]]; then
    say "removing what this demo created in your cluster"
    k delete -n "$SAMPLE_NAMESPACE" -k config/samples --ignore-not-found --wait=false >/dev/null 2>&1 || true
    [[ " ${DEMO_CREATED[*]:-} " != *" namespace "* ]] || k delete namespace "$SAMPLE_NAMESPACE" --wait=false >/dev/null 2>&1 || true
    [[ " ${DEMO_CREATED[*]:-} " != *" install "* ]] || k delete -k config/default --ignore-not-found --wait=false >/dev/null 2>&1 || true
  else
    "$ROOT/build/localcluster" down --name demo >/dev/null || true
  fi
}
