module inference-operator.dev/e2e/faults/proxy

go 1.26
