"""Measurements of speed, memory and quality; each prints ratios taken side by side in one run."""
