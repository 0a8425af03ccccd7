# What a day's work needs. `make help` lists it.

K8S_VERSION := 1.37.0
K8S := k8s.io/component-base/version
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Clients parse the server's version: the Kubernetes parts must carry theirs.
LDFLAGS := -X $(K8S).gitVersion=v$(K8S_VERSION) -X $(K8S).gitMajor=1 -X $(K8S).gitMinor=37 \
	-X main.version=$(VERSION)

STORY ?= growth
ONCE ?=
GOTEST := go test -ldflags "$(LDFLAGS)"

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: bin/plimsoll bin/rehearse ## build both binaries into bin/

.PHONY: build-plimsoll
build-plimsoll: bin/plimsoll ## build bin/plimsoll alone, which compiles no control plane

.PHONY: bin/plimsoll
bin/plimsoll:
	@go build -ldflags "$(LDFLAGS)" -o $@ ./cmd/plimsoll

# The whole control plane is in this one. From an empty cache it takes minutes.
# What Cluster API ships as files is embedded in the binary, from its module, and
# never kept in the repository. Without this, it is read where the module lies.
CAPI := sigs.k8s.io/cluster-api
CAPI_FILES := rehearse/clusterapi/crds/upstream
.PHONY: cluster-api-files
cluster-api-files:
	@cd rehearse && go mod download $(CAPI)
	@module="$$(cd rehearse && go list -m -f '{{.Dir}}' $(CAPI))" && to="$(CAPI_FILES)/$${module##*/}" && \
		rm -rf $(CAPI_FILES)/cluster-api* && mkdir -p "$$to/core/config/crd/bases" "$$to/core/config/webhook" && \
		install -m 644 "$$module"/core/config/crd/bases/cluster.x-k8s.io_*.yaml "$$to/core/config/crd/bases/" && \
		install -m 644 "$$module"/core/config/webhook/manifests.yaml "$$to/core/config/webhook/"

.PHONY: bin/rehearse
bin/rehearse: cluster-api-files
	@[ -e $@ ] || echo "building the control plane: 5 to 8 minutes the first time, seconds after that"
	@cd rehearse && go build -ldflags "$(LDFLAGS)" -o ../$@ ./cmd/rehearse

.PHONY: demo
demo: build ## the whole story in a terminal: make demo [STORY=growth|affinity|eks|eks-anywhere|explain|money|gardener] [ONCE=1]
	@bin/rehearse demo --story=$(STORY) $(if $(ONCE),--once)

# What must be green depends on no drawn seed. `make soak` draws fresh ones.
test test-product test-rehearse test-packaging: export RAPID_SEED := 1122

.PHONY: test
test: test-product test-rehearse test-packaging ## every test, end-to-end ones included

# What runs in several goroutines. The race detector is written in C.
RACED := ./cmd/... ./controllers/... ./providers/... $(addprefix ./internal/,act decisions inventory loop observe report ui)

.PHONY: test-product
test-product: race-detector ## the product's own packages; what is concurrent, under the race detector
	$(GOTEST) -race $(RACED)
	$(GOTEST) -timeout 20m $$(go list ./... | grep -vxF "$$(go list $(RACED))")

.PHONY: race-detector
race-detector:
	@[ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null || { \
		echo "the race detector needs cgo and a C compiler: CGO_ENABLED=1, and $$(go env CC) in PATH" >&2; exit 1; }

.PHONY: browser
browser: ## a browser for the tests of the page: installs chromium as root where apt-get is, else says what to install
	@for b in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
		command -v $$b >/dev/null && exit 0; done; \
	[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { \
		echo "the page is tested in a browser: put chromium or google-chrome on the PATH" >&2; exit 1; }; \
	{ apt-get install -y --no-install-recommends chromium || \
		{ apt-get update && apt-get install -y --no-install-recommends chromium; }; } >/dev/null

# Where the tests of the page leave what they saw.
test-rehearse pictures: export PLIMSOLL_PICTURES := $(or $(PLIMSOLL_PICTURES),$(CURDIR)/bin/pictures)

.PHONY: test-rehearse
test-rehearse: build browser ## the control plane, the stories, end to end
	cd rehearse && $(GOTEST) -timeout 40m ./e2e ./cmd/rehearse ./... # the longest first: two run at a time

.PHONY: pictures
pictures: build browser ## the pictures of the page that the README shows, of a real run
	cd rehearse && $(GOTEST) -count=1 -run TestTheLeadersPage ./browser
	mkdir -p docs/images && for mode in light dark; do \
		cp "$$PLIMSOLL_PICTURES/leader-$$mode.png" docs/images/page-$$mode.png; done

.PHONY: manifests
manifests: ## deploy/, rendered from the chart
	@cd packaging && go run -mod=mod ./cmd/manifests

.PHONY: test-packaging
test-packaging: build ## the chart, its alerts and rights, the image
	cd packaging && $(GOTEST) -count=1 -timeout 10m ./...

SHARD ?= 1/1
.PHONY: mutants
mutants: ## break the product on purpose, one behaviour at a time, and see that its tests notice: make mutants [SHARD=1/4]
	RAPID_SEED=1122 $(GOTEST) -timeout 0 -count=1 -v -run TestMutants ./internal/mutants -mutants.shard=$(SHARD)

.PHONY: bench
bench: ## the benchmarks of deciding; figures are in bench/README.md
	$(GOTEST) -run '^$$' -bench . -benchmem ./bench

.PHONY: bench-e2e
bench-e2e: build ## the figures that need a control plane
	bin/rehearse bench

# A soak may be played in shards, over several runs: each adds a row to the tally, and what went wrong in its worlds to
# the sum beside it. Seeds are drawn, or begin with SEED.
SOAK ?= 1h
ROUNDS ?= 50
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
TALLY ?= $(CURDIR)/bench/worlds.md

# New inputs of the fuzz targets are kept in CORPUS, for the next run. One that fails goes to testdata/fuzz of its
# package: commit it with the mend.
FUZZ ?= 1m
CORPUS ?= $(CURDIR)/.cache/fuzz

.PHONY: fuzz
fuzz: ## each fuzz target for a while: make fuzz [FUZZ=1m] [CORPUS=.cache/fuzz]
	@git grep --untracked 'func Fuzz' -- '*_test.go' ':!rehearse' ':!packaging' | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z]+).*|\1 \2|' | \
		while read -r folder target; do \
			echo "$$target of $$folder"; \
			$(GOTEST) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) "./$$folder" \
				-test.fuzzcachedir="$(CORPUS)/$$folder" </dev/null || exit 1; \
		done

.PHONY: soak
soak: soak-worlds fuzz ## what is too long for `make test`, with fresh seeds: make soak [SOAK=1h] [SEED=...] [ROUNDS=50]
	$(GOTEST) -timeout 60m -run Plan ./internal/decide/... -rapid.checks=20000
	$(GOTEST) -timeout 60m -run RefusalsAreThePlugins ./internal/schedsim -rapid.checks=120000
	$(GOTEST) -timeout 60m -run RandomPools ./internal/sim -sim.pools=1000
	$(GOTEST) -timeout 60m -run TestScenarios ./internal/sim -sim.from=large
	$(MAKE) build
	cd rehearse && $(GOTEST) -timeout 30m -run TestAWSScripts/outage ./e2e -aws.outage=5m
	bin/rehearse exact --rounds $(ROUNDS) --seed $(SEED)

.PHONY: soak-worlds
soak-worlds: ## fresh random worlds alone: make soak-worlds [SOAK=1h] [SEED=...] [HARDER=true]
	$(GOTEST) -timeout 0 -count=1 -v -run TestSoakWorlds ./internal/sim -sim.for=$(SOAK) -sim.first=$(SEED) \
		-sim.tally=$(TALLY) -sim.commit=$(VERSION) -sim.harder=$(or $(HARDER),false)

# Tools have a module of their own, so that their dependencies are not the product's.
.PHONY: tools
tools:
	@cd tools && go build -o ../bin/tools/ tool

# Copies of API types. Each line: the module's folder, and the package in it.
CONTROLLER_GEN := $(CURDIR)/bin/tools/controller-gen object
COPIED := providers/gardener/v1alpha1
COPIED_REHEARSE := clusterapi/kwokapi
COPIES := zz_generated.deepcopy.go

.PHONY: generate
generate: tools ## the copies of API types, by controller-gen
	$(CONTROLLER_GEN) paths=./$(COPIED)
	cd rehearse && $(CONTROLLER_GEN) paths=./$(COPIED_REHEARSE)

.PHONY: lint-generated
lint-generated: tools
	@$(CONTROLLER_GEN) paths=./$(COPIED) output:stdout | diff -u $(COPIED)/$(COPIES) - && \
		cd rehearse && $(CONTROLLER_GEN) paths=./$(COPIED_REHEARSE) output:stdout | \
		diff -u $(COPIED_REHEARSE)/$(COPIES) - || { echo "generated files are stale: run make generate"; exit 1; }

.PHONY: lint
lint: lint-generated ## gofmt, vet, staticcheck (of the product), and whether generated files are fresh
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	cd rehearse && go vet ./...
	cd packaging && go vet ./...
	bin/tools/staticcheck ./...

# Commits that origin/main lacks, or the last one where there is no origin/main.
RANGE ?= $(shell git rev-parse -q --verify origin/main >/dev/null && echo origin/main..HEAD || echo -1)
.PHONY: commit-check
commit-check: ## subjects and bodies of your commits: make commit-check [RANGE=main..HEAD]
	@git log --no-merges --format=%h $(RANGE) | while read -r c; do \
		s="$$(git log -1 --format=%s "$$c")"; \
		[ "$${#s}" -le 72 ] || echo "$$c: the subject has $${#s} characters, more than 72: $$s"; \
		case "$$s" in *": "*) ;; *) echo "$$c: the subject has not the form 'package: what': $$s";; esac; \
		[ -n "$$(git log -1 --format=%b "$$c")" ] || echo "$$c: no body says why: $$s"; \
	done | { ! grep .; }

# What is shipped: binaries that need no C library, and the image, SBOM and release made of them.
IMAGE_PLATFORMS ?= linux/$(shell go env GOARCH)
RELEASE_PLATFORMS ?= linux/amd64 linux/arm64
IMAGE_REPOSITORY ?= ghcr.io/plimsoll-dev/plimsoll
IMAGE_BASE ?=
IMAGE_ROOTS ?= /etc/ssl/certs/ca-certificates.crt
RELEASE_FLAGS ?=
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
# The commit's time and not the clock's: two builds of a commit are the same.
DATE = $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
ifdef SOURCE_DATE_EPOCH
DATE = $(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ)
endif

bin/linux/%/plimsoll: FORCE
	@CGO_ENABLED=0 GOOS=linux GOARCH=$* go build \
		-ldflags "$(LDFLAGS) -X main.commit=$(COMMIT) -X main.date=$(DATE)" -o $@ ./cmd/plimsoll

.PHONY: FORCE
FORCE:

.PHONY: image
image: $(IMAGE_PLATFORMS:%=bin/%/plimsoll) ## the container image and its SBOM into bin/, without Docker: make image [IMAGE_PLATFORMS="linux/amd64 linux/arm64"]
	@cd packaging && go run ./cmd/image --repository=$(IMAGE_REPOSITORY) --base=$(IMAGE_BASE) --roots=$(IMAGE_ROOTS) \
		$(IMAGE_PLATFORMS:%=../bin/%/plimsoll)

.PHONY: release
release: ## binaries, image, SBOM and their sums into dist/, of a tree without changes
	@cd packaging && go run ./cmd/release --check-only $(RELEASE_FLAGS)
	@$(MAKE) --no-print-directory image IMAGE_PLATFORMS="$(RELEASE_PLATFORMS)"
	@cd packaging && go run ./cmd/release $(RELEASE_FLAGS) $(RELEASE_PLATFORMS:%=../bin/%/plimsoll)
