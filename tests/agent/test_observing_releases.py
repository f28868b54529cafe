"""An agent beside kubelets of several releases: by which it judges them, and how it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.test_observing import Observer, observing
from numalet.agent.controller import settings
from numalet.agent.kubelet import document
from numalet.agent.kubelet.observed import SETTLED_WITHIN
from numalet.agent.servers import metrics
from numalet.agent.servers.api import projections
from numalet.core.config.releases.table import DEFAULT, NEWEST
from numalet.core.model.findings import BadInput
from numalet.io import kubelets
from running import agents, kubelet_node
from running.kubelet_node import KubeletNode
from running.kubelet_process import kubelet_process

OTHER_RESERVATION = kubelet_node.CONFIG.replace("924Mi", "1948Mi").replace("1Gi}", "2Gi}")


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletNode:
    """A kubelet with one pod."""
    node = kubelet_node.made(tmp_path / "kubelet")
    node.admit("one")
    return node


def _shown(observer: Observer) -> tuple[str, str, str, dict[str, Any]]:
    """The release that counts, the metric, the status of the condition, the kubelet document."""
    view = observer.controller.view()
    page = metrics.text(view).decode().splitlines()
    (info,) = [each for each in page if each.startswith("numalet_kubelet_release_info{")]
    conditions = projections.node(view)["status"]["conditions"]
    (found,) = [each for each in conditions if each["type"] == "KubeletReleaseFollowed"]
    shown = document.kubelet_document(observer.look)
    assert shown is not None
    assert found["message"].endswith(f"by the rules of release {view.node.rules.release.name}")
    return view.node.rules.release.name, info, found["status"], shown


async def test_a_kubelet_is_judged_by_the_rules_of_its_release(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    with kubelet_process(tmp_path / "bin", "v1.34.9", f"--root-dir={kubelet.root}"):
        async with observing(kubelet, tmp_path, proc=kubelets.PROC) as observer:
            release, info, status, shown = _shown(observer)

    assert (release, status) == ("1.34", "True")
    assert 'known="true",kubelet_version="v1.34.9",release="1.34"' in info
    assert (shown["release"], shown["version"]) == ("1.34", "v1.34.9")
    assert shown["startsWithItsFiles"] is True


async def test_beside_an_unknown_kubelet_the_nearest_release_counts_and_blames_nobody(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    config = tmp_path / "other.yaml"
    config.write_text(OTHER_RESERVATION)
    arguments = (f"--root-dir={kubelet.root}", f"--config={config}")
    with kubelet_process(tmp_path / "bin", "v1.38.0", *arguments):
        async with observing(kubelet, tmp_path, proc=kubelets.PROC) as observer:
            observer.later(SETTLED_WITHIN.total_seconds())
            await observer.until(lambda: observer.look.at == observer.clock[0])
            release, info, status, shown = _shown(observer)
            codes = observer.codes()

    assert (release, status) == (NEWEST.name, "False")
    assert f'known="false",kubelet_version="v1.38.0",release="{NEWEST.name}"' in info
    assert "kubelet/would-not-start" not in codes
    assert shown["startsWithItsFiles"] is None
    # The same files and configuration are what a kubelet of a known release would not start with.
    with kubelet_process(tmp_path / "bin", "v1.36.2", *arguments):
        async with observing(kubelet, tmp_path, proc=kubelets.PROC) as observer:
            observer.later(SETTLED_WITHIN.total_seconds())
            await observer.until(lambda: "kubelet/would-not-start" in observer.codes())
            (problem,) = observer.look.lasting_problems

    assert "a kubelet v1.36 with the configuration" in str(problem.finding)


async def test_an_upgrade_of_the_kubelet_is_followed_and_said(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    root = f"--root-dir={kubelet.root}"
    with kubelet_process(tmp_path / "bin", "v1.35.1", root) as pid:
        given = agents.settings(tmp_path / "settings", kubelet_root=kubelet.root)
        notes = {each.code: str(each) for each in settings.observing(given).notes}
        assert "the kubelet is v1.35.1" in notes["kubelet/release-followed"]
        assert pid
    with kubelet_process(tmp_path / "bin", "v1.35.1", root):
        entered = observing(kubelet, tmp_path, proc=kubelets.PROC)
        observer = await entered.__aenter__()
    try:
        await observer.until(lambda: observer.look.evidence.running == "")
        assert _shown(observer)[0] == "1.35"
        with kubelet_process(tmp_path / "bin", "v1.38.1", root):
            await observer.until(
                lambda: observer.look.evidence.followed.kubelet_version == "v1.38.1"
            )
            await observer.until(
                lambda: "kubelet/release-unknown" in {each.code for each in observer.said}
            )
            assert _shown(observer)[0] == NEWEST.name
    finally:
        await entered.__aexit__(None, None, None)


async def test_a_version_that_can_not_be_seen_may_be_said(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    with kubelet_process(tmp_path / "bin", "", f"--root-dir={kubelet.root}"):
        given = agents.settings(tmp_path / "settings", kubelet_root=kubelet.root)
        silent = settings.observing(given)
        async with observing(kubelet, tmp_path, proc=kubelets.PROC) as observer:
            release, _, status, shown = _shown(observer)
    async with observing(kubelet, tmp_path, kubelet_version="1.33.1") as observer:
        said = _shown(observer)

    assert "kubelet/version-unknown" in {each.code for each in silent.notes}
    assert (release, status, shown["version"]) == (DEFAULT.name, "Unknown", None)
    assert (said[0], said[2], said[3]["version"]) == ("1.33", "True", "1.33.1")


async def test_a_release_that_is_named_wins_over_that_of_the_kubelet(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    with kubelet_process(tmp_path / "bin", "v1.35.1", f"--root-dir={kubelet.root}"):
        async with observing(kubelet, tmp_path, proc=kubelets.PROC, release="1.34") as observer:
            release, _, status, _ = _shown(observer)
        given = agents.settings(tmp_path / "s", kubelet_root=kubelet.root, release="1.34")
        codes = {each.code for each in settings.observing(given).notes}

    assert (release, status) == ("1.34", "False")
    assert "kubelet/release-other" in codes


def test_an_agent_that_decides_itself_follows_a_known_release_alone(tmp_path: Path) -> None:
    by_name = settings.enforcing(agents.settings(tmp_path, exact=True, release="v1.34.9"))
    by_version = settings.enforcing(agents.settings(tmp_path, kubelet_version="v1.35.1"))
    unknown = agents.settings(tmp_path, kubelet_version="v1.38.0")

    assert by_name.premises.behaviour.release.name == "1.34"
    assert by_version.premises.behaviour.release.name == "1.35"
    # No mode was named, and a release names none.
    assert by_version.premises.behaviour.mode is not by_name.premises.behaviour.mode
    assert unknown.premises.behaviour.release is NEWEST
    with pytest.raises(BadInput, match=r"release 1\.37"):
        settings.enforcing(unknown)
    for refused in ({"release": "1.38"}, {"release": ""}, {"kubelet_version": "none"}):
        with pytest.raises(BadInput, match=r"1\.32, 1\.33"):
            agents.settings(tmp_path, **refused)


def test_a_release_beside_the_configuration_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    own = "apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\nrelease: '1.33'\n"
    file.write_text(f"{kubelet_node.CONFIG}---\n{own}")
    given = agents.settings(tmp_path, config_file=file)

    assert given.premises.behaviour.release.name == "1.33"
    assert settings.enforcing(given) is given
