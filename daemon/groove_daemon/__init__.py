"""The daemon: watches folders of notes, keeps their index true to the disk, and answers searches."""
