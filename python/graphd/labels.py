# SPDX-License-Identifier: Apache-2.0
"""Labels with the texts that they stand for, as columns of text and dictionaries of text have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import InvalidError

_MANY = 65536  # texts; as many of which most are different are hardly labels


class Labels:
    """A feature of labels.

    Attributes
    ----------
    numbers : numpy.ndarray
        The label of each row: positions in `texts`, and NaN for rows without one.
    texts : list of str
    """

    def __init__(self, numbers: Any, texts: Sequence[str]) -> None:
        self.numbers, self.texts = numbers, list(texts)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.numbers[rows], self.texts)


def labels_of(column: str, texts: Sequence[str | None]) -> Labels:
    """Numbers texts in the order of their first appearance; None has no label.

    Raises
    ------
    graphd.errors.InvalidError
        If the texts begin with a number, because the column may be meant as numbers, or if there are
        many and most are different.
    """
    import numpy

    present = (text for text in texts if text is not None)
    number_of: dict[str | None, float] = {text: i for i, text in enumerate(dict.fromkeys(present))}
    known = list(number_of)
    if known and _is_number(str(known[0])):
        raise InvalidError(
            f"column {column!r} has text, not numbers, and begins with {known[0]!r}; convert it to "
            "numbers, or make it a dictionary to get a label for each text (pyarrow: "
            "column.dictionary_encode(), pandas: astype('category'), polars: "
            "cast(pl.Categorical))"
        )
    if len(known) > _MANY and len(known) > len(texts) / 2:
        raise InvalidError(
            f"column {column!r} has {len(known)} different texts in {len(texts)} rows, so they are "
            "hardly labels; drop the column, or make it a dictionary"
        )
    number_of[None] = numpy.nan
    dtype = numpy.float32 if None in texts else numpy.int64
    numbers = numpy.fromiter(map(number_of.__getitem__, texts), dtype, len(texts))
    return Labels(numbers, [str(text) for text in known])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
