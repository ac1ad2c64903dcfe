"""The engines' own accounts of their jobs, read into the tables of `record.job_account`."""
