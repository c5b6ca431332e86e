#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tutorial in a Debian that has PyTorch and no compiler, with wheels alone, and after it the
# programs of tests/python that it is given. run_tutorial.sh calls it.
set -e
cd /srv
if command -v cc || command -v c++; then exit 1; fi
python3 -m venv --system-site-packages tutorial
pip install --disable-pip-version-check --no-index --find-links wheels --find-links plots \
  graphd matplotlib >pip.log 2>&1 || { cat pip.log; exit 1; }
python3 -c 'import torch; print("PyTorch", torch.__version__)'
# The page and its example come with the wheel.
python3 -m graphd.examples graphd/docs
mv graphd/docs/tutorial.md graphd/docs/python.md
export GRAPHD_BIN_DIR=/srv/tutorial/bin PYTHONPATH=graphd/tests/python
python3 graphd/tests/python/package/tutorial_test.py Tutorial.test_every_step
for test in "$@"; do python3 "graphd/tests/python/$test"; done
