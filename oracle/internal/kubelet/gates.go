package kubelet

import (
	"encoding/json"
	"io"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
)

// pristineGates are the gates of the release before a configuration sets any.
// The kubelet adds those of two modules itself, in cmd/kubelet/app and pkg/kubelet/server.
var pristineGates = func() featuregate.MutableVersionedFeatureGate {
	gates := utilfeature.DefaultMutableFeatureGate
	if err := logsapi.AddFeatureGates(gates); err != nil {
		panic(err)
	}
	if err := metricsfeatures.AddFeatureGates(gates); err != nil {
		panic(err)
	}
	return gates.DeepCopy()
}()

type gate struct {
	Stage  string                `json:"stage"`
	On     bool                  `json:"on"`
	Locked bool                  `json:"locked"`
	Needs  []featuregate.Feature `json:"needs"`
}

// WriteGates writes every feature gate of a kubelet of this release as a JSON object by name.
func WriteGates(to io.Writer) error {
	var needs map[featuregate.Feature][]featuregate.Feature
	// Gates depend on others since 1.35.
	if dependent, ok := pristineGates.(interface {
		Dependencies() map[featuregate.Feature][]featuregate.Feature
	}); ok {
		needs = dependent.Dependencies()
	}
	every := map[featuregate.Feature]gate{}
	for name, spec := range pristineGates.GetAll() {
		every[name] = gate{string(spec.PreRelease), spec.Default, spec.LockToDefault, needs[name]}
	}
	return json.NewEncoder(to).Encode(every)
}

// resetFeatureGates puts a fresh set in place of the gates of this process,
// which the packages of the kubelet read through these two variables. A gate
// that was set once cannot be unset otherwise.
func resetFeatureGates() {
	fresh := pristineGates.DeepCopy()
	utilfeature.DefaultMutableFeatureGate = fresh
	utilfeature.DefaultFeatureGate = fresh
}

// withoutConfiguredGates calls a function while the gates of this process are
// those of an API server that nobody configured.
func withoutConfiguredGates(call func() error) error {
	mutable, readable := utilfeature.DefaultMutableFeatureGate, utilfeature.DefaultFeatureGate
	defer func() {
		utilfeature.DefaultMutableFeatureGate, utilfeature.DefaultFeatureGate = mutable, readable
	}()
	resetFeatureGates()
	return call()
}
