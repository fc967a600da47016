"""Judging rankings against relevance that people wrote down."""
