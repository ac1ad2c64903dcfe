"""Verbs: which machines, how many, at what price?"""
