# Works on a machine with git, make and Go 1.26. `make` lists what there is.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LINT    := v2.15.0
D2      := v0.7.1
TOOLS   := bin/tools

# The commits of the last release marks. Each can be set: make upgrade MARKS=COMMIT
MARKS ?= $(shell tail -n 2 e2e/upgrade/testdata/releases | cut -d' ' -f1)
MARK  = $(lastword $(MARKS))

# How much is tried. Each can be set: make fuzz FUZZTIME=5m
TESTFLAGS ?=
HISTORIES ?= 100000
KILLS     ?= 1000
CHAOS     ?= 60
FAILOVERS ?= 200
SOAK      ?= 1000
FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s

# weft-hook is static. weft needs a C library where it runs, since its cxi driver loads libcxi, and no compiler where it is built. Both say which commit
# they are; nothing else of the machine that built them goes in.
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'

.DEFAULT_GOAL := help
.PHONY: help build demo quick test test-deps full race night soak upgrade check format lint rules bench cover fuzz golden pictures proto clean

help: ## list what there is (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: ## build bin/weft and its hook client
	$(GOBUILD) -o bin/ ./cmd/...

demo: build ## build, then show the main job with no hardware: 4 nodes, simulated NICs
	@./bin/weft demo

quick: ## try every package in less than two minutes: what to run while you work
	go test -p 4 $(TESTFLAGS) -short ./...

test: full race ## try all that guards a merge, then again under the race detector
	@command -v "$$(go env CC)" >/dev/null || echo "NOT RUN: the race detector, since there is no C compiler; \`make test-deps\` brings one"
	@{ command -v slurmctld && command -v slurmd && command -v srun && command -v munged; } >/dev/null || \
		echo "NOT RUN: e2e/ against a real Slurm, since there is none here; \`make test-deps\` brings it"
	@[ -e /usr/include/slurm/spank.h ] || echo "NOT RUN: the SPANK plugin, since there is no slurm/spank.h; \`make test-deps\` brings it"
	@command -v ip >/dev/null || echo "NOT RUN: e2e/chaos, since there is no iproute2 here; \`make test-deps\` brings it"
	@[ "$$(id -u)" = 0 ] || echo "NOT RUN: e2e/, and tests that become other users, since this is not root"
	@git cat-file -e $(MARK)^{commit} 2>/dev/null || \
		echo "NOT RUN: e2e/upgrade, since git lacks commit $(MARK) of the last release mark; \`git fetch --unshallow\` brings it"

test-deps: ## install from Debian what the tests can use: a real Slurm, gcc, strace
	scripts/test-deps.sh

full:
	CGO_ENABLED=0 WEFT_FULL=1 go test $(TESTFLAGS) -timeout 20m ./...

# The packages left out read files, or do nothing in a short run: there is nothing to race.
race:
	@if command -v "$$(go env CC)" >/dev/null; then set -x; \
		CGO_ENABLED=1 go test $(TESTFLAGS) -race -short -timeout 20m $$(go list ./... | grep -vE '/(rules|docs|e2e|e2e/upgrade)$$'); fi

night: ## try for about an hour: 100000 random histories, 1000 kills, chaos, fuzz (HISTORIES=… KILLS=… CHAOS=… FUZZTIME=…)
	WEFT_FULL=1 WEFT_HISTORIES=$(HISTORIES) go test -count=1 -timeout 0 -v -run TestHistories ./dev/history
	WEFT_FULL=1 WEFT_NIGHT=1 go test -count=1 -timeout 30m -v -run 'TestSlow|TestRefused|TestAWayIn|TestSpank|TestBusyForGood|TestMany|TestServerAway|TestScenes' ./e2e
	WEFT_FULL=1 WEFT_KILLS=$(KILLS) WEFT_BADFILES=$(KILLS) WEFT_BADFOLDERS=60 go test -count=1 -timeout 0 -v -run 'TestKills|TestBadF' ./cmd/weft
	WEFT_FULL=1 WEFT_NIGHT=1 WEFT_CHAOS=$(CHAOS) WEFT_FAILOVERS=$(FAILOVERS) go test -count=1 -timeout 0 -v ./e2e/chaos
	@$(MAKE) --no-print-directory upgrade
	@$(MAKE) --no-print-directory fuzz

soak: ## try faults on whole systems for hours (SOAK=…)
	WEFT_FULL=1 WEFT_NIGHT=1 WEFT_CHAOS=$(SOAK) WEFT_FAILOVERS=$(SOAK) go test -count=1 -timeout 0 -v ./e2e/chaos

upgrade: ## run each of the last two releases together with this tree: both ways, and under load
	for mark in $(MARKS); do WEFT_MARK=$$mark WEFT_FULL=1 WEFT_NIGHT=1 go test -count=1 -timeout 30m -v ./e2e/upgrade || exit 1; done

check: format lint rules ## look without running: gofmt, go vet, golangci-lint, the project's own rules

format:
	@found="$$(find . -name '*.go' -not -path './bin/*' -exec gofmt -l {} +)"; \
	if [ -n "$$found" ]; then echo "not as gofmt writes it:"; echo "$$found"; exit 1; fi

lint: $(TOOLS)/golangci-lint-$(LINT)
	go vet ./...
	$(TOOLS)/golangci-lint-$(LINT) run ./...

rules:
	go test ./rules ./docs

$(TOOLS)/golangci-lint-$(LINT):
	GOBIN=$(CURDIR)/$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT)
	mv $(TOOLS)/golangci-lint $@

bench: ## measure, each figure beside its budget (BENCH=regexp, BENCHTIME=1s)
	WEFT_FULL=1 go test -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 60m ./...

cover: ## show how much of the code the tests reach
	go test -short -timeout 20m -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -1
	@echo "line by line: go tool cover -html=cover.out"

fuzz: ## fuzz every parser for a while each (FUZZTIME=10s)
	@failed=; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; scripts/fuzz.sh $$pkg $$target $(FUZZTIME) || failed="$$failed $$target"; \
		done; \
	done; \
	if [ -n "$$failed" ]; then \
		echo "failed:$$failed. Commit these inputs with the mend:"; git status --short -uall -- '*testdata/fuzz/*'; exit 1; \
	fi

golden: ## write the golden files and generated documents anew; look at the diff before you commit
	go test ./docs ./metrics ./hclfile ./config ./policy ./rpc -update
	go test ./drivers/cxi -run 'TestCheck|TestReport$$' -update
	go test ./cmd/weft -run 'TestDemo|TestScripts/help|TestPermissionsPage' -update

pictures: $(TOOLS)/d2-$(D2) ## draw docs/pictures/*.d2 anew
	@set -e; for p in docs/pictures/*.d2; do svg="$${p%.d2}.svg"; \
		$(TOOLS)/d2-$(D2) "$$p" "$$svg"; \
		echo "<!-- drawn from sha256 $$(sha256sum "$$p" | cut -d' ' -f1) -->" >> "$$svg"; done

$(TOOLS)/d2-$(D2):
	GOBIN=$(CURDIR)/$(TOOLS) go install oss.terrastruct.com/d2@$(D2)
	mv $(TOOLS)/d2 $@

proto: ## generate rpc/proto anew; needs protoc, see rpc/proto/generate.sh
	rpc/proto/generate.sh

clean: ## remove what was built
	rm -rf bin cover.out
