module inference-operator.dev/e2e/cluster

go 1.26

require inference-operator.dev/images v0.0.0

replace inference-operator.dev/images => ../../images
