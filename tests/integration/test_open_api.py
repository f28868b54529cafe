"""The API of an agent, asked what its own OpenAPI document permits, and a little more.

Requests are made by schemathesis from the documents that the agent serves: valid ones, and ones
with something wrong in them. Whatever comes, the answer must be of a kind that the document
names, and no bug; watches end after a second.
"""

from __future__ import annotations

import base64
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode, checks
from schemathesis.core.result import Ok

from harness import thoroughness
from numalet.io.agent_client.client import AgentClient
from running import agent_load
from servers.pods import pod

GROUPS = ("api/v1", "apis/numalet.dev/v1alpha1", "other")
EXAMPLES = thoroughness.of(4, 20)
WATCHES = thoroughness.of(1, 4)
"""So many of each operation, as each takes a second; so does what follows a log."""
CHECKS = (
    checks.not_a_server_error,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
)
PODS = "/api/v1/namespaces/default/pods"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Served:
    """An agent behind TLS, and who may ask it."""

    url: str
    session: requests.Session

    def document(self, path: str) -> Any:
        answer = self.session.get(f"{self.url}{path}", timeout=100)
        answer.raise_for_status()
        return answer.json()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        root = Path(folder) / "root"
        with agent_load.agent(root, "--kube-api", "0", "--log-format", "json") as agent:
            config = yaml.safe_load((root / "admin.kubeconfig").read_text())
            cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
            authority = Path(folder) / "ca.crt"
            authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
            with requests.Session() as session, AgentClient(agent.socket) as client:
                # A proxy or an authority of the environment leads astray.
                session.trust_env = False
                session.verify = str(authority)
                session.headers["Authorization"] = f"Bearer {user['token']}"
                client.post(PODS, pod("there"))
                yield Served(cluster["server"], session)
            assert "Traceback" not in (root.parent / "agent.log").read_text()


def operations(document: dict[str, Any]) -> Iterator[APIOperation[Any, Any, Any, Any]]:
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


def check(
    served: Served,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    watches: Iterator[int],
) -> None:
    """Ask for one operation again and again; with ``watches`` it may stay for a second."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(mode))
    def ask(case: Case[Any]) -> None:
        stays = {"watch", "follow"} & case.query.keys()
        if stays and next(watches, None) is None:
            for name in stays:
                del case.query[name]
        elif stays:
            case.query["timeoutSeconds"] = 1
        is_watch = "watch" in case.query
        case.call_and_validate(
            base_url=served.url,
            session=served.session,
            timeout=100,
            verify=served.session.verify,
            checks=[each for each in CHECKS if not is_watch or each is CHECKS[0]],
        )

    ask()


@pytest.mark.parametrize("group", GROUPS)
def test_every_answer_is_of_a_kind_that_the_document_names(served: Served, group: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*operations(served.document(f"/openapi/v3/{group}"))]
        for operation in found:
            watches = iter(range(WATCHES))
            for mode in GenerationMode:
                check(served, operation, mode, watches)
    assert found
