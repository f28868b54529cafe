"""Files on disk: read whole, written whole or not at all."""
