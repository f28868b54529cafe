"""Floor 10: scenarios, and what happens in them."""
