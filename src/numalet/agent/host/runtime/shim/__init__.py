"""The small process that stays with a program: it starts it, waits for it, writes down its end.

It must outlive the agent, be many, and be started fast, so it is run by a Python without its
site packages and imports only the standard library; ``begin`` is what happens in the program's
process before its first instruction, ``outputs`` carries what it prints to a log,
``process_tree`` finds and kills what it leaves, ``attempt_files`` are the files by which the agent
knows of all this.
"""
