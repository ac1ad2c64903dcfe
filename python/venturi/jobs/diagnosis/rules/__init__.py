"""The rules that look for known problems in a job: every module here is loaded."""
