//go:build since_1_37

package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
)

// roundReservedCPUs rounds to milli-CPUs, as parseResourceList of
// cmd/kubelet/app/server.go does since 1.37.
func roundReservedCPUs(amount resource.Quantity) resource.Quantity {
	const half = 500
	amount.SetMilli((amount.ScaledValue(resource.Micro) + half) / 1000)
	return amount
}

// defaultPodLevelResources fills in spec.resources. Since 1.37 the API server
// does this in the strategy of its registry, on the internal type.
func defaultPodLevelResources(pod *v1.Pod) error {
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(&internal)
	return corev1.Convert_core_Pod_To_v1_Pod(&internal, pod, nil)
}
