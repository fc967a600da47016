"""Query to hits: compilation, the legs, fusion, refiners, and the presentation of what was found."""
