"""Causes that do the same work again."""
