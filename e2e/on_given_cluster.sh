#!/usr/bin/env bash
# Runs a test on the control plane that ctest gives it (./dev test has several, with their states in INFERENCE_TEST_CLUSTERS), or on that of the
# variables INFERENCE_TEST_STATE and INFERENCE_TEST_KUBECONFIG.
set -euo pipefail
if [[ -n ${CTEST_RESOURCE_GROUP_0_CLUSTERS:-} ]]; then # id:NAME,slots:1
  name=${CTEST_RESOURCE_GROUP_0_CLUSTERS#id:}
  export INFERENCE_TEST_STATE=$INFERENCE_TEST_CLUSTERS/${name%%,*}
  export INFERENCE_TEST_KUBECONFIG=$INFERENCE_TEST_STATE/kubeconfig
fi
exec "$@"
