"""Templates by name, filled with values; style sheets, scripts, and the file of a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from numalet import __version__
from numalet.core.model.value import Value
from numalet.drawing import tokens
from numalet.wording.foreign_texts import printable

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE: Final = "numalet.pages"
_STYLES: Final = ("tokens.css", "numalet.css", "parts.css")


def page(name: str, **values: Any) -> str:
    """Fill the template of this name, such as ``file.html``. Values are escaped."""
    return _environment().get_template(name).render(**values)


def part(name: str, **values: Any) -> Any:
    """Fill a template, as markup for another template."""
    return trusted(page(name, **values))


def trusted(markup: str) -> Any:
    """Mark trusted markup, which a template does not escape: a drawing, a template, a static file.

    Never use this for other content: names, logs and manifests may contain markup.
    """
    from markupsafe import Markup

    return Markup(markup)  # noqa: S704


@cache
def static(name: str) -> str:
    """Return the text of a style sheet or script; ``tokens.css`` is generated from the tokens."""
    if name == "tokens.css":
        return tokens.custom_properties()
    return resources.files(_PACKAGE).joinpath("static", name).read_text(encoding="utf-8")


def _query(values: Mapping[str, str | None]) -> str:
    """Return the query of a URL, without the values that are not set."""
    return urlencode({name: value for name, value in values.items() if value is not None})


def _name(text: str) -> Any:
    """Let the name of a pod or a node break after its hyphens, slashes and dots."""
    return trusted("<wbr>").join(re.split(r"(?<=[-./])(?!$)", printable(text)))


def _shown(value: Any) -> Any:
    """Remove control characters, which names, logs and manifests may contain."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    # Browsers end the lines of a form with a carriage return and a newline.
    return printable(value.replace("\r\n", "\n"), "\n\t") if is_text else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from numalet.wording import numbers

    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clock"] = lambda at: f"{at.astimezone(UTC):%H:%M:%S} (UTC)"
    environment.filters["day"] = lambda at: f"{at.astimezone(UTC):%Y-%m-%d}"
    environment.filters["amounts"] = numbers.amounts
    environment.filters["counted"] = numbers.counted
    environment.filters["name"] = _name
    environment.filters["query"] = _query
    environment.filters["rounded_size"] = numbers.rounded_size
    return environment


def html_file(title: str, body: Any) -> str:
    """Return the file with this title; ``body`` is markup of a template or a drawing."""
    has_marks = 'data-cpu="' in body or 'data-device="' in body
    script = static("lighting.js") + (static("finding.js") if has_marks else "")
    # The Content-Security-Policy permits only this script, by its digest.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page(
        "file.html",
        title=title,
        body=body,
        has_marks=has_marks,
        style=trusted("".join(map(static, _STYLES))),
        script=trusted(script),
        script_hash=f"sha256-{digest}",
    )


class PageOrigin(Value, kw_only=True):
    """The origin of a page, for readers of a copy.

    ``command`` is the command line or the function, ``machine`` the name of the machine;
    ``release`` is the kubelet's, ``at`` a time as text. Empty fields are left out.
    """

    command: str
    machine: str = ""
    release: str = ""
    at: str = ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        known = (
            ("machine", self.machine),
            ("kubelet", self.release),
            ("numalet", __version__),
            ("made", self.at),
        )
        return tuple((name, text) for name, text in known if text)


class TextTable(Value):
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
