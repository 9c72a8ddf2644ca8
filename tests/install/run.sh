#!/bin/sh
# run.sh BUILD_DIR: install that build, move the installed tree, and use it as a stranger would: by the
# environment script of each shell, by the linker names, by dlopen, by pkg-config and by CMake. Then build
# the library alone, on a machine that lacks everything the tests need.

set -eu

[ $# -eq 1 ] || {
    echo "usage: $0 BUILD_DIR" >&2
    exit 2
}
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
path=$PATH
unset ASCEND_HOME_PATH ASCEND_INSTALL_PATH ASCEND_DIR ASCEND_CANN_PACKAGE_PATH LD_LIBRARY_PATH

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
home="$work/a place/reprise"
mkdir "$work/a place"
mv "$work/first" "$home"

echo "== environment scripts"
show='printf "%s|" "$ASCEND_HOME_PATH" "$ASCEND_INSTALL_PATH" "$ASCEND_DIR" "$ASCEND_CANN_PACKAGE_PATH"
printf "%s|%s" "$PATH" "$LD_LIBRARY_PATH"'
same="$home|$home|$home|$home|$home/bin:$path|$home/lib64"
for shell in sh bash zsh; do
    if ! command -v $shell >/dev/null; then
        echo "   $shell is not on this machine: skipped"
        continue
    fi
    for script in set_env.sh bin/setenv.bash; do
        got=$(cd / && $shell -euc ". \"$home/$script\"; $show")
        [ "$got" = "$same" ] || fail "$shell, $script: $got"
        # Sourced twice, by a relative path, with entries of the caller's: once and in front.
        got=$(cd "$home" && LD_LIBRARY_PATH="/x:$home/lib64:/y" \
            $shell -euc ". ./$script; . ./$script; $show")
        [ "$got" = "$same:/x:/y" ] || fail "$shell, $script, twice: $got"
    done
done
. "$home/set_env.sh"
[ "$(command -v reprise)" = "$home/bin/reprise" ] || fail "set_env.sh does not put the command on PATH"

echo "== linker names"
g++ -std=c++14 "$here/dropin.cpp" -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" \
    -lhccl -lascendcl -o "$work/dropin"
"$work/dropin"

echo "== the command"
version=$(sed -n 's/^#define REPRISE_VERSION_[A-Z]* //p' "$root/include/reprise/reprise.h" | paste -s -d .)
[ "$("$home/bin/reprise" --version)" = "reprise $version" ] || fail "reprise --version"
"$home/bin/reprise" matrix | grep -q AllReduce || fail "reprise matrix"

# The lines between ```sh and ``` of the README that build and run something, as a reader types them, but for
# the installation: that has been done.
echo "== the README's lines"
readme_lines() {
    awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md"
}
readme_lines | grep -E '^(gcc|\./)' >"$work/readme.sh"
for example in allreduce.c aclnn_graph.c kernel_graph.c graph_kernels.c; do
    grep -q "$example" "$work/readme.sh" || fail "the README does not say how to build $example"
done
cp -R "$root/examples" "$work/examples"
ln -s "$home" "$work/plainly" # a reader's path needs no quotes
(cd "$work" && ASCEND_HOME_PATH="$work/plainly" sh -eux readme.sh) >"$work/readme.log" 2>&1 || fail "$(cat "$work/readme.log")"

echo "== dlopen and dlsym"
gcc -Wall -Wextra -Werror "$here/symbols.c" -o "$work/symbols"
"$work/symbols" "$version"

echo "== pkg-config"
flags() {
    PKG_CONFIG_PATH="$home/lib64/pkgconfig" pkg-config "$@" reprise
}
[ "$(flags --modversion)" = "$version" ] || fail "pkg-config answers version $(flags --modversion)"
eval "g++ -std=c++14 '$here/dropin.cpp' $(flags --cflags --libs) -o '$work/dropin-pkg-config'"
"$work/dropin-pkg-config"
eval "gcc '$root/examples/aclnn_graph.c' $(PKG_CONFIG_PATH="$home/lib64/pkgconfig" \
    pkg-config --cflags --libs opapi) -o '$work/operators'"
"$work/operators" >"$work/operators.log" || fail "$(cat "$work/operators.log")"
eval "gcc '$here/tensors.c' $(PKG_CONFIG_PATH="$home/lib64/pkgconfig" \
    pkg-config --cflags --libs nnopbase) -o '$work/tensors'"
"$work/tensors" || fail "a program of nnopbase alone"

echo "== find_package"
cmake -S "$here/package" -B "$work/package" -G Ninja -DCMAKE_PREFIX_PATH="$home" >"$work/package.log"
cmake --build "$work/package" >>"$work/package.log" || fail "$(cat "$work/package.log")"
for program in dropin operators tensors; do
    "$work/package/$program" >"$work/$program.log" 2>&1 || fail "$(cat "$work/$program.log")"
done

echo "== the library alone, with neither C++, Criterion nor zlib"
cat >"$work/pkg-config" <<'LACKING'
#!/bin/sh
case " $* " in *criterion* | *zlib*) exit 1 ;; esac
exec pkg-config "$@"
LACKING
chmod +x "$work/pkg-config"
(CXX="$work/no-compiler" PKG_CONFIG="$work/pkg-config" cmake -S "$root" -B "$work/plain" -G Ninja \
    -DBUILD_TESTING=OFF -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -DRP_WERROR=ON &&
    cmake --build "$work/plain") >"$work/plain.log" 2>&1 || fail "$(cat "$work/plain.log")"
[ -f "$work/plain/lib64/libhccl.so" ] || fail "no library was built"
[ -x "$work/plain/tools/reprise" ] || fail "no command was built"
echo "installed tree and plain build are usable"
