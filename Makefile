# Two commands: `make demo` and `make test`. Both do all the set-up.
.PHONY: demo test lint peers wasm clean

OUT ?= reports/demo

demo:
	@tools/setup.sh demo
	@.venv/bin/trlm demo --out $(OUT)

test: lint
	@.venv/bin/python -m pytest $(PYTEST_ARGS)

lint:
	@tools/setup.sh test
	@.venv/bin/ruff check trlm_lab tests
	@.venv/bin/ruff format --check trlm_lab tests
	@.venv/bin/mypy
	@.venv/bin/lint-imports

# llama.cpp, the shipped peer: built once into the cache (a few minutes).
peers:
	@tools/setup.sh test
	@.venv/bin/python -m trlm_lab.backends.build_peer

# Rebuild the committed WASM modules (needs the compiler that trlm_lab/backends/wasm/*.json name).
wasm:
	@tools/setup.sh test
	@.venv/bin/python -m trlm_lab.backends.build_wasm

clean:
	rm -rf reports/demo .pytest_cache .mypy_cache .ruff_cache
