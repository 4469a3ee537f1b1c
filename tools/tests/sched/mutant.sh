#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A broken scheduler: mutant.sh PATCH DIR OBJECT...
#
# The patch, of common/sched/ and common/tavs/, is applied to a copy of these in
# DIR.  Of the objects those that depend on what it touches are compiled anew;
# prints all of them, to be linked.  In the environment: CC, CFLAGS, XEN, O (where
# the objects are) and HERE (the simulator's sources).
set -e

patch=$1 dir=$2
shift 2

rm -rf "$dir/common"
mkdir -p "$dir/common"
cp -r "$XEN/common/sched" "$XEN/common/tavs" "$dir/common/"
patch -s -p1 -F1 --no-backup-if-mismatch -d "$dir" < "$patch"
touched=$(sed -n 's,^+++ b/common/,,p' "$patch")

for object; do
    needed=
    for file in $touched; do
        if grep -q "/$file" "${object%.o}.d" 2> /dev/null; then needed=1; fi
    done
    if [ -n "$needed" ]; then
        name=${object#"$O"/}
        case $name in
        sim/*) source=$HERE/${name#sim/} ;;
        *)     source=$dir/$name ;;
        esac
        made=$dir/$(echo "$name" | tr / -)
        # shellcheck disable=SC2086
        $CC -I"$dir/common/sched" -I"$dir/common" $CFLAGS \
            -D__OBJECT_LABEL__=mutant -c -o "$made" "${source%.o}.c"
        object=$made
    fi
    echo "$object"
done
