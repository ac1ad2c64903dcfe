"""Verbs: what can these machines do, how long does this workload take?"""
