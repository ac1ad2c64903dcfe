"""Verbs: which machines, how many, and how much do they cost?"""
