"""Verbs: which is better, by how much, is it real?"""
