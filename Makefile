# Everything a contributor needs. `make` alone lists the targets.
#
# What a target lacks is installed and started first where that can be done
# (as root on Debian), else one line says what to install. Things made on the
# way lie in .cache of this folder.

CACHE    := $(CURDIR)/.cache
BIN      := $(CACHE)/bin
LINT     := v2.15.0
FUZZTIME ?= 30s
ARGS     ?=

# A toolchain fetched by scripts/go.sh comes first.
export PATH := $(CACHE)/go/bin:$(BIN):$(PATH)

# Fuzz targets as package:function, from the sources.
FUZZES = $(shell grep -rno --include='*_test.go' --exclude-dir=.cache --exclude-dir=e2e '^func Fuzz[A-Za-z0-9_]*' . \
	| sed -E 's|^(.*)/[^/]*:[0-9]+:func (.*)$$|\1:\2|')

.PHONY: help demo test test-unit test-e2e lint fmt fuzz clean \
	tools engine servers-command root-tests e2e-tests

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: tools ## real flights into a real MySQL through kill -9 (ARGS="--mariadb --keep": into a MariaDB, and leave it up)
	@scripts/engine.sh $(if $(findstring --mariadb,$(ARGS)),--mariadb,--mysql)
	@go build -C e2e -buildvcs=false -o $(BIN)/demo ./cmd/demo
	@$(BIN)/demo $(ARGS)

test: engine servers-command sim-ci ## everything: simulation, both modules, race detector, real MySQL and MariaDB
	@$(BIN)/xasink-servers -- $(MAKE) --no-print-directory root-tests e2e-tests

test-unit: tools ## the root module without any server, under a minute
	env -u XASINK_TEST_DSN -u XASINK_TEST_DSN_MARIADB go test -timeout 5m ./...

test-e2e: engine servers-command ## only the tests of module e2e, on real servers
	@$(BIN)/xasink-servers -- $(MAKE) --no-print-directory e2e-tests

lint: tools $(BIN)/golangci-lint-$(LINT) ## formatting, go vet and golangci-lint in both modules
	@unformatted=$$(find . -name '*.go' -not -path './.cache/*' -print0 | xargs -0 gofmt -s -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	cd e2e && go vet ./...
	$(BIN)/golangci-lint-$(LINT) run ./...
	cd e2e && $(BIN)/golangci-lint-$(LINT) run --config ../.golangci.yml ./...

fmt: tools $(BIN)/golangci-lint-$(LINT) ## format all Go files
	$(BIN)/golangci-lint-$(LINT) fmt
	cd e2e && $(BIN)/golangci-lint-$(LINT) fmt --config ../.golangci.yml

fuzz: tools ## each fuzz target for FUZZTIME (default 30s)
	@for target in $(FUZZES); do \
		echo "fuzz $$target for $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) "$${target%%:*}" || exit 1; \
	done

clean: ## remove the servers that this clone left up, and .cache
	@if [ -x $(BIN)/xasink-servers ]; then $(BIN)/xasink-servers --stop; fi
	@chmod -R u+w $(CACHE) 2>/dev/null; rm -rf $(CACHE)

# The rest is for the targets above.

tools:
	@scripts/tools.sh
	@scripts/go.sh

engine: tools
	@scripts/engine.sh

servers-command:
	@go build -C e2e -buildvcs=false -o $(BIN)/xasink-servers ./cmd/xasink-servers

# Parallel beyond the cores: tests on servers wait more than they compute.
# The last needs servers that nobody else uses, as they are by then.
root-tests:
	go test -race -count=1 -parallel 8 -timeout 30m ./...
	go test -race -timeout 5m -run UnderAGlobalReadLock ./xa -own-server

# One package at a time: they start and kill servers of their own.
e2e-tests:
	cd e2e && go test -race -count=1 -p 1 -timeout 45m ./...

$(BIN)/golangci-lint-$(LINT):
	@echo "building golangci-lint $(LINT), about two minutes"
	@mkdir -p $(BIN)/new
	@GOBIN=$(BIN)/new go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT)
	@mv $(BIN)/new/golangci-lint $@

N    ?= 100000
SEED ?= 0

SCRIPT ?=

.PHONY: sim
sim: tools ## simulate N crashes of whole sinks (default 100000), from SEED if it is given; SCRIPT='…' runs one again
	@case "$(N)$(SEED)" in *[!0-9]*) echo "N and SEED are numbers"; exit 2;; esac; \
	if [ "$(N)" -lt 1 ]; then echo "N is the number of crashes, at least 1"; exit 2; fi
	@go test -c -o $(BIN)/sim ./internal/sim
ifeq ($(SCRIPT),)
	@$(BIN)/sim -test.run '^TestRandom$$' -test.timeout 0 -sim.n=$(N) -sim.seed=$(SEED)
else
	@$(BIN)/sim -test.run '^TestScript$$' -test.v -sim.script='$(SCRIPT)'
endif

.PHONY: sim-ci
sim-ci: tools ## 100000 simulated crashes, and 2000 with the race detector
	@go test -c -o $(BIN)/sim ./internal/sim
	@go test -c -race -o $(BIN)/sim-race ./internal/sim
	@$(BIN)/sim -test.run '^TestRandom$$' -test.timeout 10m -sim.n=100000
	@$(BIN)/sim-race -test.run '^TestRandom$$' -test.timeout 5m -sim.n=2000

.PHONY: mutants
mutants: tools ## break each contract once, and see a test without a server fail (under 20 minutes)
	@go run ./internal/mutants
