/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest tells Xen about its tasks, where the tree has task awareness.
 */
#ifndef SIM_TAVS_HOOKS_H
#define SIM_TAVS_HOOKS_H

#if __has_include(<xen/tavs.h>)

#include <xen/tavs.h>

#else

static inline void tavs_domain_init(struct domain *d) {}
static inline int tavs_vcpu_create(struct vcpu *v) { return 0; }
static inline void tavs_vcpu_destroy(struct vcpu *v) {}
static inline void tavs_task_switch(struct vcpu *v, unsigned long id) {}
static inline void tavs_task_exit(struct domain *d, unsigned long id) {}

#endif

#endif /* SIM_TAVS_HOOKS_H */
