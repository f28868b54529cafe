"""The CPU Manager. So far its policy none and its ledger; the static policy comes into this room.

Under policy none every container runs on all CPUs; the manager has no preference and allocates
nothing, and its state file says just that. Kubelet: ``pkg/kubelet/cm/cpumanager``, v1.32.
"""
