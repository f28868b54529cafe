"""Code that both ``agent`` and ``cluster`` use."""
