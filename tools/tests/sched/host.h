/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the simulator needs from the host.
 *
 * Xen's headers and the C library's cannot meet in one file: both define
 * memcpy(), errno values, timers. host.c is the only file that includes the
 * library; everything else sees these plain C types.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

/* Standard output; host_err() writes to standard error. */
void host_out(const char *fmt, ...) __attribute__((__format__(printf, 1, 2)));
void host_err(const char *fmt, ...) __attribute__((__format__(printf, 1, 2)));
int host_format(char *buf, unsigned long size, const char *fmt, ...)
    __attribute__((__format__(printf, 3, 4)));
void host_exit(int status) __attribute__((__noreturn__));

/* Memory at an address that is the same in every run. */
void *host_arena(unsigned long addr, unsigned long size);

/* A whole file, NUL-terminated; NULL if it cannot be read. */
char *host_read_file(const char *path);

/* Buffered output files. */
typedef struct host_file host_file;
host_file *host_create(const char *path);
void host_write(host_file *f, const void *data, unsigned long len);
void host_close(host_file *f);

/* Memory that children share with their parent. */
void *host_shared(unsigned long size);

/* Wall clock and CPU time used, for benchmarks only. */
unsigned long long host_clock_ns(void);
unsigned long long host_cpu_ns(void);

/*
 * Run fn(arg) in a child process, at most `jobs` at once. host_reap() waits
 * for any one of them: its slot, and its exit status (128 + n for signal n).
 * What a child printed is discarded unless it is run again.
 */
int host_fork(int (*fn)(void *arg), void *arg, bool quiet);
int host_reap(int *status);

/* Call fn(signal, program counter) when the program hits an illegal
 * instruction or a bad address; the program goes on at what fn returns. */
void host_trap(unsigned long (*fn)(int sig, unsigned long pc,
                                   unsigned long fp,
                                   unsigned long addr));
/* The function that an address is in, as name+offset. */
const char *host_symbol(unsigned long addr);

/* Give up with a report after this many seconds of CPU time. */
void host_alarm(unsigned int seconds);

#endif /* SIM_HOST_H */
