"""``numalet nri``: a plugin of the container runtime that pins containers next to a kubelet.

The kubelet of the node keeps its resource managers off. The runtime asks the plugin before it
creates a container; the plugin decides with the engine, and answers with CPUs and NUMA nodes.

- ``seen``: the runtime's pods and containers as values, and a pod for the engine. Pure.
- ``plan``: the node, its containers, and the settings that they should have. Pure.
- ``plugin``: the handlers of one connection; they change the plan and never wait.
- ``following``: the node's pods in the cluster, by uid.
- ``audit``, ``auditing``: the kernel against the plan, and repairs over a second connection.
- ``command``: connects, reconnects, and runs all of it.

The interface fails open: a plugin that is late or gone is skipped. The audit finds containers that
started in the meantime. The plugin moves running containers in the answers to calls, or over a
second short connection: an unsolicited update can block every version of containerd before NRI
0.12.1.
"""
