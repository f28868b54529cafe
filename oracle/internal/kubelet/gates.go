package kubelet

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// pristineGates are the gates of the release before a configuration sets any.
var pristineGates = func() featuregate.MutableVersionedFeatureGate {
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		panic(err)
	}
	return utilfeature.DefaultMutableFeatureGate.DeepCopy()
}()

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
