"""``numalet fleet dashboard`` as a process: a dump behind a link that works once."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from values import gpu_dump


def test_a_dump_until_ctrl_c(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    gpu_dump.write_three_nodes(dump)
    command = [sys.executable, "-m", "numalet", "fleet", "dashboard", "--dump", str(dump)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            with browser.open(link, timeout=60) as answer:
                assert answer.status == 200
            base = link.partition("/login")[0]
            with browser.open(f"{base}/fleet", timeout=60) as answer:
                page = answer.read().decode()
            for name in ("gpu-1", "gpu-2", "gpu-3"):
                assert f'data-node="{name}"' in page
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said


def test_a_dump_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numalet", "fleet", "dashboard", "--dump"]
    done = subprocess.run(
        [*command, str(tmp_path / "none.json")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "none.json" in done.stderr
