"""Asks an agent over its Unix socket: one request after the other, or a stream of lines.

``http.client`` of the standard library, with another way to connect: it is kept with Python, it
is loaded in milliseconds, and more than requests and streams is not needed here.
"""
