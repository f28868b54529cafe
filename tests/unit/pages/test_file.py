"""A self-contained file: nothing is asked for from anywhere, and what others wrote is text."""

from __future__ import annotations

import base64
import hashlib
import re

from numalet.pages import templating


def test_nothing_is_asked_for_from_anywhere() -> None:
    text = templating.html_file("<b>title", "<script>alert(1)</script>")
    assert not re.search(r"(?:src|href)=|url\((?!#)|@import", text.replace("default-src", ""))
    assert "&lt;b&gt;title" in text
    assert "<script>alert" not in text


def test_its_policy_permits_its_own_script() -> None:
    text = templating.html_file("title", templating.trusted("<p>body</p>"))
    named = re.search(r"script-src &#39;sha256-(.*?)&#39;|script-src 'sha256-(.*?)'", text)
    assert named is not None
    script = templating.static("lighting.js")
    assert (named[1] or named[2]) == base64.b64encode(
        hashlib.sha256(script.encode()).digest()
    ).decode()
    assert script in text


def test_a_page_with_a_drawing_of_a_node_has_a_find_box() -> None:
    mark = templating.trusted('<svg><rect data-cpu="3"></rect></svg>')
    text = templating.html_file("title", mark)
    assert 'id="find"' in text
    assert templating.static("finding.js") in text
    assert 'id="find"' not in templating.html_file("title", templating.trusted("<p>x</p>"))


def test_no_control_character_of_a_value_is_in_a_page() -> None:
    bad = "a\x1b[31m\x07\x7f\x9b\u202ez\n\tb"
    text = templating.html_file(bad, bad)
    assert all(each.isprintable() or each in "\n\t" for each in text)
    assert text.count(r"a\x1b[31m\x07\x7f\x9b\u202ez") >= 2
