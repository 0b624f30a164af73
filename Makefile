# What can be done here. `make build` is all that a user needs; `make integration` needs Java 17, Maven and Python 3;
# `make image` and `docker compose up` need a Docker engine.

GO     ?= go
IMAGE  ?= weir:latest
# Time zones are inside the binary: the image has no other files.
TAGS   := timetzdata,urfave_cli_no_docs
# A single scenario: make integration RUN=TestKill
RUN    ?= .
# Scenarios to leave out: make integration SKIP='TestNodes|TestTheOnlyNode'
SKIP   ?= ^$$
# Scenarios at a time: more than cores, since most of them wait most of the time.
PARALLEL ?= 4

.PHONY: build test race synctests nightly integration soak mutants check image up down bench bench-quick bench-compare clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w' -o bin/processor ./cmd/processor

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

# What needs the test clock: the tests of the files with this build tag. The others are those of `make test`.
synctests:
	@files=$$(grep -rl --include='*_test.go' '^//go:build synctests' .); \
	  names=$$(grep -hoE '^func Test[A-Za-z0-9_]+' $$files | cut -d' ' -f2 | paste -sd'|'); \
	  $(GO) test -tags synctests -run "^($$names)$$" $$(dirname $$files | sort -u)

# Whole jobs on a real Kafka that the tests start themselves, or on KAFKA_BROKERS where nothing special is needed.
integration:
	$(GO) test -tags integration -count=1 -timeout 40m -parallel $(PARALLEL) -v -run '$(RUN)' -skip '$(SKIP)' ./integration

# An hour (or WEIR_SOAK=10m) with a random fault every five seconds, on three nodes. It ends with a report.
soak:
	$(GO) test -tags 'integration soak' -count=1 -timeout 150m -v -run '^TestSoak$$' ./integration

# Plants faults into copies of the engine; each must be caught by the test it names. MUTANT=rule-5 plants some of them.
MUTANT ?=
mutants:
	$(GO) run ./integration/mutants -run '$(MUTANT)'

# What takes too long for every change: random jobs, the model's large bounds. About an hour.
nightly:
	WEIR_METAMORPHIC_RUNS=2000 $(GO) test -count=1 -timeout 120m -v -run 'RandomJobs' ./job
	WEIR_MODEL=nightly $(GO) test -count=1 -timeout 60m -v ./checkpoint/model

check:
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags 'integration soak' ./integration/...
	$(GO) vet -tags faults ./job/cli ./cmd/processor
	$(GO) vet -tags synctests ./...

image: build
	deploy/rootfs.sh bin/processor bin/rootfs.tar
	docker build -t $(IMAGE) .

up: image
	docker compose up

down:
	docker compose down --volumes

# Weir beside Flink, Kafka Streams and bare franz-go: an hour and a half. bench/run.sh says what can be set.
bench:
	bench/run.sh

# Weir and bare franz-go alone, on small inputs: under two minutes.
bench-quick:
	bench/run.sh quick

# The Go benchmarks of two commits: make bench-compare OLD=HEAD~3 NEW=HEAD ("." is the working tree).
OLD ?= HEAD
NEW ?= .
bench-compare:
	bench/compare.sh '$(OLD)' '$(NEW)'

clean:
	rm -rf bin
