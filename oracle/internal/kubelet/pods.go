package kubelet

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
)

// AsServed returns the pod that an API server of this release, with its own
// feature gates, would hand out: with defaults, and with quantities in their
// canonical form, such as 1536Mi for 1.5Gi.
func AsServed(manifest *v1.Pod) (*v1.Pod, error) {
	pod := manifest.DeepCopy()
	err := withoutConfiguredGates(func() error {
		corev1.SetObjectDefaults_Pod(pod)
		return defaultPodLevelResources(pod)
	})
	if err != nil {
		return nil, err
	}
	stored, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	served := &v1.Pod{}
	return served, json.Unmarshal(stored, served)
}

// Containers lists the containers in the order in which they start.
func Containers(pod *v1.Pod) []*v1.Container {
	all := make([]*v1.Container, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		all = append(all, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}
