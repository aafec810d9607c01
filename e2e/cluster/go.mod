module inference-operator.dev/e2e/cluster

go 1.26
