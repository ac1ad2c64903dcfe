"""Advice: findings with evidence, and what to do about them."""
