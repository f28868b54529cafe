"""Functions of other modules in the public package, with checked arguments."""

from __future__ import annotations

from numalet.core.snapshot import placement
from numalet.insight.python_api.arguments import checked
from numalet.insight.simulate import outcome
from numalet.insight.usecases import replaying
from numalet.io import machines
from numalet.io.documents.claims import device_claims
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.pods import pod_manifest
from numalet.wording import explanations, kubelet

decode_config = checked(kubelet_config.decode)
diff_snapshots = checked(placement.diff_snapshots)
load_claims = checked(device_claims.load_claims, "paths")
load_config = checked(kubelet_config.load)
load_pods = checked(pod_manifest.load_pods, "paths")
open_machine = checked(machines.open_machine)
read_claims = checked(device_claims.read_claims)
read_pods = checked(pod_manifest.read_pods)
rejection_status = checked(kubelet.status)
replay = checked(replaying.replay, "files")
runtime_settings = checked(outcome.runtime_settings)
sentence = checked(explanations.sentence)
