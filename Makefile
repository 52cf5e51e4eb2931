# Two commands: `make chat` and `make test`. Each prints the plain command that does the work.
#
#   make chat                         a chat with the small default model, at the terminal
#   make chat PROMPT="..."            one answer (greedy), then exit
#   make chat MODEL=path.gguf         another model
#   make test                         builds and runs every test
#   make build | bench | check | format | asan | tsan
#
# What is missing on the machine is installed first (tools/setup.sh says what and how).

SHELL := /bin/bash
.DEFAULT_GOAL := help

DEFAULT_MODEL := models/SmolLM2-135M-Instruct.Q4_1.gguf
MODEL ?= $(DEFAULT_MODEL)
MAGLIO := build/release/maglio
export PROMPT

.PHONY: help chat build test bench check format asan tsan setup setup-test model test-data

help:
	@sed -n 's/^#   \{0,1\}//p' Makefile

setup:
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

build: setup
	@[ -f build/release/build.ninja ] || { set -x; cmake --preset release; }
	cmake --build --preset release

model: setup
	@if [ "$(MODEL)" = "$(DEFAULT_MODEL)" ]; then tools/fetch_model.sh "$(DEFAULT_MODEL)"; \
	 elif [ ! -f "$(MODEL)" ]; then echo "make: no model file at '$(MODEL)'" >&2; exit 1; fi

ifdef PROMPT
chat: build model
	$(MAGLIO) run "$(MODEL)" --temp 0 --chat "$$PROMPT"
else
chat: build model
	$(MAGLIO) run "$(MODEL)" --repl
endif

bench: build model
	$(MAGLIO) bench "$(MODEL)"

test-data: setup-test
	@tools/fetch_model.sh "$(DEFAULT_MODEL)"
	@if [ -x tools/fetch_test_data.py ]; then tools/fetch_test_data.py; fi

test: setup-test test-data
	@[ -f build/check/build.ninja ] || { set -x; cmake --preset check; }
	cmake --build --preset check
	ctest --preset check --parallel $$(nproc)

asan: test-data
	@[ -f build/asan/build.ninja ] || { set -x; cmake --preset asan; }
	cmake --build --preset asan --target base_tests gguf_tests text_tests jinja_tests
	ctest --preset asan --label-regex '^(base|gguf|text|jinja)$$' --parallel $$(nproc)

tsan: setup-test
	@[ -f build/tsan/build.ninja ] || { set -x; cmake --preset tsan; }
	cmake --build --preset tsan --target base_tests ops_tests decode_tests chat_tests
	ctest --preset tsan --label-regex '^(base|ops|decode|chat)$$' --parallel 1

check: setup-test
	tools/check_layers.py
	@if [ -x tools/check_coverage.py ]; then set -x; tools/check_coverage.py; fi
	tools/format.sh --check

format:
	tools/format.sh
