"""Values that every layer shares, and the clock: no other I/O, no third-party import but NumPy's array type."""
