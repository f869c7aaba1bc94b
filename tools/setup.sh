#!/usr/bin/env bash
# Make or complete the environment: tools/setup.sh demo|test
# Works again on top of a half-finished run; prints one line for whatever it cannot bring.
# PYTHON names the interpreter, TORCH_INDEX an index of CPU wheels, TRLM_CHROMIUM a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$(pwd -P)
purpose=${1:-demo}
log=.venv/setup.log
exec 3>&2
say() { printf '[setup] %s\n' "$*" >&3; }
stop() { say "missing: $*" && exit 4; }

case $purpose in
  demo) extras=oracle,browser,notebooks,models packages=100 ;;
  test) extras=oracle,browser,notebooks,models,test packages=120 ;;
  *) say "usage: tools/setup.sh demo|test" && exit 2 ;;
esac

# Two set-ups at once would write into each other.
if command -v flock >/dev/null; then
  exec 9<"$here"
  flock -n 9 || { say "waiting for another set-up in this directory" && flock 9; }
fi

suits() {
  command -v "$1" >/dev/null && "$1" - 2>/dev/null <<'PYTHON'
import ensurepip, sys, venv
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON
}

find_python() {
  local candidates=(python3 python3.13 python3.12 python3.11) name
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for name in "${candidates[@]}"; do
    suits "$name" && echo "$name" && return
  done
  stop "${PYTHON:+PYTHON=$PYTHON is no }Python 3.11 to 3.13 with venv (Debian, Ubuntu: apt-get install python3-venv)"
}

version_of() { "$1" -c 'import sys; print(sys.version_info[:3])' 2>/dev/null || true; }

# Why the present .venv cannot be completed; empty where it can.
spoilt() {
  if [ ! -d .venv ]; then
    echo "there is none"
  elif [ "$(cat .venv/made-at 2>/dev/null)" != "$here" ]; then
    echo "the present one was made elsewhere or by hand"
  elif [ -e .venv/installing ]; then
    echo "an earlier installation was cut short"
  elif ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "the present one has no working pip"
  elif [ -n "${PYTHON:-}" ] && [ "$(version_of .venv/bin/python)" != "$(version_of "$PYTHON")" ]; then
    echo "PYTHON asks for another version"
  elif [ -e .venv/installed.txt ]; then
    .venv/bin/python -I tools/installed.py check 2>&1 || true
  fi
}

reason=$(spoilt)
if [ -n "$reason" ]; then
  python=$(find_python)
  say "creating .venv with $("$python" --version): $reason"
  rm -rf .venv
  "$python" -m venv .venv >/dev/null 2>&1 ||
    stop "a working venv module for $python (Debian, Ubuntu: apt-get install python3-venv)"
  printf '%s' "$here" >.venv/made-at
fi

# pip with its output in a log; on a terminal one line tells how far it is.
install() {
  local begun=$SECONDS child status=0
  .venv/bin/python -m pip --disable-pip-version-check --retries 2 --no-color install \
    -c constraints.txt "$@" >>"$log" 2>&1 &
  child=$!
  trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
  while [ -t 2 ] && kill -0 "$child" 2>/dev/null; do
    printf '\r[setup] %d of about %d packages, %d s ' \
      "$(grep -c ^Collecting "$log" || true)" "$packages" $((SECONDS - begun)) >&2
    sleep 1
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  wait "$child" || status=$?
  trap - INT TERM
  if [ "$status" != 0 ]; then
    # It ended by itself, so what it had installed before is whole.
    rm -f .venv/installing
    stop "Python packages: $(why_not) (all of it: $log)"
  fi
}

# pip calls an index that it cannot reach a conflict between versions.
why_not() {
  if grep -q "connection broken" "$log"; then
    echo "the package index cannot be reached; is there a network?"
  else
    echo "pip says $(grep -m 1 ERROR "$log" || tail -n 1 "$log")"
  fi
}

# The set-up for tests has all that the demo needs.
wanted=$(cat pyproject.toml constraints.txt tools/setup.sh | sha256sum | cut -d' ' -f1)
stamped() { [ "$(cat ".venv/installed-$1" 2>/dev/null)" = "$wanted" ]; }

if ! stamped "$purpose" && ! stamped test; then
  say "installing Python packages: about 350 MB to download, 1.6 GB on disk with a CPU build of torch"
  [ -n "${TORCH_INDEX:-}" ] || say "(several GB where the package index serves a CUDA build: TORCH_INDEX names another index)"
  : >"$log"
  # A package that pip was killed over can look installed; this mark tells.
  touch .venv/installing
  install pip
  # On Linux the default package index may serve a CUDA build of several GB;
  # TORCH_INDEX names an index of CPU wheels.
  [ -z "${TORCH_INDEX:-}" ] || install --index-url "$TORCH_INDEX" torch==2.13.0
  install --build-constraint constraints.txt -e ".[$extras]"
  .venv/bin/python -I tools/installed.py record
  rm .venv/installing
  printf '%s' "$wanted" >".venv/installed-$purpose"
fi

# Its last line is kept, to say what is wrong with a browser that is there.
has_browser() {
  lack=$(.venv/bin/python -c 'from trlm_lab.backends.browser.find import find_chromium; find_chromium()' 2>&1) ||
    { lack=$(tail -n 1 <<<"$lack") && return 1; }
}

# The way to root rights that asks nobody: none needed, sudo without a password, or no way.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Debian has the package; Ubuntu's is a stub for snap, so Playwright brings its own there.
bring_browser() {
  local distribution
  distribution=$(sed -n 's/^ID=//p' "${TRLM_OS_RELEASE:-/etc/os-release}" 2>/dev/null | tr -d '"')
  if [ "$distribution" = debian ] && command -v apt-get >/dev/null && as_root true 2>/dev/null; then
    say "installing the system package chromium (about 100 MB)"
    as_root apt-get update -qq || true
    as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends chromium || true
  else
    say "downloading Playwright's Chromium (about 170 MB)"
    .venv/bin/python -m playwright install chromium || true
    if ! has_browser && command -v apt-get >/dev/null && as_root true 2>/dev/null; then
      say "installing the system libraries that Chromium needs"
      .venv/bin/python -m playwright install-deps chromium || true
    fi
  fi
}

if ! has_browser; then
  bring_browser >>"$log" 2>&1
  has_browser ||
    say "missing: a browser (${lack##*Error: }; try: .venv/bin/playwright install --with-deps chromium, or set TRLM_CHROMIUM; log: $log)"
fi
command -v rustc >/dev/null ||
  say "no rustc: the native engine will be NOT_SUPPORTED (https://rustup.rs brings it); WASM needs none"
