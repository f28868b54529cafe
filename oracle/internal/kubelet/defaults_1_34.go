//go:build !since_1_37

package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// roundReservedCPUs returns the amount as it is: until 1.36 the kubelet keeps
// the precision that the configuration has.
func roundReservedCPUs(amount resource.Quantity) resource.Quantity { return amount }

// defaultPodLevelResources does nothing: until 1.36 these defaults are among
// those of SetObjectDefaults_Pod.
func defaultPodLevelResources(*v1.Pod) error { return nil }
