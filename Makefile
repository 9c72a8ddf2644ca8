# The front door; CMake's presets do the work. `make help` lists what there is.

PREFIX ?= /usr/local/reprise
ROUNDS ?= 20
ARGS ?=

.DEFAULT_GOAL := debug
.PHONY: debug release check asan tsan bench soak demo fmt fmt-check tidy deps docs install clean help

debug: ## build with assertions on (the default)
	cmake --preset debug && cmake --build --preset debug

release: ## build as users run it
	cmake --preset release && cmake --build --preset release

check: debug ## run every suite on the debug build
	ctest --preset debug

asan: ## run every suite under ASan, LSan and UBSan
	cmake --preset asan && cmake --build --preset asan && ctest --preset asan

tsan: ## run the race programs under TSan
	cmake --preset tsan && cmake --build --preset tsan && ctest --preset tsan

bench: release ## run every bench on the release build
	for bench in bench/*.c; do build/release/$${bench%.c} $(ARGS) || exit 1; done

soak: ## run the rank tests and the proof of algorithms at full length, then the race programs ROUNDS times (20)
	cmake --preset debug -B build/soak -DRP_TEST_TIMEOUT_S=14400 && cmake --build build/soak
	REPRISE_SOAK=1 ctest --test-dir build/soak -L '^(ranks|net)$$' --output-on-failure
	REPRISE_SOAK=1 ctest --test-dir build/soak -R '^capture/algorithms$$' --output-on-failure
	ctest --test-dir build/soak -L '^race$$' --output-on-failure --repeat until-fail:$(ROUNDS)

demo: ## train on digits, eager and replayed (ARGS="--ranks 4")
	scripts/demo $(ARGS)

fmt: ## lay out every file by .clang-format
	scripts/format

fmt-check: ## say which files are not laid out by .clang-format
	scripts/format --check

tidy: ## run clang-tidy over the rooms
	scripts/tidy

deps: ## fail when an include runs up between rooms
	scripts/deps

docs: release ## write the pages of docs/ that are made from the code
	scripts/docs

install: ## build the library alone and install it into PREFIX (/usr/local/reprise)
	cmake -S . -B build/install -G Ninja -DBUILD_TESTING=OFF
	cmake --build build/install
	cmake --install build/install --prefix $(PREFIX)

clean: ## remove build/
	rm -rf build

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
