/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupt flag of a simulated pCPU.
 *
 * Xen's own header turns interrupts off with CLI, which a user program may not
 * execute. Everything else in it is usable as it is.
 */
#ifndef SIM_ASM_SYSTEM_H
#define SIM_ASM_SYSTEM_H

#include_next <asm/system.h>

void sim_irq_disable(void);
void sim_irq_enable(void);
void sim_irq_restore(unsigned long flags);
unsigned long sim_irq_flags(void);

#undef local_irq_disable
#undef local_irq_enable
#undef local_save_flags
#undef local_irq_save
#undef local_irq_restore

#define local_irq_disable()  sim_irq_disable()
#define local_irq_enable()   sim_irq_enable()
#define local_save_flags(x)  ((void)((x) = sim_irq_flags()))
#define local_irq_save(x)    ({ local_save_flags(x); local_irq_disable(); })
#define local_irq_restore(x) sim_irq_restore(x)

/* Xen's is an inline function on top of the macros that were just replaced. */
#define local_irq_is_enabled() (!!(sim_irq_flags() & X86_EFLAGS_IF))

/*
 * Who cares for the order of two accesses expects to be seen between them.
 * With --stalls another pCPU may overtake there.
 */
void sim_barrier(void);

#undef smp_mb
#define smp_mb() sim_barrier()

#endif /* SIM_ASM_SYSTEM_H */
