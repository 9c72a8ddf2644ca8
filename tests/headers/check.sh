#!/bin/sh
# Compiles every public header alone, all of them together, and the checks of values, layouts and
# prototypes beside this script: with gcc and clang, as C11 and as C++11, warnings as errors.
# Usage: check.sh [SOURCE_ROOT]. Prints a line per failure; exits 0 only if there was none.
set -u

root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
include=$root/include
checks=$root/tests/headers
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# What programs include. A header that is missing fails, also when nothing else would notice.
public="
acl/acl.h acl/acl_base.h acl/acl_base_mdl.h acl/acl_base_rt.h acl/acl_dump.h acl/acl_mdl.h
acl/acl_op.h acl/acl_op_compiler.h acl/acl_platform.h acl/acl_prof.h acl/acl_rt.h
acl/acl_rt_allocator.h acl/acl_rt_api.h acl/acl_rt_memory_soma.h acl/acl_tdt.h
acl/acl_tdt_queue.h acl/error_codes/ge_error_codes.h acl/error_codes/rt_error_codes.h
hccl/hccl.h hccl/hccl_comm.h hccl/hccl_ex.h hccl/hccl_rank_graph.h hccl/hccl_res.h
hccl/hccl_sym_win.h hccl/hccl_types.h mstx/ms_tools_ext.h reprise/reprise.h reprise/kernel.h
reprise/graph.h
aclnn/acl_meta.h aclnn/aclnn_base.h aclnnop/aclnn_add.h aclnnop/aclnn_mul.h
"
parts=$(cd "$include" && find . -path '*/detail/*.h' | sed 's:^\./::' | sort)

failures=0
compiled=0

fail()
{
    echo "FAIL $*"
    failures=$((failures + 1))
}

# compile COMPILER LANGUAGE FILE WHAT
compile()
{
    compiled=$((compiled + 1))
    if [ "$2" = c ]; then
        standard=c11
    else
        standard=c++11
    fi
    if ! "$1" -x "$2" -std=$standard -Wall -Wextra -pedantic -Werror -I "$include" \
        -fsyntax-only "$3" 2>"$work/log"; then
        fail "$4 ($1 -std=$standard): $(grep -m1 -E 'error|No such' "$work/log")"
    fi
}

# every_way FILE WHAT
every_way()
{
    for compiler in gcc clang; do
        for language in c c++; do
            compile "$compiler" "$language" "$1" "$2"
        done
    done
}

for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || fail "$compiler is not installed"
done

for header in $public $parts; do
    echo "#include <$header>" >"$work/one.c"
    every_way "$work/one.c" "$header"
done
for header in $public; do
    echo "#include <$header>"
done >"$work/all.c"
tac "$work/all.c" >"$work/reverse.c"
every_way "$work/all.c" "all headers"
every_way "$work/reverse.c" "all headers, last first"

for binary in "$root"/tests/modules/*.c; do
    every_way "$binary" "${binary##*/}" # the macros of reprise/kernel.h
done
for check in "$checks"/*.c; do
    every_way "$check" "${check##*/}"
done
compile gcc c++ "$checks/overloads.cpp" overloads.cpp
compile clang c++ "$checks/overloads.cpp" overloads.cpp

# A weak declaration would hide at link time that a function is not built.
if weak=$(grep -rnw -E 'weak|__weak__' "$include"); then
    fail "weak declaration: $weak"
fi

echo "$compiled compilations, $failures failures"
[ "$failures" -eq 0 ]
