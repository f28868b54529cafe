"""Documents that commands print, and their JSON schemas."""
