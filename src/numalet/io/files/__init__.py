"""Files on disk: read as a whole, written as a whole or not at all."""
