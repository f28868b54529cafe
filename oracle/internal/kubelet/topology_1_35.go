//go:build since_1_35 && !since_1_37

package kubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

func newTopologyManager(_ context.Context, nodes []numaNode, s *settings) (topologymanager.Manager, error) {
	return topologymanager.NewManager(nodes, s.config.TopologyManagerPolicy, s.config.TopologyManagerScope, s.topologyOptions)
}

func addProvider(_ context.Context, scope topologymanager.Scope, provider topologymanager.HintProvider) {
	scope.AddHintProvider(provider)
}

func admitByScope(ctx context.Context, scope topologymanager.Scope, pod *v1.Pod) lifecycle.PodAdmitResult {
	return scope.Admit(ctx, pod)
}

func storedAffinity(_ context.Context, scope topologymanager.Scope, uid, container string) topologymanager.TopologyHint {
	return scope.GetAffinity(uid, container)
}

func removeFromScope(_ context.Context, scope topologymanager.Scope, id string) error {
	return scope.RemoveContainer(id)
}

// Merge is the policy's, and is remembered. Since 1.35 it has a logger.
func (r *mergeRecorder) Merge(logger klog.Logger, hints []resourceHints) (topologymanager.TopologyHint, bool) {
	best, admit := r.Policy.Merge(logger, hints)
	return r.remember(hints, best, admit)
}
