"""Verbs: how do others see it?"""
