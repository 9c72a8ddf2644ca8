#!/usr/bin/env bash
# Checks the protocol's models: small bounds of the correct protocol, which must pass, and every rule
# broken on purpose, which must fail in the way that README.md says. Exit 77: cannot run here.
#
#   run.sh [MODEL FLAGS]    without arguments all of it; with them one run, e.g. run.sh lines "-DNR=2 -DNOPS=5"

set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in spin gcc; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# explore MODEL FLAGS [OPTIMISE]: the verifier's words about one run.
explore() {
    rm -rf "$work/run"
    mkdir "$work/run"
    (
        cd "$work/run" || exit 1
        # shellcheck disable=SC2086 # the flags are words on purpose
        spin -a $2 "$here/$1.pml" &&
            gcc "${3:--O1}" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM="${MEMLIM:-2000}" -o pan pan.c &&
            ./pan -m400000 -w"${HASH_BITS:-22}"
    ) 2>&1
}

fail() { # MODEL FLAGS WHY LOG
    echo "FAILED  $1 $2: $3"
    printf '%s\n' "$4" | grep -E '^pan|[Ee]rror|errors:' | head -5
    failures=$((failures + 1))
}

# passes MODEL FLAGS: the whole state space has no error. A search that was cut short proves nothing.
passes() {
    local log
    log=$(explore "$1" "$2" -O2)
    if ! grep -q 'errors: 0' <<<"$log"; then
        fail "$1" "$2" "must pass" "$log"
    elif grep -qE 'Search not completed|max search depth too small|memory limit' <<<"$log"; then
        fail "$1" "$2" "was not searched to its end" "$log"
    else
        echo "passes  $1 $2 ($(grep -oE '[0-9]+ states, stored' <<<"$log"))"
    fi
}

# breaks MODEL FLAGS WORDS: there is an error, and the verifier names it with WORDS.
breaks() {
    local log
    log=$(explore "$1" "$2")
    if ! grep -qE 'errors: [1-9]' <<<"$log"; then
        fail "$1" "$2" "must fail, and does not" "$log"
    elif ! grep -F 'pan:1:' <<<"$log" | grep -qF "$3"; then
        fail "$1" "$2" "must fail with \"$3\"" "$log"
    else
        echo "breaks  $1 $2"
    fi
}

if [ $# -eq 2 ]; then
    explore "$1" "$2" -O2
    exit
fi

stale='assertion violated (line[q]'
deadlock='invalid end state'
reused='assertion violated  !(freed'

passes lines "-DNR=2 -DNOPS=3"
passes lines "-DNR=2 -DNOPS=3 -DDIGEST=0"
passes lines "-DNR=2 -DNOPS=3 -DFUSE=3 -DLINES=3"
passes lines "-DNR=2 -DNOPS=3 -DSTAMP=2"
passes lines "-DNR=2 -DNOPS=2 -DFAULTS=1"
passes lines "-DNR=3 -DNOPS=2 -DLEAVE=0 -DTYPES=9"
passes lines "-DNR=3 -DNOPS=1 -DFAULTS=1 -DLEAVE=0 -DCOARSE=1"

breaks lines "-DNR=2 -DNOPS=3 -DLINEWAIT=0 -DFUSE=1" "$stale"
breaks lines "-DNR=2 -DNOPS=3 -DLINEWAIT=1" "$stale"
breaks lines "-DNR=2 -DNOPS=3 -DLINEWAIT=2" "$deadlock"
breaks lines "-DNR=2 -DNOPS=4 -DLINEWAIT=1 -DFUSEWHAT=1" "$stale"
breaks lines "-DNR=2 -DNOPS=4 -DFUSE=3 -DLINEWAIT=4 -DDIGEST=0" "$deadlock"
breaks lines "-DNR=2 -DNOPS=3 -DFUSE=3 -DSAMELINE=1" "$deadlock"
breaks lines "-DNR=2 -DNOPS=3 -DLINES=1 -DLINEWAIT=1 -DFUSE=1" "$stale"
breaks lines "-DNR=2 -DNOPS=3 -DPUBDONE=0" "$deadlock"
breaks lines "-DNR=2 -DNOPS=3 -DPUBDONE=2" "$deadlock"
breaks lines "-DNR=2 -DNOPS=3 -DDONEWAIT=0" 'assertion violated (got['
breaks lines "-DNR=2 -DNOPS=3 -DDONEWAIT=2" 'assertion violated'
breaks lines "-DNR=2 -DNOPS=3 -DARRIVEWAIT=0" "$stale"
breaks lines "-DNR=2 -DNOPS=2 -DREREAD=0" 'assertion violated (budget'
breaks lines "-DNR=2 -DNOPS=2 -DQUARANTINE=0" 'assertion violated  !(linefreed'
breaks lines "-DNR=2 -DNOPS=1 -DRECHECK=0 -DFAULTS=1" 'assertion violated  !(rotten'
breaks lines "-DNR=2 -DNOPS=2 -DREVOKE=0 -DFAULTS=1" "$reused"
breaks lines "-DNR=2 -DNOPS=3 -DREVOKE=1 -DFAULTS=1 -DTYPES=8" "$reused"
breaks lines "-DNR=2 -DNOPS=2 -DHOLD=0 -DFAULTS=1" "$reused"
breaks lines "-DNR=2 -DNOPS=2 -DUNARRIVED=2 -DFAULTS=1" "$reused"
breaks lines "-DNR=2 -DNOPS=4 -DSTAMP=1" 'assertion violated (stamped'

window='assertion violated (win['
passes stage ""
passes stage "-DNR=3 -DNOPS=2 -DROUNDS=1"
breaks stage "-DFILLWAIT=0" "$window"
breaks stage "-DFOLDWAIT=0" "$window"
breaks stage "-DCOLLECTWAIT=0" 'assertion violated (wout['
breaks stage "-DAHEAD=3 -DROUNDS=3" "$window"

epoch='assertion violated ((arrived[q]==base)'
passes resume ""
passes resume "-DNR=3"
breaks resume "-DQUIETWAIT=0" "$epoch"
breaks resume "-DCLEANWAIT=0" "$epoch"
breaks resume "-DFORGET=0" 'assertion violated (sent['
breaks resume "-DSIGNALS=0" 'assertion violated (sent['
breaks resume "-DERRORS=0" 'assertion violated'

passes doorbell ""
passes doorbell "-DSLEEPERS=1"
passes doorbell "-DSLEEPERS=1 -DFLAG=1"
breaks doorbell "-DSLEEPERS=1 -DPFENCE=0" "$deadlock"
breaks doorbell "-DSLEEPERS=1 -DSFENCE=0 -DFLAG=1" "$deadlock"
breaks doorbell "-DSLEEPERS=1 -DRECHECK=0" "$deadlock"
breaks doorbell "-DSLEEPERS=1 -DEARLY=0" "$deadlock"
breaks doorbell "-DFLAG=1" "$deadlock"
breaks doorbell "-DWAKE=1" "$deadlock"

if [ $failures -ne 0 ]; then
    echo "$failures runs did not answer as they must"
    exit 1
fi
