"""What is wrong with files and folders that are read or written."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FilesPodResourcesNumber(Finding):
    sentence = (
        "{path!r} looks like a dump of the pod resources API, but a CPU, a size or a node in it "
        "is no number"
    )
    path: str


class ExplainStandardInputTwice(Finding):
    sentence = "'-' is named {count} times, but the standard input can be read once only"
    count: int


class FilesNoSuchDirectory(Finding):
    sentence = "there is no directory {path!r}; create it first, or name one with state files"
    path: str


class FilesUnwritable(Finding):
    sentence = "{path!r} can not be written: {error}; nothing was changed"
    path: str
    error: str


class FilesUnfinished(Finding):
    sentence = (
        "{path!r} can not be given back its former content: {error}; files that belong together "
        "are of different moments until the next start finishes the write"
    )
    path: str
    error: str


class FilesForeignIntent(Finding):
    sentence = (
        "{path!r} says which files were being written, and was not written by numalet as this "
        "user; see whose it is, and remove it"
    )
    path: str


class FilesOthersOwn(Finding):
    sentence = (
        "{path!r} belongs to user {owner}, who could change what root runs or writes there; make "
        "root its owner (chown root), or name a place that is root's all the way down"
    )
    path: str
    owner: int


class FilesOthersWrite(Finding):
    sentence = (
        "{path!r} has mode {mode}, so other users could change what root runs or writes there; "
        "remove that right (chmod go-w), or use a path on which root owns every folder"
    )
    path: str
    mode: str


class FilesRecordName(Finding):
    sentence = "--record {path!r}: the name of a file of recorded scenarios must end with .jsonl"
    path: str


class FilesNoRegularFile(Finding):
    sentence = "{path!r} is no regular file, so it can not be read as a state file"
    path: str


class FilesNotAFile(Finding):
    sentence = "{path!r} is no regular file, so it can not be replaced as a whole; name a file"
    path: str


class ReserveNotEditable(Finding):
    sentence = "this file can not be edited: {problem}; add the printed lines by hand"
    problem: str


class RecordContainers(Finding):
    sentence = (
        "the containers of the record ({names}) are not those of a pod: each needs a name of its "
        "own, init containers come first, and at least one app container is there"
    )
    names: str


class RecordNotJson(Finding):
    sentence = "the record of a pod is no JSON: {problem}"
    problem: str


class RecordTextOnly(Finding):
    sentence = "{text}"
    why = "a record of an earlier release has a cause as a text, without a code"
    text: str


class RecordUnreadable(Finding):
    sentence = "a record of this pod could not be read again: {problem}"
    why = "the agent reads the records of its pods when it starts"
    problem: str


class RecordUnknownContainer(Finding):
    sentence = "the record has a run of container {name}, which the pod does not have"
    name: str
