#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the man pages are well-formed, that graphd's pages and the example configuration have
# every option of graphd, and that the page of each subcommand of graphctl has all of its options.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0

# References to graphd's own pages are not errors: they are not installed where mandoc looks.
# Each page is a call of its own: the long output of one call is cut where it is buffered.
said=$(for page in man/*.[1-8]; do mandoc -Tlint "$page" 2>&1; done |
  grep -v 'referenced manual not found\|outdated mandoc.db' || true)
if [ -n "$said" ]; then
  echo "$said"
  status=1
fi

options=$("${GRAPHD_BIN_DIR:?is set by ctest}/graphd" --help | grep -oE '^ +(-h,)?--[a-z_]+' | grep -oE '[a-z_]+$')
[ "$(wc -w <<<"$options")" -ge 8 ] || { echo "graphd --help lists no options"; exit 1; }
for option in $options; do
  case $option in help|version) continue ;; esac
  grep -q -- "Fl -$option" man/graphd.8 || { echo "man/graphd.8: no --$option"; status=1; }
  case $option in config|check_config) continue ;; esac
  grep -q "It Cm $option" man/graphd.conf.5 || { echo "man/graphd.conf.5: no $option"; status=1; }
  grep -qE "^#?$option = " conf/graphd.conf.example || { echo "conf/graphd.conf.example: no $option"; status=1; }
done

options=$("$GRAPHD_BIN_DIR/graphctl" launch --help | grep -oE '^ +(-h,)?--[a-z_]+' | grep -oE '[a-z_]+$')
[ "$(wc -w <<<"$options")" -ge 20 ] || { echo "graphctl launch --help lists no options"; exit 1; }
for option in $options; do
  [ "$option" != help ] || continue
  grep -q -- "Fl -$option" man/graphctl-launch.1 || { echo "man/graphctl-launch.1: no --$option"; status=1; }
done

# Each verb has a page of its name: the pages say in NAME what they are installed as.
verbs=$("$GRAPHD_BIN_DIR/graphctl" --help | sed -n '/^Subcommands:/,$s/^  \([a-z_]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 15 ] || { echo "graphctl --help lists no verbs"; exit 1; }
names=$(sed -n '/^.Sh NAME/,/^.Nd/s/^.Nm \([a-z-]*\).*/\1/p' man/graphctl*.1)
for verb in $verbs; do
  grep -qx "graphctl-$verb" <<<"$names" || { echo "graphctl $verb: no page is graphctl-$verb(1)"; status=1; }
done

# check_verb PAGE SUBCOMMAND...: checks that PAGE has every option of the subcommand.
# graphctl-server(1), graphctl-control(1), graphctl-keys(1) and graphctl-attach(1) refer to graphctl-launch(1) for
# the options that select hosts.
check_verb() {
  local page=man/$1.1 pages=("man/$1.1")
  case $1 in graphctl-server|graphctl-keys|graphctl-attach|graphctl-control) pages+=(man/graphctl-launch.1) ;; esac
  shift
  for option in $("$GRAPHD_BIN_DIR/graphctl" "$@" --help | grep -oE '^ +--[a-z_]+' | tr -d ' -'); do
    grep -q -- "Fl -$option" "${pages[@]}" || { echo "$page: no --$option of graphctl $*"; status=1; }
  done
}
check_verb graphctl-copy copy
check_verb graphctl-partition partition
check_verb graphctl-convert convert
check_verb graphctl-config config check
for verb in create list show restore delete export; do
  check_verb graphctl-checkpoint checkpoint $verb
done
for verb in list export drop; do check_verb graphctl-tensors tensors $verb; done
for verb in create list rotate revoke distribute; do check_verb graphctl-keys keys $verb; done
check_verb graphctl-inspect inspect
check_verb graphctl-inspect verify
check_verb graphctl-launch launch
for verb in attach logs restart wait; do check_verb graphctl-attach $verb; done
check_verb graphctl-server ps
check_verb graphctl-server top
check_verb graphctl-server stop
for verb in drain undrain end_job log_level reload switch; do check_verb graphctl-control server $verb; done
check_verb graphctl-control debug requests
check_verb graphctl-control debug memory
for verb in start stop status; do check_verb graphctl-server server $verb; done
exit $status
