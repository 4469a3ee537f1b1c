# SPDX-License-Identifier: GPL-2.0-only
# Make the headers that Xen's build generates, and nothing else.
#
# Xen generates them on the way to linking the hypervisor, which takes a minute
# that a simulator does not need. The Makefile here runs this in the object
# directory, with Xen's own Makefile included and what its first pass would
# have set.

include $(XEN)/Makefile

.PHONY: sim-headers
sim-headers: outputmakefile asm-generic FORCE
	$(Q)$(MAKE) $(build)=tools
	$(Q)$(MAKE) $(build)=. include/xen/compile.h
	$(Q)$(MAKE) $(build)=include all
	$(Q)$(MAKE) $(build)=arch/$(SRCARCH) include
	$(Q)$(MAKE) $(build)=. arch/$(SRCARCH)/include/asm/asm-offsets.h
