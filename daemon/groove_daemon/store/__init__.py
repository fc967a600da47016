"""The index: one SQLite file with documents, chunks, full text and vectors, and a resident copy of the vectors."""
