"""Lists in sentences."""

import pytest

from venturi.web.api.results.cells import joined


@pytest.mark.parametrize(
    ("texts", "said"),
    [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")],
)
def test_texts_are_joined(texts: tuple[str, ...], said: str) -> None:
    assert joined(iter(texts)) == said
