"""The Device Manager: devices of plugins, aligned with the affinity as far as possible.

*Inventory.* A plugin registers a resource (``example.com/gpu``) and reports its devices: id,
health, and the NUMA nodes that they are attached to (0, 1 or several). Every report replaces the
previous one. When a plugin stops, its devices become unhealthy; five minutes later the kubelet
removes the resource, but remembers the last report (``inventory``, ``registration``).

*Ledger.* One record for each container and resource: its devices, their NUMA nodes at allocation
time, and the plugin's response. A separate table has the devices in use, because an allocation that
fails midway can leave devices in it without any record (``ledger``).

*Hints.* Only resources with some device on a NUMA node give hints. The manager offers a set of
nodes if enough free devices touch it. A device on two nodes touches every set with one of them; a
device without a node touches no set. It prefers sets of the smallest size that all devices, free or
not, would need (``hints``).

*Choice.* First reusable devices of the pod, then devices inside the affinity, then the others, then
devices without a node. Inside one group the kubelet takes devices in the random order of its map;
numalet takes ids in text order, gpu10 before gpu2, which is one of the recorded orders
(``choice``).

*The plugin's preference.* A plugin may prefer certain devices, and may veto the allocation. The
manager calls it through a small port; the port's default prefers nothing and accepts everything
(``preference``).

*Reuse.* Later containers of the pod may reuse devices of an init container; sidecars
and app containers use them up (``init_reuse``).

*Restart.* The checkpoint restores the records; plugins have to register again. Until every
source of pods is ready, a container that was already running is admitted without a check.

Deliberately absent: policies and options (the kubelet has none here), time (the caller reports the
end of the grace period), calls to plugins, and the allocation at the start of a container without a
record, which needs a plugin that registers between admission and start.

Kubelet: ``pkg/kubelet/cm/devicemanager``, v1.32.
"""
