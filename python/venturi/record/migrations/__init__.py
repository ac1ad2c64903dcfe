"""Alembic migrations of the repository's database; `record.repository` runs them when it opens."""
