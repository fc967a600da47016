"""What the user may set: the options with their defaults and documents, and how they are read and changed."""
