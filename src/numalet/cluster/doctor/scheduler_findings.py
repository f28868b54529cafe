"""Findings on the schedulers, extenders and breakers of a cluster."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ClusterSchedulerFileUnusable(Finding):
    sentence = "{file} has no KubeSchedulerConfiguration"
    fix = "name the file that kube-scheduler is given with --config"
    file: str


class ClusterSchedulerApiVersion(Finding):
    sentence = "{source} is of {api_version}, which kube-scheduler {release} does not read"
    fix = "write apiVersion: kubescheduler.config.k8s.io/v1 into {source}"
    source: str
    api_version: str
    release: str


class ClusterSchedulerWithoutConfiguration(WarningFinding):
    sentence = "{pod} has an extender next to its scheduler, which is started without --config"
    why = "extenders are named in the scheduler's configuration alone, so nothing asks this one"
    fix = (
        "kubeadm upgrade node phase control-plane "
        "--patches packaging/kubernetes/scheduler-sidecar/host/patches"
    )
    pod: str


class ClusterSchedulerNodesPerCycle(WarningFinding):
    sentence = "{source} has percentageOfNodesToScore {percentage}, and an extender"
    why = (
        "the scheduler sends only so large a share of the nodes, 500 of 5,000 by default; a pod "
        "that all of these reject waits, although the other nodes were not tried"
    )
    fix = "write percentageOfNodesToScore: 100 into {source}"
    source: str
    percentage: str


class ClusterSchedulerBackOff(NoteFinding):
    sentence = (
        "{source} has podMaxBackoffSeconds {seconds}: a pod without a node waits as long once there"
        " is room"
    )
    fix = "write podMaxBackoffSeconds: 2 into {source}"
    source: str
    seconds: str


class ClusterSchedulerBatching(NoteFinding):
    sentence = "{source} has an extender, so equal pods are decided on one by one"
    why = (
        "schedulers of 1.35 and later decide on equal pods at once (opportunistic batching), but "
        "not with an extender: large jobs of equal pods are scheduled more slowly"
    )
    source: str


class ClusterSchedulerWholeNodes(WarningFinding):
    sentence = "{source} sends whole Node objects to {url}"
    why = "5,000 nodes are 72 MB for each pod, and the scheduler's own points see them without pods"
    fix = "write nodeCacheCapable: true into {source}"
    source: str
    url: str


class ClusterSchedulerTimeOut(Finding):
    sentence = "{source} waits {waits} s for {url}; {program} answers within 80 % of {answers} s"
    why = "late answers are dropped, but the promise of the extender stays"
    fix = "write httpTimeout: {answers}s into {source}, or give {program} --timeout {waits}s"
    source: str
    waits: str
    url: str
    program: str
    answers: str


class ClusterSchedulerFailsOpen(NoteFinding):
    sentence = "{source} ignores {url} while it does not answer (ignorable: true)"
    why = (
        "the scheduler then compares only sums of resources, and kubelets reject some of the pods; "
        "numalet breaker stops the endless replacements"
    )
    source: str
    url: str


class ClusterSchedulerTwoBinders(Finding):
    sentence = "{source} has {count} extenders with a bindVerb: {urls}"
    why = "kube-scheduler ends at its start if more than one binds"
    fix = "leave bindVerb to one of them in {source}"
    source: str
    count: str
    urls: str


class ClusterSchedulerWeight(WarningFinding):
    sentence = "{source} gives {url} the weight {weight}: its points do not decide"
    why = (
        "the scheduler's own plugins give up to 1,200 points; the extender gives at most 10 points "
        "times its weight. With a small weight the scheduler may choose a node other than the one "
        "on which the extender has reserved room"
    )
    fix = "write weight: 150 into {source}"
    source: str
    url: str
    weight: str


class ClusterSchedulerNoPreempt(WarningFinding):
    sentence = "{source} has no preemptVerb for {url}"
    why = "pods are then evicted on a node whose kubelet rejects the one that they are evicted for"
    fix = "write preemptVerb: preempt into {source}"
    source: str
    url: str


class ClusterSchedulerUnchecked(Finding):
    sentence = "{source} talks TLS to {url} without an authority, so to whatever answers there"
    fix = "write tlsConfig: {{caFile: FILE}} into {source}"
    source: str
    url: str


class ClusterExtenderAsksItself(Finding):
    sentence = "the pods of {program} are scheduled by {scheduler}, which waits for them ({source})"
    why = "if all these pods crash, no pod can be scheduled any more, including their replacements"
    fix = (
        "kubectl apply -k packaging/kubernetes/extender, whose pods name their nodes; or write "
        "ignorable: true into {source}"
    )
    program: str
    scheduler: str
    source: str


class ClusterExtendersShareNothing(WarningFinding):
    sentence = "{program} runs {replicas} extenders without a lease"
    why = "each knows only its own promises, so two pods can be promised the same place"
    fix = "give it --lease NAMESPACE/NAME, or run one"
    program: str
    replicas: str


class ClusterBreakerTaintPast(WarningFinding):
    sentence = "{nodes} with a taint of the breaker that has ended: {names}"
    why = "a breaker removes its taints when they end, so no breaker with permission runs"
    fix = "numalet breaker undo"
    nodes: str
    names: str


class ClusterLeaseNotRenewed(WarningFinding):
    sentence = "the lease {lease} of {holder} was not renewed for {seconds} s"
    why = "the holder of a lease renews it every few seconds: no process answers or acts"
    fix = "kubectl -n {namespace} get pods -l app.kubernetes.io/name=numalet -o wide"
    lease: str
    holder: str
    seconds: str
    namespace: str


class ClusterKaiZonesUnmanaged(WarningFinding):
    sentence = (
        "{nodes} whose NodeResourceTopology has {resources} by NUMA node, although their kubelets"
        " do not align them: {names}"
    )
    why = "KAI counts them as aligned, and refuses pods that these kubelets would admit"
    fix = (
        "write ignoreList: {ignore} into plugins.numa.arguments of each SchedulingShard, or enable"
        " the CPU Manager and the Memory Manager"
    )
    nodes: str
    resources: str
    names: str
    ignore: str


class ClusterKaiTooManyZones(WarningFinding):
    sentence = "{node} has {zones} NUMA nodes, and KAI models at most 8"
    fix = "let the extender of numalet decide about its pods"
    node: str
    zones: str


class ClusterKaiTwoPublishers(WarningFinding):
    sentence = "several publishers write KAI's annotations on pods of {node}: {managers}"
    why = "two publishers of one annotation undo each other's writes"
    fix = (
        "write numaPlacementExporter.service.enabled: false into KAI's Config, or run numalet"
        " publish without --kai"
    )
    node: str
    managers: str


class ClusterTopologyTwoPublishers(WarningFinding):
    sentence = "several publishers write the NodeResourceTopology of {node}: {managers}"
    why = "schedulers see both in turn"
    fix = "end all but one of them"
    node: str
    managers: str


class ClusterFingerprintOfEndedPods(WarningFinding):
    sentence = "{nodes} whose pod fingerprint counts pods that have ended: {names}"
    why = (
        "NodeResourceTopologyMatch counts running pods alone, so its cache never accepts the "
        "NodeResourceTopology of these nodes again"
    )
    fix = "write cache: {{informerMode: Dedicated}} into the plugin's arguments in {sources}"
    nodes: str
    names: str
    sources: str
