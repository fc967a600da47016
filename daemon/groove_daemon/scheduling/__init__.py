"""What the daemon does by itself and when."""
