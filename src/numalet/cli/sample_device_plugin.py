"""``numalet sample-device-plugin``: a device plugin for trying out a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from numalet.cli import output
from numalet.cli.options import REQUIRED, Options, option, with_options
from numalet.core.model import input_error
from numalet.core.model.findings import Location

if TYPE_CHECKING:
    from numalet.agent.servers.sample_device_plugin import SamplePlugin
    from numalet.core.managers.device.inventory import Device

EPILOG = """Examples:

  numalet sample-device-plugin --device gpu0@0 --device gpu1@1

  numalet sample-device-plugin --resource example.com/nic --device nic0@0+1 --root /tmp/node

While it runs it takes lines such as 'unhealthy gpu0', 'healthy gpu0', 'remove gpu1' and
'add gpu2@1' from its standard input. It ends with Ctrl-C.

Exit status: 0 ended, 2 invalid input, 3 a bug.
"""


class SampleOptions(Options):
    devices: list[str] = option(
        "A device and its NUMA nodes, such as gpu0@0 or gpu1@0+1; repeatable.",
        "ID[@NODES]",
        "--device",
        default=REQUIRED,
    )
    resource: str = option("The resource that it offers.", "NAME", default="example.com/gpu")
    root: Path = option("The root folder of the node.", "DIR", default=Path("/var/lib/numalet"))


@with_options
def sample_device_plugin(options: SampleOptions) -> None:
    """Offer made-up devices to a numalet agent or a kubelet, as a device plugin does."""
    import asyncio

    from numalet.agent.servers import sample_device_plugin as device_plugin

    folder = options.root / "device-plugins"
    if not folder.is_dir():
        raise input_error.NotFound(
            f"no such directory: {str(folder)!r}; start the node first, or name its root "
            "with --root",
            where=Location("--root"),
        ).bad_input()
    parsed = [_device(text) for text in options.devices]
    plugin = device_plugin.SamplePlugin(
        folder, options.resource, device_plugin.by_id(parsed), output.print_line
    )
    asyncio.run(_until_interrupted(plugin))


def _device(text: str) -> Device:
    from numalet.agent.servers import sample_device_plugin as device_plugin

    try:
        return device_plugin.parse_device(text)
    except ValueError:
        raise input_error.Invalid(
            f"invalid device {text!r}",
            expected="ID, ID@NODE or ID@NODE+NODE, such as gpu0@1",
            where=Location("--device"),
        ).bad_input() from None


async def _until_interrupted(plugin: SamplePlugin) -> None:
    import asyncio
    import signal

    from numalet.io.tasks import beside

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with (
        beside(plugin.run()) as serving,
        beside(_control(plugin)),
        beside(ended.wait()) as waiting,
    ):
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)


async def _control(plugin: SamplePlugin) -> None:
    """Execute the lines of the standard input; its end does not end the plugin."""
    import asyncio
    import select
    import sys

    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    try:
        # A plain file, /dev/null or a closed stream cannot be awaited; the loop would only log
        # it.
        with select.epoll() as probe:
            probe.register(sys.stdin.fileno())
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    except (AttributeError, ValueError, OSError):
        return
    while line := (await reader.readline()).decode(errors="replace").strip():
        try:
            await plugin.obey(line)
            output.print_line(line)
        except ValueError:
            output.say(f"not understood: {output.printable(line)}")
