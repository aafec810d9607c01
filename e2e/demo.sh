# shellcheck shell=bash
# ./dev demo: from nothing to two served models. Sourced by ./dev, whose functions and ROOT it uses.

readonly DEMO=$ROOT/build/demo
readonly SAMPLE_NAMESPACE=inference-demo

# On what the demo creates, so that the next one knows what an earlier one left. Whoever applies an object anew without it has taken it over.
readonly DEMO_PART_OF=inference-operator-demo
DEMO_OWN_CLUSTER="" # the user's, not one of ours
DEMO_CREATED=()     # objects as YAML in the order of their creation
DEMO_LEASE=""       # the operator's lease is ours too: there was none

demo() {
  local keep="" context=""
  while (($#)); do
    case $1 in
      --keep) keep=yes; shift ;;
      --context) context=${2:-}; [[ -n $context ]] || misuse "--context needs a name"; DEMO_OWN_CLUSTER=yes; shift 2 ;;
      *) misuse "demo does not know $1" ;;
    esac
  done
  [[ -z ${KUBECONFIG:-} ]] || DEMO_OWN_CLUSTER=yes
  mkdir -p "$DEMO"
  exec 9>"$DEMO/.lock"
  flock -n 9 || die "another ./dev demo is running in this checkout (it holds build/demo/.lock)"
  # Before a build of minutes.
  if [[ -n $DEMO_OWN_CLUSTER ]]; then
    use_own_cluster "$context"
    refuse_foreign_models
  fi
  if operator_runs; then say "an earlier demo was killed or kept: stopping its operator"; fi
  stop_operator

  build_shipped 9>&-
  # Whatever happens from here on, what the demo started is stopped, unless it succeeds and is to be kept.
  trap 'demo_cleanup' EXIT
  trap 'exit 130' INT TERM HUP
  if [[ -z $DEMO_OWN_CLUSTER ]]; then
    localcluster up --name demo --nodes 10
    KUBECTL=("$(local_kubectl "$ROOT/build/cluster/demo")" --kubeconfig "$ROOT/build/cluster/demo/kubeconfig")
  fi

  install_operator_objects
  start_operator
  say "applying config/samples to namespace $SAMPLE_NAMESPACE"
  create_objects < <(samples)
  wait_until_ready llama-70b llama-405b
  show_result
  if [[ -n $keep ]]; then
    trap - EXIT
    say "left running; look around with: ${KUBECTL[*]} -n $SAMPLE_NAMESPACE get idep,deploy,lws,pods"
    say "operator log: build/demo/operator.log; the next ./dev demo takes over what this one left${DEMO_OWN_CLUSTER:+, and removes it from your cluster}"
    [[ -n $DEMO_OWN_CLUSTER ]] || say "stop all: kill $(cut -d' ' -f1 "$DEMO/operator.pid"); build/localcluster down --name demo"
  fi
}

# Without our locks' descriptors: a kubectl may outlive us for a while.
k() { "${KUBECTL[@]}" "$@" 8>&- 9>&-; }

# The context is pinned: the user may choose another one in the middle.
use_own_cluster() {
  local context=$1 file=${KUBECONFIG:-$HOME/.kube/config} contexts server
  command -v kubectl >/dev/null || die "with your own cluster the demo uses your kubectl, and there is none on the PATH"
  require_kubeconfig "$file"
  contexts=$(kubectl config get-contexts -o name) || die "kubectl can't read $file"
  [[ -n $context ]] || context=$(kubectl config current-context 2>/dev/null) ||
    die "no context is current in $file: name one with --context; there are: ${contexts//$'\n'/, }"
  grep -qxF -e "$context" <<<"$contexts" || die "there is no context $context in $file; there are: ${contexts//$'\n'/, }"
  KUBECTL=(kubectl --context "$context")
  server=$(k config view --minify -o jsonpath='{.clusters[0].cluster.server}') || die "context $context in $file can't be used"
  say "using your cluster: context $context at $server"
  k get --raw /version --request-timeout=10s >/dev/null || die "that cluster can't be used; nothing was changed in it"
}

# As kubectl, for which it is enough that one of a list exists; without any it would use an empty configuration.
require_kubeconfig() {
  local file files
  IFS=: read -ra files <<<"$1"
  for file in "${files[@]}"; do [[ ! -e $file ]] || return 0; done
  die "no such file: ${files[*]}${KUBECONFIG:+ (from KUBECONFIG)}"
}

# Each prints objects, separated by NUL.
samples() { objects_of config/samples | sed "s/^metadata:\$/&\n  namespace: $SAMPLE_NAMESPACE/"; }
objects_of() { "${KUBECTL[@]}" kustomize "$1" | sed 's/^---$/\x00/'; }

# Kind/namespace/name of one object, as look_at has it.
key_of() {
  awk '/^kind:/ { kind = $2 } /^[a-zA-Z]/ { part = $1 } part == "metadata:" && /^  name:/ { name = $2 } part == "metadata:" && /^  namespace:/ { ns = $2 }
    END { print kind "/" (ns ? ns : "<none>") "/" name }' <<<"$1"
}
shown() { printf '%s' "${1/<none>\//}"; }

# Sets STATE of each given object that is there: ours (the demo's label is on it), going (ours, and being deleted) or theirs. Fails when the
# API server does not answer for all: an error does not mean absent.
declare -gA STATE=()
look_at() {
  local rows result=0 kind namespace name part_of deleted state
  STATE=()
  rows=$(printf -- '---\n%s\n' "$@" | k get -f - --ignore-not-found --no-headers -o custom-columns="A:.kind,B:.metadata.namespace,C:.metadata.name,D:.metadata.labels.app\.kubernetes\.io/part-of,E:.metadata.deletionTimestamp") || result=1
  while read -r kind namespace name part_of deleted; do
    state=theirs
    [[ $part_of != "$DEMO_PART_OF" ]] || state=ours
    [[ $state != ours || $deleted == "<none>" ]] || state=going
    [[ -z $kind ]] || STATE[$kind/$namespace/$name]=$state
  done <<<"$rows"
  return $result
}

# The demo's operator would work on them, and a model of the user's may well be called like a sample.
refuse_foreign_models() {
  local served models=""
  served=$(k get crd inferencedeployments.inference-operator.dev --ignore-not-found -o name) || die "can't look into that cluster; nothing was changed in it"
  [[ -z $served ]] ||
    models=$(k get inferencedeployments -A -l "app.kubernetes.io/part-of!=$DEMO_PART_OF" \
      -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name} {end}') || die "can't look into that cluster; nothing was changed in it"
  [[ -z $models ]] || die "that cluster has models that come from no demo: ${models% }. The demo's operator would work on them too; nothing was changed"
}

# Reads objects as objects_of prints them, applies those that are absent or come from a demo, and remembers them. In the user's cluster all
# others stay as they are; ours holds nothing else.
create_objects() {
  local objects object key create=()
  mapfile -d '' -t objects
  ((${#objects[@]})) || die "config/ can't be rendered"
  [[ -z $DEMO_OWN_CLUSTER ]] || look_at "${objects[@]}" || die "can't tell what is in your cluster"
  for object in "${objects[@]}"; do
    key=$(key_of "$object")
    case ${STATE[$key]:-absent} in
      theirs) continue ;;
      going) await_gone "$object" "$key" ;;
    esac
    create+=("$object")
  done
  ((${#create[@]} == ${#objects[@]})) || say "$((${#objects[@]} - ${#create[@]})) of these ${#objects[@]} objects were there before and stay as they are"
  ((${#create[@]})) || return 0
  DEMO_CREATED+=("${create[@]}") # before they are: we may be stopped in between
  printf -- '---\n%s\n' "${create[@]}" | k label --local -f - "app.kubernetes.io/part-of=$DEMO_PART_OF" -o json | k apply --server-side -f - >/dev/null
}

await_gone() {
  say "an earlier demo's $(shown "$2") is still being removed, waiting"
  k wait --for=delete -f - --timeout=400s <<<"$1" >/dev/null || die "$(shown "$2") does not go"
}

# CRDs, RBAC and the admission policy.
install_operator_objects() {
  say "installing CRDs, RBAC and the gang admission policy from config/"
  if [[ -n $DEMO_OWN_CLUSTER ]]; then
    local lease
    lease=$(k get lease inference-operator -n inference-system --ignore-not-found -o name) || die "can't tell whether an operator runs in your cluster"
    [[ -n $lease ]] || DEMO_LEASE=ours
  fi
  create_objects < <(
    printf 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n\0' "$SAMPLE_NAMESPACE"
    objects_of config/cluster
  )
  k wait --for=condition=Established --timeout=30s crd/inferencedeployments.inference-operator.dev \
    crd/inferenceprofiles.inference-operator.dev >/dev/null
}

# The operator's way to the cluster (server, authority, proxy) is that of our kubectl; who it is and what it may is its own: its service
# account's token, for twelve hours, and the rights of config/rbac.
make_operator_kubeconfig() (
  umask 077
  local file=$DEMO/operator.kubeconfig
  k create token inference-operator -n inference-system --duration 12h >"$DEMO/token" &&
    k config view --minify --flatten --raw >"$file" &&
    "${KUBECTL[0]}" --kubeconfig "$file" config unset users &&
    "${KUBECTL[0]}" --kubeconfig "$file" config set users.inference-operator.tokenFile "$DEMO/token" &&
    "${KUBECTL[0]}" --kubeconfig "$file" config set-context --current --user inference-operator
) >/dev/null

start_operator() {
  make_operator_kubeconfig || die "can't make the operator's kubeconfig"
  say "starting the operator as system:serviceaccount:inference-system:inference-operator"
  KUBECONFIG="" setsid "$ROOT/build/release/bin/inference-operator" --kubeconfig "$DEMO/operator.kubeconfig" \
    --health-address 127.0.0.1:0 >"$DEMO/operator.log" 2>&1 8>&- 9>&- </dev/null &
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
  set +e
  if [[ -e $DEMO/operator.pid || -z $DEMO_OWN_CLUSTER ]]; then
    say "stopping what the demo started (--keep leaves it running)"
    stop_operator
    rm -f "$DEMO/token" "$DEMO/operator.kubeconfig"
  fi
  if [[ -z $DEMO_OWN_CLUSTER ]]; then
    [[ ! -x $ROOT/build/localcluster ]] || "$ROOT/build/localcluster" down --name demo 8>&- 9>&- >/dev/null
  elif ((${#DEMO_CREATED[@]})); then
    remove_created
  fi
}

# In reverse, and only what is still ours. What would take a user's models with it stays while there are any.
remove_created() {
  local index key users_models left=()
  say "removing what this demo created in your cluster"
  look_at "${DEMO_CREATED[@]}" || say "your cluster does not answer for all of it"
  # Whatever an error says counts as a model.
  users_models=$(k get crd inferencedeployments.inference-operator.dev --ignore-not-found -o name 2>&1)
  [[ -z $users_models ]] ||
    users_models=$(k get inferencedeployments,inferenceprofiles -A -l "app.kubernetes.io/part-of!=$DEMO_PART_OF" -o name 2>&1)
  for ((index = ${#DEMO_CREATED[@]} - 1; index >= 0; --index)); do
    key=$(key_of "${DEMO_CREATED[index]}")
    [[ ${STATE[$key]:-absent} == ours ]] || continue
    case $key in
      Namespace/* | CustomResourceDefinition/*) if [[ -n $users_models ]]; then left+=("$(shown "$key")") && continue; fi ;;
    esac
    k delete -f - --ignore-not-found --wait=false <<<"${DEMO_CREATED[index]}" >/dev/null || left+=("$(shown "$key")")
  done
  # Released, so nobody leads by it.
  if [[ -n $DEMO_LEASE && $(k get lease inference-operator -n inference-system --ignore-not-found -o jsonpath='{.metadata.name}={.spec.holderIdentity}') == *= ]]; then
    k delete lease inference-operator -n inference-system --ignore-not-found >/dev/null
  fi
  ((${#left[@]} == 0)) || say "left in your cluster${users_models:+, since there are other models, or it does not say}: ${left[*]}"
}
