"""Floor 12: the command line. Thin: it reads, asks the core, prints."""
