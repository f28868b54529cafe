"""One module per question of a user: its files are read, the pure rooms answer."""
