module inference-operator.dev/e2e/engine

go 1.26
