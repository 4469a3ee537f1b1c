/*
 * This program is free software; you can redistribute it and/or modify
 * it under the terms of the GNU Lesser General Public License as published
 * by the Free Software Foundation; version 2.1 only. with the special
 * exception on linking described in file LICENSE.
 *
 * This program is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
 * GNU Lesser General Public License for more details.
 */

/* xl sched-tavs: the parameters.  What it shows is in xl_tavs_show.c. */

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <libxl.h>
#include <libxl_utils.h>
#include <libxlutil.h>

#include "xl.h"
#include "xl_utils.h"
#include "xl_parse.h"
#include "xl_tavs.h"

/* One line, and nothing was done. */
static void __attribute__((format(printf, 1, 2), noreturn))
refuse(const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "xl sched-tavs: ");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    exit(EXIT_FAILURE);
}

static int whole_number(const char *option, const char *arg)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(arg, &end, 10);
    if (isspace((unsigned char)*arg) || end == arg || *end)
        refuse("--%s: '%s' is not a whole number", option, arg);
    /* Whatever the range is, this is outside. */
    if (errno || n > INT_MAX || n <= INT_MIN)
        refuse("--%s: %s is out of range", option, arg);

    return n;
}

static int on_or_off(const char *option, const char *arg)
{
    if (!strcmp(arg, "on") || !strcmp(arg, "yes") || !strcmp(arg, "1"))
        return 1;
    if (!strcmp(arg, "off") || !strcmp(arg, "no") || !strcmp(arg, "0"))
        return 0;

    refuse("--%s: '%s' is neither on nor off", option, arg);
}

int parse_pb_ratio(const char *arg)
{
    int permille = 0, digit = 100;
    const char *p = arg;

    if (*p != '0' && *p != '1')
        return -1;

    permille = (*p++ - '0') * 1000;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, digit /= 10) {
            if (!digit && *p != '0')
                return -1;
            permille += (*p - '0') * digit;
        }

    return *p || permille > 1000 ? -1 : permille;
}

static int pb_ratio(const char *arg)
{
    int permille = parse_pb_ratio(arg);

    if (permille < 0)
        refuse("--pb_ratio: '%s' is not a decimal from 0 to 1 with up to three places",
               arg);

    return permille;
}

const char *tavs_ratio(int permille, char buf[8])
{
    snprintf(buf, 8, "%d.%03d", permille / 1000 % 10, abs(permille % 1000));

    return buf;
}

void tavs_domains_free(struct tavs_domain *doms, unsigned int nr)
{
    unsigned int i;

    for (i = 0; i < nr; i++) {
        free(doms[i].name);
        free(doms[i].pool);
    }
    free(doms);
}

/* A knob that Xen does not have is not shown. */
static void print_knob(const char *name, int value, const char *unit)
{
    if (value != LIBXL_SCHED_TAVS_PARAM_DEFAULT)
        printf(" %s=%d%s", name, value, unit);
}

static void print_switch(const char *name, int value)
{
    if (value != LIBXL_SCHED_TAVS_PARAM_DEFAULT)
        printf(" %s=%s", name, value ? "on" : "off");
}

/* On credit, or on credit2. */
static bool is_tavs(libxl_scheduler sched)
{
    return sched == LIBXL_SCHEDULER_TAVS || sched == LIBXL_SCHEDULER_TAVS2;
}

static int print_pool(uint32_t poolid)
{
    libxl_sched_tavs_params p;
    char *poolname;
    char buf[8];

    libxl_sched_tavs_params_init(&p);
    if (libxl_sched_tavs_params_get(ctx, poolid, &p))
        return EXIT_FAILURE;

    poolname = libxl_cpupoolid_to_name(ctx, poolid);
    printf("Cpupool %s: tslice=%dms ratelimit=%dus migration-delay=%dus\n",
           poolname, p.tslice_ms, p.ratelimit_us, p.vcpu_migr_delay_us);
    free(poolname);

    printf("Host: pbratio=%s", tavs_ratio(p.pb_ratio, buf));
    print_knob("boost-cap", p.boost_cap_us, "us");
    print_knob("iothreshold", p.io_threshold_us, "us");
    print_knob("window", p.window, "");
    print_knob("portmap-bits", p.portmap_bits, "");
    print_switch("correlate", p.correlate);
    print_switch("track", p.track);
    printf("\n");

    return EXIT_SUCCESS;
}

static void print_domain_header(void)
{
    printf("%-33s %4s %6s %4s %7s %s\n", "Name", "ID", "Weight", "Cap",
           "PBratio", "Flags");
}

static int print_domain(uint32_t domid)
{
    libxl_domain_sched_params p;
    bool tracked, driver;
    char *domname;
    char buf[8];
    int rc = EXIT_FAILURE;

    /* Initialises it. */
    if (libxl_domain_sched_params_get(ctx, domid, &p))
        goto out;

    tracked = libxl_defbool_val(p.tracked);
    driver = libxl_defbool_val(p.driver);
    domname = libxl_domid_to_name(ctx, domid);
    printf("%-33s %4"PRIu32" %6d %4d %7s %s\n", domname, domid, p.weight,
           p.cap, tavs_ratio(p.pb_ratio, buf),
           tracked && driver ? "tracked,driver" :
           tracked ? "tracked" : driver ? "driver" : "-");
    free(domname);
    rc = EXIT_SUCCESS;

out:
    libxl_domain_sched_params_dispose(&p);

    return rc;
}

/* The cpupool that is asked for, which tavs must schedule. */
static uint32_t pool_of_option(const char *cpupool)
{
    libxl_cpupoolinfo info;
    libxl_scheduler sched;
    uint32_t poolid = 0;
    char *name;

    if (cpupool &&
        (libxl_cpupool_qualifier_to_cpupoolid(ctx, cpupool, &poolid, NULL) ||
         !libxl_cpupoolid_is_valid(ctx, poolid)))
        refuse("unknown cpupool '%s'", cpupool);

    libxl_cpupoolinfo_init(&info);
    if (libxl_cpupool_info(ctx, &info, poolid))
        refuse("no information about cpupool %"PRIu32, poolid);
    sched = info.sched;
    libxl_cpupoolinfo_dispose(&info);

    if (!is_tavs(sched)) {
        name = libxl_cpupoolid_to_name(ctx, poolid);
        refuse("cpupool '%s' is scheduled by %s, not by tavs", name,
               libxl_scheduler_to_string(sched));
    }

    return poolid;
}

static bool list_pools(libxl_cpupoolinfo **pools, int *n_pools,
                       libxl_dominfo **doms, int *n_doms)
{
    *doms = libxl_list_domain(ctx, n_doms);
    if (!*doms) {
        fprintf(stderr, "xl sched-tavs: cannot list domains\n");
        return false;
    }

    *pools = libxl_list_cpupool(ctx, n_pools);
    if (!*pools) {
        fprintf(stderr, "xl sched-tavs: cannot list cpupools\n");
        libxl_dominfo_list_free(*doms, *n_doms);
        return false;
    }

    return true;
}

struct selection {
    const char *dom;        /* NULL: all */
    const uint32_t *poolid; /* NULL: all */
};

/* The domains that tavs schedules, of those that are asked for. */
static bool list_domains(void *arg, struct tavs_domain **list, unsigned int *nr)
{
    const struct selection *sel = arg;
    libxl_cpupoolinfo *pools;
    libxl_dominfo *doms;
    int n_pools, n_doms, i, p;
    uint32_t domid = sel->dom ? find_domain(sel->dom) : 0;

    if (!list_pools(&pools, &n_pools, &doms, &n_doms))
        return false;

    *list = xcalloc(n_doms, sizeof(**list));
    *nr = 0;

    for (i = 0; i < n_doms; i++)
        for (p = 0; p < n_pools; p++) {
            struct tavs_domain *d = &(*list)[*nr];

            if (pools[p].poolid != doms[i].cpupool ||
                (sel->poolid && *sel->poolid != pools[p].poolid) ||
                (sel->dom && domid != doms[i].domid))
                continue;

            if (is_tavs(pools[p].sched)) {
                d->domid = doms[i].domid;
                d->name = libxl_domid_to_name(ctx, d->domid) ?: xstrdup("");
                d->pool = libxl_cpupoolid_to_name(ctx, pools[p].poolid);
                (*nr)++;
            } else if (sel->dom)
                refuse("domain '%s' is scheduled by %s, not by tavs", sel->dom,
                       libxl_scheduler_to_string(pools[p].sched));
        }

    if (!*nr && !sel->dom && !sel->poolid) {
        for (p = 0; p < n_pools; p++)
            if (is_tavs(pools[p].sched))
                break;
        if (p == n_pools)
            refuse("no cpupool is scheduled by tavs");
    }

    libxl_cpupoolinfo_list_free(pools, n_pools);
    libxl_dominfo_list_free(doms, n_doms);

    return true;
}

static int print_all(const uint32_t *poolid)
{
    libxl_cpupoolinfo *pools;
    libxl_dominfo *doms;
    int n_pools, n_doms, i, p, rc = EXIT_SUCCESS;
    bool any = false;

    if (!list_pools(&pools, &n_pools, &doms, &n_doms))
        return EXIT_FAILURE;

    for (p = 0; p < n_pools && rc == EXIT_SUCCESS; p++) {
        if (!is_tavs(pools[p].sched) ||
            (poolid && *poolid != pools[p].poolid))
            continue;

        any = true;
        rc = print_pool(pools[p].poolid);
        if (rc == EXIT_SUCCESS)
            print_domain_header();
        for (i = 0; i < n_doms && rc == EXIT_SUCCESS; i++)
            if (doms[i].cpupool == pools[p].poolid)
                rc = print_domain(doms[i].domid);
    }

    libxl_cpupoolinfo_list_free(pools, n_pools);
    libxl_dominfo_list_free(doms, n_doms);

    if (!any)
        refuse("no cpupool is scheduled by tavs");

    return rc;
}

/*
 * <nothing>              : list all tavs cpupools, and the domains in them
 * -p [pool]              : ... this one
 * -d [domid]             : list a domain's parameters
 * -d [domid] [params]    : set them, and list them
 * -s [-p [pool]]         : list a cpupool's parameters
 * -s [-p [pool]] [params]: set them, and list them
 * --stats, --tasks, --portmap, --latency, --prometheus, --top: of the domains
 *                          that are selected
 */
int main_sched_tavs(int argc, char **argv)
{
    enum {
        OPT_CORRELATE = 256, OPT_STATS, OPT_TASKS, OPT_PORTMAP, OPT_LATENCY,
        OPT_PROMETHEUS, OPT_TOP, OPT_COUNT, OPT_JSON,
    };
    static struct option opts[] = {
        {"domain", 1, 0, 'd'},
        {"weight", 1, 0, 'w'},
        {"cap", 1, 0, 'c'},
        {"pb_ratio", 1, 0, 'b'},
        {"track", 1, 0, 'k'},
        {"driver", 1, 0, 'D'},
        {"schedparam", 0, 0, 's'},
        {"cpupool", 1, 0, 'p'},
        {"tslice_ms", 1, 0, 't'},
        {"ratelimit_us", 1, 0, 'r'},
        {"migration_delay_us", 1, 0, 'M'},
        {"iothreshold_us", 1, 0, 'i'},
        {"window", 1, 0, 'W'},
        {"portmap_bits", 1, 0, 'n'},
        {"boost_cap_us", 1, 0, 'm'},
        {"correlate", 1, 0, OPT_CORRELATE},
        {"stats", 0, 0, OPT_STATS},
        {"tasks", 0, 0, OPT_TASKS},
        {"portmap", 0, 0, OPT_PORTMAP},
        {"latency", 0, 0, OPT_LATENCY},
        {"prometheus", 0, 0, OPT_PROMETHEUS},
        {"top", 1, 0, OPT_TOP},
        {"count", 1, 0, OPT_COUNT},
        {"json", 0, 0, OPT_JSON},
        COMMON_LONG_OPTS
    };
    const char *cpupool = NULL;
    struct selection sel = {};
    libxl_domain_sched_params dparam;
    libxl_sched_tavs_params sparam;
    bool opt_s = false, dom_only = false, pool_only = false, json = false;
    int shows = 0, ratio = -1, track = -1, top = 0, count = 0;
    int value, opt, rc;
    const char *name;
    enum tavs_show what = TAVS_SHOW_STATS;
    uint32_t domid, poolid = 0;

    libxl_domain_sched_params_init(&dparam);
    libxl_sched_tavs_params_init(&sparam);

#define NUMBER(option, field)                         \
    sparam.field = whole_number(option, optarg);      \
    pool_only = true;                                 \
    break
#define SHOW(show)                                    \
    what = show;                                      \
    shows++;                                          \
    break

    SWITCH_FOREACH_OPT(opt, "d:w:c:b:k:D:sp:t:r:M:i:W:n:m:", opts,
                       "sched-tavs", 0) {
    case 'd':
        sel.dom = optarg;
        break;
    case 'p':
        cpupool = optarg;
        break;
    case 's':
        opt_s = true;
        break;
    case 'b':
        ratio = pb_ratio(optarg);
        break;
    case 'k':
        track = on_or_off("track", optarg);
        break;
    case 'D':
        libxl_defbool_set(&dparam.driver, on_or_off("driver", optarg));
        dom_only = true;
        break;
    case 'w':
    case 'c':
        name = opt == 'w' ? "weight" : "cap";
        value = whole_number(name, optarg);
        /* To libxl, -1 means to leave it as it is. */
        if (value < 0)
            refuse("--%s: %s is out of range", name, optarg);
        *(opt == 'w' ? &dparam.weight : &dparam.cap) = value;
        dom_only = true;
        break;
    case 't':
        NUMBER("tslice_ms", tslice_ms);
    case 'r':
        NUMBER("ratelimit_us", ratelimit_us);
    case 'M':
        NUMBER("migration_delay_us", vcpu_migr_delay_us);
    case 'i':
        NUMBER("iothreshold_us", io_threshold_us);
    case 'W':
        NUMBER("window", window);
    case 'n':
        NUMBER("portmap_bits", portmap_bits);
    case 'm':
        NUMBER("boost_cap_us", boost_cap_us);
    case OPT_CORRELATE:
        sparam.correlate = on_or_off("correlate", optarg);
        pool_only = true;
        break;
    case OPT_STATS:
        SHOW(TAVS_SHOW_STATS);
    case OPT_TASKS:
        SHOW(TAVS_SHOW_TASKS);
    case OPT_PORTMAP:
        SHOW(TAVS_SHOW_PORTMAP);
    case OPT_LATENCY:
        SHOW(TAVS_SHOW_LATENCY);
    case OPT_PROMETHEUS:
        SHOW(TAVS_SHOW_PROMETHEUS);
    case OPT_TOP:
        top = whole_number("top", optarg);
        if (top < 1)
            refuse("--top: %s is out of range", optarg);
        shows++;
        break;
    case OPT_COUNT:
        count = whole_number("count", optarg);
        if (count < 1)
            refuse("--count: %s is out of range", optarg);
        break;
    case OPT_JSON:
        json = true;
        break;
    }
#undef NUMBER
#undef SHOW

    if (optind < argc)
        refuse("'%s' is superfluous", argv[optind]);
    if ((cpupool || opt_s) && sel.dom)
        refuse("a cpupool or --schedparam does not go with --domain");
    if (shows > 1 || (shows && (opt_s || dom_only || pool_only || ratio >= 0 ||
                                track >= 0)))
        refuse("what to show goes with --domain or --cpupool only");
    if (json && (!shows || top || what == TAVS_SHOW_PROMETHEUS))
        refuse("--json goes with --stats, --tasks, --portmap or --latency");
    if (count && !top)
        refuse("--count goes with --top");
    if (dom_only && !sel.dom)
        refuse("parameters of a domain need --domain");
    if (pool_only && !opt_s)
        refuse("parameters of a cpupool or the host need --schedparam");
    if ((ratio >= 0 || track >= 0) && !sel.dom && !opt_s)
        refuse("--pb_ratio and --track need --domain or --schedparam");

    if (cpupool || opt_s) {
        poolid = pool_of_option(cpupool);
        sel.poolid = &poolid;
    }

    if (shows) {
        struct tavs_domain *doms;
        unsigned int nr;

        if (top)
            return tavs_top(top, count, list_domains, &sel);

        if (!list_domains(&sel, &doms, &nr))
            return EXIT_FAILURE;
        rc = tavs_show(what, json, doms, nr);
        tavs_domains_free(doms, nr);
        return rc;
    }

    if (opt_s) {
        if (ratio >= 0)
            sparam.pb_ratio = ratio;
        if (track >= 0)
            sparam.track = track;
        if ((ratio >= 0 || track >= 0 || pool_only) &&
            libxl_sched_tavs_params_set(ctx, poolid, &sparam))
            return EXIT_FAILURE;

        return print_pool(poolid);
    }

    if (sel.dom) {
        struct tavs_domain *doms;
        unsigned int nr;

        /* It says so if tavs does not schedule it. */
        if (!list_domains(&sel, &doms, &nr))
            return EXIT_FAILURE;
        if (!nr)
            refuse("domain '%s' is gone", sel.dom);
        domid = doms[0].domid;
        tavs_domains_free(doms, nr);

        if (ratio >= 0)
            dparam.pb_ratio = ratio;
        if (track >= 0)
            libxl_defbool_set(&dparam.tracked, track);
        if ((ratio >= 0 || track >= 0 || dom_only) &&
            libxl_domain_sched_params_set(ctx, domid, &dparam))
            return EXIT_FAILURE;

        print_domain_header();
        return print_domain(domid);
    }

    return print_all(sel.poolid);
}

/*
 * Local variables:
 * mode: C
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
