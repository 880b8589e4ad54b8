# certspec in JupyterLab, laid out as in GoNB's image: the notebooks are in /notebooks, what you mount in /notebooks/host, the port is 8888.
#
#	docker build --tag certspec .
#	docker run --interactive --tty --rm --publish 8888:8888 --volume "$PWD":/notebooks/host certspec
#
# and open the address that it prints. A test (internal/external) runs the RUN lines below in a clean Debian.
FROM debian:trixie-slim

# Debian keeps one version of a package only, so none is pinned. Its Go fetches the one that go.mod names from the module proxy.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates g++ git golang-go libc6-dev make python3 python3-venv tini \
    && rm -rf /var/lib/apt/lists/*

# The user that Binder expects.
ARG NB_USER=jovyan
ARG NB_UID=1000
ENV HOME=/home/${NB_USER}
RUN useradd --create-home --uid "${NB_UID}" --shell /bin/bash "${NB_USER}" \
    && mkdir -p /notebooks/host "${HOME}/certspec" \
    && ln -s "${HOME}/certspec/notebooks" /notebooks/certspec \
    && chown -R "${NB_USER}:${NB_USER}" /notebooks "${HOME}"

USER ${NB_USER}
WORKDIR ${HOME}/certspec
ENV PATH=${HOME}/certspec/bin:${HOME}/compiler/bin:${HOME}/jupyter/bin:${PATH} CERTSPEC_PYTHON=/usr/bin/python3

# JupyterLab, in the versions of "make lab".
COPY --chown=${NB_UID}:${NB_UID} internal/pyenv/lab.txt internal/pyenv/
RUN python3 -m venv "${HOME}/jupyter" \
    && "${HOME}/jupyter/bin/pip" install --no-cache-dir --requirement internal/pyenv/lab.txt

# The modules, and with them the compiler, which from then on is the go of this image: Debian's stumbles over GOEXPERIMENT=simd.
COPY --chown=${NB_UID}:${NB_UID} go.mod go.sum ./
RUN GOTOOLCHAIN=auto go mod download \
    && ln -s "$(GOTOOLCHAIN=auto go env GOROOT)" "${HOME}/compiler"

COPY --chown=${NB_UID}:${NB_UID} . .
RUN make build \
    && bin/certspec backend install \
    && bin/certspec backend install onnxruntime \
    && bin/certspec notebook install

# With this the first cell of a notebook finds its packages compiled.
RUN bin/certspec notebook run --tier fast --out /tmp/warm notebooks/quickstart.ipynb \
    && rm -rf /tmp/warm

WORKDIR /notebooks
EXPOSE 8888
ENTRYPOINT ["tini", "-g", "--"]
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "--MultiKernelManager.default_kernel_name=certspec"]
