//go:build since_1_37

package kubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// Since 1.37 every call has a logger, and an admission names its operation.

func newTopologyManager(ctx context.Context, nodes []numaNode, s *settings) (topologymanager.Manager, error) {
	return topologymanager.NewManager(klog.FromContext(ctx), nodes,
		s.config.TopologyManagerPolicy, s.config.TopologyManagerScope, s.topologyOptions)
}

func addProvider(ctx context.Context, scope topologymanager.Scope, provider topologymanager.HintProvider) {
	scope.AddHintProvider(klog.FromContext(ctx), provider)
}

func admitByScope(ctx context.Context, scope topologymanager.Scope, pod *v1.Pod) lifecycle.PodAdmitResult {
	return scope.Admit(ctx, pod, lifecycle.AddOperation)
}

func storedAffinity(ctx context.Context, scope topologymanager.Scope, uid, container string) topologymanager.TopologyHint {
	return scope.GetAffinity(klog.FromContext(ctx), uid, container)
}

func removeFromScope(ctx context.Context, scope topologymanager.Scope, id string) error {
	return scope.RemoveContainer(klog.FromContext(ctx), id)
}

// Merge is the policy's, and is remembered.
func (r *mergeRecorder) Merge(logger klog.Logger, hints []resourceHints) (topologymanager.TopologyHint, bool) {
	best, admit := r.Policy.Merge(logger, hints)
	return r.remember(hints, best, admit)
}
