# certspec: what a person, or a machine that checks, runs. "make" lists it.
# Everything that is installed goes into certspec's cache (CERTSPEC_CACHE, else the user's cache folder).

CERTSPEC = bin/certspec
SHELL = bash

# How much the demo computes: paper, the real run, or fast.
TIER = paper

# Without a C compiler the program is built without XLA.
TAGS := $(if $(filter 1,$(shell go env CGO_ENABLED)),,noxla)

# The vector form of the hot loops; Go has it on amd64 only.
ifeq ($(shell go env GOARCH),amd64)
export GOEXPERIMENT = simd
endif

.PHONY: help build prepared demo artifact test quick check unit portable generate-check fuzz release notebooks wheel test-external external kernels python lab site fmt clean

help:
	@echo "make demo           train nothing, certify 500 images in a notebook, print the table"
	@echo "make artifact       for whoever evaluates the artifact: verify ledgers, attest, replay (docs/artifact.md)"
	@echo "make lab            open JupyterLab with the notebooks and the kernel ready (as root: LAB=--allow-root)"
	@echo "make build          the program, as bin/certspec"
	@echo "make quick          formatting, vet, staticcheck and short tests of the light packages that changed: seconds"
	@echo "make test           formatting, vet, all tests, every notebook in its fast tier"
	@echo "make wheel          the Python package, a wheel for each platform (or PLATFORM=linux/amd64), in dist"
	@echo "make test-external  comparisons with other software (SciPy, NumPy, ...)"
	@echo "make site           pages for a browser: documents, notebooks, the checker of ledgers, in out/site"
	@echo "make generate-check that generated files are what their commands make"
	@echo "make fuzz           every fuzz target for FUZZTIME (30s); FUZZ=PACKAGE for one package"
	@echo "make release        the program for GOOS, GOARCH and KIND (full, light) in out/release, with checksums and a list of what is in it"
	@echo "make fmt            format the Go code"
	@echo "make clean          remove bin and out (the cache stays: certspec's own folder)"

build:
	@$(if $(TAGS),echo "no C compiler: building without XLA; models then run on the Go engine; some ten times slower" >&2,:)
	go build -buildvcs=auto -tags "$(TAGS)" -o $(CERTSPEC) ./cmd/certspec

# What notebooks use where it is there, fetched side by side: each says that it begins, and at its end what came of it.
prepared: build
	@$(call fetched,the XLA plugin,backend install,models run on the Go engine$(comma) which is slower) & \
	$(call fetched,ONNX Runtime,backend install onnxruntime,certifying takes some three times longer) & \
	$(call fetched,FashionMNIST,dataset fetch fashionmnist,notebooks draw shapes in its place) & wait

comma := ,
fetched = { echo "looking for $(1)" >&2; said=$$($(CERTSPEC) $(2) 2>&1) || said="$$said"$$'\n'"going on without $(1): $(3)"; echo "$$said" >&2; }

# The demo goes on from what an earlier one with the same notebook and models has left.
demo: DEMO = out/demo-$(shell cat notebooks/quickstart.ipynb notebooks/models/* | cksum | cut -d' ' -f1)
demo: prepared
	@$(CERTSPEC) notebook run --tier $(TIER) --html --out $(DEMO) notebooks/quickstart.ipynb >/dev/null
	@cat $(DEMO)/quickstart/out/table.txt
	@echo && echo "page:    $(DEMO)/quickstart/quickstart.html" && echo "figures: $(DEMO)/quickstart/out/"

# The exercise of docs/artifact.md.
artifact: LEDGER = notebooks/results/quickstart.ledger
artifact: prepared
	go build -buildvcs=auto -o bin/certcheck ./cmd/certcheck
	@mkdir -p out
	for ledger in notebooks/results/*.ledger; do bin/certcheck $$ledger >out/artifact.txt || exit 1; head -1 out/artifact.txt; done
	$(CERTSPEC) ledger attest $(LEDGER) --at-least 0.25=0.4 -o out/artifact.intoto.json
	bin/certcheck --statement out/artifact.intoto.json $(LEDGER)
	$(CERTSPEC) ledger replay $(LEDGER) --model notebooks/models/fmnist-cnn-s025 --data 'fashionmnist/test[count=500]' --images 5

# Each part says how many seconds it took. Cells of notebooks wait a third of their time, so builds run beside them.
test:
	@$(call timed,check unit)
	@$(MAKE) --no-print-directory -j 2 timed-portable timed-notebooks

timed-%:
	@$(call timed,$*)

# Compiling, linking and short tests are too short for a small heap to pay.
check unit portable quick notebooks external kernels python: export GOGC := 400

timed = for part in $(1); do start=$$(date +%s); $(MAKE) --no-print-directory $$part || exit 1; echo "$$part: $$(($$(date +%s) - start)) s"; done

# The packages of every module of go.work: a pattern ends where a module does.
ALL = ./... ./bench/... ./cmd/certcheck/... ./examples/... ./notebooks/...

# What needs neither cgo nor GoMLX compiles in seconds.
LIGHT = ./pixel/... ./progress/... ./resample/... ./calib/... ./classifier/... ./dataset/... ./rs/... ./spectral/... ./augment/... ./corrupt/... \
	./feedforward/... ./internal/feedforward/kernel ./lines/... ./ood/... ./internal/evaluate/... ./study ./nb ./engine/pipe/... ./cmd/certcheck ./internal/atomicfile ./internal/inflate ./internal/npy ./internal/picture ./table

STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.7.0

# What tests write and sync lies in memory where there is room; the programs that go builds do not, as they may not run there.
MEMORY := $(shell test "$$(df -k /dev/shm 2>/dev/null | awk 'END {print $$4}')" -gt 1000000 2>/dev/null && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
quick fuzz: export GOTMPDIR := $(or $(TMPDIR),/tmp)
quick fuzz: export TMPDIR := $(MEMORY)

# Of files that are not committed their packages are vetted and tested, and the other light packages must compile with
# them; without such a file all light packages are tested.
quick:
	@files=$$({ git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard; } | grep '\.go$$'); \
	unformatted=$$(test -z "$$files" || gofmt -l $$files); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }; \
	changed=$$(comm -12 <(for f in $$files; do echo "$(CURDIR)/$${f%/*}"; done | sort -u) <(go list -f '{{.Dir}}' $(LIGHT) | sort)); \
	{ go build $(LIGHT) && go vet $${changed:-$(LIGHT)} && $(STATICCHECK) $${changed:-$(LIGHT)}; } & static=$$!; \
	go test -short -vet=off -ldflags='-s -w' $${changed:-$(LIGHT)} | grep -v 'no test files' ; tests=$${PIPESTATUS[0]}; wait $$static && exit $$tests

generate-check:
	go test ./internal/layers -run TestGeneratedFilesAreCurrent

check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }
	go vet -tags "$(TAGS)" $(ALL)
	go vet -tags "external $(TAGS)" ./internal/external ./engine/onnx

# go vet has its own part, and tables for debuggers are half of the time of linking.
STRIPPED = -ldflags='-s -w'

unit: build
	@$(CERTSPEC) backend install || echo "going on without the XLA plugin: its tests are skipped" >&2
	@$(CERTSPEC) backend install onnxruntime || echo "going on without ONNX Runtime: its tests are skipped" >&2
	go test -tags "$(TAGS)" -timeout 20m -vet=off $(STRIPPED) $(ALL)

# What must come out the same whatever the compiler makes of it. Views and corruptions are compared by their bytes, and
# bytes that are the same need no second test of their laws.
SAME = go test -vet=off $(STRIPPED) ./rs/noise ./rs/bound ./internal/spectral/fourier ./internal/portable && \
	go test -vet=off $(STRIPPED) -short ./augment/... ./corrupt/...
portable:
	export GOEXPERIMENT= && $(SAME)
	@if test "$$(go env GOARCH)" = amd64 && grep -q avx2 /proc/cpuinfo 2>/dev/null; then set -x; export GOAMD64=v3 && $(SAME); fi

# The first prepares the kernel; the others run in two rows, as a cell waits as much as it computes.
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
notebooks: build
	@rm -rf out/test
	$(CERTSPEC) notebook run --tier fast --out out/test notebooks/quickstart.ipynb
	@printf '%s\n' $(filter-out %/quickstart.ipynb,$(NOTEBOOKS)) | \
		xargs -r -t -P 2 -n 4 $(CERTSPEC) notebook run --tier fast --out out/test

# A kernel, a browser and pip wait as much as they compute, so three rows run side by side. In a lab somebody waits for
# answers, so the others are nice to it.
test-external:
	@$(MAKE) --no-print-directory -j 3 timed-external timed-kernels timed-python

KERNELS = TestLab|TestCellsInJupyter|TestInterruptInJupyter|TestExternalNotebookExport
PYTHON = TestExternalREADME|TestExternalPython|TestExternalWaysIn|TestExternalPyTorchOverPipe
external:
	nice go test -tags "external $(TAGS)" -timeout 40m -skip '$(KERNELS)|$(PYTHON)' ./internal/external ./internal/intnet/assembly

python:
	nice go test -tags "external $(TAGS)" -timeout 40m -run '$(PYTHON)' ./internal/external

kernels:
	go test -tags "external $(TAGS)" -timeout 30m -run '$(KERNELS)' ./internal/external
	go test -tags "external $(TAGS)" -timeout 20m -v -run 'ExternalDrawn|DrawnMisreadings' ./engine/onnx

# One after the other: a target has all processors. Unlimited, the
# shortening of a single input takes up to a minute, in which nothing else is tried.
FUZZTIME = 30s
FUZZ = $(ALL)
fuzz:
	@mkdir -p out
	@go list -f '{{$$d := .Dir}}{{range .TestGoFiles}}{{$$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$d}}/{{.}} {{end}}' $(FUZZ) | xargs grep -Ho '^func Fuzz[A-Za-z0-9]*' | \
	sed 's,^\(.*\)/[^/]*:func ,\1 ,' | sort -u | while read dir target; do \
		echo "$$dir $$target" && go test "$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x > out/fuzz.txt 2>&1 || { cat out/fuzz.txt; exit 1; }; \
		grep '^fuzz:' out/fuzz.txt | tail -1; done

# KIND light has neither cgo nor XLA, and can be built for any system on any other.
KIND = full
VERSION = $(shell git describe --tags --always --dirty)
GOOS = $(shell go env GOOS)
GOARCH = $(shell go env GOARCH)
NAME = certspec-$(VERSION)-$(KIND)-$(GOOS)-$(GOARCH)
release:
	@rm -rf "out/$(NAME)" && mkdir -p "out/$(NAME)" out/release
	GOOS=$(GOOS) GOARCH=$(GOARCH) $(if $(filter light,$(KIND)),CGO_ENABLED=0) $(if $(filter amd64,$(GOARCH)),,GOEXPERIMENT=) \
		go build -trimpath -buildvcs=auto -ldflags '-s -w' -tags "$(if $(filter light,$(KIND)),noxla)" -o "out/$(NAME)/" ./cmd/certspec ./cmd/certcheck
	cp LICENSE THIRD_PARTY_NOTICES.md README.md "out/$(NAME)/"
	tar -C out -czf "out/release/$(NAME).tar.gz" "$(NAME)"
	go run ./tools/sbom "out/$(NAME)/certspec$(if $(filter windows,$(GOOS)),.exe)" > "out/release/$(NAME).cdx.json"
	cd out/release && $$(command -v sha256sum || echo shasum -a 256) "$(NAME).tar.gz" "$(NAME).cdx.json" > "$(NAME).sha256"

# That of linux/amd64 is built with cgo, there; the others without, anywhere. PLATFORM=GOOS/GOARCH makes one of them.
PLATFORM =
wheel:
	go run ./tools/pywheel -out dist -only "$(PLATFORM)"

# LAB are options of JupyterLab: a container, where all is done as root, needs LAB=--allow-root.
LAB =
lab:
	@test "$$(id -u)" != 0 || test -n "$(findstring allow-root,$(LAB))$(findstring allow_root,$(LAB))" || \
		{ echo 'JupyterLab does not start as root unless it is told to: make lab LAB=--allow-root' >&2; exit 1; }
	@$(MAKE) --no-print-directory prepared
	$(CERTSPEC) notebook lab notebooks -- $(LAB)

site:
	@go run ./tools/site -o out/site

fmt:
	gofmt -w .

clean:
	rm -rf bin out
