#!/bin/sh
# Make .venv with what the given extra needs: `tools/setup.sh book`. A second run re-uses it.
# With RESOLUTION=lowest or newest: not the versions of constraints.txt but those at the ends of
# the ranges in the three pyproject.toml files.
# Each thing that can be missing on a fresh machine ends in one sentence.
set -u
extra=${1:?usage: tools/setup.sh EXTRA}
venv=${VENV:-.venv}
stop() { echo "setup: $*" >&2; exit 1; }

case ${RESOLUTION:=pinned} in
    pinned) ends= ;;
    lowest) ends=lowest-direct ;;
    newest) ends=highest ;;
    *) stop "RESOLUTION must be lowest or newest, got '$RESOLUTION'" ;;
esac
case $extra in # the extras that bring this one, too
    dev | test) wider="dev test" ;;
    live | slides | pdf | teach) wider="$extra dev test" ;;
    book) wider="$extra slides pdf dev test" ;;
    *) wider="$extra book live slides pdf teach dev test" ;;
esac
want="$RESOLUTION $(cat pyproject.toml lnlab/pyproject.toml book/pyproject.toml constraints.txt | cksum)"
for name in $wider; do
    stamp="$venv/.installed-$name"
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && exit 0
done

if [ ! -x "$venv/bin/python" ]; then
    python=
    case ${PYTHON:-} in [0-9]*) PYTHON=python$PYTHON ;; esac
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$name
            break
        fi
    done
    [ -n "$python" ] || stop "no Python 3.11 or newer was found${PYTHON:+ as $PYTHON}; install one from python.org or your system's packages, or name it: make book PYTHON=/path/to/python3"
    free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
    [ "$free" -ge "${NEED_GB:-4}" ] || stop "$free GB are free on this disk and about ${NEED_GB:-4} are needed; make room and try again"
    "$python" -m venv "$venv" || { rm -rf "$venv"; stop "Python could not make $venv; on Debian and Ubuntu, install the package python3-venv"; }
fi

echo "Setting up $venv for '$extra' (a few minutes the first time) ..."
log="$venv/setup.log"
pip() { "$venv/bin/python" -m pip install --disable-pip-version-check --quiet "$@"; }
# lnlib, lnlab and lnbook are three distributions; recording runs needs no lnbook.
case $extra in
    nn) set -- --editable ".[nn]" --editable ./lnlab ;;
    *) set -- --editable ".[nn]" --editable ./lnlab --editable "./book[$extra]" ;;
esac
packages() {
    if [ -z "$ends" ]; then
        pip --constraint constraints.txt "$@"
    else
        pip uv && "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" \
            --resolution "$ends" --only-binary :all: "$@"
    fi
}
if ! packages "$@" >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    if grep -qi "no space left" "$log"; then
        stop "the disk is full; make room and try again"
    elif grep -qiE "connection|resolve|network|timed out|no matching distribution|retries" "$log"; then
        stop "the packages could not be downloaded; is there a network? The lines above and $log say more"
    fi
    stop "the packages could not be installed; the lines above and $log say why"
fi
case $extra in nn | live | teach) ;; # these build no book
*) "$venv/bin/python" book/_ext/plotly_bundle.py ;;
esac
# Every kernel would warn at its start that it speaks plain TCP; it listens on this machine alone.
mkdir -p "$venv/etc/ipython"
echo 'c.IPKernelApp.log_level = "ERROR"' >"$venv/etc/ipython/ipython_kernel_config.py"
echo "$want" >"$venv/.installed-$extra"
