"""Verbs: why is this job slow, what do I change?"""
