# What can be done here. `make build` is all that a user needs; `make integration` needs Java 17, Maven and Python 3;
# `make image` and `docker compose up` need a Docker engine.

GO     ?= go
IMAGE  ?= weir:latest
# Time zones are inside the binary: the image has no other files.
TAGS   := timetzdata
# A single scenario: make integration RUN=TestKill
RUN    ?= .

.PHONY: build test race synctests integration check image up down bench clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w' -o bin/processor ./cmd/processor

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

synctests:
	$(GO) test -tags synctests ./...

# Whole jobs on a real Kafka that the tests start themselves, or on KAFKA_BROKERS where nothing special is needed.
integration:
	$(GO) test -tags integration -count=1 -timeout 55m -v -run '$(RUN)' ./integration

check:
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags integration ./integration/...
	$(GO) vet -tags synctests ./...

image: build
	deploy/rootfs.sh bin/processor bin/rootfs.tar
	docker build -t $(IMAGE) .

up: image
	docker compose up

down:
	docker compose down --volumes

bench: build
	bench/run.sh

clean:
	rm -rf bin
