# SPDX-License-Identifier: Apache-2.0
from . import checkpoint as checkpoint
from . import dataloading as dataloading
from . import distributed as distributed
from . import errors as errors
from . import nn as nn
from . import sampling as sampling
from .backend import use as use
from .block import Block as Block
from .block import to_block as to_block
from .convert import to_pyg as to_pyg
from .errors import GraphdError as GraphdError
from .names import ALL as ALL
from .names import EID as EID
from .names import NID as NID
from .seeds import seed as seed

__version__: str
