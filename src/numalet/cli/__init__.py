"""The command line. Thin: it parses, calls the core, prints."""
