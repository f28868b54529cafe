package recorder

import (
	"context"

	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"numalet/oracle/internal/kubelet"
	"numalet/oracle/internal/scenario"
)

// admit admits a pod and collects the decision before a container starts.
func (r *run) admit(ctx context.Context, pod *v1.Pod) *scenario.Admission {
	result := r.node.Admit(ctx, pod)
	admission := &scenario.Admission{
		Admitted: result.Admit, Reason: result.Reason, Message: r.standardPaths(result.Message),
	}
	if hints, merged, ok := r.node.Merges(); ok {
		r.addHints(ctx, pod, admission, hints, merged)
	}
	if admission.Admitted {
		r.addAllocations(pod, admission)
	}
	return admission
}

// addHints names the merges: container scope merges once for each container,
// until one is rejected, and pod scope once for the pod.
func (r *run) addHints(
	ctx context.Context, pod *v1.Pod, admission *scenario.Admission,
	hints []scenario.ProviderHints, merged []scenario.MergedHint,
) {
	admission.Hints = map[string]scenario.ProviderHints{}
	admission.Merged = map[string]scenario.MergedHint{}
	admission.Affinity = map[string]scenario.Hint{}
	containers := kubelet.Containers(pod)
	for i := range hints {
		name := "pod"
		if r.node.Scope() == kubeletconfig.ContainerTopologyManagerScope {
			name = containers[i].Name
		}
		admission.Hints[name], admission.Merged[name] = hints[i], merged[i]
	}
	for _, container := range containers {
		if hint, ok := r.node.Affinity(ctx, pod, container.Name); ok {
			admission.Affinity[container.Name] = hint
		}
	}
}

func (r *run) addAllocations(pod *v1.Pod, admission *scenario.Admission) {
	admission.CPUSet = map[string]string{}
	admission.Memory = map[string][]scenario.MemoryBlock{}
	admission.Devices = map[string]map[string][]string{}
	admission.DevicesByNUMA = map[string]map[string]map[string]int{}
	for _, container := range kubelet.Containers(pod) {
		name := container.Name
		if cpus, ok := r.node.CPUs(pod, name); ok {
			admission.CPUSet[name] = cpus
		}
		if blocks := r.node.Memory(pod, name); len(blocks) > 0 {
			admission.Memory[name] = blocks
		}
		if ids, onNodes := r.node.Devices(pod, name); len(ids) > 0 {
			admission.Devices[name], admission.DevicesByNUMA[name] = ids, onNodes
		}
	}
}
