"""The Node Resource Interface (NRI): the calls between a container runtime and its plugins.

A plugin connects to the runtime's Unix socket and registers. The runtime then calls the plugin
before it creates, updates or stops a container, and the plugin's answer changes the container.
Both sides call each other over one socket. ``wire`` cuts its bytes into messages, ``session`` is
the registered connection. There is no maintained library for ttrpc in Python
(docs/decisions/0027).

The interface fails open: the runtime skips a plugin that answers late, or breaks the framing, and
starts the container without the plugin's settings.
"""
