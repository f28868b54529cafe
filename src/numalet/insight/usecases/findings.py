"""What several use cases refuse."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FilesNoPods(Finding):
    code = "files/no-pods"
    sentence = "no pod manifests were given; name at least one file with pods"
