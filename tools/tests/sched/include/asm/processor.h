/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pCPU that spins has to let the others run: they share one host thread.
 */
#ifndef SIM_ASM_PROCESSOR_H
#define SIM_ASM_PROCESSOR_H

#include_next <asm/processor.h>

void sim_relax(void);

#undef cpu_relax
#define cpu_relax() sim_relax()

#endif /* SIM_ASM_PROCESSOR_H */
