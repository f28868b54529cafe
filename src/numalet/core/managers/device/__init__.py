"""The Device Manager: devices of plugins, aligned with the affinity as far as possible.

``inventory`` has the plugins' reports, ``ledger`` the records of containers, ``hints`` the NUMA
nodes with enough devices, ``choice`` the devices of a container, ``preference`` the port through
which a plugin prefers or vetoes devices. See docs/explanation/device-manager.md.

Deliberately absent: policies and options (the kubelet has neither here), time (the caller reports
the end of the grace period), calls to plugins, and the allocation at the start of a container
without a record, which needs a plugin that registers between admission and start. Kubelet:
``pkg/kubelet/cm/devicemanager``, v1.32.
"""
