package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
	"k8s.io/utils/cpuset"
)

// settings are a validated configuration and the values that cmd/kubelet/app
// parses from it for the container manager.
type settings struct {
	config          *kubeletconfig.KubeletConfiguration
	topologyOptions map[string]string
	reservedCPUs    cpuset.CPUSet
	kubeReserved    v1.ResourceList
	systemReserved  v1.ResourceList
	evictionHard    []evictionapi.Threshold
}

// readSettings follows cmd/kubelet/app/server.go from the decoded file to the
// constructor of the container manager, in its order, because the first error
// is the one that the kubelet prints. It sets the feature gates of this process.
func readSettings(ctx context.Context, raw []byte, info *machineInfo) (*settings, error) {
	config, err := decode(ctx, raw)
	if err != nil {
		return nil, failure("config-decode", err)
	}
	if err := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate); err != nil {
		return nil, failure("config-validation", err)
	}
	s := &settings{config: config}
	if s.reservedCPUs, err = parseReservedCPUs(ctx, config.ReservedSystemCPUs, info); err != nil {
		return nil, failure("reserved-cpus", err)
	}
	if count := s.reservedCPUs.Size(); count > 0 {
		overrideReservedCPUs(config, count)
	}
	if s.kubeReserved, err = parseReservation(config.KubeReserved); err != nil {
		return nil, failure("kube-reserved", fmt.Errorf("--kube-reserved value failed to parse: %w", err))
	}
	if s.systemReserved, err = parseReservation(config.SystemReserved); err != nil {
		return nil, failure("system-reserved", fmt.Errorf("--system-reserved value failed to parse: %w", err))
	}
	if s.evictionHard, err = eviction.ParseThresholdConfig(nil, config.EvictionHard, nil, nil, nil); err != nil {
		return nil, failure("eviction-hard", err)
	}
	s.topologyOptions = config.TopologyManagerPolicyOptions
	gate := features.TopologyManagerPolicyOptions
	if s.topologyOptions != nil && !utilfeature.DefaultFeatureGate.Enabled(gate) {
		return nil, failure("policy-options", fmt.Errorf(
			"topology manager policy options %v require feature gates %q enabled", s.topologyOptions, gate))
	}
	return s, nil
}

// decode decodes a configuration file strictly, with the kubelet's defaults,
// and sets the feature gates that it names. The defaulting functions panic on
// gates that cannot be set; the kubelet dies of it, so it is an error here.
func decode(ctx context.Context, raw []byte) (config *kubeletconfig.KubeletConfiguration, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.New(fmt.Sprint(problem))
		}
	}()
	file, err := asFile(raw)
	if err != nil {
		return nil, err
	}
	resetFeatureGates()
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return nil, err
	}
	if config, err = codec.DecodeKubeletConfiguration(ctx, codecs, file); err != nil {
		return nil, err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(config.FeatureGates); err != nil {
		return nil, err
	}
	addDefaultEviction(config)
	return config, nil
}

// asFile adds the members that scenarios leave out. The members that are there
// keep their exact text, because error texts quote it.
func asFile(raw []byte) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	members["apiVersion"] = json.RawMessage(`"kubelet.config.k8s.io/v1beta1"`)
	members["kind"] = json.RawMessage(`"KubeletConfiguration"`)
	return json.Marshal(members)
}

// addDefaultEviction is a part of server.go's run, not of the decoder.
func addDefaultEviction(config *kubeletconfig.KubeletConfiguration) {
	given := config.EvictionHard
	if given != nil && !config.MergeDefaultEvictionSettings {
		return
	}
	config.EvictionHard = maps.Clone(eviction.DefaultEvictionHard)
	maps.Copy(config.EvictionHard, given)
}

// overrideReservedCPUs replaces the quantities of CPUs by the explicit list, as
// server.go does for --reserved-cpus.
func overrideReservedCPUs(config *kubeletconfig.KubeletConfiguration, count int) {
	delete(config.KubeReserved, string(v1.ResourceCPU))
	if config.SystemReserved == nil {
		config.SystemReserved = map[string]string{}
	}
	config.SystemReserved[string(v1.ResourceCPU)] = strconv.Itoa(count)
}
