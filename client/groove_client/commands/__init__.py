"""The commands, a module for each family; each holds a table `RUNNERS` from the command's name to its function."""
