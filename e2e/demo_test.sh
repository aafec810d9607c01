#!/usr/bin/env bash
# What ./dev does with wrong words, and what ./dev demo leaves alone in a cluster that does not answer. kubectl is a script here: it says what
# a failing one says, and writes down what it was asked.
# shellcheck disable=SC2317  # expect calls functions
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly DEV=$PWD/dev
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect NAME EXIT_CODE TEXT COMMAND…: the command ends so and says the text.
expect() {
  local name=$1 code=$2 text=$3 said result=0
  shift 3
  said=$("$@" 2>&1) || result=$?
  if [[ $result != "$code" || $said != *"$text"* ]]; then
    printf 'FAILED: %s\n  exit code %s instead of %s, said:\n%s\n  instead of: %s\n' "$name" "$result" "$code" "$said" "$text" >&2
    failed=1
  fi
}

mkdir "$folder/bin" "$folder/home"
cat >"$folder/bin/kubectl" <<'KUBECTL'
#!/bin/sh
echo "$KUBECONFIG: $*" >>"$KUBECTL_LOG"
case "$*" in
  "config get-contexts"*) echo prod ;;
  "config current-context") echo prod ;;
  *"config view"*) echo https://cluster.example:6443 ;;
  *"get --raw /version"*) [ "$KUBECTL_FAILS" != all ] || { echo "Unable to connect to the server" >&2; exit 1; } ;;
  kustomize*) printf 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: theirs\n' ;;
  "get lease"*) ;;
  *) echo "Error from server (Forbidden)" >&2; exit 1 ;;
esac
KUBECTL
chmod +x "$folder/bin/kubectl"
export KUBECTL_LOG=$folder/asked KUBECTL_FAILS=""
demo() { (cd "$folder" && PATH=$folder/bin:$PATH HOME=$folder/home "$DEV" demo "$@"); }
install() {
  PATH=$folder/bin:$PATH bash -c 'set -euo pipefail
    say() { echo "$*"; }
    die() { echo "error: $*"; exit 1; }
    ROOT=$1
    source e2e/demo.sh
    DEMO_OWN_CLUSTER=yes KUBECTL=(kubectl)
    trap demo_cleanup EXIT
    install_operator_objects
    echo installed' _ "$folder"
}
: >"$folder/config"
: >"$KUBECTL_LOG"

for verb in demo build test lint bench cluster; do expect "$verb --help" 0 "usage: ./dev VERB" "$DEV" "$verb" --help; done
expect "a word too many" 2 "does not know extra" "$DEV" build --preset release extra
expect "a preset without name" 2 "--preset needs a name" "$DEV" build --preset
expect "a suite without name" 2 "--only needs a suite" "$DEV" test --only

KUBECONFIG=missing:/no/where expect "only missing files" 1 "no such file: $folder/missing /no/where" demo
[[ ! -s $KUBECTL_LOG ]] || { echo "FAILED: kubectl was asked without a configuration" >&2; failed=1; }
KUBECONFIG=config expect "an unknown context" 1 "there is no context nope in $folder/config; there are: prod" demo --context nope
KUBECTL_FAILS=all KUBECONFIG=config expect "no answer" 1 "nothing was changed" demo
KUBECONFIG=config expect "a refused question" 1 "nothing was changed" demo
KUBECONFIG=config expect "the cluster's name" 1 "==> using your cluster: context prod at https://cluster.example:6443" demo
expect "a refused question while installing" 1 "can't tell what is in your cluster" install
grep -q "^$folder/config: --context prod get crd" "$KUBECTL_LOG" || { echo "FAILED: the relative file or the context was lost" >&2; failed=1; }
if grep -E ': (.* )?(apply|create|delete|label|patch) ' "$KUBECTL_LOG" >&2; then
  echo "FAILED: something was changed in a cluster that did not answer" >&2
  failed=1
fi
exit $failed
