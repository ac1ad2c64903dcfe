"""Tables that grow in pieces, compressed in memory, and become one Parquet file."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import polars as pl


class GrowingTable:
    """Rows of one schema in their order, in a few bytes a row."""

    def __init__(self, schema: Mapping[str, pl.DataType | type[pl.DataType]]) -> None:
        self._schema = schema
        self._pieces: list[bytes] = []

    def append(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows; a value of a wrong type is Polars' error."""
        from venturi.record.store.frames import pl

        self.append_frame(pl.DataFrame(rows, schema=self._schema, orient="row"))

    def append_frame(self, frame: pl.DataFrame) -> None:
        """Add the rows of `frame`, which has the schema."""
        self._pieces.append(_packed(frame))

    def replace(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> int:
        """Replace each piece by `change` of it; return the number of rows."""
        from venturi.record.store.frames import pl

        rows = 0
        for place, piece in enumerate(self._pieces):
            changed = change(pl.read_parquet(piece))
            rows += changed.height
            self._pieces[place] = _packed(changed)
        return rows

    def write(self, file: BinaryIO) -> None:
        """Writes all rows to `file`."""
        from venturi.record.store.frames import pl

        if len(self._pieces) > 1:
            pl.scan_parquet(self._pieces).sink_parquet(file, compression="zstd")
        elif self._pieces:
            file.write(self._pieces[0])
        else:
            pl.DataFrame(schema=self._schema).write_parquet(file)


def _packed(frame: pl.DataFrame) -> bytes:
    piece = io.BytesIO()
    frame.write_parquet(piece, compression="zstd")
    return piece.getvalue()
