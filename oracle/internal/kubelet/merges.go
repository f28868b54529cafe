package kubelet

import (
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"numalet/oracle/internal/scenario"
)

// resourceHints are the hints of one provider.
type resourceHints = map[string][]topologymanager.TopologyHint

// mergeRecorder stands between a scope of the topology manager and the policy.
// The policy's arguments are the hints of all providers, and its result is the
// merged hint, so nothing has to be computed again or read from a log. Merge
// itself is in topology_1_NN.go, because its signature changed.
type mergeRecorder struct {
	topologymanager.Policy
	seen []merge
}

type merge struct {
	hints []resourceHints
	best  topologymanager.TopologyHint
	admit bool
}

func (r *mergeRecorder) remember(
	hints []resourceHints, best topologymanager.TopologyHint, admit bool,
) (topologymanager.TopologyHint, bool) {
	r.seen = append(r.seen, merge{hints, best, admit})
	return best, admit
}

// Merges returns the hints and the merged hints of the latest admission in the
// order of the merges; ok is false under the policy none, which merges nothing.
func (n *Node) Merges() (hints []scenario.ProviderHints, merged []scenario.MergedHint, ok bool) {
	if n.merges == nil {
		return nil, nil, false
	}
	for _, m := range n.merges.seen {
		of := scenario.ProviderHints{}
		for _, name := range []string{deviceProvider, cpuProvider, memoryProvider} {
			of[name] = map[string][]scenario.Hint{}
		}
		for i, resources := range m.hints {
			for resource, list := range resources {
				of[n.providers[i]][resource] = hintsOf(list)
			}
		}
		hints = append(hints, of)
		merged = append(merged, scenario.MergedHint{Hint: hintOf(m.best), Admit: m.admit})
	}
	return hints, merged, true
}

// hintsOf keeps the difference between a nil and an empty list.
func hintsOf(list []topologymanager.TopologyHint) []scenario.Hint {
	if list == nil {
		return nil
	}
	hints := make([]scenario.Hint, len(list))
	for i, hint := range list {
		hints[i] = hintOf(hint)
	}
	return hints
}

func hintOf(hint topologymanager.TopologyHint) scenario.Hint {
	converted := scenario.Hint{Preferred: hint.Preferred}
	if hint.NUMANodeAffinity != nil {
		converted.Nodes = hint.NUMANodeAffinity.GetBits()
	}
	return converted
}
