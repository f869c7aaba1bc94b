#!/usr/bin/env bash
# Make or complete the environment: tools/setup.sh demo|test
# Works again on top of a half-finished run; prints one line for whatever it cannot bring.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:-demo}
say() { printf '[setup] %s\n' "$*" >&2; }

extras=oracle,browser,notebooks,models
[ "$purpose" = test ] && extras=$extras,test

find_python() {
  for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null &&
      "$name" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$name" && return
    fi
  done
  say "missing: Python 3.11 to 3.13 with venv (Debian, Ubuntu: apt-get install python3-venv)"
  exit 4
}

# A killed run leaves a .venv without a working pip: start over then.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  say "creating .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
fi

stamp=.venv/installed-$purpose
wanted=$(cat pyproject.toml constraints.txt tools/setup.sh | sha256sum | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  say "installing Python packages: about 350 MB to download, 1.6 GB on disk (a CPU build of torch)"
  # On Linux the default package index may serve a CUDA build of several GB;
  # TORCH_INDEX names an index of CPU wheels.
  if [ -n "${TORCH_INDEX:-}" ]; then
    .venv/bin/python -m pip install -q -c constraints.txt --index-url "$TORCH_INDEX" torch==2.13.0
  fi
  .venv/bin/python -m pip install -q -c constraints.txt -e ".[$extras]"
  printf '%s' "$wanted" >"$stamp"
fi

has_browser() {
  .venv/bin/python -c 'from trlm_lab.backends.browser.find import find_chromium; find_chromium()' >/dev/null 2>&1
}

if ! has_browser; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo -n"
  if command -v apt-get >/dev/null && [ -f /etc/debian_version ] && ! grep -qi ubuntu /etc/os-release &&
    { [ -z "$as_root" ] || $as_root true 2>/dev/null; }; then
    say "installing the system package chromium (about 100 MB)"
    $as_root apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || true
  else
    say "installing Playwright's Chromium (about 170 MB)"
    .venv/bin/python -m playwright install chromium >/dev/null 2>&1 || true
  fi
  has_browser ||
    say "missing: a browser (try: .venv/bin/playwright install --with-deps chromium, or set TRLM_CHROMIUM)"
fi
command -v rustc >/dev/null ||
  say "no rustc: the native engine will be NOT_SUPPORTED (https://rustup.rs brings it); WASM needs none"
