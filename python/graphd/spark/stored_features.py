# SPDX-License-Identifier: Apache-2.0
"""The dtypes that the caller wants for features (store_as)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import InvalidError


class StoredFeatures:
    """The wanted dtypes by feature, "name" or "type/name".

    Parameters
    ----------
    given : dict of str to str
    features : list of (str, list of str)
        The name of each type, and its features.

    Raises
    ------
    graphd.errors.InvalidError
        If a name matches no feature.
    """

    def __init__(self, given: Mapping[str, str], features: Sequence[tuple[str, list[str]]]) -> None:
        self._given = given
        known = [(name, f"{of}/{name}") for of, names in features for name in names]
        for wanted in given:
            if not any(wanted in names for names in known):
                full = [name for _, name in known]
                raise InvalidError(f"store_as {wanted!r}: there are the features {full}")

    def of_type(self, type_name: str, features: list[str]) -> dict[str, str]:
        """Returns the wanted dtypes of a type's features. Where both names of a feature are given,
        the last one counts, as the last --store_as of graphctl partition does."""
        names = {key: name for name in features for key in (name, f"{type_name}/{name}")}
        return {names[key]: dtype for key, dtype in self._given.items() if key in names}
