"""Finds a kubelet's command line in systemd units, environment files, ``ps`` output and logs.

The content decides the kind of text, not the file's name. Words are split as systemd or a shell
splits them; ``kubelet_command_line`` then parses the flags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.io.documents.text import yaml_source

PROGRAMS: Final = (
    *("kubelet", "hyperkube", "kubelite", "k3s", "k3s-server", "k3s-agent", "rke2", "k0s"),
    "minikube",
)
_LONGEST: Final = 256 * 1024
"""Characters. Linux limits one argument to half of this (MAX_ARG_STRLEN)."""
_MOST_COLUMNS: Final = 24
_MOST_WORDS: Final = 2_000
_COMMENTS: Final = re.compile(r"(?m)^[ \t]*[#;].*$")
_COMMENT_LINES: Final = re.compile(r"(?m)^[ \t]*[#;].*\n?")
_CONTINUED: Final = re.compile(r"\\\r?\n")
_WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+|["'\\]""", re.DOTALL)
_QUOTED: Final = re.compile(r"""\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'""", re.DOTALL)
_ESCAPED: Final = re.compile(r"""\\(["\\$`])""")
_LOG_LINE: Final = re.compile(r'FLAG: --([\w-]+)=("(?:[^"\\\n]|\\.)*")')
_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=")
_VARIABLES: Final = re.compile(
    r"""\s*(?:export\s+)?(?:[A-Z][A-Z0-9_]*=|[A-Za-z_]\w*=["']?\s*--?[a-z])"""
)
_FLAG: Final = re.compile(r"\s*--?[A-Za-z]")
_UNIT: Final = re.compile(
    r"(?m)^[ \t]*\[(?:Unit|Service|Install)\][ \t\r]*$"
    r"|^(?:ExecStart|EnvironmentFiles?|Environment)[ \t]*="
)
_UNIT_LINE: Final = re.compile(r"\s*(?:\[[\w-]+\]\s*$|[A-Z][A-Za-z]+[ \t]*=)")
_YAML_LINE: Final = re.compile(r"""\s*(?:---|[{\[]|-\s|["']?[\w.$/-]+["']?\s*:(?:\s|$))""")
_WHOLE_VARIABLE: Final = re.compile(r"\$(\w+)|\$\{(\w+)\}")
VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_OTHER_PROGRAMS: Final = re.compile(
    "PROXY|APISERVER|API_ARGS|SCHEDULER|CONTROLLER|ETCD|DOCKER|FLANNEL|CRIO|CONTAINERD|STORAGE"
)
_EXEC_PREFIXES: Final = "@-:+!|"


class CommandText(Value, kw_only=True):
    """The words of a command line, and the files and variables missing from it.

    They begin at character ``begins`` of ``text``. ``program`` is empty if the text has arguments
    only. ``are_all_flags``: every flag is present, defaults too. ``missing`` lists unreadable files
    that the text names, ``unset`` the variables that such a file may set.
    """

    source: str
    text: str
    words: tuple[str, ...]
    begins: int = 0
    program: str = ""
    are_all_flags: bool = False
    missing: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def read(text: str, document: str) -> CommandText | None:
    """Raises ``BadInput`` for unbalanced quotes, and for the command of another program."""
    # Logs first: they may be longer than any command line.
    if "FLAG: --" in text and _LOG_LINE.search(text):
        return _of_log(text)
    if len(text) > _LONGEST:
        return None
    # /proc/PID/cmdline separates the arguments with NUL bytes.
    if "\0" in text:
        return _of_proc(text)
    # ``text`` keeps its line breaks, for line numbers; ``plain`` drops comment lines, as systemd
    # does.
    text, plain = _COMMENTS.sub("", text), _COMMENT_LINES.sub("", text)
    head = plain.lstrip().partition("\n")[0]
    reader: Callable[[str], CommandText | None] = _of_command
    if _UNIT_LINE.match(head) and _UNIT.search(plain):
        reader = _of_unit
    elif _VARIABLES.match(head):
        reader = _of_environment
    elif _FLAG.match(head):
        reader = _of_arguments
    elif _YAML_LINE.match(head):
        return None
    try:
        found = reader(plain)
        # Line numbers refer to the original text.
        return None if found is None else replace(found, text=text)
    except _WordsError as error:
        problem = input_error.Invalid(
            f"invalid command line of a kubelet: {error}", where=Location(document)
        )
        raise BadInput([problem]) from None
    except _NoKubeletError as error:
        other = input_error.Invalid(
            f"this is {error} without a kubelet flag",
            expected=(
                "the unit or environment file of the kubelet, its line in the output of "
                "ps, or the output of 'kubectl get --raw /api/v1/nodes/NAME/proxy/configz'"
            ),
            where=Location(document),
        )
        raise BadInput([other]) from None


class _WordsError(ValueError):
    """Unbalanced quotes, or too many words."""


class _NoKubeletError(ValueError):
    """The text has a known format but does not start a kubelet."""


def words_of(text: str) -> list[str]:
    """Split a text into unquoted words. Raises ``ValueError``."""
    words = []
    for match in _WORD.finditer(_CONTINUED.sub(" ", text)):
        if match[0] in ("'", '"', "\\"):
            raise _WordsError("No closing quotation")
        words.append(_QUOTED.sub(_unquoted, match[0]))
    if len(words) > _MOST_WORDS:
        raise _WordsError(f"it has more than {_MOST_WORDS} words")
    return words


def _unquoted(match: re.Match[str]) -> str:
    escaped, double, single = match.groups()
    if escaped is not None:
        return str(escaped)
    return str(single) if double is None else _ESCAPED.sub(r"\1", double)


def _of_log(text: str) -> CommandText:
    flags: dict[str, str] = {}
    last = ""
    begins = 0
    for match in _LOG_LINE.finditer(text):
        name, quoted = match.groups()
        # The kubelet logs its flags in sorted order, so a smaller name begins another start.
        if name <= last:
            flags = {}
        if not flags:
            begins = match.start()
        last = name
        try:
            flags[name] = json.loads(quoted)
        except ValueError:
            flags[name] = quoted[1:-1]
    words = tuple(f"--{name}={value}" for name, value in flags.items())
    return CommandText(
        source="the FLAG lines of a kubelet's log",
        text=text,
        begins=begins,
        words=words,
        program="kubelet",
        are_all_flags=True,
    )


def _of_proc(text: str) -> CommandText | None:
    words = text.strip().removesuffix("\0").split("\0")
    return _from_program("a kubelet's command line", text, words)


def _of_arguments(text: str) -> CommandText:
    return CommandText(source="arguments of a kubelet", text=text, words=tuple(words_of(text)))


def _of_command(text: str) -> CommandText | None:
    """A command with its arguments, alone or in a row of ``ps`` or ``systemctl status``."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        pieces = line.split(None, _MOST_COLUMNS)
        for at, piece in enumerate(pieces[:_MOST_COLUMNS]):
            if not _is_program(piece, pieces[:at], pieces[at + 1 :]):
                continue
            rest = [line.split(None, at)[at]]
            # Without columns of ps before it, the command may continue on the next lines and be
            # quoted.
            if not _are_columns(pieces[:at]):
                rest += lines[number + 1 :]
                return _from_program("a kubelet's command line", text, words_of("\n".join(rest)))
            for further in lines[number + 1 :]:
                if not _FLAG.match(further):
                    break
                rest.append(further)
            source = f"the command line of {piece} in the list of processes"
            # ps prints arguments unquoted, so quotes in its rows are part of the arguments.
            return _from_program(source, text, " ".join(rest).split())
    return None


def _is_program(piece: str, before: list[str], after: list[str]) -> bool:
    if piece.rpartition("/")[2] not in PROGRAMS or piece.startswith("-"):
        return False
    # Rows such as ``grep kubelet``, or a path in another program's flags.
    if any(each.startswith("--") or each in ("grep", "|") for each in before):
        return False
    if before and not _are_columns(before):
        return all(each in ("sudo", "exec", "nohup") or "=" in each for each in before)
    return not before or re.match(r"['\"]?(-|[a-z])", "".join(after[:1])) is not None


def _are_columns(before: list[str]) -> bool:
    # A process id; ``systemctl status`` draws a tree before it.
    return any(each.lstrip("└─├│").isdigit() for each in before)


def _from_program(source: str, text: str, words: list[str]) -> CommandText | None:
    for at, word in enumerate(words):
        if word.startswith("-") or _ASSIGNMENT.match(word):
            continue
        program = word.rpartition("/")[2]
        # Binaries with the release in their name, such as kubelet-1.30.
        if program.startswith("kubelet-"):
            program = "kubelet"
        if program in PROGRAMS:
            rest = words[at + 1 :]
            if program == "hyperkube":
                program, rest = "kubelet", rest[1:]
            if program == "kubelite":
                return _of_kubelite(text, rest)
            return CommandText(source=source, text=text, words=tuple(rest), program=program)
        # A whole command in quotes, as in ``sh -c "..."``.
        if " " in word and any(name in word for name in PROGRAMS):
            inner = _from_program(source, text, words_of(word))
            if inner is not None:
                return inner
    return None


def _of_kubelite(text: str, words: list[str]) -> CommandText:
    """The flags in the file that MicroK8s passes to the kubelet inside kubelite."""
    option = "--kubelet-args-file="
    path = next((word.removeprefix(option) for word in words if word.startswith(option)), "")
    source = f"kubelite, its file for the kubelet {path}"
    try:
        flags = words_of(_COMMENT_LINES.sub("", yaml_source.read_text(path)))
    except (BadInput, _WordsError):
        return CommandText(
            source=source, text=text, words=(), missing=(path or option,), unset=(path or option,)
        )
    return CommandText(source=source, text=text, words=tuple(flags), program="kubelet")


def _of_environment(text: str) -> CommandText:
    variables = dict(_assignments(text))
    words = tuple(_flags_in(variables))
    if not words:
        command = _of_command(text)
        if command is None:
            raise _NoKubeletError("an environment file")
        return command
    return CommandText(source="the flags in an environment file", text=text, words=words)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for word in words_of(text):
        match = _ASSIGNMENT.match(word)
        if match is not None:
            yield match[1], word[match.end() :]


def _flags_in(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        is_other = _OTHER_PROGRAMS.search(name) and "KUBELET" not in name
        if _FLAG.match(value) and not is_other:
            yield from words_of(value)


class _Unit(Mutable):
    """The settings of a systemd unit that determine the kubelet's command line."""

    variables: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)

    def set(self, key: str, value: str) -> None:
        # In systemd, an empty value resets the list.
        match key:
            case "Environment":
                given = dict(_assignments(value))
                self.variables = {**self.variables, **given} if value else {}
            case "EnvironmentFile" | "EnvironmentFiles":
                # A dash marks an optional file; ``systemctl show`` appends ``
                # (ignore_errors=...)``.
                path = value.removeprefix("-").partition(" (")[0]
                self.files = [*self.files, path] if value else []
            case "ExecStart":
                # The form of ``systemctl show``.
                shown = re.search(r"argv\[\]=(.*?) ; ignore_errors=", value)
                self.commands = [*self.commands, shown[1] if shown else value] if value else []
            case _:
                pass

    def read_files(self) -> None:
        """Add the variables of the environment files; record unreadable files."""
        for path in self.files:
            try:
                text = yaml_source.read_text(path)
                # EnvironmentFile= wins over Environment=, whatever their order (systemd.exec).
                self.variables |= dict(_assignments(_COMMENT_LINES.sub("", text)))
            except (BadInput, _WordsError):
                self.missing.append(path)

    def expanded(self, command: str) -> Iterator[str]:
        """The words of a command with its variables replaced; unknown variables stay."""
        for word in words_of(command):
            whole = _WHOLE_VARIABLE.fullmatch(word)
            if whole is None:
                yield VARIABLE.sub(self._value, word)
                continue
            name = whole[1] or whole[2]
            if name not in self.variables:
                self.unset += [f"the variable {name}"] if self.missing else []
            # systemd splits ``$NAME`` as a whole word into words, but not ``${NAME}``.
            elif whole[1]:
                yield from words_of(self.variables[name])
            else:
                yield self.variables[name]

    def _value(self, match: re.Match[str]) -> str:
        # If a file is missing it may set the variable, so the reference stays; otherwise it is
        # empty.
        return self.variables.get(match[1], match[0] if self.missing else "")


def _of_unit(text: str) -> CommandText:
    unit = _Unit()
    is_service = True
    for line in _CONTINUED.sub(" ", text).split("\n"):
        key, equals, value = line.strip().partition("=")
        if key.startswith("["):
            is_service = key == "[Service]"
        elif equals and is_service:
            unit.set(key.strip(), value.strip())
    unit.read_files()
    for command in unit.commands:
        words = [*unit.expanded(command.lstrip(_EXEC_PREFIXES))]
        found = _from_program("the command line in a unit of systemd", text, words)
        if found is not None:
            return CommandText(
                source=found.source,
                text=text,
                words=found.words,
                program=found.program,
                missing=tuple(unit.missing),
                unset=tuple(dict.fromkeys(unit.unset)),
            )
    flags = tuple(_flags_in(unit.variables))
    if unit.commands or not flags:
        program = "".join(words_of(unit.commands[-1])[:1]) if unit.commands else ""
        raise _NoKubeletError(f"a unit of systemd that starts {program or 'nothing'}")
    source = "the flags in the variables of a unit of systemd"
    return CommandText(source=source, text=text, words=flags, missing=tuple(unit.missing))
