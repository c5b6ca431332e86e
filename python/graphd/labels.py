# SPDX-License-Identifier: Apache-2.0
"""Labels with the texts that they stand for, as columns of text and of categories have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._graphd import is_number
from .errors import InvalidError

# The limits of files (libclient/format/arrow/feature_values.cc).
_MANY = 65536  # texts; if there are more and most are different, they are probably not labels
_MOST_MEMORY, _MEMORY_PER_TEXT = 256 << 20, 20  # bytes


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
    """Numbers texts in the order of their first appearance, by the rules for columns of text in files;
    None and empty texts have no label.

    Raises
    ------
    graphd.errors.InvalidError
        If the texts begin with a number or most of them are numbers, because the column may be
        meant as numbers; if there are many and most are different; or if the column is a mask.
    """
    import numpy

    number_of: dict[str | None, float] = {
        text: i for i, text in enumerate(dict.fromkeys(text for text in texts if text))
    }
    known = [str(text) for text in number_of]
    problem = _problem(column, known, len(texts))
    if problem:
        raise InvalidError(f"column {column!r} {problem}")
    missing = None in texts or "" in texts
    number_of[None] = number_of[""] = numpy.nan
    dtype = numpy.float32 if missing else numpy.int64
    numbers = numpy.fromiter(map(number_of.__getitem__, texts), dtype, len(texts))
    return Labels(numbers, known)


def texts_in(values: Any) -> list[str | None] | None:
    """Returns the texts of a list or of an array of NumPy with one text per row, and None for None and
    NaN; or None if the values are something else."""
    if hasattr(values, "dtype"):
        if values.ndim != 1 or values.dtype.kind not in "UOT":
            return None
        values = values.tolist()
    texts: list[str | None] = []
    for value in values:
        if value is None or (isinstance(value, float) and value != value):
            texts.append(None)
        elif isinstance(value, str):
            texts.append(str(value))
        else:
            return None
    return texts if any(text is not None for text in texts) else None


def _problem(column: str, known: Sequence[str], rows: int) -> str:
    """Returns the reason why these different texts are not labels, or ""."""
    if not known:
        return ""
    if column.endswith("_mask"):
        return f"has text, {_shown(known[0])}, but a mask has True and False; convert it to bool"
    dictionary = (
        "make it a dictionary to get a label for each text (pyarrow: column.dictionary_encode(), "
        "pandas: astype('category'), polars: cast(pl.Categorical))"
    )
    if is_number(known[0]):
        return (
            f"has text, not numbers, and begins with {_shown(known[0])}; convert it to numbers, or "
            + dictionary
        )
    numbers = sum(map(is_number, known))
    if numbers > len(known) // 2:
        return (
            f"has text, and begins with {_shown(known[0])}, but {numbers} of its {len(known)} "
            "different texts are numbers; replace what is not a number by None and convert it to "
            "numbers, or " + dictionary
        )
    if sum(len(text.encode()) + _MEMORY_PER_TEXT for text in known) > _MOST_MEMORY:
        return (
            f"has {len(known)} different texts, which take more than 256 MiB, so they are probably "
            "not labels; drop the column, or make it a dictionary"
        )
    if len(known) > _MANY and len(known) > rows / 2:
        return (
            f"has {len(known)} different texts in {rows} rows, so they are probably not labels; drop "
            "the column, or make it a dictionary"
        )
    return ""


def _shown(text: str) -> str:
    return repr(text[:40])
