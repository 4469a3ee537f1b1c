/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines of the workloads: a table of options gives the parser, the
 * checks and the text of --help.
 *
 * Options are written `--name VALUE` or `--name=VALUE`. A bad command line is
 * answered by one line on standard error and exit status 2, so that the
 * console of a guest shows the reason.
 */
#ifndef WORKLOADS_ARGS_H
#define WORKLOADS_ARGS_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXIT_FAILED = 1,	/* the workload could not do its work */
	EXIT_USAGE = 2,		/* it was asked for something impossible */
};

enum opt_type {
	OPT_TEXT,	/* value: const char ** */
	OPT_NUMBER,	/* value: uint64_t *, within [min, max] */
	OPT_WORD,	/* value: unsigned int *, an index into words */
	OPT_CALL,	/* call(text) for each use of the option */
};

struct opt {
	const char *name;	/* without the dashes */
	const char *placeholder;
	const char *help;
	enum opt_type type;
	void *value;
	uint64_t min, max;
	const char *const *words;	/* ends with NULL */
	void (*call)(const char *text);
	bool required;
	bool seen;
};

struct program {
	const char *name;
	const char *summary;
	struct opt *opts;	/* ends with a NULL name */
	const char *epilogue;	/* may be NULL */
};

static const char *program_name = "workload";

static inline void vreport(const char *fmt, va_list ap)
{
	fprintf(stderr, "%s: ", program_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

__attribute__((format(printf, 1, 2), noreturn))
static inline void usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vreport(fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

__attribute__((format(printf, 1, 2), noreturn))
static inline void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vreport(fmt, ap);
	va_end(ap);
	exit(EXIT_FAILED);
}

/* Decimal digits only: no sign, no blanks, no overflow. */
static inline bool parse_number(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end;
}

static inline void print_help(const struct program *p)
{
	const struct opt *o;

	printf("usage: %s", p->name);
	for (o = p->opts; o->name; o++) {
		printf(o->required ? " --%s %s" : " [--%s %s]",
		       o->name, o->placeholder);
		if (o->type == OPT_CALL)
			printf(" ...");
	}
	printf("\n\n%s\n\n", p->summary);
	for (o = p->opts; o->name; o++)
		printf("  --%s %s\n      %s\n", o->name, o->placeholder, o->help);
	printf("  --help\n      this text\n");
	if (p->epilogue)
		printf("\n%s", p->epilogue);
}

static inline void set_option(struct opt *o, const char *text)
{
	uint64_t number;
	unsigned int i;

	if (o->seen && o->type != OPT_CALL)
		usage_error("--%s is given twice", o->name);
	o->seen = true;

	switch (o->type) {
	case OPT_TEXT:
		if (!*text)
			usage_error("--%s: must not be empty", o->name);
		*(const char **)o->value = text;
		break;

	case OPT_NUMBER:
		if (!parse_number(text, &number) ||
		    number < o->min || number > o->max)
			usage_error("--%s: '%s' is not a number from %llu to %llu",
				    o->name, text, (unsigned long long)o->min,
				    (unsigned long long)o->max);
		*(uint64_t *)o->value = number;
		break;

	case OPT_WORD:
		for (i = 0; o->words[i]; i++)
			if (!strcmp(text, o->words[i]))
				break;
		if (!o->words[i])
			usage_error("--%s: '%s' is not one of %s",
				    o->name, text, o->placeholder);
		*(unsigned int *)o->value = i;
		break;

	case OPT_CALL:
		o->call(text);
		break;
	}
}

static inline struct opt *find_option(const struct program *p,
				      const char *name, size_t len)
{
	struct opt *o;

	for (o = p->opts; o->name; o++)
		if (strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	return NULL;
}

static inline void parse_args(const struct program *p, int argc, char **argv)
{
	struct opt *o;
	int i;

	program_name = p->name;

	for (i = 1; i < argc; i++) {
		const char *arg = argv[i];
		size_t len;

		if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			print_help(p);
			exit(EXIT_SUCCESS);
		}
		if (strncmp(arg, "--", 2))
			usage_error("'%s' is not an option (see --help)", arg);

		len = strcspn(arg + 2, "=");
		o = find_option(p, arg + 2, len);
		if (!o)
			usage_error("unknown option '%s' (see --help)", arg);
		if (arg[2 + len] == '=')
			set_option(o, arg + 2 + len + 1);
		else if (i + 1 < argc)
			set_option(o, argv[++i]);
		else
			usage_error("--%s needs a value", o->name);
	}

	for (o = p->opts; o->name; o++)
		if (o->required && !o->seen)
			usage_error("--%s is missing (see --help)", o->name);
}

#endif /* WORKLOADS_ARGS_H */
