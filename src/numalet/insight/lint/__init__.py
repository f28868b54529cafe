"""Check the configuration of a node: the kubelet's errors and our own rules.

*Start*: the errors that the kubelet of the release would report on this machine, with these state
files. The packages that start a node here find them; no check is implemented twice (``starting``).

*Our rules* check a ``Subject`` (configuration, machine, state files, pods) and yield
findings with codes ``lint/...``. A rule is a function; ``rules`` lists all of them, in order.

    on_reservation   reservedMemory and the eviction threshold: the formula
    on_nodes         reservedMemory by NUMA node
    on_options       policies, options, gates, numbers of nodes; the kernel
    on_host          swap, cgroups, the runtime: facts of a live machine
    on_pods          pods that this node can never admit, by a decision of the node
    on_requests      admitted pods that get less than they seem to request
    on_claims        dynamic resource allocation combined with the managers; also
                     on_claim_amounts (amounts requested again), on_claim_devices (offered
                     devices) and on_claim_documents (the release, names)

*Severities*: an error keeps the kubelet from starting, crashes it, corrupts its accounting, or
makes a given pod impossible; a warning is probably a mistake; a note is good to know.

The class of a finding precedes its rule, with the sentence, the reason, and the fix; those of
``on_options`` are in ``option_findings``. ``rows`` turns findings into rows; ``sarif`` and
``github`` are formats for continuous integration.
"""
