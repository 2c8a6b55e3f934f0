#!/bin/sh
# Run the tests with the lowest and with the newest versions that pyproject.toml allows, or with
# those named: `tools/versions.sh lowest`. Each gets an environment and a book of its own.
set -u
failed=
for end in ${*:-lowest newest}; do
    rm -rf ".venv-$end" _build/html _build/.doctrees
    # PyTorch's build for GPUs, which PyPI has for Linux, is the larger part.
    NEED_GB=${NEED_GB:-8} make test VENV=".venv-$end" RESOLUTION="$end" || failed="$failed $end"
done
rm -rf _build/html _build/.doctrees
[ -z "$failed" ] || { echo "versions: the tests failed with these versions:$failed" >&2; exit 1; }
