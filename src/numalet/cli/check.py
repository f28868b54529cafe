"""``numalet check``: whether the kubelet would start, and other problems of a configuration."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import node_options
from numalet.cli.options import Options, argument, option, with_options
from numalet.core.model import input_error

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

Exit status: 0 no errors (and no warnings with --strict), 1 the kubelet would not start or there are
errors, 2 invalid input, 3 a bug, 4 unknown whether it starts (it depends on fields that a vendor
sets outside the file). Several configurations and machines are checked in all combinations, and the
worst one decides.
"""


class CheckFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"


class CheckOptions(Options):
    pods: list[str] = argument(
        "Manifests of the node's pods (YAML or JSON), optionally with ResourceClaims, DeviceClasses"
        " and ResourceSlices.",
        "[PODS]...",
    )
    config: list[Path] = kubelet.CONFIG_FILES
    machine: list[str] = node_options.MACHINES
    sizes: node_options.Sizes
    devices: node_options.DeviceOptions
    state_dir: Path | None = option("State files that the kubelet would find; only read.", "DIR")
    pod_choice: node_options.PodChoice
    output: CheckFormat = option(
        "How the findings are printed.", name="-o", default=CheckFormat.TABLE
    )
    select: list[str] = option(
        "Show only these findings: codes, or areas such as lint; repeatable.", "CODE,..."
    )
    ignore: list[str] = option(
        "Leave out these findings, like a comment '# numalet: ignore[CODE]' on their line;"
        " repeatable.",
        "CODE,...",
    )
    strict: bool = option("Exit status 1 for warnings, too.")
    and_release: str | None = option(
        "Compare with this release: say what changes from --release to it.", "RELEASE", "--and"
    )
    show_all: bool = option(
        "With --and: show also the changes of rules and gates that do not affect this"
        " configuration, machine and pods.",
        name="--all",
    )
    explain: str | None = option("Explain a code and exit.", "CODE")
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


@with_options
def check(options: CheckOptions) -> None:
    """Check whether the kubelet would start with this configuration, and report bad settings."""
    from numalet.insight.lint import choosing
    from numalet.insight.usecases.checking import CheckInputs

    if options.explain is not None:
        from numalet.cli import check_view, code_index

        classes = code_index.classes()
        choosing.refuse_unknown("--explain", [options.explain], classes)
        check_view.print_code(options.explain, classes)
        return
    is_one = len({*options.config}) < 2 and len({*options.machine}) < 2
    pieces = CheckInputs(
        machine=options.sizes.choice(next(iter(options.machine), None)),
        config=options.flags.sources(next(iter(options.config), None)),
        pods=tuple(options.pods),
        **options.pod_choice.fields(),
        **options.devices.fields(),
        state_dir=options.state_dir,
        uses_kubelet=not options.ignore_kubelet,
        choice=_choice(options),
    )
    if options.and_release is not None:
        status = _run_upgrade(pieces, options.and_release, options, is_one=is_one)
    elif is_one:
        status = _run(pieces, options)
    else:
        status = _run_each(pieces, options)
    raise typer.Exit(status)


def _choice(options: CheckOptions) -> LintChoice:
    from numalet.insight.lint import choosing

    if not (options.select or options.ignore):
        return choosing.LintChoice()
    from numalet.cli import code_index

    return choosing.of_texts(options.select, options.ignore, code_index.classes())


def _run(pieces: CheckInputs, options: CheckOptions) -> int:
    from numalet.cli import check_view
    from numalet.core.model.findings import BadInput
    from numalet.insight.lint import rows
    from numalet.insight.usecases import checking

    try:
        result = checking.check(pieces)
    except BadInput as bad:
        if options.output is CheckFormat.TABLE:
            raise
        _print_rows(pieces, options, rows.rows(bad.findings))
        return 2
    match options.output:
        case CheckFormat.TABLE:
            check_view.print_findings(result)
        case CheckFormat.JSON | CheckFormat.YAML as form:
            check_view.print_document(form, result.rows, result.checked, result.behaviour)
        case _:
            start_error = check_view.start_error(result.checked.refused)
            _print_rows(pieces, options, result.rows, start_error)
    return result.exit_status(strict=options.strict)


def _run_upgrade(pieces: CheckInputs, after: str, options: CheckOptions, *, is_one: bool) -> int:
    from numalet.cli import output, upgrade_view
    from numalet.core.model.findings import Location
    from numalet.insight.usecases import upgrading
    from numalet.io.documents.kubelet import kubelet_version

    if not is_one:
        raise input_error.Conflict(
            "comparing two releases needs one configuration and one machine, not several",
            where=Location("--and"),
        ).bad_input()
    release = kubelet_version.of_name(after, "--and")
    upgrade = upgrading.upgrade(pieces, release)
    output.show_findings(upgrade.notes)
    match options.output:
        case CheckFormat.TABLE:
            upgrade_view.print_changes(upgrade, shows_all=options.show_all)
        case CheckFormat.JSON | CheckFormat.YAML as form:
            upgrade_view.print_document(upgrade, form)
        case _:
            others = upgrade.other_rows if options.show_all else ()
            _print_rows(pieces, options, (*upgrade.rows, *others))
    return 1 if upgrade.fails(strict=options.strict) else 0


def _run_each(pieces: CheckInputs, options: CheckOptions) -> int:
    """Check every combination; return the worst exit status."""
    from numalet.cli import check_view
    from numalet.insight.usecases import checking

    strict = options.strict
    checks = checking.check_each(pieces, options.config, options.machine)
    if options.output is CheckFormat.TABLE:
        check_view.print_several(checks)
    else:
        check_view.print_several_for_program(checks, options.output.value, strict=strict)
    return checking.worst_status(each.exit_status(strict=strict) for each in checks)


def _print_rows(
    pieces: CheckInputs, options: CheckOptions, rows: Sequence[FindingRow], start_error: str = ""
) -> None:
    from numalet.cli import check_view

    config = pieces.config.config_file
    main_file = str(config) if config is not None else next(iter(pieces.pods), "")
    match options.output:
        case CheckFormat.JUNIT:
            check_view.print_junit(rows, main_file, start_error, strict=options.strict)
        case CheckFormat.JSON | CheckFormat.YAML as form:
            check_view.print_document(form, rows)
        case chosen:
            check_view.print_for_code_host(rows, main_file, chosen.value)
