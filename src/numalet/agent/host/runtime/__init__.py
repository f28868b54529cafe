"""Runtimes: who starts, watches and ends the programs of containers.

``port`` says what the agent asks of one. A runtime knows nothing of managers, policies and
books: it is told the program and the settings, and it tells what became of them.
"""
