/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's services; see host.h. */

#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"

void host_out(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stdout, fmt, ap);
    va_end(ap);
}

void host_err(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

int host_format(char *buf, unsigned long size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, size, fmt, ap);
    va_end(ap);

    return n;
}

void host_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

void *host_arena(unsigned long addr, unsigned long size)
{
    void *p = mmap((void *)addr, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                   MAP_FIXED_NOREPLACE, -1, 0);

    if ( p != (void *)addr )
    {
        fprintf(stderr, "error: no memory at %#lx\n", addr);
        host_exit(1);
    }

    return p;
}

void *host_shared(unsigned long size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if ( p == MAP_FAILED )
    {
        perror("mmap");
        host_exit(1);
    }

    return p;
}

char *host_read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t size = 0, room = 0, n;
    char *text = NULL;

    if ( !f )
        return NULL;

    do {
        if ( room - size < 4096 )
            text = realloc(text, room += 65536);
        n = fread(text + size, 1, room - size - 1, f);
        size += n;
    } while ( n );

    text[size] = '\0';
    fclose(f);

    return text;
}

host_file *host_create(const char *path)
{
    return (host_file *)fopen(path, "wb");
}

void host_write(host_file *f, const void *data, unsigned long len)
{
    fwrite(data, 1, len, (FILE *)f);
}

void host_close(host_file *f)
{
    fclose((FILE *)f);
}

static unsigned long long read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);

    return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

unsigned long long host_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

unsigned long long host_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int host_fork(int (*fn)(void *arg), void *arg, bool quiet)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();

    if ( pid < 0 )
    {
        perror("fork");
        host_exit(1);
    }

    if ( pid == 0 )
    {
        if ( quiet )
        {
            int fd = open("/dev/null", O_WRONLY);

            dup2(fd, 1);
            dup2(fd, 2);
        }
        host_exit(fn(arg));
    }

    return pid;
}

int host_reap(int *status)
{
    int raw;
    pid_t pid = wait(&raw);

    *status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);

    return pid;
}

static unsigned long (*trap_fn)(int, unsigned long, unsigned long,
                                unsigned long);

static void on_trap(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    uc->uc_mcontext.gregs[REG_RIP] =
        trap_fn(sig, uc->uc_mcontext.gregs[REG_RIP],
                uc->uc_mcontext.gregs[REG_RBP],
                (unsigned long)info->si_addr);
}

void host_trap(unsigned long (*fn)(int sig, unsigned long pc,
                                   unsigned long fp,
                                   unsigned long addr))
{
    static char stack[65536];
    const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
    const struct sigaction act = {
        .sa_sigaction = on_trap,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
    };

    trap_fn = fn;
    sigaltstack(&alt, NULL);
    sigaction(SIGILL, &act, NULL);
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    sigaction(SIGFPE, &act, NULL);
    sigaction(SIGALRM, &act, NULL);
}

/* The symbol table of this very program: it is linked statically. */
const char *host_symbol(unsigned long addr)
{
    static char *image, names[8][96];
    static unsigned int turn;
    char *name = names[turn++ % 8];
    const Elf64_Ehdr *eh;
    const Elf64_Shdr *sh;
    unsigned int i, j;

    if ( !image )
        image = host_read_file("/proc/self/exe");

    snprintf(name, sizeof(names[0]), "%#lx", addr);
    if ( !image )
        return name;

    eh = (const void *)image;
    sh = (const void *)(image + eh->e_shoff);

    for ( i = 0; i < eh->e_shnum; i++ )
    {
        const Elf64_Sym *sym = (const void *)(image + sh[i].sh_offset);

        if ( sh[i].sh_type != SHT_SYMTAB )
            continue;

        for ( j = 0; j < sh[i].sh_size / sizeof(*sym); j++ )
            if ( addr >= sym[j].st_value &&
                 addr < sym[j].st_value + sym[j].st_size )
                snprintf(name, sizeof(names[0]), "%s+%#lx",
                         image + sh[sh[i].sh_link].sh_offset + sym[j].st_name,
                         addr - sym[j].st_value);
    }

    return name;
}

void host_alarm(unsigned int seconds)
{
    alarm(seconds);
}

/* The program proper is on the other side; see main.c. */
int sim_main(int argc, char **argv);

int main(int argc, char **argv)
{
    int status = sim_main(argc, argv);

    fflush(NULL);

    return status;
}
