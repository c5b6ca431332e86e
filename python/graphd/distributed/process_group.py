# SPDX-License-Identifier: Apache-2.0
"""The end of PyTorch's process group."""

from __future__ import annotations

import gc
import sys


def end_process_group() -> None:
    """Ends the process group of a script that does not end it itself, as DGL's examples do not.

    A thread of the backend gloo may still own a tensor that the script has reduced and dropped. If the
    thread frees it while Python ends, it aborts the process, and the job would have failed after its
    last line. A group ends with its last owner, so a model in DistributedDataParallel must be gone, too:
    it is when the function that trains it has returned.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    if distributed.get_backend() == "gloo":
        distributed.destroy_process_group()
        gc.collect()
