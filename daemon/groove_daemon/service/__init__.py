"""The daemon under systemd or launchd: their files, how these are installed, and what the daemon tells them."""
