/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts checks; one that fails is told with the name of its case.
 */
#ifndef TAVS_TESTS_CHECK_H
#define TAVS_TESTS_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int checks, failures;

static void check(bool ok, const char *name, const char *fmt, ...)
{
    va_list ap;

    checks++;
    if ( ok )
        return;

    failures++;
    printf("FAILURE %s: ", name);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

#endif
