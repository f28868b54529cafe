"""Use cases: a module for each question of a user reads its files and calls the pure packages."""
