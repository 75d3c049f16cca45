#!/bin/sh
# Install Debian packages that a command of the Makefile needs from the system, if they are missing.
#
#     sh tests/system_packages.sh PURPOSE PACKAGE...
#
# Ends with 0 if all are there, with 1 if their installation failed, and with 3 if somebody else has
# to install them, since this user or this system cannot: a sentence on stderr then has the command.
set -u

purpose=$1
shift

is_there() {
    case $1 in
        chromium-headless-shell) command -v chromium-headless-shell || command -v chromium ;;
        libfaketime) ls /usr/lib/*/faketime/libfaketime.so.1 ;;
        libgomp1) PATH=$PATH:/sbin ldconfig -p | grep libgomp.so.1 ;; # a user has no /sbin
        python3-venv) "${PYTHON:-python3}" -c 'import ensurepip' ;;
        *) echo "system_packages.sh does not know how to look for $1." >&3 && exit 2 ;;
    esac >/dev/null 2>&1
}

exec 3>&2
missing=
for package; do
    is_there "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Missing for $purpose:$missing. Run: sudo apt-get install -y$missing" >&2
    exit 3
fi
echo "Installing$missing for $purpose ..."
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $missing >/dev/null || {
    echo "apt-get could not install$missing, which $purpose takes: see its message above." >&2
    exit 1
}
