"""What to do about a job's time: what its log shows, each with its evidence and what it costs."""
