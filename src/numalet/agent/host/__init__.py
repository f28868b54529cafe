"""The machine under the agent: runtimes, control groups, /proc, credentials, logs."""
