"""The identical worlds that every method meets: `synthetic`, `replay`, `verl`."""
