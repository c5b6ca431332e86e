# SPDX-License-Identifier: Apache-2.0
"""The end of PyTorch's process group."""

from __future__ import annotations

import gc
import sys


def end_process_group() -> None:
    """Ends the process group of a script that does not end it itself, as DGL's examples do not.

    A thread of the backend gloo may still own a tensor that the script has reduced and dropped. If
    the thread frees the tensor while Python ends, the process is aborted, and the job fails
    although the script has reached its end. A group ends when its last owner is freed, so a model
    in DistributedDataParallel must have been freed, too. This is so when the function that trains
    the model has returned.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    if distributed.get_backend() == "gloo":
        distributed.destroy_process_group()
        gc.collect()
