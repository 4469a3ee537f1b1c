# SPDX-License-Identifier: GPL-2.0-only
#
# The verbs of this repository. What they do is in scripts/forge (sources,
# patches, builds) and scripts/lab (the laboratory); `make help` lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Each forge verb does what it needs in order and uses all cores by itself.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
FORGE := PYTHONPATH=scripts PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m forge
VENV := build/venv
LAB := PYTHONPATH=scripts $(VENV)/bin/python -m lab
PYTEST := PYTHONPATH=scripts $(VENV)/bin/python -m pytest -p no:cacheprovider

# make VERB XEN_SRC=DIR, FORCE=1, JOBS=N, SEED=N
export XEN_SRC FORCE JOBS SEED
# What a make of this one's own may not hand down to the builds.
unexport MAKEFLAGS MFLAGS MAKELEVEL

##@ Main
.PHONY: help demo check check-slow all
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } \
	     /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	     /^[a-z0-9.-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

demo: KINDS = release
demo: ready ## boot and measure: task-aware scheduling beside Xen's own; out/demo/report.html
	@$(LAB) demo

check: ready ## all tests but the slow ones (SEED=2: guests boot in another order)
	@$(PYTEST) scripts/tests -m "not slow"

check-slow: ready ## the slow tests: reproducible builds, the series commit by commit, xl beside upstream's
	@$(PYTEST) scripts/tests -m slow

all: ready ## everything that is built

##@ Sources and patches (docs/patches.md)
.PHONY: deps source tree refresh export-series check-series
deps: ## Debian packages: installed as root, named otherwise
	@$(FORGE) deps

source: ## fetch and verify the source of Xen (XEN_SRC=DIR takes your own)
	@$(FORGE) source

tree: ## build/tree: source + overlay + patches, a git work tree to edit (FORCE=1 discards edits)
	@$(FORGE) tree

refresh: ## turn edits in build/tree back into patches and overlay files
	@$(FORGE) refresh

export-series: ## out/series: the patches as for the mailing list
	@$(FORGE) export

check-series: ## build after each commit of the series (slow)
	@$(FORGE) check-series

##@ Builds (products in build/, logs in build/log/)
.PHONY: xen xen-debug xen-pristine toolstack toolstack-pristine kernel kernel-6.12 modules workloads qemu artifacts ready
xen: ## the hypervisor
	@$(FORGE) xen release

xen-debug: ## the hypervisor with ASSERT()
	@$(FORGE) xen debug

xen-pristine: ## the hypervisor without our patches
	@$(FORGE) xen pristine

toolstack: ## xl and what it needs, in build/tools
	@$(FORGE) toolstack

toolstack-pristine: ## the toolstack without our patches, in build/tools-pristine
	@$(FORGE) toolstack --pristine

kernel: ## Debian's kernel 6.1 for dom0 and guests
	@$(FORGE) kernel

kernel-6.12: ## Debian's kernel 6.12 beside it
	@$(FORGE) kernel 6.12

modules: ## our Linux modules for dom0
	@$(FORGE) modules

workloads: toolstack ## the programs that run in guests and dom0
	@$(MAKE) -C guest-tests/workloads OUT="$(CURDIR)/build/workloads" WITH_XEN="$(CURDIR)/build/tools"

qemu: ## the emulator that the laboratory boots its machines in
	@$(FORGE) qemu

artifacts: ## all builds; prints where they are, as JSON
	@$(FORGE) artifacts

ready: deps $(VENV)/ready ## what the laboratory needs: all builds, workloads, Python packages
	@$(FORGE) artifacts $(KINDS) > /dev/null
	@$(MAKE) -s workloads

$(VENV)/ready: scripts/requirements.txt
	@echo "forge: Python packages into $(VENV)" >&2
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check -r scripts/requirements.txt
	@touch $@

##@ Simulator (tools/tests/sched/README.md)
.PHONY: sim sim-pristine soak soak-same
SIM = $(MAKE) -s -C tools/tests/sched TREE="$(CURDIR)/build/tree" OUT="$(CURDIR)/build/sim"

sim: tree ## Xen's schedulers in user space: build/sim/sched-sim
	@$(SIM)

sim-pristine: ## the same with the source as it was published: build/sim-pristine/sched-sim
	@$(FORGE) tree --pristine > /dev/null
	@$(MAKE) -s -C tools/tests/sched TREE="$(CURDIR)/build/pristine-tree" OUT="$(CURDIR)/build/sim-pristine"

SEEDS ?= 1000
soak: sim ## explore SEEDS=N random machines under credit and tavs, on all cores
	@for s in credit tavs; do \
	    build/sim/sched-sim soak --boot sched=$$s --seeds $(SEEDS) --jobs "$$(nproc)" || exit 1; done
	@build/sim/sched-sim soak --io --boot 'sched=tavs tavs=threshold=0,negative=0' --seeds $(SEEDS) --jobs "$$(nproc)"

AS_CREDIT := sched_tavs_places=0 sched_tavs_slice_us=0
# tavs that never boosts, less what else differs from credit, against credit; then our tree against Xen's.
soak-same: sim sim-pristine ## SEEDS=N traces: tavs that does not boost is credit; other schedulers are Xen's
	@build/sim/sched-sim soak --boot 'sched=tavs tavs=pbratio=0 sched_tavs_exact=0 $(AS_CREDIT)' --against sched=credit \
	    --same-chances --seeds $(SEEDS) --jobs "$$(nproc)"
	@build/sim/sched-sim soak --boot 'sched=tavs tavs=pbratio=0 $(AS_CREDIT)' --against 'sched=credit sched_credit_exact=1' \
	    --same-chances --seeds $(SEEDS) --jobs "$$(nproc)"
	@for s in credit credit2 rtds null; do \
	    for of in sim sim-pristine; do \
	        build/$$of/sched-sim soak --boot sched=$$s --seeds $(SEEDS) --jobs "$$(nproc)" \
	            --hashes build/$$of/hashes-$$s > build/$$of/soak-$$s || { cat build/$$of/soak-$$s; exit 1; }; \
	        sort -o build/$$of/hashes-$$s build/$$of/hashes-$$s; done; \
	    cmp build/sim/hashes-$$s build/sim-pristine/hashes-$$s || exit 1; \
	    echo "$$s: $$(wc -l < build/sim/hashes-$$s) traces, the same from our tree and from Xen's"; done

##@ Cleaning
.PHONY: clean distclean
clean: ## remove what was built; keep downloads
	@rm -rf build/obj build/xen build/tools build/tools-src build/tools-pristine build/tools-src-pristine \
	        build/modules build/workloads build/qemu build/qemu-src build/stamps/xen-* build/stamps/qemu.json \
	        build/stamps/toolstack* build/stamps/module-* build/artifacts.json build/log build/pristine-tree \
	        build/tree.git/tools-src.index build/tree.git/tools-src-pristine.index build/tree.git/pristine-tree.index

distclean: ## remove everything that is generated: downloads, build/tree with its edits, results
	@$(FORGE) distclean
