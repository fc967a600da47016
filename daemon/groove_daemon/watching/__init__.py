"""Noticing changes on the disk as they happen, and proving that nothing is still on its way."""
