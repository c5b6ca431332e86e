# SPDX-License-Identifier: Apache-2.0
"""The lines that bench/scaling prints while it works."""

import functools

from harness import progress

say = functools.partial(progress.say, "bench/scaling")
