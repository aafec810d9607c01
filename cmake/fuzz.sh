#!/usr/bin/env bash
# fuzz.sh PROGRAM CORPUS [OPTIONS…]: runs a fuzz target on its saved inputs and then on mutations of them, for $INFERENCE_FUZZ_SECONDS and from the
# seed $INFERENCE_FUZZ_SEED. Each run starts from the saved inputs alone, so that seed and commit say what it does.
set -euo pipefail

program=$1 corpus=$2
name=${program##*/}
work=$(dirname "$program")/inputs/$name
shift
rm -rf "$work/found"
mkdir -p "$work/found" "$work/failed"
"$program" -seed=$((10#${INFERENCE_FUZZ_SEED:-1} % 2147483647 + 1)) -max_total_time="${INFERENCE_FUZZ_SECONDS:-60}" -timeout=60 -rss_limit_mb=2048 \
  -max_len=8192 -print_final_stats=1 -artifact_prefix="$work/failed/" "$work/found" "$@" && exit
cat >&2 <<HELP
$name failed. Again with the same input: $program $work/failed/NAME (its name stands above).
Once it is fixed: put the input into $corpus, and a unit test beside the code.
HELP
exit 1
