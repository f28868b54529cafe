"""The HTTP server of all services.

Unauthenticated clients must be cheap and must not block others. ``accepting`` limits connections,
``connection`` time and size of a request. ``docs/decisions/0016``: which parts of uvicorn are used.
"""
