#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs `pip install .` in a new virtual environment without the system's packages, and uses the
# installed package. Arguments: the interpreter, a folder to build in, further arguments for pip.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
python=$1 build=$2
shift 2

unset PYTHONPATH
work=$(mktemp -d /tmp/graphd-wheel.XXXXXX)
trap 'rm -rf "$work" "$build"' EXIT
rm -rf "$build"
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --disable-pip-version-check --config-settings=build-dir="$build" "$@" \
  "$source_dir" >"$work/log" 2>&1 || {
  cat "$work/log"
  echo "pip install failed; it needs PyPI (scikit-build-core, pybind11, numpy) and the Debian" \
       "packages of scripts/packages.txt" >&2
  exit 1
}
cd "$work"
venv/bin/pip show -f graphd | grep '_graphd\..*\.so' >/dev/null
venv/bin/python "$here/use_installed.py" "$source_dir/tests/fixtures/dgl/sbm_2p_metis"
