#!/bin/sh
# graph_tests.sh: docs/aclgraph-tests.md is right about every test that it names, and scripts/graph-tests
# would notice if it were not.

set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/scripts/graph-tests" "$root"

# must_fail EXPRESSION COMPLAINT: a page changed by sed is refused, in these words.
must_fail() {
    sed "$1" "$root/docs/aclgraph-tests.md" >"$work/docs/aclgraph-tests.md"
    if "$root/scripts/graph-tests" "$work" >"$work/out"; then
        echo "FAILED: a page changed by '$1' passes" >&2
        exit 1
    fi
    grep -q "$2" "$work/out" || {
        echo "FAILED: a page changed by '$1' is refused, but not for '$2':" >&2
        cat "$work/out" >&2
        exit 1
    }
}

mkdir "$work/docs"
ln -s "$root/tests" "$root/include" "$work"
must_fail '/`aclmdlRIGetId`/d' 'aclmdlRIGetId: no row'
must_fail '/^| 107039/d' '107039: no row'
must_fail '/^| `aclmdlRIGetId`/s/`capture[^`]*`//g' 'aclmdlRIGetId: no test'
must_fail 's/graph_info: graph_info.two_graphs/graph_info: graph_info.three_graphs/' 'has no test'
must_fail 's,`capture/graph_info:,`capture/graph_news:,' 'there is no tests/capture/test_graph_news.c'
must_fail 's/^| `aclmdlRIGetId`/| `aclmdlRIAbort`/' 'does not name it'
must_fail 's/^| `aclmdlRIGetId`/| `aclmdlRIGetName`/' 'two rows'
