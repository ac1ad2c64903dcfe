"""Diagnosis of a job's time: findings from its log, each with evidence and cost."""
