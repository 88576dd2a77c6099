# Sourced by the other scripts: paths and messages.

set -euo pipefail
MX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MX_PRESET=${MX_PRESET:-gcc}
MX_BUILD=${MX_BUILD:-$MX_ROOT/build/$MX_PRESET}
MX_VENV=${MX_VENV:-$MX_ROOT/.venv}
MX_PYTHON=${MX_PYTHON:-$MX_VENV/bin/python3}
MX_TORCH_PYTHON=${MX_TORCH_PYTHON:-$MX_PYTHON}
MX_LLVM_PREFIX=${MX_LLVM_PREFIX:-/usr/lib/llvm-22}

say() { printf '==> %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
# Exits for wrong options and input (docs/guide/Run.md).
refuse() { printf 'error: %s\n' "$*" >&2; exit 2; }

# Prints the leading comment of a script without its own usage text.
help_from_comment() {
  local word
  for word in "$@"; do
    [[ $word == -h || $word == --help ]] || continue
    awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
    exit 0
  done
}
