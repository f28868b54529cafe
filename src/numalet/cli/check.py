"""``numalet check``: whether the kubelet would start, and other problems of a configuration."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import machine_options
from numalet.cli.option_groups import expanded
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.value import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numalet.insight.lint.choosing import LintChoice
    from numalet.insight.lint.rows import FindingRow
    from numalet.insight.usecases.checking import CheckInputs

EPILOG = """Examples:

  numalet check -c kubelet.yaml

  numalet check -c kubelet.yaml -m node7.tar.gz --state-dir ./state pods.yaml

  numalet check -c large.yaml -c small.yaml -m node7.tar.gz -m node8.tar.gz pods.yaml

  numalet check -m 2n16c2t --memory-per-node 128Gi --memory-manager-policy Static \\
      --reserved-memory 0:memory=100Mi

  numalet check -c kubelet.yaml -m node7.tar.gz -o sarif > numalet.sarif

  kubectl -n kube-system get configmap kubelet-config -o yaml | numalet check -c - -m node7.tar.gz

  kubectl get --raw /api/v1/nodes/node7/proxy/configz | numalet check -c - -m node7.tar.gz

  numalet check -c /proc/$(pidof kubelet)/cmdline

  kubectl get pods,resourceclaims,resourceslices -A -o yaml > all.yaml
  numalet check -c kubelet.yaml -m node7.tar.gz --node-name node7 all.yaml

  numalet check -c kubelet.yaml -m node7.tar.gz --strict --ignore lint/numa-balancing

  numalet check --release 1.32 --and 1.36 -c kubelet.yaml -m node7.tar.gz pods.yaml

  numalet check --explain lint/unbalanced-reservation

Exit status: 0 clean (warnings, without --strict, and notes aside), 1 the kubelet would not start
or findings of severity error, 2 the input can not be used, 3 a bug, 4 cannot tell whether it starts
(a vendor sets fields outside the file, and they decide). Of several configurations and machines
every combination is checked, and the worst counts.
"""


class CheckFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"


Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PODS]...",
        help="Manifests of pods that the node is to run (YAML or JSON); claims of devices,"
        " their classes, and slices may be among them.",
        show_default=False,
    ),
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", metavar="DIR", help="State files that the kubelet would find; only read."
    ),
]
Output = Annotated[
    CheckFormat, typer.Option("-o", "--output", help="How the findings are printed.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODE,...",
        help="Only these findings: codes, or areas such as lint; repeatable.",
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE,...",
        help="Not these findings; as '# numalet: ignore[CODE]' on their line. Repeatable.",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit status 1 for warnings, too.")]
And = Annotated[
    str | None,
    typer.Option(
        "--and",
        metavar="RELEASE",
        help="Compare with this release: say what changes from --release to it.",
        show_default=False,
    ),
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain", metavar="CODE", help="Print what a code means, and why; check nothing."
    ),
]


@expanded
def check(
    pods: Pods = None,
    *,
    config: kubelet.ConfigFiles = None,
    machine: machine_options.Machines = None,
    sizes: machine_options.Sizes,
    devices: machine_options.Devices,
    state_dir: StateDir = None,
    pod_choice: machine_options.ChosenPods,
    output: Output = CheckFormat.TABLE,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = False,
    and_release: And = None,
    explain: Explain = None,
    flags: kubelet.AllFlags,
) -> None:
    """Say whether the kubelet would start with this configuration, and what is unwise."""
    from numalet.insight.lint import choosing
    from numalet.insight.usecases.checking import CheckInputs

    if explain is not None:
        from numalet.cli import check_view, code_index

        classes = code_index.classes()
        choosing.refuse_unknown("--explain", [explain], classes)
        check_view.print_code(explain, classes)
        return
    configs, machines = config or [], machine or []
    is_one = len({*configs}) < 2 and len({*machines}) < 2
    pieces = CheckInputs(
        machine=replace(sizes, machine=next(iter(machines), None)).choice(),
        config=flags.sources(next(iter(configs), None)),
        pods=tuple(pods or ()),
        **pod_choice.fields(),
        devices=devices.texts,
        device_file=devices.file,
        state_dir=state_dir,
        choice=_choice(select or (), ignore or ()),
    )
    if and_release is not None:
        raise typer.Exit(_run_upgrade(pieces, and_release, output, is_one=is_one, strict=strict))
    if is_one:
        raise typer.Exit(_run(pieces, output, strict=strict))
    raise typer.Exit(_run_each(pieces, configs, machines, output, strict=strict))


def _choice(select: Sequence[str], ignore: Sequence[str]) -> LintChoice:
    from numalet.insight.lint import choosing

    if not (select or ignore):
        return choosing.LintChoice()
    from numalet.cli import code_index

    return choosing.of_texts(select, ignore, code_index.classes())


def _run(pieces: CheckInputs, output: CheckFormat, *, strict: bool) -> int:
    from numalet.cli import check_view
    from numalet.core.model.findings import BadInput
    from numalet.insight.lint import rows
    from numalet.insight.usecases import checking

    try:
        result = checking.check(pieces)
    except BadInput as bad:
        if output is CheckFormat.TABLE:
            raise
        _print_rows(pieces, output, rows.rows(bad.findings), strict=strict)
        return 2
    match output:
        case CheckFormat.TABLE:
            check_view.print_findings(result)
        case CheckFormat.JSON:
            check_view.print_json(result.rows, result.checked, result.behaviour)
        case _:
            refused = result.checked.refused
            start_error = check_view.start_error(refused)
            _print_rows(pieces, output, result.rows, start_error, strict=strict)
    return result.exit_status(strict=strict)


def _run_upgrade(
    pieces: CheckInputs, after: str, output: CheckFormat, *, is_one: bool, strict: bool
) -> int:
    from numalet.cli import upgrade_view
    from numalet.core.model.findings import Location
    from numalet.insight.usecases import upgrading
    from numalet.io.documents import kubelet_version

    if not is_one:
        raise input_error.Conflict(
            "comparing two releases needs one configuration and one machine; several were given",
            where=Location("--and"),
        ).bad_input()
    release = kubelet_version.of_name(after, "--and")
    upgrade = upgrading.upgrade(pieces, release)
    match output:
        case CheckFormat.TABLE:
            upgrade_view.print_changes(upgrade)
        case CheckFormat.JSON:
            upgrade_view.print_document(upgrade, OutputFormat.JSON)
        case _:
            _print_rows(pieces, output, upgrade.rows, strict=strict)
    return 1 if upgrade.fails(strict=strict) else 0


def _run_each(
    pieces: CheckInputs,
    configs: Sequence[Path],
    machines: Sequence[str],
    output: CheckFormat,
    *,
    strict: bool,
) -> int:
    """Check every combination; return the worst exit status."""
    from numalet.cli import check_view
    from numalet.insight.usecases import checking

    checks = checking.check_each(pieces, configs, machines)
    if output is CheckFormat.TABLE:
        check_view.print_several(checks)
    else:
        check_view.print_several_for_program(checks, output.value, strict=strict)
    return checking.worst_status(each.exit_status(strict=strict) for each in checks)


def _print_rows(
    pieces: CheckInputs,
    output: CheckFormat,
    rows: Sequence[FindingRow],
    start_error: str = "",
    *,
    strict: bool,
) -> None:
    from numalet.cli import check_view

    config = pieces.config.config_file
    main_file = str(config) if config is not None else next(iter(pieces.pods), "")
    match output:
        case CheckFormat.SARIF:
            check_view.print_sarif(rows, main_file)
        case CheckFormat.GITHUB:
            check_view.print_github(rows)
        case CheckFormat.JUNIT:
            check_view.print_junit(rows, main_file, start_error, strict=strict)
        case _:
            check_view.print_json(rows)
