"""Templates by name, filled with values; style sheets and scripts by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from numalet.drawing import tokens
from numalet.wording.printable import printable

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE: Final = "numalet.pages"


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
    environment.filters["counted"] = numbers.counted
    environment.filters["query"] = _query
    environment.filters["rounded_size"] = numbers.rounded_size
    return environment
