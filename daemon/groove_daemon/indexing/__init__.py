"""From folders of files to the index: what to leave out, what changed, reading, and the one thread that writes."""
