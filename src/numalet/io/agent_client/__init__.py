"""A client of the agent's API over its Unix socket.

It uses ``http.client``: part of Python, loaded in milliseconds, and enough for requests and
streams.
"""
