package kubelet

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/stats/pidlimit"
	"k8s.io/utils/cpuset"
)

// The functions of this file are short copies in behaviour of functions that
// the kubelet does not export; each names its original.

// parseReservedCPUs corresponds to getReservedCPUs of cmd/kubelet/app/server.go.
func parseReservedCPUs(ctx context.Context, text string, info *machineInfo) (cpuset.CPUSet, error) {
	nothing := cpuset.New()
	if text == "" {
		return nothing, nil
	}
	topology, err := discoverCPUs(ctx, info)
	if err != nil {
		return nothing, fmt.Errorf("unable to discover CPU topology info: %s", err)
	}
	reserved, err := cpuset.Parse(text)
	if err != nil {
		return nothing, fmt.Errorf("unable to parse reserved-cpus list: %s", err)
	}
	if online := topology.CPUDetails.CPUs(); !reserved.IsSubsetOf(online) {
		return nothing, fmt.Errorf("reserved-cpus: %s is not a subset of online-cpus: %s", text, online)
	}
	return reserved, nil
}

// parseReservation corresponds to parseResourceList of cmd/kubelet/app/server.go.
// If several entries are wrong, the order of the map decides which one is named.
func parseReservation(entries map[string]string) (v1.ResourceList, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	parsed := v1.ResourceList{}
	for key, text := range entries {
		name := v1.ResourceName(key)
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, pidlimit.PIDs:
		default:
			return nil, fmt.Errorf("cannot reserve %q resource", key)
		}
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse quantity %q for %q resource: %w", text, key, err)
		}
		if amount.Sign() < 0 {
			return nil, fmt.Errorf("resource quantity for %q cannot be negative: %v", key, text)
		}
		if name == v1.ResourceCPU {
			amount = roundReservedCPUs(amount)
		}
		parsed[name] = amount
	}
	return parsed, nil
}

// capacityOf is the capacity of the node before devices are registered.
func capacityOf(info *machineInfo) v1.ResourceList {
	return cadvisor.CapacityFromMachineInfo(info)
}

// reservation corresponds to GetNodeAllocatableReservation of pkg/kubelet/cm.
func (s *settings) reservation(capacity v1.ResourceList) v1.ResourceList {
	evicted := s.evictionReservation(capacity)
	total := v1.ResourceList{}
	for name := range capacity {
		sum := resource.NewQuantity(0, resource.DecimalSI)
		sum.Add(s.systemReserved[name])
		sum.Add(s.kubeReserved[name])
		sum.Add(evicted[name])
		if !sum.IsZero() {
			total[name] = *sum
		}
	}
	return total
}

// evictionReservation corresponds to hardEvictionReservation of pkg/kubelet/cm.
func (s *settings) evictionReservation(capacity v1.ResourceList) v1.ResourceList {
	kept := v1.ResourceList{}
	for _, threshold := range s.evictionHard {
		var name v1.ResourceName
		switch threshold.Signal {
		case evictionapi.SignalMemoryAvailable:
			name = v1.ResourceMemory
		case evictionapi.SignalNodeFsAvailable:
			name = v1.ResourceEphemeralStorage
		default:
			continue
		}
		if threshold.Operator == evictionapi.OpLessThan {
			whole := capacity[name]
			kept[name] = *evictionapi.GetThresholdQuantity(threshold.Value, &whole)
		}
	}
	return kept
}

// checkAllocatable corresponds to validateNodeAllocatable of pkg/kubelet/cm.
func checkAllocatable(reserved, capacity v1.ResourceList) error {
	var problems []string
	for name, amount := range reserved {
		left := capacity[name].DeepCopy()
		left.Sub(amount)
		if left.Sign() < 0 {
			problems = append(problems, fmt.Sprintf(
				"Resource %q has a reservation of %v but capacity of %v. Expected capacity >= reservation.",
				name, amount, capacity[name]))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("invalid Node Allocatable configuration. %s", strings.Join(problems, " "))
}
