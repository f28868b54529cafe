"""What is wrong with files and folders that are read or written."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FilesPodResourcesNumber(Finding):
    code = "files/pod-resources-number"
    sentence = (
        "{path!r} looks like a dump of the pod resources API, but a CPU, a size or a node in it "
        "is no number"
    )
    path: str


class ExplainStandardInputTwice(Finding):
    code = "explain/standard-input-twice"
    sentence = "'-' is named {count} times, but the standard input can be read once only"
    count: int


class FilesNoSuchDirectory(Finding):
    code = "files/no-such-directory"
    sentence = "there is no directory {path!r}; create it first, or name one with state files"
    path: str


class FilesUnwritable(Finding):
    code = "files/unwritable"
    sentence = "{path!r} can not be written: {error}; nothing was changed"
    path: str
    error: str


class FilesUnfinished(Finding):
    code = "files/unfinished"
    sentence = (
        "{path!r} can not be given back its former content: {error}; files that belong together "
        "are of different moments until the next start finishes the write"
    )
    path: str
    error: str


class FilesForeignIntent(Finding):
    code = "files/foreign-intent"
    sentence = (
        "{path!r} says which files were being written, and was not written by numalet as this "
        "user; see whose it is, and remove it"
    )
    path: str


class FilesOthersOwn(Finding):
    code = "files/others-own"
    sentence = (
        "{path!r} belongs to user {owner}, who could change what root runs or writes there; make "
        "root its owner (chown root), or name a place that is root's all the way down"
    )
    path: str
    owner: int


class FilesOthersWrite(Finding):
    code = "files/others-write"
    sentence = (
        "{path!r} has mode {mode}, so other users could change what root runs or writes there; "
        "remove that right (chmod go-w), or use a path on which root owns every folder"
    )
    path: str
    mode: str


class FilesRecordName(Finding):
    code = "files/record-name"
    sentence = "--record {path!r}: the name of a file of recorded scenarios must end with .jsonl"
    path: str


class FilesNoRegularFile(Finding):
    code = "files/no-regular-file"
    sentence = "{path!r} is no regular file, so it can not be read as a state file"
    path: str


class FilesNotAFile(Finding):
    code = "files/not-a-file"
    sentence = "{path!r} is no regular file, so it can not be replaced as a whole; name a file"
    path: str


class ReserveNotEditable(Finding):
    code = "reserve/not-editable"
    sentence = "this file can not be edited: {problem}; add the printed lines by hand"
    problem: str


class RecordContainers(Finding):
    code = "record/containers"
    sentence = (
        "the containers of the record ({names}) are not those of a pod: each needs a name of its "
        "own, init containers come first, and at least one app container is there"
    )
    names: str


class RecordNotJson(Finding):
    code = "record/not-json"
    sentence = "the record of a pod is no JSON: {problem}"
    problem: str


class RecordTextOnly(Finding):
    code = "record/text-only"
    sentence = "{text}"
    why = "a record of an earlier release has a cause as a text, without a code"
    text: str


class RecordUnreadable(Finding):
    code = "record/unreadable"
    sentence = "a record of this pod could not be read again: {problem}"
    why = "the agent reads the records of its pods when it starts"
    problem: str


class RecordUnknownContainer(Finding):
    code = "record/unknown-container"
    sentence = (
        "something happened to {name}, but the pod has no such container, or the record names it "
        "twice"
    )
    name: str
