"""Follows the configuration of an observed kubelet.

A restarted kubelet may have other files and flags, so the configuration belongs to a process and to
file contents. While no kubelet runs, the last one remains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from numalet.agent.controller import recovery
from numalet.agent.controller.recovery import Premises
from numalet.core.config.releases import versions
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.versions import FollowedRelease
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value, replace
from numalet.io import kubelet_program, kubelets
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.kubelets import KubeletProcess

_Identity: TypeAlias = tuple[object, ...]


class ObservedConfiguration(Value):
    """Configuration and rules of the kubelet.

    Without ``file`` the configuration is unknown, ``premises`` are the agent's own, and
    ``findings`` say why. ``release`` is the one whose rules apply.
    """

    premises: Premises
    release: FollowedRelease
    file: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class ConfigurationReader:
    """Reads the configuration of a kubelet when it changes.

    ``own`` applies while it is unknown. ``named`` is a file from the administrator, read instead of
    the kubelet's. ``release`` and ``version`` are from the administrator; without ``version`` it is
    read from the kubelet's executable.
    """

    own: Premises
    root: Path
    proc: Path = kubelets.PROC
    named: str = ""
    release: Release | None = None
    version: str = ""
    _seen: KubeletProcess | None = field(default=None, init=False)
    _followed: FollowedRelease | None = field(default=None, init=False)
    _identity: _Identity | None = field(default=None, init=False)
    _last: ObservedConfiguration | None = field(default=None, init=False)

    def read(self) -> ObservedConfiguration:
        """Return the current configuration. Blocks."""
        process = kubelets.process_of(self.root, self.proc)
        followed = self._release_of(process)
        if self.named:
            premises = _following(self.own, followed)
            return ObservedConfiguration(premises, followed, self.named)
        if process is None and self._last is not None and self._last.file:
            return self._last
        sources = kubelets.config_sources(self.root, process)
        identity = (process, *_signatures(sources))
        if self._last is None or identity != self._identity:
            has_started = process is not None and process not in (self._identity or ())[:1]
            self._identity = identity
            self._last = self._read(sources, process, followed)
            if has_started:
                # The kubelet accepted it, so findings may only mean that its release knows more
                # than this one.
                notes = [each.of_severity(Severity.NOTE) for each in self._last.findings]
                self._last = replace(self._last, findings=tuple(notes))
        return self._last

    def _release_of(self, process: KubeletProcess | None) -> FollowedRelease:
        """The release whose rules apply; without a kubelet, the last one's."""
        if self._followed is None or (process is not None and process != self._seen):
            version = self.version
            if not version and process is not None:
                version = kubelet_program.version(process.folder / "exe")
            self._seen = process
            self._followed = versions.followed(self.release, version)
        return self._followed

    def _read(
        self,
        sources: ConfigSources | None,
        process: KubeletProcess | None,
        followed: FollowedRelease,
    ) -> ObservedConfiguration:
        own = _following(self.own, followed)
        if sources is None:
            # The owner may be another manager; a kubelet may come later.
            unknown = () if not self.root.is_dir() else (self._unknown(),)
            return ObservedConfiguration(own, followed, "", unknown)
        try:
            loaded = kubelet_config.load(sources)
            premises = replace(own, config=loaded.config)
            # A configuration that is readable but invalid is treated as unknown.
            recovery.start_node(premises, {}, ())
        except BadInput as bad:
            return ObservedConfiguration(own, followed, "", (*bad.findings, self._unknown()))
        return ObservedConfiguration(premises, followed, _name_of(sources, process))

    def _unknown(self) -> Finding:
        return input_error.Assumed(
            f"the kubelet configuration of {self.root} is unknown, so the agent cannot check "
            "whether the kubelet would start with its state files; pass it with -c"
        )


def _following(premises: Premises, followed: FollowedRelease) -> Premises:
    rules = replace(premises.behaviour, release=followed.release)
    return replace(premises, behaviour=rules)


def _name_of(sources: ConfigSources, process: KubeletProcess | None) -> str:
    """The file's name in the kubelet's own mount namespace."""
    if sources.config_file is None:
        return "on its command line"
    name = str(sources.config_file)
    return name if process is None else name.removeprefix(str(process.root))


def _signatures(sources: ConfigSources | None) -> Iterator[object]:
    """Signatures that change with every write."""
    if sources is None:
        return
    folder = None if sources.config_dir is None else Path(sources.config_dir)
    files = [] if sources.config_file is None else [Path(sources.config_file)]
    if folder is not None and folder.is_dir():
        files += [folder, *sorted(folder.iterdir())]
    for path in files:
        try:
            status = path.stat()
        except OSError:
            yield path, None
            continue
        yield path, status.st_ino, status.st_mtime_ns, status.st_size
