# SPDX-License-Identifier: Apache-2.0
"""`graphd.sampling` under the name that it has in DGL."""

from .sampling import *  # noqa: F403
from .sampling import __all__ as __all__
