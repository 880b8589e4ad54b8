# certspec: what a person, or a machine that checks, runs. "make" lists it.
# Everything that is installed goes into certspec's cache (CERTSPEC_CACHE, else the user's cache folder).

CERTSPEC = bin/certspec

# How much the demo computes: paper, the real run, or fast.
TIER = paper

# Without a C compiler the program is built without XLA.
TAGS := $(if $(filter 1,$(shell go env CGO_ENABLED)),,noxla)

# The vector form of the hot loops; Go has it on amd64 only.
ifeq ($(shell go env GOARCH),amd64)
export GOEXPERIMENT = simd
endif

.PHONY: help build demo test check unit portable notebooks test-external lab site fmt clean

help:
	@echo "make demo           train nothing, certify 500 images in a notebook, print the table"
	@echo "make lab            open JupyterLab with the notebooks and the kernel ready"
	@echo "make build          the program, as bin/certspec"
	@echo "make test           formatting, vet, all tests, every notebook in its fast tier"
	@echo "make test-external  comparisons with other software (SciPy, NumPy, ...)"
	@echo "make site           pages for a browser: documents, notebooks, the checker of ledgers, in out/site"
	@echo "make fmt            format the Go code"
	@echo "make clean          remove bin and out (the cache stays: certspec's own folder)"

build:
	@$(if $(TAGS),echo "no C compiler: building without XLA; models then run on the Go engine; some ten times slower" >&2,:)
	go build -buildvcs=auto -tags "$(TAGS)" -o $(CERTSPEC) ./cmd/certspec

# The demo goes on from what an earlier one with the same notebook and models has left.
demo: DEMO = out/demo-$(shell cat notebooks/quickstart.ipynb notebooks/models/* | cksum | cut -d' ' -f1)
demo: build
	@$(CERTSPEC) backend install || echo "going on without the XLA plugin: models run on the Go engine, which is slower" >&2
	@$(CERTSPEC) backend install onnxruntime || echo "going on without ONNX Runtime: certifying takes some three times longer" >&2
	@$(CERTSPEC) dataset fetch fashionmnist || echo "going on without FashionMNIST: the notebook makes synthetic images" >&2
	@$(CERTSPEC) notebook run --tier $(TIER) --html --out $(DEMO) notebooks/quickstart.ipynb >/dev/null
	@cat $(DEMO)/quickstart/out/table.txt
	@echo && echo "page:    $(DEMO)/quickstart/quickstart.html" && echo "figures: $(DEMO)/quickstart/out/"

test: check unit portable notebooks

check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }
	go vet -tags "$(TAGS)" ./...

unit: build
	@$(CERTSPEC) backend install || echo "going on without the XLA plugin: its tests are skipped" >&2
	@$(CERTSPEC) backend install onnxruntime || echo "going on without ONNX Runtime: its tests are skipped" >&2
	go test -tags "$(TAGS)" -timeout 20m ./...

# What must come out the same whatever the compiler makes of it, and what must build without C.
portable:
	GOEXPERIMENT= go test ./rs/noise ./rs/bound ./spectral/fourier ./internal/portable ./augment/... ./corrupt
	@if test "$$(go env GOARCH)" = amd64 && grep -q avx2 /proc/cpuinfo 2>/dev/null; then \
		echo "GOAMD64=v3 go test ./rs/noise ./rs/bound ./spectral/fourier ./internal/portable ./augment/... ./corrupt" && GOAMD64=v3 go test ./rs/noise ./rs/bound ./spectral/fourier ./internal/portable ./augment/... ./corrupt; fi
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 GOEXPERIMENT= go build -tags noxla ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -tags noxla ./...

notebooks: build
	@rm -rf out/test
	$(CERTSPEC) notebook run --tier fast --out out/test notebooks/*.ipynb

test-external:
	go test -tags "external $(TAGS)" -timeout 20m ./internal/external

lab: build
	@$(CERTSPEC) backend install || echo "going on without the XLA plugin: models run on the Go engine, which is slower" >&2
	$(CERTSPEC) notebook lab notebooks

site:
	@go run ./internal/site -o out/site

fmt:
	gofmt -w .

clean:
	rm -rf bin out
