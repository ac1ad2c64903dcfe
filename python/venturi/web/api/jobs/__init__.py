"""Pages about jobs: stages, tasks, queries, two jobs."""
