"""What if in a browser: a manifest is pasted, and the answer can be passed on."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from numalet.dashboard.application import served
from running import browsers, dashboards
from running.browsers import Visit
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed

_MANIFEST = """\
apiVersion: v1
kind: Pod
metadata:
  name: big
spec:
  containers:
  - name: main
    image: example.org/image
    resources:
      requests: {cpu: "12", memory: 4Gi}
      limits: {cpu: "12", memory: 4Gi}
"""


def test_a_refused_pod_says_why_and_what_would_admit_it(visit: Callable[..., Visit]) -> None:
    config, node = shown_nodes.started()
    pods = [guaranteed("web-0", 12, 8 * GIB), guaranteed("web-1", 6, 4 * GIB, "team")]
    view = shown_nodes.view_of(config, node, pods)
    dashboard = served(dashboards.ChangingNode(view))
    with dashboards.listening(dashboard.app) as url:
        page = visit(permissions=["clipboard-read", "clipboard-write"]).page
        page.goto(dashboard.link(url).url)
        page.get_by_role("link", name="What if").first.click()
        page.locator("#manifest").fill(_MANIFEST)
        page.get_by_role("button", name="Ask").click()
        answer = page.locator("#answer")
        expect(answer.locator("h2").first).to_contain_text("would be rejected")
        expect(answer).to_contain_text("TopologyAffinityError")
        expect(answer.locator("svg.node")).to_have_count(1)
        expect(answer).to_contain_text("What would admit it")
        assert browsers.violations(page) == []

        page.locator("[data-copies]").click()
        expect(page.locator("#copied")).to_have_text("Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.url

        # A way out is shown on the drawing, where the pod is then.
        answer.get_by_role("link", name="Show it").first.click()
        expect(page.locator("#answer")).to_contain_text("The drawing shows what it would look like")
        assert page.locator("#answer svg.node [data-pod]").count()

        # The copied link asks the same, in a page that knows nothing of this one.
        other = visit().page
        other.goto(dashboard.link(url).url)
        other.goto(copied)
        expect(other.locator("#manifest")).to_have_value(_MANIFEST)
        expect(other.locator("#answer h2").first).to_contain_text("would be rejected")
        # Nothing happened to the node.
        other.goto(f"{url}/pods")
        expect(other.locator("table.pods tbody tr")).to_have_count(2)


def test_another_policy_is_one_choice_away(visit: Callable[..., Visit]) -> None:
    config, node = shown_nodes.started()
    pods = [guaranteed("web-0", 12, 8 * GIB), guaranteed("web-1", 6, 4 * GIB, "team")]
    dashboard = served(dashboards.ChangingNode(shown_nodes.view_of(config, node, pods)))
    with dashboards.listening(dashboard.app) as url:
        page = visit().page
        page.goto(dashboard.link(url).url)
        page.goto(f"{url}/what-if")
        page.locator("#manifest").fill(_MANIFEST)
        page.get_by_label("Topology policy").select_option("best-effort")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#answer h2").first).to_contain_text("would be admitted")
        assert "policy=best-effort" in page.url
