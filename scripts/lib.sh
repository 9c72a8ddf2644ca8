# What scripts/demo and scripts/test share. Source it from the repository's root.

# need_packages GROUP...: install what is missing of these groups, or say how to and exit.
need_packages() {
    wanted=$(scripts/packages "$@") || exit 2
    if ! command -v dpkg-query >/dev/null; then
        echo "Not a Debian system; this has to be there by other means:" $wanted
        return
    fi
    missing=
    for package in $wanted; do
        case $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null) in
        *"installed "*) ;;
        *) missing="$missing $package" ;;
        esac
    done
    if [ -z "$missing" ]; then
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "Some packages are missing. Install them, then run this again:"
        echo "  sudo apt-get update && sudo apt-get install --yes --no-install-recommends$missing"
        exit 1
    fi
    echo "Installing$missing"
    mkdir -p build
    if ! (apt-get update && DEBIAN_FRONTEND=noninteractive \
            apt-get install --yes --no-install-recommends $missing) >build/packages.log 2>&1; then
        tail -n 20 build/packages.log
        echo "apt-get failed; the whole of its output is in build/packages.log"
        exit 1
    fi
}

# clean_environment: a run here is not to depend on how the caller's shell has set the library up.
clean_environment() {
    for name in $(env | sed -n 's/^\(\(HCCL\|ASCEND\|REPRISE\)_[A-Z0-9_]*\)=.*/\1/p'); do
        unset "$name"
    done
}
