"""What is wrong, or unwise, about a node's configuration: the kubelet's complaints and our own.

*Start*: what the kubelet of the release would report on this machine, with these state files. It
comes from the rooms that start a node here; nothing of it is decided a second time (``starting``).

*Rules* of our own check a ``Subject`` (configuration, machine, state files, pods) and yield
findings with codes ``lint/...``. A rule is a function; ``rules`` has them all, in order.

    on_reservation   reservedMemory and the eviction threshold: the formula
    on_nodes         reservedMemory and the NUMA nodes: where it lies
    on_options       policies, options, gates, numbers of nodes; the kernel
    on_host          swap, cgroups, the runtime: what is known of a live machine
    on_pods          pods that this node can never admit, asked of the node itself
    on_requests      pods that it admits, and that get less than they seem to ask for
    on_claims        dynamic resource allocation where it meets the managers; beside it
                     on_claim_amounts (what is requested besides), on_claim_devices (what drivers
                     offer) and on_claim_documents (the release, names)

*Severities*: an error keeps the kubelet from starting, crashes it, makes it count nonsense, or
makes a given pod impossible; a warning is probably not what was meant; a note is good to know.

The class of a finding stands above its rule, with what is wrong, why, and the mend; those of
``on_options`` are in ``option_findings``. ``rows`` puts findings into rows; ``sarif`` and
``github`` are the forms that continuous integration reads.
"""
