"""What every HTTP server of numalet shares: it accepts, serves and closes connections.

A client that has not said who it is costs little and keeps no other one out. ``accepting`` bounds
the connections, ``connection`` bounds the time and size of a request, ``serving`` is the server,
``pages`` answers probes and Prometheus. ``docs/decisions/0016`` says what is taken of uvicorn.
"""
