#!/usr/bin/env bash
# Checks config/prometheus with promtool: the rules, their tests, and each query of the dashboard. Works in build/prometheus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly FOLDER=build/prometheus
mkdir -p "$FOLDER"

# Debian's package would also start a server; only its tool is taken.
tool=$(command -v promtool) || tool=$FOLDER/usr/bin/promtool
if [[ ! -x $tool ]]; then
  (cd "$FOLDER" && rm -f prometheus_*.deb && apt-get download -qq -o APT::Sandbox::User=root prometheus)
  dpkg-deb --fsys-tarfile "$FOLDER"/prometheus_*.deb | tar -x -C "$FOLDER" ./usr/bin/promtool
fi

# A rule file is what stands under `spec` of a PrometheusRule.
sed '1,/^spec:$/d; s/^  //' config/prometheus/rules.yaml >"$FOLDER/rules.yaml"
cp config/prometheus/rules_test.yaml "$FOLDER/"
# promtool knows no dashboards, but the same queries as recording rules. JSON is YAML.
python3 - >"$FOLDER/dashboard_rules.yaml" <<'PYTHON'
import json
panels = json.load(open("config/prometheus/dashboard.json"))["panels"]
queries = [target["expr"].replace("$__rate_interval", "5m") for panel in panels for target in panel["targets"]]
rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(queries)]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
PYTHON

"$tool" check rules --lint-fatal "$FOLDER/rules.yaml" "$FOLDER/dashboard_rules.yaml"
"$tool" test rules "$FOLDER/rules_test.yaml"
