"""What is wrong with a command line."""

from __future__ import annotations

from numalet.core.model.findings import Finding, Severity


class ClientNoPods(Finding):
    sentence = "no pods in {path}"
    path: str


class ClientNoObject(Finding):
    sentence = "an object is expected here, a Pod or a list of Pods"


class FlagTwoValues(Finding):
    sentence = (
        "{flag} gives {key} two values, {first} and {second}, of which the kubelet would use the "
        "last; write the one that is meant"
    )
    flag: str
    key: str
    first: str
    second: str


class FilesExtraMissing(Finding):
    sentence = (
        "this command needs the package {module!r}, which is not installed; in a clone of the "
        "numalet repository, run: pip install '.[agent,cluster]'"
    )
    module: str


class CliUsage(Finding):
    sentence = "{problem}"
    problem: str


class FilesOutputUnwritable(Finding):
    sentence = "the output can not be written: {error}"
    error: str | None


class FilesRecordingNeedsManifests(Finding):
    sentence = (
        "--record can not record a simulation that begins with state files which hold assignments "
        "of pods ({pods}); begin without --state-dir, or with an empty one"
    )
    pods: str


class MachineTwoMachines(Finding):
    sentence = "{one!r} and {other!r} both name a machine; give one of them"
    one: str
    other: str


class MachineListAlone(Finding):
    sentence = (
        "--profiles lists the machines that come with numalet and needs none; {value!r} is one "
        "too many"
    )
    value: str


class MachineCaptureSource(Finding):
    sentence = (
        "{value!r} can not be captured: only what was read from a /sys tree can, live, from a "
        "folder or from a tarball"
    )
    value: str


class RpcRefused(Finding):
    sentence = "the server at {path!r} refused: {status}: {text}"
    status: str
    text: str
    path: str


class RpcPodNameMissing(Finding):
    sentence = "'podresources get' needs the name of a pod"


class RpcPodNameUnasked(Finding):
    sentence = (
        "'podresources {question}' takes no name, but {name!r} was given; 'get {name}' asks for "
        "one pod"
    )
    question: str
    name: str


class RpcNotInThisApi(Finding):
    sentence = "{api} has no {question!r}; it knows 'list' only"
    api: str
    question: str


class RunOutputWithoutDryRun(Finding):
    sentence = "only --dry-run prints a document; the output is the command's"


class RunNoCommand(Finding):
    sentence = "no command was given; put it behind the options, best after '--'"


class RunDuration(Finding):
    sentence = "{value!r} is no time, such as 30 (seconds), 90s or 1h30m: {problem}"
    value: str
    problem: str


class RunWaitApart(Finding):
    sentence = (
        "a time must be joined to --wait with '=', because --wait is also valid without one: did "
        "you mean --wait={time}?"
    )
    time: str


class RunOtherProgramsFlag(Finding):
    sentence = (
        "{flag} is an option of {whose}; did you mean {own}? Request amounts here; numalet "
        "chooses the CPUs and NUMA nodes (--dry-run shows them)"
    )
    flag: str
    whose: str
    own: str


class RunCpusAsConfig(Finding):
    sentence = (
        "-c names a configuration file, and there is no file {value!r}; did you mean --cpus "
        "{value} (srun's -c)?"
    )
    value: str


class SamplesNoPluginFolder(Finding):
    sentence = "there is no folder {path!r}; start the node first, or name its root with --root"
    path: str


class SamplesDevice(Finding):
    sentence = "{value!r} is no device; write ID, ID@NODE or ID@NODE+NODE, such as gpu0@1"
    value: str


class CheckAndSeveral(Finding):
    sentence = "two releases are compared for one configuration on one machine; several were given"


class FleetOption(Finding):
    sentence = "{option} does not go together with {other}"
    option: str
    other: str


class FleetNotLive(Finding):
    sentence = "--watch needs a cluster that can be asked again; a dump or a description stays"


class FleetNothingToChange(Finding):
    sentence = (
        "--undo, and --yes with --cordon or --taint, need the cluster itself; a dump or a "
        "description cannot be changed, so leave --dump and --fleet out"
    )


class FleetYesAlone(Finding):
    sentence = "--yes needs --cordon, --taint or --undo"


class FleetPairs(Finding):
    sentence = "{option} has {value!r}; write {expected}"
    option: str
    value: str
    expected: str


class FleetNothingOtherwise(Finding):
    sentence = (
        "nothing is to be otherwise; say what, for example with --policy, --release or --machine"
    )


class FleetPoolUnknown(Finding):
    sentence = "there is no pool {name!r}; pools: {known}"
    name: str
    known: str


class FleetNodeUnknown(Finding):
    sentence = "there is no node {name!r}, or nothing can be decided on it; nodes: {known}"
    name: str
    known: str


class FleetNoneStarts(Finding):
    sentence = "no kubelet would start with this: {problem}"
    problem: str


class DashboardNotLoopback(Finding):
    sentence = (
        "pages without a certificate are served on this machine alone, and {host!r} is no address "
        "of loopback; for others, serve it by an agent with --kube-api and a certificate"
    )
    mend = "leave the host out, and reach it through ssh -L PORT:127.0.0.1:PORT"
    host: str


class FilesPicturesOnOutput(Finding):
    sentence = "--html and --svg can not both go to the standard output"


class DashboardAgentAndPieces(Finding):
    sentence = (
        "{given} describes a simulated node, and --socket and --root name an agent; leave one of "
        "them out"
    )
    given: str


class DashboardKubeletAndOthers(Finding):
    sentence = (
        "--kubelet-root shows what a kubelet leaves in a folder, and {given} can not go with it; "
        "only --machine, --config, devices, --node-name and --kubelet-version can"
    )
    given: str


class DashboardListenOfAgent(Finding):
    sentence = (
        "--listen is where this command serves pages itself, but the agent answers and serves "
        "its own; leave --listen out, or name the kubelet by --kubelet-root"
    )


class DashboardObserves(Finding):
    severity = Severity.NOTE
    sentence = (
        "no agent answers; the pages show what the kubelet in {root} leaves on this machine: "
        "its state files, PodResources, and cgroups"
    )
    root: str


class DashboardNoKubelet(Finding):
    sentence = (
        "no kubelet runs in {root}, and there are no state files of one that this user may read"
    )
    root: str
