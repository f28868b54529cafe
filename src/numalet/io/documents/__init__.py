"""Documents of others (YAML, JSON, flags) turned into values, with findings that name the place."""
