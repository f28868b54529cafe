"""The command line. Thin: it reads, asks the core, prints."""
